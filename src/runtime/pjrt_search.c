/* SPDX-License-Identifier: Apache-2.0 */
/* Where the plugin of a platform is. Only names and file types are looked at: nothing is opened. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/pjrt.h"

/* Most bytes of the trace. */
#define TRACE_LIMIT ((size_t)256 * 1024)

static const char *const system_directories[] = {
    "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib",
};

typedef struct kernels_plugin_search {
    const char *platform;
    kernels_buffer trace;
    char *found; /* heap; set by the step that ends the search */
    bool stop;   /* a place that the user named holds nothing: looking further would hide the mistake */
} kernels_plugin_search;

static void note(kernels_plugin_search *s, const char *place, const char *what, const char *result) {
    kernels_buffer_printf(&s->trace, "%s%s: %s%s%s", s->trace.size ? "\n" : "", place, what ? what : "",
                          what ? ": " : "", result);
}

/* One candidate: takes it when it is a file. */
static bool consider(kernels_plugin_search *s, const char *place, const char *path) {
    if (kernels_file_is_regular(path)) {
        s->found = kernels_strdup(path);
        note(s, place, path, "found");
        return true;
    }
    note(s, place, path, "no such file");
    return false;
}

/* A path that the user gave by option or variable. */
static void consider_named(kernels_plugin_search *s, const char *place, const char *path) {
    if (!consider(s, place, path)) {
        s->stop = true;
    }
}

/* "name:path,name:path"; the first entry of our platform counts. */
static void search_names(kernels_plugin_search *s) {
    static const char variable[] = "PJRT_NAMES_AND_LIBRARY_PATHS";
    const char *value = getenv(variable);
    if (!value || !*value) {
        note(s, variable, NULL, "not set");
        return;
    }
    kernels_view rest = kernels_view_of(value);
    kernels_view entry;
    while (kernels_view_split(&rest, ',', &entry)) {
        entry = kernels_view_trim_ascii(entry);
        size_t colon = kernels_view_find(entry, ':');
        if (colon != SIZE_MAX && kernels_view_equal_text(kernels_view_slice(entry, 0, colon), s->platform)) {
            KERNELS_CLEANUP_FREE char *path = kernels_strndup(entry.data + colon + 1, entry.size - colon - 1);
            if (path) {
                consider_named(s, variable, path);
            }
            return;
        }
    }
    note(s, variable, NULL, "set, without this platform");
}

static void search_tpu_library_path(kernels_plugin_search *s) {
    static const char variable[] = "TPU_LIBRARY_PATH";
    const char *value = getenv(variable);
    if (value && *value) {
        consider_named(s, variable, value);
    } else {
        note(s, variable, NULL, "not set");
    }
}

/* "xla_cpu_pjrt" is a folder for "cpu": the platform is one of its words. */
static bool folder_is_for(const char *folder, const char *platform) {
    kernels_view rest = kernels_view_of(folder);
    kernels_view word;
    while (kernels_view_split(&rest, '_', &word)) {
        if (kernels_view_equal_text(word, platform)) {
            return true;
        }
    }
    return false;
}

/* Takes the first shared object of a folder, by name. */
static void search_folder(kernels_plugin_search *s, const char *place, const char *folder) {
    kernels_listing files;
    if (kernels_list(folder, KERNELS_LIST_CHILDREN, &files, NULL)) {
        return;
    }
    for (size_t i = 0; i < files.count && !s->found; i++) {
        if (kernels_view_ends_with(kernels_view_of(files.entries[i].path), KERNELS_VIEW(".so"))) {
            KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, files.entries[i].path);
            if (path) {
                (void)consider(s, place, path);
            }
        }
    }
    kernels_listing_dispose(&files);
}

static void search_xla_plugins(kernels_plugin_search *s, const char *place, const char *directory) {
    kernels_listing folders;
    if (kernels_list(directory, KERNELS_LIST_CHILDREN, &folders, NULL)) {
        note(s, place, directory, "no such folder");
        return;
    }
    size_t before = s->trace.size;
    for (size_t i = 0; i < folders.count && !s->found; i++) {
        if (folder_is_for(folders.entries[i].path, s->platform)) {
            KERNELS_CLEANUP_FREE char *folder = kernels_path_join(directory, folders.entries[i].path);
            if (folder) {
                search_folder(s, place, folder);
            }
        }
    }
    if (s->trace.size == before) {
        note(s, place, directory, "no plugin of this platform");
    }
    kernels_listing_dispose(&folders);
}

