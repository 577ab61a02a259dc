/* SPDX-License-Identifier: Apache-2.0 */
#include "build/plan.h"

#include <string.h>

#include "base/error.h"
#include "base/view.h"

#define NAMES_LIMIT ((size_t)4096)

/* Backends in the order of the build-set table, and the systems it has sets for. neuron and cann stand in no
 * table: their variants are pure copies, made anywhere. */
static const struct {
    kernels_backend backend;
    bool linux_x86, linux_arm, macos;
} systems[] = {
    {KERNELS_BACKEND_CPU, true, true, true},    {KERNELS_BACKEND_TPU, true, false, false},
    {KERNELS_BACKEND_CUDA, true, true, false},  {KERNELS_BACKEND_METAL, false, false, true},
    {KERNELS_BACKEND_ROCM, true, false, false}, {KERNELS_BACKEND_XPU, true, false, false},
    {KERNELS_BACKEND_NEURON, true, true, true}, {KERNELS_BACKEND_CANN, true, true, true},
};

static bool is_wanted(const kernels_build *build, kernels_backend backend) {
    for (size_t i = 0; i < build->backend_count; i++) {
        if (build->backends[i] == backend) {
            return true;
        }
    }
    return false;
}

static bool is_here(size_t row, const char *os, const char *cpu) {
    if (strcmp(os, "darwin") == 0) {
        return systems[row].macos;
    }
    return strcmp(cpu, "aarch64") == 0 ? systems[row].linux_arm : systems[row].linux_x86;
}

kernels_status kernels_plan_make(const kernels_build *build, const char *os, const char *cpu, kernels_plan *plan,
                                 kernels_error *error) {
    *plan = (kernels_plan){0};
    if (build->kind != KERNELS_KIND_TORCH_NOARCH) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "%s has to be compiled ([torch] or [tvm-ffi] in build.toml): this kernel-builder builds "
                            "kernels of Python files only ([torch-noarch])",
                            build->name);
    }
    for (size_t row = 0; row < sizeof systems / sizeof *systems; row++) {
        kernels_backend backend = systems[row].backend;
        if (is_wanted(build, backend) && is_here(row, os, cpu)) {
            plan->variants[plan->count++] = (kernels_planned_variant){kernels_backend_noarch_variant(backend), backend};
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_plan_select(kernels_plan *plan, const char *name, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer names = KERNELS_BUFFER_INIT(NAMES_LIMIT);
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->variants[i].name, name) == 0) {
            plan->variants[0] = plan->variants[i];
            plan->count = 1;
            return KERNELS_OK;
        }
        kernels_buffer_printf(&names, "%s%s", i ? ", " : "", plan->variants[i].name);
    }
    return kernels_fail(error, KERNELS_NO_VARIANT, "the kernel has no variant %s on this system; valid names: %s", name,
                        plan->count ? kernels_buffer_text(&names) : "none");
}
