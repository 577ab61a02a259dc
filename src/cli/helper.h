/* SPDX-License-Identifier: Apache-2.0 */
/* Programs behind sub-commands of `kernels`, so that the other commands do not carry their libraries. */
#ifndef KERNELS_SRC_CLI_HELPER_H
#define KERNELS_SRC_CLI_HELPER_H

#include "base/options.h"
#include "cli/terminal.h"

/* Becomes the program `name` with the words of this command line; comes back, with an exit code, only when that fails.
 * It is looked for beside this program (a build folder) and where the installation puts it. */
int kernels_helper_become(kernels_terminal *terminal, const char *name, const kernels_arguments *arguments);

#endif
