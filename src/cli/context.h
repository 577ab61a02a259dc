/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_CLI_CONTEXT_H
#define KERNELS_SRC_CLI_CONTEXT_H

#include "cli/terminal.h"
#include "kernels/load.h"

/* A context that warns, draws progress and is cancelled through the terminal. SIGINT and SIGTERM are held from here to
 * kernels_terminal_context_free. cache: NULL = that of the environment. */
kernels_status kernels_terminal_context_new(kernels_terminal *terminal, const char *cache, kernels_context **context,
                                            kernels_error *error);
/* The same for the machine that a file describes (resolve/system_json.h); NULL = this one. */
kernels_status kernels_terminal_context_new_for(kernels_terminal *terminal, const char *system_file, const char *cache,
                                                kernels_context **context, kernels_error *error);
void kernels_terminal_context_free(kernels_terminal *terminal, kernels_context *context);

/* The option that names this file, a row in the tables of the commands that choose a variant. */
#define KERNELS_OPTION_SYSTEM                                                                      \
    {                                                                                              \
        .name = "system", .type = KERNELS_OPTION_TEXT, .value_name = "FILE", .exact_name = true,   \
        .help = "Choose for the machine that this JSON file describes, as `kernels info --system " \
                "--json` prints it there (default: this machine)."                                 \
    }

#endif
