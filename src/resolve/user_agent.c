/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/user_agent.h"

#include "base/view.h"

static void add(kernels_buffer *out, const char *key, const char *value) {
    if (value[0] != '\0') {
        kernels_buffer_printf(out, "; %s/%s", key, value);
    }
}

void kernels_system_client(const kernels_system *system, kernels_buffer *out) {
    kernels_version version = {0};
    bool numeric = kernels_version_parse(kernels_view_of(system->python), &version, NULL) == KERNELS_OK;
    if (system->python[0] != '\0' && (!numeric || version.count > 2)) {
        kernels_buffer_printf(out, "python/%s", system->python);
    }
}

static void add_python(const kernels_system *system, kernels_buffer *out) {
    kernels_version version = kernels_version_major_minor(kernels_view_of(system->python));
    if (version.count > 0) {
        char text[KERNELS_VERSION_TEXT_SIZE];
        kernels_version_print(&version, text);
        add(out, "python", text);
    }
}

void kernels_system_user_agent(const kernels_system *system, kernels_buffer *out) {
    char backend[64];
    kernels_system_backend_text(system, backend);
    kernels_buffer_printf(out, "kernels/%s", kernels_compatible_version());
    add_python(system, out);
    add(out, "backend", backend);
    kernels_buffer_printf(out, "; platform/%s-%s; file_type/kernel", system->cpu, system->os);
    add(out, "torch", system->torch_text);
    add(out, "tvm-ffi", system->tvm_ffi_text);
    add(out, "glibc", system->glibc);
}
