/* SPDX-License-Identifier: Apache-2.0 */
/* A scratch folder of a test, with files made from vectors. Include after cmocka. */
#ifndef KERNELS_TESTS_UNIT_BUILD_FOLDER_H
#define KERNELS_TESTS_UNIT_BUILD_FOLDER_H

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

static inline void must(kernels_status status, kernels_error *error) {
    if (status) {
        fail_msg("%s", kernels_error_message(error));
    }
}

static inline char *folder_make(void) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = NULL;
    must(kernels_make_temporary_directory(NULL, "kernels-test-", &path, &error), &error);
    return path;
}

static inline void folder_write(const char *folder, const char *name, kernels_view content) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = kernels_path_join(folder, name);
    char *parent = kernels_path_parent(path);
    must(kernels_make_directories(parent, &error), &error);
    must(kernels_file_write(path, content, 0, &error), &error);
    kernels_free(parent);
    kernels_free(path);
}

static inline void folder_write_text(const char *folder, const char *name, const char *content) {
    folder_write(folder, name, kernels_view_of(content));
}

/* Heap text. */
static inline char *folder_read(const char *folder, const char *name) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = kernels_path_join(folder, name), *text = NULL;
    size_t size = 0;
    must(kernels_file_read(path, (size_t)64 * 1024 * 1024, &text, &size, &error), &error);
    kernels_free(path);
    return text;
}

static inline bool folder_has(const char *folder, const char *name) {
    char *path = kernels_path_join(folder, name);
    bool exists = kernels_file_exists(path);
    kernels_free(path);
    return exists;
}

static inline void folder_remove(char *folder) {
    kernels_error error = KERNELS_ERROR_INIT;
    must(kernels_remove_tree(folder, &error), &error);
    kernels_free(folder);
}

#endif
