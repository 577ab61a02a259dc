/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels mirror`: it writes git repositories, so it is a program of its own. */
#include "cli/helper.h"
#include "cli/kernels_commands.h"
#include "cli/mirror_options.h"

static int run(const kernels_arguments *arguments, void *payload) {
    return kernels_helper_become(payload, "kernels-mirror", arguments);
}

const kernels_command kernels_command_mirror = {
    .name = "mirror",
    .summary = kernels_mirror_summary,
    .description = kernels_mirror_description,
    .options = kernels_mirror_options_table,
    .positionals = kernels_mirror_positionals,
    .examples = kernels_mirror_examples,
    .run = run,
};
