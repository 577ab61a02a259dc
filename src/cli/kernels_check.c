/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_commands.h"

static int run(const kernels_arguments *arguments, void *payload) {
    (void)arguments;
    return kernels_terminal_failure(payload, "`kernels check` has moved to `kernel-builder check-abi`");
}

static const kernels_positional positionals[] = {
    {.name = "REPO_ID", .help = "Not looked at."},
    {0},
};

const kernels_command kernels_command_check = {
    .name = "check",
    .summary = "Moved to `kernel-builder check-abi`.",
    .positionals = positionals,
    .run = run,
};
