/* SPDX-License-Identifier: Apache-2.0 */
/* The counterpart of decide.c and of the order in resolve.c: a rule that is added there is put into words here. */
#include "resolve/explain.h"

#include <inttypes.h>
#include <string.h>

static void add_version(kernels_buffer *out, const kernels_version *version) {
    char text[KERNELS_VERSION_TEXT_SIZE];
    kernels_version_print(version, text);
    kernels_buffer_add_text(out, version->count > 0 ? text : "unknown");
}

static void explain_noarch(const kernels_system *system, const kernels_variant *variant, kernels_buffer *out) {
    if (strcmp(variant->noarch_name, "universal") == 0) {
        kernels_buffer_add_text(out, "no compiled code, for every backend");
    } else {
        kernels_buffer_printf(out, "no compiled code, for backend %s, as here", kernels_backend_name(system->backend));
    }
}

static void explain_framework(const kernels_system *system, const kernels_variant *variant, kernels_buffer *out) {
    switch (variant->framework) {
    case KERNELS_FRAMEWORK_TORCH_STABLE_ABI:
        kernels_buffer_printf(out, "stable ABI of torch %" PRIu64 ".%" PRIu64 " or later, here ",
                              variant->framework_major, variant->framework_minor);
        add_version(out, &system->torch);
        break;
    case KERNELS_FRAMEWORK_TORCH:
        kernels_buffer_printf(out, "built for torch %" PRIu64 ".%" PRIu64 "%s, as here", variant->framework_major,
                              variant->framework_minor,
                              variant->cxx11_abi == KERNELS_CXX11_ABI_NONE ? "" : " and its C++ ABI");
        break;
    case KERNELS_FRAMEWORK_TVM_FFI:
        kernels_buffer_printf(out, "built for tvm-ffi %" PRIu64 ".%" PRIu64 ", as here", variant->framework_major,
                              variant->framework_minor);
        break;
    case KERNELS_FRAMEWORK_TORCH_NOARCH:
        break;
    }
}

void kernels_explain_fit(const kernels_system *system, const kernels_variant *variant, kernels_buffer *out) {
    if (variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        explain_noarch(system, variant, out);
        return;
    }
    char backend[64];
    explain_framework(system, variant, out);
    if (variant->backend == KERNELS_BACKEND_CUDA) {
        kernels_buffer_printf(out, "; CUDA %" PRIu64 ".%" PRIu64 ", here ", variant->backend_major,
                              variant->backend_minor);
        add_version(out, &system->backend_version);
    } else {
        kernels_variant_print_backend(variant, backend);
        kernels_buffer_printf(out, "; backend %s, as here", backend);
    }
}

/* The groups in their order; within a group the later rules decide. */
static const char *const groups[] = {
    [KERNELS_FRAMEWORK_TORCH_STABLE_ABI] = "builds for the stable ABI of torch come first",
    [KERNELS_FRAMEWORK_TORCH] = "builds for torch come before those for tvm-ffi and those without compiled code",
    [KERNELS_FRAMEWORK_TVM_FFI] = "builds for tvm-ffi come before those without compiled code",
    [KERNELS_FRAMEWORK_TORCH_NOARCH] = "" /* they are the last */,
};

const char *kernels_explain_order(const kernels_variant *first, const kernels_variant *second) {
    if (first->framework != second->framework) {
        return groups[first->framework];
    }
    if (first->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return "builds for this backend come before universal ones";
    }
    if (first->framework == KERNELS_FRAMEWORK_TORCH_STABLE_ABI &&
        (first->framework_major != second->framework_major || first->framework_minor != second->framework_minor)) {
        return "the newest stable ABI of torch comes first";
    }
    if (first->framework == KERNELS_FRAMEWORK_TORCH && first->cxx11_abi != second->cxx11_abi) {
        return "builds for torch without a C++ ABI in their name come before those with one";
    }
    return "the newest version of the backend comes first";
}
