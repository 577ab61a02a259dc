/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_info_system.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/view.h"
#include "resolve/system_json.h"
#include "runtime/pjrt.h"

typedef struct plugin_search {
    const char *platform;
    char *path;  /* NULL = not found */
    char *trace; /* one line a place */
} plugin_search;

static void search(const kernels_system *system, plugin_search *plugin) {
    const kernels_pjrt_search_options options = {.site_packages = system->site_packages};
    (void)kernels_pjrt_plugin_search(plugin->platform, &options, &plugin->path, &plugin->trace, NULL);
}

/* ---- for people ---- */

static void add_fact(kernels_buffer *out, const char *indent, const char *label, const char *value,
                     const char *origin) {
    kernels_buffer_printf(out, "%s%s: %s", indent, label, value[0] != '\0' ? value : "-");
    if (value[0] != '\0' && origin[0] != '\0') {
        kernels_buffer_printf(out, " (%s)", origin);
    }
    kernels_buffer_add_char(out, '\n');
}

static void add_backends(const kernels_system *system, const char *indent, kernels_buffer *out) {
    char text[64];
    kernels_system_backend_text(system, text);
    add_fact(out, indent, system->needs_torch ? "Backend, the best guess" : "Backend", text, system->backend_reason);
    if (system->has_alternative) {
        const kernels_system other = {.backend = system->alternative, .backend_version = system->alternative_version};
        kernels_system_backend_text(&other, text);
        add_fact(out, indent, "Other backend", text, "when asked for by name");
    }
}

void kernels_info_print_facts(const kernels_system *system, const char *indent, kernels_buffer *out) {
    const struct {
        const char *label, *value;
        kernels_fact fact;
    } facts[] = {
        {"TPU", system->tpu_generation, KERNELS_FACT_TPU_GENERATION},
        {"GPU architectures", system->gpu_architectures, KERNELS_FACT_GPU_ARCHITECTURES},
        {"glibc", system->glibc, KERNELS_FACT_GLIBC},
        {"Python", system->python, KERNELS_FACT_PYTHON},
        {"Python packages", system->site_packages, KERNELS_FACT_SITE_PACKAGES},
        {"torch", system->torch_text, KERNELS_FACT_TORCH},
        {"tvm-ffi", system->tvm_ffi_text, KERNELS_FACT_TVM_FFI},
    };
    char platform[sizeof system->cpu + sizeof system->os];
    (void)snprintf(platform, sizeof platform, "%s-%s", system->cpu, system->os);
    add_fact(out, indent, "Platform", platform, system->origins[KERNELS_FACT_PLATFORM]);
    add_backends(system, indent, out);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        add_fact(out, indent, facts[i].label, facts[i].value, system->origins[facts[i].fact]);
    }
    if (system->torch_cxx11_abi != KERNELS_CXX11_ABI_NONE) {
        add_fact(out, indent, "C++11 ABI of torch", system->torch_cxx11_abi == KERNELS_CXX11_ABI_NEW ? "yes" : "no",
                 system->origins[KERNELS_FACT_TORCH_CXX11_ABI]);
    }
    if (system->free_threaded) {
        add_fact(out, indent, "Free-threaded Python", "yes", system->origins[KERNELS_FACT_PYTHON]);
    }
}

static void print_text(const kernels_system *system, const plugin_search *plugins, size_t count, kernels_buffer *out) {
    kernels_buffer_printf(out, "libkernels: %s (behaves as kernels %s)\n", kernels_library_version(),
                          kernels_compatible_version());
    kernels_info_print_facts(system, "", out);
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_printf(out, "\nPJRT plugin for %s: %s\n", plugins[i].platform,
                              plugins[i].path != NULL ? plugins[i].path : "not found");
        kernels_view rest = kernels_view_trim_ascii(kernels_view_of(plugins[i].trace));
        kernels_view line;
        while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
            kernels_buffer_printf(out, "  %.*s\n", KERNELS_VIEW_ARGS(kernels_view_trim_ascii(line)));
        }
    }
}

/* ---- for programs ---- */

static void write_plugin(kernels_json_writer *writer, const plugin_search *plugin) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "platform", plugin->platform);
    kernels_json_member_text(writer, "path", plugin->path);
    kernels_json_key(writer, "search");
    kernels_json_begin_array(writer);
    kernels_view rest = kernels_view_trim_ascii(kernels_view_of(plugin->trace));
    kernels_view line;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
        kernels_json_string(writer, kernels_view_trim_ascii(line));
    }
    kernels_json_end_array(writer);
    kernels_json_end_object(writer);
}

static void print_json(const kernels_system *system, const plugin_search *plugins, size_t count, kernels_buffer *out) {
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, out, 2, true);
    kernels_json_begin_object(&writer);
    kernels_json_member_text(&writer, "libkernels", kernels_library_version());
    kernels_json_member_text(&writer, "kernels", kernels_compatible_version());
    kernels_json_key(&writer, "system");
    kernels_system_write(&writer, system);
    kernels_json_key(&writer, "plugins");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        write_plugin(&writer, &plugins[i]);
    }
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
    kernels_buffer_add_char(out, '\n');
}

int kernels_info_system(kernels_terminal *terminal, const char *system_file, bool json) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_system system;
    kernels_status status = system_file != NULL ? kernels_system_read(system_file, &system, &error)
                                                : kernels_system_detect(NULL, &system, &error);
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(terminal, &error);
    }
    plugin_search plugins[] = {{.platform = "tpu"}, {.platform = "cpu"}};
    size_t count = sizeof plugins / sizeof plugins[0];
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < count; i++) {
        search(&system, &plugins[i]);
    }
    if (json) {
        print_json(&system, plugins, count, &out);
    } else {
        print_text(&system, plugins, count, &out);
    }
    int code = kernels_buffer_status(&out, &error) == KERNELS_OK
                   ? kernels_terminal_print(terminal, kernels_buffer_view(&out))
                   : kernels_terminal_fail(terminal, &error);
    for (size_t i = 0; i < count; i++) {
        kernels_free(plugins[i].path);
        kernels_free(plugins[i].trace);
    }
    kernels_buffer_dispose(&out);
    return code;
}
