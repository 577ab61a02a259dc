/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_commands.h"

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_terminal *terminal = payload;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    (void)kernels_options_completion(&text, kernels_arguments_program(arguments),
                                     kernels_arguments_positional(arguments, 0));
    kernels_error error = KERNELS_ERROR_INIT;
    int code = kernels_buffer_status(&text, &error) == KERNELS_OK
                   ? kernels_terminal_print(terminal, kernels_buffer_view(&text))
                   : kernels_terminal_fail(terminal, &error);
    kernels_buffer_dispose(&text);
    return code;
}

static const char *const shells[] = {"bash", "zsh", "fish", "elvish", "powershell", NULL};

static const kernels_positional positionals[] = {
    {.name = "SHELL", .help = "The shell.", .required = true, .choices = shells},
    {0},
};

const kernels_command kernels_command_completions = {
    .name = "completions",
    .summary = "Print a completion script for a shell.",
    .positionals = positionals,
    .examples = "kernels completions bash > ~/.local/share/bash-completion/completions/kernels\n",
    .run = run,
};
