/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels serve`: the server is a program of its own. */
#include "cli/helper.h"
#include "cli/kernels_commands.h"
#include "cli/serve_options.h"

static int run(const kernels_arguments *arguments, void *payload) {
    return kernels_helper_become(payload, "kernels-serve", arguments);
}

const kernels_command kernels_command_serve = {
    .name = "serve",
    .summary = kernels_serve_summary,
    .description = kernels_serve_description,
    .options = kernels_serve_options,
    .positionals = kernels_serve_positionals,
    .examples = kernels_serve_examples,
    .run = run,
};
