/* SPDX-License-Identifier: Apache-2.0 */
#include "load/kernel.h"

#include "base/error.h"
#include "base/memory.h"

/* Immutable from here on: the node of the load, no longer walked by anybody. */
struct kernels_kernel {
    kernels_load_node *node;
    bool is_local;
};

kernels_status kernels_kernel_new(kernels_load_node *node, bool is_local, kernels_kernel **kernel,
                                  kernels_error *error) {
    kernels_kernel *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        kernels_load_node_free(node);
        return kernels_fail_no_memory(error);
    }
    made->node = node;
    made->is_local = is_local;
    *kernel = made;
    return KERNELS_OK;
}

void kernels_kernel_free(kernels_kernel *kernel) {
    if (kernel != NULL) {
        kernels_load_node_free(kernel->node);
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
