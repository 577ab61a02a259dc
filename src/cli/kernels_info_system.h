/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_CLI_KERNELS_INFO_SYSTEM_H
#define KERNELS_SRC_CLI_KERNELS_INFO_SYSTEM_H

#include "base/buffer.h"
#include "cli/terminal.h"
#include "kernels/resolve.h"

/* `kernels info --system`: what this machine is, or the one that a file describes (NULL: this one), where each fact is
 * known from, and the search for plugins. */
int kernels_info_system(kernels_terminal *terminal, const char *system_file, bool json);

/* The facts, a line each: "<indent>Platform: x86_64-linux (uname)". */
void kernels_info_print_facts(const kernels_system *system, const char *indent, kernels_buffer *out);

#endif
