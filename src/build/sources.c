/* SPDX-License-Identifier: Apache-2.0 */
#include "build/sources.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/aot_config.h"
#include "build/kernel_dir.h"

typedef struct selection {
    const char *kernel_dir;
    char *root; /* kernel_dir, resolved */
    const kernels_build *build;
    kernels_paths *paths;
    kernels_error *error;
} selection;

/* Where a path really is must be below the kernel's folder: a link cannot bring in files of this machine. */
static kernels_status check_inside(const selection *select, const char *path) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(select->kernel_dir, path);
    KERNELS_CLEANUP_FREE char *real = full ? kernels_path_resolve(full) : NULL;
    size_t size = strlen(select->root);
    if (!real) {
        return kernels_fail(select->error, KERNELS_FILE_NOT_FOUND, "%s: no such file, but the build needs it",
                            full ? full : path);
    }
    if (strncmp(real, select->root, size) != 0 || real[size] != '/') {
        return kernels_fail(select->error, KERNELS_UNSAFE_NAME, "%s is a link to %s, outside of the kernel's folder",
                            full, real);
    }
    return KERNELS_OK;
}

/* A file that build.toml or aot.toml names. */
static kernels_status add_named(const selection *select, const char *path, const char *named_by) {
    const char *reason = kernels_path_unsafe_reason(kernels_view_of(path));
    if (reason) {
        return kernels_fail(select->error, KERNELS_UNSAFE_NAME, "%s names \"%s\": %s", named_by, path, reason);
    }
    KERNELS_TRY(check_inside(select, path));
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(select->kernel_dir, path);
    if (!full || !kernels_file_is_regular(full)) {
        return kernels_fail(select->error, KERNELS_FILE_NOT_FOUND, "%s names %s, which is not a file", named_by, path);
    }
    return kernels_paths_add(select->paths, path, select->error);
}

static kernels_status add_strings(const selection *select, kernels_strings list) {
    for (size_t i = 0; i < list.count; i++) {
        KERNELS_TRY(add_named(select, list.items[i], "build.toml"));
    }
    return KERNELS_OK;
}

static kernels_status add_aot(const selection *select) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(select->kernel_dir, KERNELS_AOT_CONFIG_NAME);
    kernels_aot_config config;
    if (!path || !kernels_file_exists(path)) {
        return path ? KERNELS_OK : kernels_fail_no_memory(select->error);
    }
    KERNELS_TRY(add_named(select, KERNELS_AOT_CONFIG_NAME, "the kernel"));
    KERNELS_TRY(kernels_aot_config_read(select->kernel_dir, &config, select->error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < config.count && !status; i++) {
        const kernels_aot_function *function = &config.functions[i];
        status = add_named(select, function->source.file, KERNELS_AOT_CONFIG_NAME);
        if (!status && function->reference.file) {
            status = add_named(select, function->reference.file, KERNELS_AOT_CONFIG_NAME);
        }
    }
    kernels_aot_config_dispose(&config);
    return status;
}

/* ---- folders ---- */

static kernels_view extension(const char *name) {
    kernels_view whole = kernels_view_of(name);
    size_t slash = kernels_view_find_last(whole, '/');
    kernels_view last = kernels_view_slice(whole, slash == SIZE_MAX ? 0 : slash + 1, whole.size);
    size_t dot = kernels_view_find_last(last, '.');
    return dot == SIZE_MAX || dot == 0 ? KERNELS_VIEW("") : kernels_view_slice(last, dot + 1, last.size);
}

bool kernels_sources_has_extension(const kernels_build *build, const char *name) {
    static const char *const usual[] = {"py", "pyi"};
    kernels_strings wanted = build->has_pyext ? build->pyext : (kernels_strings){usual, 2};
    kernels_view own = extension(name);
    for (size_t i = 0; i < wanted.count; i++) {
        if (own.size && kernels_view_equal_text(own, wanted.items[i])) {
            return true;
        }
    }
    return false;
}

