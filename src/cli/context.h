/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_CLI_CONTEXT_H
#define KERNELS_SRC_CLI_CONTEXT_H

#include "cli/terminal.h"
#include "kernels/load.h"

/* A context that warns, draws progress and is cancelled through the terminal. SIGINT and SIGTERM are held from here to
 * kernels_terminal_context_free. cache: NULL = that of the environment. */
kernels_status kernels_terminal_context_new(kernels_terminal *terminal, const char *cache, kernels_context **context,
                                            kernels_error *error);
void kernels_terminal_context_free(kernels_terminal *terminal, kernels_context *context);

#endif
