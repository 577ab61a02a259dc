/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/user_agent.h"

static void add(kernels_buffer *out, const char *key, const char *value) {
    if (value[0] != '\0') {
        kernels_buffer_printf(out, "; %s/%s", key, value);
    }
}

void kernels_system_user_agent(const kernels_system *system, kernels_buffer *out) {
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
