/* SPDX-License-Identifier: Apache-2.0 */
/* What a context has loaded: the same folder again is the same kernel. */
#ifndef KERNELS_SRC_LOAD_REGISTRY_H
#define KERNELS_SRC_LOAD_REGISTRY_H

#include "load/kernel.h"

/* Kernels of one context. */
#define KERNELS_REGISTRY_LIMIT ((size_t)100000)

/* The kernel of the located node, if the context loaded it before, and checked it if the request wants that; else NULL.
 * Belongs to the context. */
kernels_kernel *kernels_registry_find(const kernels_request *request, const kernels_load_node *node);
/* Retains the kernel. */
kernels_status kernels_registry_add(kernels_context *context, kernels_kernel *kernel, kernels_error *error);
void kernels_registry_dispose(kernels_context *context);

#endif
