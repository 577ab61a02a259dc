/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_LOAD_KERNEL_H
#define KERNELS_SRC_LOAD_KERNEL_H

#include "load/node.h"

/* Takes the node: its folder is verified (or was not to be). is_local: it has no repository id. On failure the node
 * is freed too. */
kernels_status kernels_kernel_new(kernels_load_node *node, bool is_local, kernels_kernel **kernel,
                                  kernels_error *error);

#endif
