/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of acceptance, in the order that decides which reason is given. */
#include <inttypes.h>
#include <string.h>

#include "base/view.h"
#include "resolve/decide.h"

#define METAL_MACOS_MAJOR 26

static uint64_t part(const kernels_version *version, size_t index) {
    return index < version->count ? version->parts[index] : 0;
}

/* "2.13", or "None" as Python says it. */
static void add_version(kernels_buffer *out, const kernels_version *version) {
    if (version->count == 0) {
        kernels_buffer_add_text(out, "None");
        return;
    }
    char text[KERNELS_VERSION_TEXT_SIZE];
    kernels_version_print(version, text);
    kernels_buffer_add_text(out, text);
}

/* "<what> (<found>) does not match system <what> (<wanted>)"; of many variants most are rejected so. */
static void add_mismatch(kernels_buffer *reason, const char *what, const char *found, const char *wanted) {
    const char *const parts[] = {what, " (", found, ") does not match system ", what, " (", wanted, ")"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        kernels_buffer_add_text(reason, parts[i]);
    }
}

static const char *abi_text(kernels_cxx11_abi abi) {
    switch (abi) {
    case KERNELS_CXX11_ABI_OLD:
        return "False";
    case KERNELS_CXX11_ABI_NEW:
        return "True";
    default:
        return "None";
    }
}

static bool framework_version_equal(const kernels_variant *variant, const kernels_version *version) {
    return version->count > 0 && variant->framework_major == part(version, 0) &&
           variant->framework_minor == part(version, 1);
}

static void judge_torch(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    if (!framework_version_equal(variant, &system->torch)) {
        kernels_buffer_printf(reason,
                              "Torch version (%" PRIu64 ".%" PRIu64 ") does not match environment Torch version (",
                              variant->framework_major, variant->framework_minor);
        add_version(reason, &system->torch);
        kernels_buffer_add_char(reason, ')');
    } else if (variant->cxx11_abi != KERNELS_CXX11_ABI_NONE && variant->cxx11_abi != system->torch_cxx11_abi) {
        kernels_buffer_printf(reason, "Torch CXX11 ABI (%s) does not match environment Torch CXX11 ABI (%s)",
                              abi_text(variant->cxx11_abi), abi_text(system->torch_cxx11_abi));
    }
}

static void judge_stable_abi(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    uint64_t major = part(&system->torch, 0);
    uint64_t minor = part(&system->torch, 1);
    bool known = system->torch.count > 0;
    if (known && (variant->framework_major < major ||
                  (variant->framework_major == major && variant->framework_minor <= minor))) {
        return;
    }
    kernels_buffer_printf(
        reason, "Torch stable ABI version (%" PRIu64 ".%" PRIu64 ") is too new for environment Torch version (",
        variant->framework_major, variant->framework_minor);
    add_version(reason, &system->torch);
    kernels_buffer_add_char(reason, ')');
}

static void judge_tvm_ffi(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    if (framework_version_equal(variant, &system->tvm_ffi)) {
        return;
    }
    kernels_buffer_printf(reason,
                          "tvm-ffi version (%" PRIu64 ".%" PRIu64 ") does not match environment tvm-ffi version (",
                          variant->framework_major, variant->framework_minor);
    add_version(reason, &system->tvm_ffi);
    kernels_buffer_add_char(reason, ')');
}

static void judge_backend(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    if (system->backend == KERNELS_BACKEND_CUDA && variant->backend == KERNELS_BACKEND_CUDA) {
        uint64_t major = part(&system->backend_version, 0);
        uint64_t minor = part(&system->backend_version, 1);
        if (variant->backend_major != major || variant->backend_minor > minor) {
            kernels_buffer_printf(reason,
                                  "CUDA version (%" PRIu64 ".%" PRIu64
                                  ") is not compatible with system CUDA version (%" PRIu64 ".%" PRIu64 ")",
                                  variant->backend_major, variant->backend_minor, major, minor);
        }
        return;
    }
    char wanted[64];
    char selected[64];
    kernels_variant_print_backend(variant, wanted);
    kernels_system_backend_text(system, selected);
    if (strcmp(wanted, selected) != 0) {
        kernels_buffer_printf(reason, "backend (%s) does not match selected backend (%s)", wanted, selected);
    } else if (variant->backend == KERNELS_BACKEND_METAL &&
               (system->macos.count == 0 || part(&system->macos, 0) < METAL_MACOS_MAJOR)) {
        kernels_buffer_printf(reason, "Metal kernels require macOS %d.0 or later, system macOS version is ",
                              METAL_MACOS_MAJOR);
        add_version(reason, &system->macos);
    }
}

static void judge_noarch(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    const char *name = kernels_backend_name(system->backend);
    /* "torch-npu": behind "torch-" stands the name that noarch builds use, which for cann is another one */
    const char *noarch_name = kernels_backend_noarch_variant(system->backend) + strlen("torch-");
    if (strcmp(variant->noarch_name, noarch_name) != 0 && strcmp(variant->noarch_name, name) != 0 &&
        strcmp(variant->noarch_name, "universal") != 0) {
        kernels_buffer_printf(reason, "backend (%s) does not match system backend (%s) and is not universal",
                              variant->noarch_name, noarch_name);
    }
}

void kernels_variant_judge(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason) {
    if (variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        judge_noarch(system, variant, reason);
        return;
    }
    if (strcmp(variant->cpu, system->cpu) != 0) {
        add_mismatch(reason, "CPU", variant->cpu, system->cpu);
    } else if (strcmp(variant->os, system->os) != 0) {
        add_mismatch(reason, "OS", variant->os, system->os);
    } else if (variant->framework == KERNELS_FRAMEWORK_TORCH) {
        judge_torch(system, variant, reason);
    } else if (variant->framework == KERNELS_FRAMEWORK_TORCH_STABLE_ABI) {
        judge_stable_abi(system, variant, reason);
    } else {
        judge_tvm_ffi(system, variant, reason);
    }
    if (reason->size == 0) {
        judge_backend(system, variant, reason);
    }
}
