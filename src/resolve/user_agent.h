/* SPDX-License-Identifier: Apache-2.0 */
/* What the Hub is told about this machine with each request. */
#ifndef KERNELS_SRC_RESOLVE_USER_AGENT_H
#define KERNELS_SRC_RESOLVE_USER_AGENT_H

#include "base/buffer.h"
#include "kernels/resolve.h"

/* Appends what is sent whatever the user says about telemetry: "python/3.12.4", or nothing where no more than 3.12 is
 * known. */
void kernels_system_client(const kernels_system *system, kernels_buffer *out);

/* Appends "kernels/0.17.2; python/3.11; backend/tpu; ...". Room hub leaves it out with telemetry off. */
void kernels_system_user_agent(const kernels_system *system, kernels_buffer *out);

#endif
