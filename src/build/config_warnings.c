/* SPDX-License-Identifier: Apache-2.0 */
#include "build/config_warnings.h"

#include "base/file.h"
#include "base/path.h"

static void warn_missing(const char *kernel_dir, kernels_strings src, kernels_buffer *out) {
    for (size_t i = 0; i < src.count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(kernel_dir, src.items[i]);
        if (path && !kernels_file_is_regular(path)) {
            kernels_buffer_printf(out, "the source %s does not exist\n", src.items[i]);
        }
    }
}

static bool has_backend(const kernels_build *build, kernels_backend backend) {
    for (size_t i = 0; i < build->backend_count; i++) {
        if (build->backends[i] == backend) {
            return true;
        }
    }
    return false;
}

static void warn_kernels(const char *kernel_dir, const kernels_build *build, kernels_buffer *out) {
    for (size_t i = 0; i < build->kernel_count; i++) {
        const kernels_build_kernel *kernel = &build->kernels[i];
        warn_missing(kernel_dir, kernel->src, out);
        if (!has_backend(build, kernel->backend)) {
            kernels_buffer_printf(out, "kernel.%s is for %s, which general.backends does not list\n", kernel->name,
                                  kernels_backend_name(kernel->backend));
        }
    }
    if (build->kernel_count && build->kind == KERNELS_KIND_TORCH_NOARCH) {
        kernels_buffer_add_text(out, "a [torch-noarch] kernel compiles nothing: its [kernel.*] sections are unused\n");
    }
}

static void warn_limits(const char *what, const kernels_version *low, const kernels_version *high,
                        kernels_buffer *out) {
    if (low->count && high->count && kernels_version_compare(low, high) > 0) {
        kernels_buffer_printf(out, "%s.minver is above %s.maxver: no build can satisfy both\n", what, what);
    }
}

void kernels_config_warnings(const char *kernel_dir, const kernels_build *build, kernels_buffer *out) {
    const kernels_build_backend *cuda = &build->per_backend[KERNELS_BACKEND_CUDA];
    warn_missing(kernel_dir, build->src, out);
    warn_kernels(kernel_dir, build, out);
    warn_limits("torch", &build->torch_minver, &build->torch_maxver, out);
    warn_limits("general.cuda", &cuda->minver, &cuda->maxver, out);
    if (build->per_backend[KERNELS_BACKEND_TPU].python_depends.count) {
        kernels_buffer_add_text(out,
                                "general.tpu.python-depends: the Python package kernels up to 0.17.2 refuses a TPU "
                                "variant that lists dependencies; the portable form lists none\n");
    }
}
