/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/view.h"

#define SAFE_COMPONENT_LIMIT 255
#define SAFE_PATH_LIMIT 1024

bool kernels_path_is_absolute(const char *path) { return path[0] == '/'; }

char *kernels_path_join(const char *directory, const char *name) {
    kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    if (!kernels_path_is_absolute(name) && directory[0] != '\0') {
        kernels_buffer_add_text(&path, directory);
        if (name[0] != '\0' && directory[strlen(directory) - 1] != '/') {
            kernels_buffer_add_char(&path, '/');
        }
    }
    kernels_buffer_add_text(&path, name);
    return kernels_buffer_take(&path);
}

char *kernels_path_join3(const char *a, const char *b, const char *c) {
    KERNELS_CLEANUP_FREE char *head = kernels_path_join(a, b);
    return head ? kernels_path_join(head, c) : NULL;
}

static kernels_view without_trailing_slashes(const char *path) {
    kernels_view view = kernels_view_of(path);
    while (view.size > 1 && view.data[view.size - 1] == '/') {
        view.size--;
    }
    return view;
}

char *kernels_path_parent(const char *path) {
    kernels_view view = without_trailing_slashes(path);
    size_t slash = kernels_view_find_last(view, '/');
    if (slash == SIZE_MAX) {
        return kernels_strdup(".");
    }
    while (slash > 0 && view.data[slash - 1] == '/') {
        slash--;
    }
    return slash == 0 ? kernels_strdup("/") : kernels_strndup(view.data, slash);
}

kernels_view kernels_path_name(const char *path) {
    kernels_view view = without_trailing_slashes(path);
    size_t slash = kernels_view_find_last(view, '/');
    return slash == SIZE_MAX ? view : kernels_view_slice(view, slash + 1, view.size);
}

char *kernels_path_absolute(const char *path) {
    if (kernels_path_is_absolute(path)) {
        return kernels_strdup(path);
    }
    char directory[PATH_MAX];
    return getcwd(directory, sizeof directory) ? kernels_path_join(directory, path) : kernels_strdup(path);
}

char *kernels_path_resolve(const char *path) {
    char resolved[PATH_MAX];
    return realpath(path, resolved) ? kernels_strdup(resolved) : NULL;
}

/* Length of the $NAME or ${NAME} at the start of text, 0 when there is none; *name is NAME. */
static size_t variable_at(kernels_view text, kernels_view *name) {
    bool braces = text.size > 1 && text.data[1] == '{';
    size_t begin = braces ? 2 : 1, end = begin;
    while (end < text.size && (kernels_is_alnum(text.data[end]) || text.data[end] == '_')) {
        end++;
    }
    if (end == begin || (braces && (end == text.size || text.data[end] != '}'))) {
        return 0;
    }
    *name = kernels_view_slice(text, begin, end);
    return braces ? end + 1 : end;
}

static void expand_variable(kernels_buffer *out, kernels_view whole, kernels_view name) {
    KERNELS_CLEANUP_FREE char *text = kernels_strndup(name.data, name.size);
    const char *value = text ? getenv(text) : NULL;
    kernels_buffer_add_view(out, value ? kernels_view_of(value) : whole);
}

char *kernels_path_expand(const char *path) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_view rest = kernels_view_of(path);
    const char *home = getenv("HOME");
    if (path[0] == '~' && (path[1] == '\0' || path[1] == '/') && home && home[0] != '\0') {
        kernels_buffer_add_text(&out, home);
        rest = kernels_view_slice(rest, 1, rest.size);
    }
    while (rest.size > 0) {
        kernels_view name;
        size_t size = rest.data[0] == '$' ? variable_at(rest, &name) : 0;
        if (size > 0) {
            expand_variable(&out, kernels_view_slice(rest, 0, size), name);
        } else {
            size = 1;
            kernels_buffer_add_char(&out, rest.data[0]);
        }
        rest = kernels_view_slice(rest, size, rest.size);
    }
    return kernels_buffer_take(&out);
}

static const char *component_unsafe_reason(kernels_view part) {
    if (part.size == 0) {
        return "it has an empty component";
    }
    if (kernels_view_equal(part, KERNELS_VIEW(".")) || kernels_view_equal(part, KERNELS_VIEW(".."))) {
        return "it has a \".\" or \"..\" component";
    }
    if (part.size > SAFE_COMPONENT_LIMIT) {
        return "it has a component longer than 255 bytes";
    }
    if (part.size >= 2 && kernels_is_alpha(part.data[0]) && part.data[1] == ':') {
        return "it has a drive letter";
    }
    return NULL;
}

const char *kernels_path_unsafe_reason(kernels_view path) {
    if (path.size == 0) {
        return "it is empty";
    }
    if (path.size > SAFE_PATH_LIMIT) {
        return "it is longer than 1024 bytes";
    }
    if (path.data[0] == '/') {
        return "it is absolute";
    }
    for (size_t i = 0; i < path.size; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c < 0x20 || c == 0x7f) {
            return "it has a control character";
        }
        if (c == '\\') {
            return "it has a backslash";
        }
    }
    if (!kernels_view_is_utf8(path)) {
        return "it is not UTF-8";
    }
    kernels_view rest = path, part;
    while (kernels_view_split(&rest, '/', &part)) {
        const char *reason = component_unsafe_reason(part);
        if (reason) {
            return reason;
        }
    }
    return NULL;
}
