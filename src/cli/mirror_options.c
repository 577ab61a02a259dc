/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mirror_options.h"

const char kernels_mirror_summary[] = "Copy kernels of a hub into a folder that `kernels serve` serves.";

const char kernels_mirror_description[] =
    "All branches and tags are copied as they are now, under the ids of their commits: locks and caches hold on both "
    "sides. Kernels that others depend on are copied too. Run again, it fetches what is new; nothing is removed. The "
    "folder must not be served meanwhile.";

const char kernels_mirror_examples[] =
    "kernels mirror kernels-community/activation --to hub\n"
    "kernels mirror https://hub.example/my-team/my-kernel --to hub && kernels serve hub\n";

static const char *const types[] = {"kernel", "model", NULL};

const kernels_option kernels_mirror_options_table[] = {
    {.name = "to",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "DIR",
     .help = "Folder of the store; made when it does not exist."},
    {.name = "repo-type",
     .type = KERNELS_OPTION_CHOICE,
     .value_name = "TYPE",
     .choices = types,
     .help = "Type of the repositories (default kernel)."},
    {.name = "no-dependencies",
     .type = KERNELS_OPTION_FLAG,
     .help = "Leave out the kernels that the copied ones depend on."},
    {.name = NULL},
};

const kernels_positional kernels_mirror_positionals[] = {
    {.name = "REPO",
     .help = "OWNER/NAME on the hub of HF_ENDPOINT, or ENDPOINT/OWNER/NAME. The token goes to HF_ENDPOINT alone.",
     .required = true,
     .repeatable = true},
    {.name = NULL},
};
