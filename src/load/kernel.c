/* SPDX-License-Identifier: Apache-2.0 */
#include "load/kernel.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"

static kernels_status fill(const kernels_context *context, kernels_kernel *kernel, kernels_error *error) {
    kernel->resolved_path = kernels_path_resolve(kernel->node->path);
    if (context->system_is_detected) {
        kernel->system = kernels_malloc(sizeof *kernel->system);
        if (kernel->system == NULL) {
            return kernels_fail_no_memory(error);
        }
        *kernel->system = context->system;
    }
    return kernel->resolved_path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_kernel_new(const kernels_context *context, kernels_load_node *node, bool is_local,
                                  kernels_kernel **kernel, kernels_error *error) {
    kernels_kernel *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        kernels_load_node_free(node);
        return kernels_fail_no_memory(error);
    }
    atomic_init(&made->owners, 1);
    made->node = node;
    made->is_local = is_local;
    kernels_status status = fill(context, made, error);
    if (status != KERNELS_OK) {
        kernels_kernel_free(made);
        return status;
    }
    /* listings belong to the context and its thread */
    kernels_load_node_drop_listing(node);
    *kernel = made;
    return KERNELS_OK;
}

kernels_kernel *kernels_kernel_retain(kernels_kernel *kernel) {
    (void)atomic_fetch_add(&kernel->owners, 1);
    return kernel;
}

void kernels_kernel_free(kernels_kernel *kernel) {
    if (kernel != NULL && atomic_fetch_sub(&kernel->owners, 1) == 1) {
        kernels_load_node_free(kernel->node);
        kernels_free(kernel->resolved_path);
        kernels_free(kernel->system);
        kernels_free(kernel);
    }
}

const char *kernels_kernel_path(const kernels_kernel *kernel) { return kernel->node->path; }

const char *kernels_kernel_variant(const kernels_kernel *kernel) { return kernel->node->variant; }

const char *kernels_kernel_repo_id(const kernels_kernel *kernel) {
    return kernel->is_local ? NULL : kernel->node->repo_id;
}

const char *kernels_kernel_revision(const kernels_kernel *kernel) {
    return kernel->node->commit[0] != '\0' ? kernel->node->commit : NULL;
}

const kernels_metadata *kernels_kernel_metadata(const kernels_kernel *kernel) { return &kernel->node->metadata; }

bool kernels_kernel_is_verified(const kernels_kernel *kernel) { return kernel->node->verified; }

const kernels_decisions *kernels_kernel_decisions(const kernels_kernel *kernel) { return &kernel->node->decisions; }

const kernels_system *kernels_kernel_system(const kernels_kernel *kernel) { return kernel->system; }
