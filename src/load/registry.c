/* SPDX-License-Identifier: Apache-2.0 */
#include "load/registry.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"

/* A node that is still to be installed has no folder yet: its commit and variant say which one it will be. */
static bool is_same(const kernels_load_node *loaded, const kernels_load_node *node) {
    return node->commit[0] != '\0' && strcmp(loaded->commit, node->commit) == 0 &&
           strcmp(loaded->repo_id, node->repo_id) == 0 && strcmp(loaded->variant, node->variant) == 0;
}

kernels_kernel *kernels_registry_find(const kernels_request *request, const kernels_load_node *node) {
    const kernels_context *context = request->context;
    KERNELS_CLEANUP_FREE char *resolved = node->path != NULL ? kernels_path_resolve(node->path) : NULL;
    for (size_t i = context->kernel_count; i > 0; i--) {
        kernels_kernel *kernel = context->kernels[i - 1];
        bool same = is_same(kernel->node, node) ||
                    (resolved != NULL && kernel->resolved_path != NULL && strcmp(kernel->resolved_path, resolved) == 0);
        if (same && (kernel->node->checked || request->no_verify)) {
            return kernel;
        }
    }
    return NULL;
}

kernels_status kernels_registry_add(kernels_context *context, kernels_kernel *kernel, kernels_error *error) {
    if (!kernels_grow((void **)&context->kernels, &context->kernel_capacity, context->kernel_count,
                      sizeof *context->kernels, KERNELS_REGISTRY_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    context->kernels[context->kernel_count++] = kernels_kernel_retain(kernel);
    return KERNELS_OK;
}

void kernels_registry_dispose(kernels_context *context) {
    for (size_t i = 0; i < context->kernel_count; i++) {
        kernels_kernel_free(context->kernels[i]);
    }
    kernels_free(context->kernels);
    context->kernels = NULL;
    context->kernel_count = context->kernel_capacity = 0;
}

const kernels_kernel *const *kernels_context_kernels(const kernels_context *context, size_t *count) {
    *count = context->kernel_count;
    return (const kernels_kernel *const *)context->kernels;
}
