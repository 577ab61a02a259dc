/* SPDX-License-Identifier: Apache-2.0 */
/* The man page, made from the same tables as --help; what the installation puts below share/man. */
#include "cli/kernels_commands.h"

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_terminal *terminal = payload;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_man(&text, kernels_arguments_program(arguments));
    kernels_error error = KERNELS_ERROR_INIT;
    int code = kernels_buffer_status(&text, &error) == KERNELS_OK
                   ? kernels_terminal_print(terminal, kernels_buffer_view(&text))
                   : kernels_terminal_fail(terminal, &error);
    kernels_buffer_dispose(&text);
    return code;
}

const kernels_command kernels_command_man = {
    .name = "man",
    .summary = "Print the man page.",
    .hidden = true,
    .run = run,
};
