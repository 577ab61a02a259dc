/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_CLI_KERNELS_INFO_SYSTEM_H
#define KERNELS_SRC_CLI_KERNELS_INFO_SYSTEM_H

#include "cli/terminal.h"

/* `kernels info --system`: what this machine is, from where that is known, and the search for plugins. */
int kernels_info_system(kernels_terminal *terminal, bool json);

#endif
