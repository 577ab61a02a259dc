/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder completions, man: what the program prints about itself */
#include "cli/builder_commands.h"

static const char *const shells[] = {"bash", "elvish", "fish", "powershell", "zsh", NULL};

static const kernels_positional positionals[] = {
    {.name = "SHELL", .help = "shell to make the script for", .required = true, .choices = shells},
    {.name = NULL},
};

static int run(const kernels_arguments *arguments, void *payload) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_completion(&out, kernels_arguments_program(arguments), kernels_arguments_positional(arguments, 0));
    return kernels_terminal_print(payload, kernels_buffer_view(&out));
}

static int run_man(const kernels_arguments *arguments, void *payload) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_man(&out, kernels_arguments_program(arguments));
    return kernels_terminal_print(payload, kernels_buffer_view(&out));
}

const kernels_command kernels_builder_man_command = {
    .name = "man",
    .summary = "Print the man page",
    .hidden = true,
    .run = run_man,
};

const kernels_command kernels_builder_completions_command = {
    .name = "completions",
    .summary = "Print a completion script for a shell",
    .positionals = positionals,
    .examples = "source <(kernel-builder completions bash)",
    .run = run,
};
