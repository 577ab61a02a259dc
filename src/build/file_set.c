/* SPDX-License-Identifier: Apache-2.0 */
#include "build/file_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "build/embedded.h"

#define TEMPLATE_OUTPUT_LIMIT ((size_t)1024 * 1024)

static kernels_status add_taking(kernels_file_set *set, char *path, char *content, size_t size, kernels_error *error) {
    if (!path || !content ||
        !kernels_grow((void **)&set->items, &set->capacity, set->count, sizeof *set->items, KERNELS_FILE_SET_LIMIT)) {
        kernels_free(path);
        kernels_free(content);
        return kernels_fail_no_memory(error);
    }
    set->items[set->count++] = (kernels_new_file){path, content, size};
    return KERNELS_OK;
}

kernels_status kernels_file_set_add(kernels_file_set *set, const char *path, kernels_view content,
                                    kernels_error *error) {
    return add_taking(set, kernels_strdup(path), kernels_strndup(content.data ? content.data : "", content.size),
                      content.size, error);
}

static bool is_placeholder_character(char c) { return kernels_is_lower(c) || c == '_'; }

static const char *placeholder_value(const kernels_placeholder *table, kernels_view name) {
    for (; table->name; table++) {
        if (kernels_view_equal_text(name, table->name)) {
            return table->value;
        }
    }
    return NULL;
}

static void fill(kernels_view text, const kernels_placeholder *table, kernels_buffer *out) {
    size_t at = 0;
    while (at < text.size) {
        size_t end = at + 1;
        if (text.data[at] == '@') {
            while (end < text.size && is_placeholder_character(text.data[end])) {
                end++;
            }
            const char *value = end < text.size && text.data[end] == '@'
                                    ? placeholder_value(table, kernels_view_slice(text, at + 1, end))
                                    : NULL;
            if (value) {
                kernels_buffer_add_text(out, value);
                at = end + 1;
                continue;
            }
            end = at + 1;
        }
        while (end < text.size && text.data[end] != '@') {
            end++;
        }
        kernels_buffer_add_view(out, kernels_view_slice(text, at, end));
        at = end;
    }
}

static kernels_status add_filled(kernels_file_set *set, kernels_view path, kernels_view text,
                                 const kernels_placeholder *table, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer content = KERNELS_BUFFER_INIT(TEMPLATE_OUTPUT_LIMIT);
    fill(path, table, &name);
    fill(text, table, &content);
    KERNELS_TRY(kernels_buffer_status(&name, error));
    KERNELS_TRY(kernels_buffer_status(&content, error));
    return kernels_file_set_add(set, kernels_buffer_text(&name), kernels_buffer_view(&content), error);
}

kernels_status kernels_file_set_add_templates(kernels_file_set *set, const char *folder,
                                              const kernels_placeholder *placeholders, kernels_error *error) {
    kernels_view prefix = kernels_view_of(folder);
    bool found = false;
    for (size_t i = 0; i < kernels_templates_count; i++) {
        kernels_view path = kernels_view_of(kernels_templates[i].path);
        if (!kernels_view_starts_with(path, prefix) || path.size <= prefix.size || path.data[prefix.size] != '/') {
            continue;
        }
        found = true;
        KERNELS_TRY(add_filled(set, kernels_view_slice(path, prefix.size + 1, path.size), kernels_templates[i].text,
                               placeholders, error));
    }
    return found ? KERNELS_OK : kernels_fail(error, KERNELS_INTERNAL, "no templates in %s", folder);
}

size_t kernels_file_set_existing(const kernels_file_set *set, const char *directory, kernels_buffer *list) {
    size_t existing = 0;
    for (size_t i = 0; i < set->count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, set->items[i].path);
        if (path && (kernels_file_exists(path) || kernels_file_is_link(path))) {
            kernels_buffer_printf(list, "%s  %s", existing ? "\n" : "", set->items[i].path);
            existing++;
        }
    }
    return existing;
}

static kernels_status write_one(const kernels_new_file *file, const char *directory, bool *is_new,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, file->path);
    KERNELS_CLEANUP_FREE char *parent = path ? kernels_path_parent(path) : NULL;
    if (!parent) {
        return kernels_fail_no_memory(error);
    }
    *is_new = !kernels_file_exists(path);
    KERNELS_TRY(kernels_make_directories(parent, error));
    return kernels_file_write(path, (kernels_view){file->content, file->size}, 0, error);
}

kernels_status kernels_file_set_write(const kernels_file_set *set, const char *directory, kernels_error *error) {
    bool *is_new = kernels_calloc(set->count ? set->count : 1, sizeof *is_new);
    if (!is_new) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    size_t written = 0;
    while (written < set->count && !status) {
        status = write_one(&set->items[written], directory, &is_new[written], error);
        written += status ? 0 : 1;
    }
    for (size_t i = 0; status && i < written; i++) {
        KERNELS_CLEANUP_FREE char *path = is_new[i] ? kernels_path_join(directory, set->items[i].path) : NULL;
        if (path) {
            (void)kernels_remove_file(path, NULL);
        }
    }
    kernels_free(is_new);
    return status;
}

const kernels_new_file *kernels_file_set_find(const kernels_file_set *set, const char *path) {
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].path, path) == 0) {
            return &set->items[i];
        }
    }
    return NULL;
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const kernels_new_file *)a)->path, ((const kernels_new_file *)b)->path);
}

void kernels_file_set_sort(kernels_file_set *set) {
    if (set->count > 1) {
        qsort(set->items, set->count, sizeof *set->items, compare_files);
    }
}

void kernels_file_set_dispose(kernels_file_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        kernels_free(set->items[i].path);
        kernels_free(set->items[i].content);
    }
    kernels_free(set->items);
    *set = (kernels_file_set){0};
}