static bool is_bytecode_folder(const char *path) {
    kernels_view rest = kernels_view_of(path), part;
    while (kernels_view_split(&rest, '/', &part)) {
        if (kernels_view_equal_text(part, "__pycache__")) {
            return true;
        }
    }
    return false;
}

static kernels_status add_folder(const selection *select, const char *folder) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(select->kernel_dir, folder);
    kernels_listing listing;
    if (!full) {
        return kernels_fail_no_memory(select->error);
    }
    KERNELS_TRY(kernels_list(full, KERNELS_LIST_RECURSIVE | KERNELS_LIST_FOLLOW_LINKS, &listing, select->error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        const kernels_entry *entry = &listing.entries[i];
        if (entry->type != KERNELS_ENTRY_FILE || !kernels_sources_has_extension(select->build, entry->path) ||
            is_bytecode_folder(entry->path)) {
            continue;
        }
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, entry->path);
        status = path ? add_named(select, path, "the kernel") : kernels_fail_no_memory(select->error);
    }
    kernels_listing_dispose(&listing);
    return status;
}

static kernels_status add_all(const selection *select) {
    const kernels_build *build = select->build;
    const char *extension_dir = kernels_extension_directory(build);
    KERNELS_CLEANUP_FREE char *package = kernels_path_join(select->kernel_dir, extension_dir);
    KERNELS_CLEANUP_FREE char *tests = kernels_path_join(select->kernel_dir, "tests");
    if (!package || !tests) {
        return kernels_fail_no_memory(select->error);
    }
    KERNELS_TRY(add_named(select, "build.toml", "the kernel"));
    KERNELS_TRY(add_strings(select, build->src));
    for (size_t i = 0; i < build->kernel_count; i++) {
        KERNELS_TRY(add_strings(select, build->kernels[i].src));
    }
    if (!kernels_file_is_directory(package)) {
        return kernels_fail(select->error, KERNELS_FILE_NOT_FOUND,
                            "%s is missing: the kernel's Python package lives there", package);
    }
    KERNELS_TRY(add_folder(select, extension_dir));
    if (kernels_file_is_directory(tests)) {
        KERNELS_TRY(add_folder(select, "tests"));
    }
    return add_aot(select);
}

kernels_status kernels_sources_select(const char *kernel_dir, const kernels_build *build, kernels_paths *paths,
                                      kernels_error *error) {
    KERNELS_CLEANUP_FREE char *root = kernels_path_resolve(kernel_dir);
    if (!root) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "%s is not a directory", kernel_dir);
    }
    selection select = {kernel_dir, root, build, paths, error};
    kernels_status status = add_all(&select);
    kernels_paths_sort(paths);
    return status;
}

kernels_status kernels_sources_check_layout(const char *kernel_dir, const kernels_build *build, kernels_error *error) {
    const char *extension_dir = kernels_extension_directory(build);
    KERNELS_CLEANUP_FREE char *python_name = kernels_name_to_python(kernels_view_of(build->name));
    KERNELS_CLEANUP_FREE char *package =
        python_name ? kernels_path_join3(kernel_dir, extension_dir, python_name) : NULL;
    KERNELS_CLEANUP_FREE char *init = package ? kernels_path_join(package, "__init__.py") : NULL;
    KERNELS_CLEANUP_FREE char *nested = package ? kernels_path_join(package, python_name) : NULL;
    if (!init || !nested) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_regular(init)) {
        return kernels_fail(error, KERNELS_CHECK_FAILED, "%s/%s/__init__.py is missing: the package must be named %s",
                            extension_dir, python_name, python_name);
    }
    if (kernels_file_exists(nested)) {
        return kernels_fail(error, KERNELS_CHECK_FAILED,
                            "%s/%s/%s must not exist: the package may not hold its own name", extension_dir,
                            python_name, python_name);
    }
    return KERNELS_OK;
}
