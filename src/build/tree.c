/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"

#define SEALED_MODE 0444

kernels_status kernels_paths_add(kernels_paths *paths, const char *path, kernels_error *error) {
    if (paths->count >= KERNELS_PATHS_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "more than %d files", KERNELS_PATHS_LIMIT);
    }
    char *copy = kernels_strdup(path);
    if (!copy || !kernels_grow((void **)&paths->items, &paths->capacity, paths->count, sizeof *paths->items,
                               KERNELS_PATHS_LIMIT)) {
        kernels_free(copy);
        return kernels_fail_no_memory(error);
    }
    paths->items[paths->count++] = copy;
    return KERNELS_OK;
}

static int compare_texts(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void kernels_paths_sort(kernels_paths *paths) {
    size_t kept = 0;
    if (paths->count > 1) {
        qsort(paths->items, paths->count, sizeof *paths->items, compare_texts);
    }
    for (size_t i = 0; i < paths->count; i++) {
        if (kept && strcmp(paths->items[kept - 1], paths->items[i]) == 0) {
            kernels_free(paths->items[i]);
        } else {
            paths->items[kept++] = paths->items[i];
        }
    }
    paths->count = kept;
}

void kernels_paths_dispose(kernels_paths *paths) {
    for (size_t i = 0; i < paths->count; i++) {
        kernels_free(paths->items[i]);
    }
    kernels_free(paths->items);
    *paths = (kernels_paths){0};
}

static kernels_status list_entries(const kernels_listing *listing, const char *directory, kernels_paths *paths,
                                   kernels_error *error) {
    for (size_t i = 0; i < listing->count; i++) {
        const kernels_entry *entry = &listing->entries[i];
        if (entry->type == KERNELS_ENTRY_FILE) {
            KERNELS_TRY(kernels_paths_add(paths, entry->path, error));
        } else if (entry->type != KERNELS_ENTRY_DIRECTORY) {
            return kernels_fail(error, KERNELS_UNSAFE_NAME, "%s/%s is no plain file: links and devices are refused",
                                directory, entry->path);
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_paths_list(const char *directory, kernels_paths *paths, kernels_error *error) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_RECURSIVE, &listing, error));
    kernels_status status = list_entries(&listing, directory, paths, error);
    kernels_listing_dispose(&listing);
    kernels_paths_sort(paths);
    return status;
}

static kernels_status copy_one(const char *path, const char *from, const char *to, unsigned mode,
                               kernels_error *error) {
    KERNELS_CLEANUP_FREE char *source = kernels_path_join(from, path);
    KERNELS_CLEANUP_FREE char *target = kernels_path_join(to, path);
    KERNELS_CLEANUP_FREE char *parent = target ? kernels_path_parent(target) : NULL;
    if (!source || !parent) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(parent, error));
    return kernels_file_copy(source, target, mode, error);
}

kernels_status kernels_paths_copy(const kernels_paths *paths, const char *from, const char *to, unsigned mode,
                                  kernels_error *error) {
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < paths->count && !status; i++) {
        status = copy_one(paths->items[i], from, to, mode, error);
    }
    return status;
}

kernels_status kernels_paths_seal(const kernels_paths *paths, const char *directory, kernels_error *error) {
    for (size_t i = 0; i < paths->count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, paths->items[i]);
        if (!path) {
            return kernels_fail_no_memory(error);
        }
        if (chmod(path, SEALED_MODE) != 0) {
            return kernels_fail_errno(error, errno, "cannot make %s read-only", path);
        }
    }
    return KERNELS_OK;
}

static kernels_status hash_one(kernels_hash *hash, const char *directory, const char *path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(directory, path);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer line = KERNELS_BUFFER_INIT(2 * KERNELS_PATH_LIMIT);
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    uint64_t size = 0;
    KERNELS_TRY(full ? KERNELS_OK : kernels_fail_no_memory(error));
    KERNELS_TRY(kernels_file_hash(full, KERNELS_HASH_SHA256, &digest, &size, error));
    kernels_digest_hex(&digest, hex);
    kernels_buffer_printf(&line, "100644 %s %llu %s\n", hex, (unsigned long long)size, path);
    KERNELS_TRY(kernels_buffer_status(&line, error));
    return kernels_hash_update(hash, line.data, line.size, error);
}

kernels_status kernels_paths_digest(const kernels_paths *paths, const char *directory,
                                    char hex[KERNELS_DIGEST_HEX_SIZE], kernels_error *error) {
    kernels_hash *hash = NULL;
    kernels_digest digest;
    KERNELS_TRY(kernels_hash_new(KERNELS_HASH_SHA256, 0, &hash, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < paths->count && !status; i++) {
        status = hash_one(hash, directory, paths->items[i], error);
    }
    status = status ? status : kernels_hash_digest(hash, &digest, error);
    kernels_hash_free(hash);
    if (!status) {
        kernels_digest_hex(&digest, hex);
    }
    return status;
}
