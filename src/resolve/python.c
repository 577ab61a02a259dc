/* SPDX-License-Identifier: Apache-2.0 */
/* Which Python environment is meant, told from folder names alone. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "resolve/detect.h"

/* First minor version of CPython 3 whose build without the global lock can import compiled kernels. */
#define FREE_THREADED_SUPPORTED_MINOR 15

/* "python3.13t" -> minor 13, free-threaded. false: no such name. */
static bool parse_folder_name(kernels_view name, uint64_t *minor, bool *threaded) {
    if (!kernels_view_starts_with(name, KERNELS_VIEW("python3."))) {
        return false;
    }
    kernels_view rest = kernels_view_slice(name, strlen("python3."), name.size);
    *threaded = kernels_view_ends_with(rest, KERNELS_VIEW("t"));
    if (*threaded) {
        rest = kernels_view_slice(rest, 0, rest.size - 1);
    }
    return kernels_view_to_u64(rest, minor) && *minor < 1000;
}

static bool copy_text(char *to, size_t size, const char *text) {
    size_t length = strlen(text);
    if (length >= size) {
        return false;
    }
    memcpy(to, text, length + 1);
    return true;
}

/* Notes the version that a folder name tells ("python3.11"); other names tell none. */
static void note_version(kernels_python *python, kernels_view folder_name) {
    uint64_t minor = 0;
    bool threaded = false;
    if (!parse_folder_name(folder_name, &minor, &threaded)) {
        return;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(32);
    kernels_buffer_printf(&text, "3.%u", (unsigned)minor);
    copy_text(python->version, sizeof python->version, kernels_buffer_text(&text));
    python->free_threaded = threaded && minor < FREE_THREADED_SUPPORTED_MINOR;
}

/* Takes <parts...> as the environment if it is a folder. */
static bool try_folder(kernels_python *python, const char *prefix, const char *below, kernels_view version_folder) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join(prefix, below);
    if (folder == NULL || !kernels_file_is_directory(folder) ||
        !copy_text(python->site_packages, sizeof python->site_packages, folder)) {
        return false;
    }
    note_version(python, version_folder);
    return true;
}

/* <prefix>/lib/python3.X/site-packages with the highest X. */
static bool try_prefix(kernels_python *python, const char *prefix) {
    KERNELS_CLEANUP_FREE char *lib = kernels_path_join(prefix, "lib");
    kernels_listing listing = {0};
    if (lib == NULL || kernels_list(lib, KERNELS_LIST_CHILDREN, &listing, NULL) != KERNELS_OK) {
        return false;
    }
    const char *best = NULL;
    uint64_t best_minor = 0;
    for (size_t i = 0; i < listing.count; i++) {
        uint64_t minor = 0;
        bool threaded = false;
        const char *name = listing.entries[i].path;
        if (parse_folder_name(kernels_view_of(name), &minor, &threaded) && (best == NULL || minor > best_minor)) {
            best = name;
            best_minor = minor;
        }
    }
    bool found = false;
    if (best != NULL) {
        KERNELS_CLEANUP_FREE char *below = kernels_path_join(best, "site-packages");
        found = below != NULL && try_folder(python, lib, below, kernels_view_of(best));
    }
    kernels_listing_dispose(&listing);
    return found;
}

/* The interpreter of the system: <prefix>/bin/python3.11 has its packages in one of several places. */
static void try_system_python(kernels_python *python, const char *interpreter, const char *prefix) {
    kernels_view name = kernels_path_name(interpreter);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer below = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&below, "lib/%.*s/site-packages", KERNELS_VIEW_ARGS(name));
    if (try_folder(python, prefix, kernels_buffer_text(&below), name)) {
        return;
    }
    kernels_buffer_reset(&below);
    kernels_buffer_printf(&below, "local/lib/%.*s/dist-packages", KERNELS_VIEW_ARGS(name));
    if (try_folder(python, prefix, kernels_buffer_text(&below), name)) {
        return;
    }
    if (!try_folder(python, prefix, "lib/python3/dist-packages", name)) {
        note_version(python, name);
    }
}

/* An interpreter inside a virtual environment names that environment; its own target names the system's. */
static kernels_status from_interpreter(const char *value, kernels_python *python, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path =
        strchr(value, '/') != NULL ? kernels_path_absolute(value) : kernels_process_find(value);
    if (path == NULL || !kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "expected KERNELS_PYTHON to name a Python interpreter, found \"%s\", which is no file",
                            value);
    }
    KERNELS_CLEANUP_FREE char *bin = kernels_path_parent(path);
    KERNELS_CLEANUP_FREE char *prefix = bin != NULL ? kernels_path_parent(bin) : NULL;
    KERNELS_CLEANUP_FREE char *marker = prefix != NULL ? kernels_path_join(prefix, "pyvenv.cfg") : NULL;
    if (marker == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (kernels_file_is_regular(marker) && try_prefix(python, prefix)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *target = kernels_path_resolve(path);
    KERNELS_CLEANUP_FREE char *target_bin = target != NULL ? kernels_path_parent(target) : NULL;
    KERNELS_CLEANUP_FREE char *target_prefix = target_bin != NULL ? kernels_path_parent(target_bin) : NULL;
    if (target_prefix != NULL) {
        try_system_python(python, target, target_prefix);
    }
    return KERNELS_OK;
}

static kernels_status from_option(const char *folder, kernels_python *python, kernels_error *error) {
    if (!kernels_file_is_directory(folder) || !copy_text(python->site_packages, sizeof python->site_packages, folder)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "expected a site-packages folder of Python, found \"%s\", which is no folder", folder);
    }
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(folder);
    if (parent != NULL) {
        note_version(python, kernels_path_name(parent));
    }
    return KERNELS_OK;
}

kernels_status kernels_python_find(const char *option, kernels_python *python, kernels_error *error) {
    *python = (kernels_python){.origin = ""};
    if (option != NULL && option[0] != '\0') {
        python->origin = "given by the caller";
        return from_option(option, python, error);
    }
    const char *interpreter = getenv("KERNELS_PYTHON");
    if (interpreter != NULL && interpreter[0] != '\0') {
        python->origin = "KERNELS_PYTHON";
        return from_interpreter(interpreter, python, error);
    }
    const char *environment = getenv("VIRTUAL_ENV");
    if (environment != NULL && environment[0] != '\0') {
        python->origin = "VIRTUAL_ENV";
        try_prefix(python, environment);
    }
    return KERNELS_OK;
}
