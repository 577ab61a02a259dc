/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_HUB_USER_AGENT_H
#define KERNELS_SRC_HUB_USER_AGENT_H

#include "base/buffer.h"

/* Appends the User-Agent value: "kernels/<version>", the entries of client, those of library_part (left out with
 * telemetry off) and "origin/<origin>", joined by "; ", each once. All but version may be NULL. Pure. */
void kernels_user_agent_build(kernels_buffer *out, const char *version, const char *client, const char *library_part,
                              bool telemetry, const char *origin);

#endif
