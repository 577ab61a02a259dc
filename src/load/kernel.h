/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SRC_LOAD_KERNEL_H
#define KERNELS_SRC_LOAD_KERNEL_H

#include <stdatomic.h>

#include "load/node.h"

/* Immutable but for the number of its owners (callers, in any thread, and the context that loaded it). */
struct kernels_kernel {
    atomic_size_t owners;
    kernels_load_node *node; /* of the load, no longer walked by anybody */
    bool is_local;
    char *resolved_path;
    kernels_system *system; /* NULL: the context was told what the machine is */
};

/* Takes the node: its folder is verified (or was not to be). is_local: it has no repository id. On failure the node
 * is freed too. */
kernels_status kernels_kernel_new(const kernels_context *context, kernels_load_node *node, bool is_local,
                                  kernels_kernel **kernel, kernels_error *error);
/* One more owner: kernels_kernel_free ends the life of a kernel only for the last one. */
kernels_kernel *kernels_kernel_retain(kernels_kernel *kernel);

#endif
