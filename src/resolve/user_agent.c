/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/user_agent.h"

#include <stdlib.h>

#include "base/view.h"

static bool is_true(const char *name) {
    static const char *const accepted[] = {"1", "ON", "YES", "TRUE"};
    kernels_view value = kernels_view_of(getenv(name));
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        if (kernels_view_equal_ascii_case(value, kernels_view_of(accepted[i]))) {
            return true;
        }
    }
    return false;
}

static void add(kernels_buffer *out, const char *key, const char *value) {
    if (value[0] != '\0') {
        kernels_buffer_printf(out, "; %s/%s", key, value);
    }
}

void kernels_system_user_agent(const kernels_system *system, kernels_buffer *out) {
    if (is_true("HF_HUB_DISABLE_TELEMETRY") || is_true("DISABLE_TELEMETRY") || is_true("DO_NOT_TRACK")) {
        return;
    }
    char backend[64];
    kernels_system_backend_text(system, backend);
    kernels_buffer_printf(out, "kernels/%s", kernels_compatible_version());
    add(out, "python", system->python);
    add(out, "backend", backend);
    kernels_buffer_printf(out, "; platform/%s-%s; file_type/kernel", system->cpu, system->os);
    add(out, "torch", system->torch_text);
    add(out, "tvm-ffi", system->tvm_ffi_text);
    add(out, "glibc", system->glibc);
}
