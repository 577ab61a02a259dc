/* SPDX-License-Identifier: Apache-2.0 */
#include "build/project.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/view.h"

#define TOML_LIMIT ((size_t)1024 * 1024)

/* ---- pyproject.toml ---- */

static void add_toml_string(kernels_buffer *out, const char *prefix, const char *text) {
    kernels_buffer_printf(out, "\"%s", prefix);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            kernels_buffer_printf(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            kernels_buffer_printf(out, "\\u%04x", c);
        } else {
            kernels_buffer_add_char(out, (char)c);
        }
    }
    kernels_buffer_add_char(out, '"');
}

static void add_packages(kernels_buffer *out, const kernels_python_dependency *dependency, bool *first) {
    for (size_t i = 0; dependency && i < dependency->package_count; i++) {
        kernels_buffer_add_text(out, *first ? "" : ", ");
        add_toml_string(out, "", dependency->packages[i].package);
        *first = false;
    }
}

static void add_dependencies(kernels_buffer *out, const kernels_build *build) {
    bool first = false;
    kernels_buffer_add_text(out, "[\"torch>=2.8\"");
    for (size_t i = 0; i < build->python_depends.count; i++) {
        add_packages(out, kernels_python_dependency_general(kernels_view_of(build->python_depends.items[i])), &first);
    }
    kernels_buffer_add_char(out, ']');
}

static void add_optional_dependencies(kernels_buffer *out, const kernels_build *build) {
    bool any = false;
    for (int i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        kernels_backend backend = (kernels_backend)i;
        kernels_strings names = build->per_backend[i].python_depends;
        bool first = true;
        if (!names.count) {
            continue;
        }
        kernels_buffer_printf(out, "%s%s = [", any ? "" : "\n[project.optional-dependencies]\n",
                              kernels_backend_name(backend));
        for (size_t j = 0; j < names.count; j++) {
            add_packages(out, kernels_python_dependency_backend(kernels_view_of(names.items[j]), backend), &first);
        }
        kernels_buffer_add_text(out, "]\n");
        any = true;
    }
}

static void add_package_data(kernels_buffer *out, const kernels_build *build, const char *python_name) {
    bool first = true;
    for (size_t i = 0; build->has_pyext && i < build->pyext.count; i++) {
        const char *extension = build->pyext.items[i];
        if (strcmp(extension, "py") == 0 || strcmp(extension, "pyi") == 0) {
            continue;
        }
        kernels_buffer_printf(out, first ? "%s = [" : ", ", python_name);
        add_toml_string(out, "**/*.", extension);
        first = false;
    }
    kernels_buffer_add_text(out, first ? "" : "]\n");
}

/* ---- metadata ---- */

static kernels_status add_metadata(const kernels_build *build, kernels_backend backend, const char *unique_id,
                                   const kernels_provenance *provenance, kernels_file_set *files,
                                   kernels_error *error) {
    kernels_metadata metadata;
    char *text = NULL, name[64];
    KERNELS_TRY(kernels_build_metadata(build, backend, unique_id, provenance, &metadata, error));
    kernels_status status = kernels_metadata_print(&metadata, &text, error);
    kernels_metadata_dispose(&metadata);
    snprintf(name, sizeof name, "metadata-%s.json", kernels_backend_name(backend));
    status = status ? status : kernels_file_set_add(files, name, kernels_view_of(text), error);
    kernels_string_free(text);
    return status;
}

/* ---- the whole ---- */

/* Moves `_ops.py` into the package: templates stand flat. */
static kernels_status place_ops(kernels_file_set *files, const char *python_name, kernels_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->items[i].path, "_ops.py") == 0) {
            char *path = kernels_path_join3("torch-ext", python_name, "_ops.py");
            if (!path) {
                return kernels_fail_no_memory(error);
            }
            kernels_free(files->items[i].path);
            files->items[i].path = path;
            return KERNELS_OK;
        }
    }
    return kernels_fail(error, KERNELS_INTERNAL, "no template of _ops.py");
}

static kernels_status add_templates(const kernels_build *build, const char *python_name, const char *unique_id,
                                    kernels_file_set *files, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer dependencies = KERNELS_BUFFER_INIT(TOML_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer optional = KERNELS_BUFFER_INIT(TOML_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer data = KERNELS_BUFFER_INIT(TOML_LIMIT);
    add_dependencies(&dependencies, build);
    add_optional_dependencies(&optional, build);
    add_package_data(&data, build, python_name);
    KERNELS_TRY(kernels_buffer_status(&dependencies, error));
    KERNELS_TRY(kernels_buffer_status(&optional, error));
    KERNELS_TRY(kernels_buffer_status(&data, error));
    const kernels_placeholder placeholders[] = {
        {"kernel_name", build->name},
        {"python_name", python_name},
        {"unique_id", unique_id},
        {"dependencies", kernels_buffer_text(&dependencies)},
        {"optional_dependencies", kernels_buffer_text(&optional)},
        {"package_data", kernels_buffer_text(&data)},
        {NULL, NULL},
    };
    KERNELS_TRY(kernels_file_set_add_templates(files, "project/noarch", placeholders, error));
    return place_ops(files, python_name, error);
}

kernels_status kernels_project_make(const kernels_build *build, const char *unique_id,
                                    const kernels_provenance *provenance, kernels_file_set *files,
                                    kernels_error *error) {
    if (build->kind != KERNELS_KIND_TORCH_NOARCH) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "only [torch-noarch] kernels can be made into a project");
    }
    KERNELS_CLEANUP_FREE char *python_name = kernels_name_to_python(kernels_view_of(build->name));
    if (!python_name) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    for (int i = 0; i < KERNELS_BACKEND_COUNT && !status; i++) {
        status = add_metadata(build, (kernels_backend)i, unique_id, provenance, files, error);
    }
    status = status ? status : add_templates(build, python_name, unique_id, files, error);
    kernels_file_set_sort(files);
    return status;
}
