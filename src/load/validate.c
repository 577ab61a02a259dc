/* SPDX-License-Identifier: Apache-2.0 */
/* What metadata.json alone can tell against loading a kernel. */
#include "base/error.h"
#include "base/view.h"
#include "load/node.h"

static kernels_status check_minimum_version(const kernels_load_node *node, kernels_error *error) {
    const kernels_metadata *metadata = &node->metadata;
    kernels_version provided;
    KERNELS_TRY(kernels_version_parse(kernels_view_of(kernels_compatible_version()), &provided, error));
    if (metadata->minver.count == 0 || kernels_version_compare(&provided, &metadata->minver) >= 0) {
        return KERNELS_OK;
    }
    char wanted[KERNELS_VERSION_TEXT_SIZE];
    kernels_version_print(&metadata->minver, wanted);
    return kernels_fail(error, KERNELS_TOO_OLD,
                        "Kernel '%s' variant '%s' requires kernels>=%s, but this libkernels %s provides kernels %s: "
                        "install a newer release of libkernels",
                        metadata->name, node->variant, wanted, kernels_library_version(), kernels_compatible_version());
}

static void warn_if_dirty(const kernels_request *request, const kernels_load_node *node) {
    const kernels_provenance *provenance = &node->metadata.provenance;
    if (provenance->builder_version == NULL || (!provenance->kernel.dirty && !provenance->builder.dirty)) {
        return;
    }
    bool both = provenance->kernel.dirty && provenance->builder.dirty;
    kernels_context_warn(request->context, KERNELS_WARNING_DIRTY,
                         "Kernel '%s' variant '%s' was built from a dirty git tree (%s%s%s)", node->metadata.name,
                         node->variant, provenance->kernel.dirty ? "kernel source" : "", both ? ", " : "",
                         provenance->builder.dirty ? "kernel-builder" : "");
}

kernels_status kernels_validate(const kernels_request *request, const kernels_load_node *node, kernels_error *error) {
    KERNELS_TRY(check_minimum_version(node, error));
    warn_if_dirty(request, node);
    return KERNELS_OK;
}
