/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_info_system.h"

#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/view.h"
#include "kernels/resolve.h"
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

static const char *or_null(const char *text) { return text[0] != '\0' ? text : NULL; }

static void add_line(kernels_buffer *out, const char *label, const char *value) {
    kernels_buffer_printf(out, "%s: %s\n", label, value[0] != '\0' ? value : "-");
}

static void print_text(const kernels_system *system, const plugin_search *plugins, size_t count, kernels_buffer *out) {
    char backend[64];
    kernels_system_backend_text(system, backend);
    kernels_buffer_printf(out, "libkernels: %s (behaves as kernels %s)\n", kernels_library_version(),
                          kernels_compatible_version());
    kernels_buffer_printf(out, "Platform: %s-%s\n", system->cpu, system->os);
    kernels_buffer_printf(out, "Backend: %s (%s)\n", backend, system->backend_reason);
    add_line(out, "TPU", system->tpu_generation);
    add_line(out, "glibc", system->glibc);
    add_line(out, "Python", system->python);
    add_line(out, "Python packages", system->site_packages);
    add_line(out, "torch", system->torch_text);
    add_line(out, "tvm-ffi", system->tvm_ffi_text);
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

static void write_text(kernels_json_writer *writer, const char *key, const char *value) {
    kernels_json_key(writer, key);
    kernels_json_text(writer, value);
}

static void write_plugin(kernels_json_writer *writer, const plugin_search *plugin) {
    kernels_json_begin_object(writer);
    write_text(writer, "platform", plugin->platform);
    write_text(writer, "path", plugin->path);
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
    char backend[64];
    kernels_system_backend_text(system, backend);
    kernels_json_writer_init(&writer, out, 2, true);
    kernels_json_begin_object(&writer);
    write_text(&writer, "libkernels", kernels_library_version());
    write_text(&writer, "kernels", kernels_compatible_version());
    write_text(&writer, "cpu", system->cpu);
    write_text(&writer, "os", system->os);
    write_text(&writer, "backend", kernels_backend_name(system->backend));
    write_text(&writer, "backend_variant", backend);
    write_text(&writer, "backend_reason", system->backend_reason);
    kernels_json_key(&writer, "backend_is_guess");
    kernels_json_boolean(&writer, system->needs_torch);
    write_text(&writer, "tpu", or_null(system->tpu_generation));
    write_text(&writer, "glibc", or_null(system->glibc));
    write_text(&writer, "python", or_null(system->python));
    write_text(&writer, "site_packages", or_null(system->site_packages));
    write_text(&writer, "torch", or_null(system->torch_text));
    write_text(&writer, "tvm_ffi", or_null(system->tvm_ffi_text));
    kernels_json_key(&writer, "plugins");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        write_plugin(&writer, &plugins[i]);
    }
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
    kernels_buffer_add_char(out, '\n');
}

int kernels_info_system(kernels_terminal *terminal, bool json) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_system system;
    if (kernels_system_detect(NULL, &system, &error) != KERNELS_OK) {
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