static void search_site_packages(kernels_plugin_search *s, const char *site_packages) {
    static const char place[] = "site-packages";
    if (!site_packages || !*site_packages) {
        note(s, place, NULL, "no Python environment known (KERNELS_PYTHON, VIRTUAL_ENV)");
        return;
    }
    bool is_tpu = strcmp(s->platform, "tpu") == 0;
    KERNELS_CLEANUP_FREE char *path = is_tpu ? kernels_path_join3(site_packages, "libtpu", "libtpu.so")
                                             : kernels_path_join(site_packages, "xla_plugins");
    if (!path) {
        return;
    }
    if (is_tpu) {
        (void)consider(s, place, path);
    } else {
        search_xla_plugins(s, place, path);
    }
}

static void search_system_directory(kernels_plugin_search *s, const char *directory, kernels_view name) {
    KERNELS_CLEANUP_FREE char *file = kernels_strndup(name.data, name.size);
    KERNELS_CLEANUP_FREE char *path = file ? kernels_path_join(directory, file) : NULL;
    if (path && kernels_file_is_regular(path)) {
        (void)consider(s, "system library path", path);
    }
}

static void search_system(kernels_plugin_search *s) {
    char name[64];
    bool is_tpu = strcmp(s->platform, "tpu") == 0;
    kernels_buffer text = KERNELS_BUFFER_INIT(sizeof(name) - 1);
    kernels_buffer_printf(&text, is_tpu ? "lib%s.so" : "xla_%s_pjrt.so", s->platform);
    kernels_view rest = kernels_view_of(getenv("LD_LIBRARY_PATH"));
    kernels_view piece;
    while (!s->found && rest.size && kernels_view_split(&rest, ':', &piece)) {
        KERNELS_CLEANUP_FREE char *directory = kernels_strndup(piece.data, piece.size);
        if (directory && *directory) {
            search_system_directory(s, directory, kernels_buffer_view(&text));
        }
    }
    for (size_t i = 0; !s->found && i < sizeof(system_directories) / sizeof(system_directories[0]); i++) {
        search_system_directory(s, system_directories[i], kernels_buffer_view(&text));
    }
    if (!s->found) {
        note(s, "system library path", kernels_buffer_text(&text), "not there");
    }
    kernels_buffer_dispose(&text);
}

static void search_all(kernels_plugin_search *s, const kernels_pjrt_search_options *options) {
    if (options && options->plugin && *options->plugin) {
        consider_named(s, "option", options->plugin);
        return;
    }
    note(s, "option", NULL, "not given");
    search_names(s);
    if (!s->found && !s->stop && strcmp(s->platform, "tpu") == 0) {
        search_tpu_library_path(s);
    }
    if (!s->found && !s->stop) {
        search_site_packages(s, options ? options->site_packages : NULL);
    }
    if (!s->found && !s->stop) {
        search_system(s);
    }
}

kernels_status kernels_pjrt_plugin_search(const char *platform, const kernels_pjrt_search_options *options, char **path,
                                          char **trace, kernels_error *error) {
    kernels_plugin_search s = {.platform = platform, .trace = KERNELS_BUFFER_INIT(TRACE_LIMIT)};
    search_all(&s, options);
    kernels_status status = kernels_buffer_status(&s.trace, error);
    if (!status && !s.found) {
        status = kernels_fail(error, KERNELS_PLUGIN_NOT_FOUND,
                              "no PJRT plugin for platform %s found. Looked at, in this order:\n%s\n"
                              "Install one (pip install %s), or name its file with --plugin or "
                              "PJRT_NAMES_AND_LIBRARY_PATHS=%s:FILE",
                              platform, kernels_buffer_text(&s.trace),
                              strcmp(platform, "tpu") == 0 ? "libtpu" : "xla-cpu-pjrt", platform);
    }
    if (trace) {
        *trace = kernels_buffer_take(&s.trace);
    }
    kernels_buffer_dispose(&s.trace);
    if (status) {
        kernels_free(s.found);
        return status;
    }
    *path = s.found;
    return KERNELS_OK;
}
