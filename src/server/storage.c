/* SPDX-License-Identifier: Apache-2.0 */
#include "server/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/view.h"

struct kernels_storage {
    char *directory;
    const char *const *groups;
};

/* ---- opening ---- */

kernels_status kernels_storage_open(const char *directory, const char *const *groups, kernels_storage **storage,
                                    kernels_error *error) {
    for (size_t i = 0; groups[i] != NULL; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, groups[i]);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(kernels_make_directory(path, error));
    }
    kernels_storage *opened = kernels_calloc(1, sizeof *opened);
    char *copy = kernels_strdup(directory);
    if (opened == NULL || copy == NULL) {
        kernels_free(opened);
        kernels_free(copy);
        return kernels_fail_no_memory(error);
    }
    *opened = (kernels_storage){.directory = copy, .groups = groups};
    *storage = opened;
    return KERNELS_OK;
}

void kernels_storage_close(kernels_storage *storage) {
    if (storage != NULL) {
        kernels_free(storage->directory);
        kernels_free(storage);
    }
}

static bool is_key_part(kernels_view part) {
    for (size_t i = 0; i < part.size; i++) {
        if (!kernels_is_lower(part.data[i]) && !kernels_is_digit(part.data[i]) && part.data[i] != '-') {
            return false;
        }
    }
    return part.size > 0 && part.size <= 128;
}

static kernels_status key_path(const kernels_storage *storage, const char *key, char **path, kernels_error *error) {
    kernels_view view = kernels_view_of(key);
    size_t slash = kernels_view_find(view, '/');
    if (slash == SIZE_MAX || !is_key_part(kernels_view_slice(view, 0, slash)) ||
        !is_key_part(kernels_view_slice(view, slash + 1, view.size))) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "malformed key of an object");
    }
    *path = kernels_path_join(storage->directory, key);
    return *path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- read ---- */

static kernels_status open_descriptor(const char *path, int *descriptor, kernels_error *error) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return kernels_fail_errno(error, errno, "cannot open %s", path);
    }
    int copy = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    int number = errno;
    fclose(file);
    if (copy < 0) {
        return kernels_fail_errno(error, number, "cannot open %s", path);
    }
    *descriptor = copy;
    return KERNELS_OK;
}

kernels_status kernels_storage_read(const kernels_storage *storage, const char *key, int *descriptor, uint64_t *size,
                                    kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(key_path(storage, key, &path, error));
    if (!kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_NOT_FOUND, "%s is not stored", key);
    }
    KERNELS_TRY(kernels_file_size(path, size, error));
    return descriptor != NULL ? open_descriptor(path, descriptor, error) : KERNELS_OK;
}

/* ---- write once ---- */

struct kernels_storage_writer {
    kernels_file_writer *file;
};

kernels_status kernels_storage_write(const kernels_storage *storage, const char *key, kernels_storage_writer **writer,
                                     kernels_error *error) {
    static const kernels_hash_algorithm algorithms[] = {KERNELS_HASH_SHA256};
    const kernels_file_writer_options options = {.algorithms = algorithms, .algorithm_count = 1};
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(key_path(storage, key, &path, error));
    kernels_storage_writer *opened = kernels_calloc(1, sizeof *opened);
    if (opened == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_file_writer_open(path, &options, &opened->file, error);
    if (status != KERNELS_OK) {
        kernels_free(opened);
        return status;
    }
    *writer = opened;
    return KERNELS_OK;
}

kernels_status kernels_storage_writer_add(kernels_storage_writer *writer, const void *data, size_t size,
                                          kernels_error *error) {
    return kernels_file_writer_write(writer->file, data, size, error);
}

uint64_t kernels_storage_writer_size(const kernels_storage_writer *writer) {
    return kernels_file_writer_size(writer->file);
}

kernels_status kernels_storage_writer_sha256(kernels_storage_writer *writer, kernels_digest *digest,
                                             kernels_error *error) {
    return kernels_file_writer_digest(writer->file, KERNELS_HASH_SHA256, digest, error);
}

kernels_status kernels_storage_writer_finish(kernels_storage_writer *writer, kernels_error *error) {
    kernels_status status = kernels_file_writer_commit(writer->file, error);
    kernels_free(writer);
    return status;
}

void kernels_storage_writer_abort(kernels_storage_writer *writer) {
    if (writer != NULL) {
        kernels_file_writer_abort(writer->file);
        kernels_free(writer);
    }
}

/* ---- list, delete ---- */

static bool is_half_file(const char *name) {
    kernels_view view = kernels_view_of(name);
    return kernels_view_starts_with(view, KERNELS_VIEW(".")) && kernels_view_ends_with(view, KERNELS_VIEW(".tmp"));
}

kernels_status kernels_storage_list(const kernels_storage *storage, const char *group, kernels_listing *names,
                                    kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(storage->directory, group);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_list(path, KERNELS_LIST_CHILDREN, names, error));
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (names->entries[i].type == KERNELS_ENTRY_FILE && !is_half_file(names->entries[i].path)) {
            names->entries[kept++] = names->entries[i];
        } else {
            kernels_free(names->entries[i].path);
        }
    }
    names->count = kept;
    return KERNELS_OK;
}

kernels_status kernels_storage_delete(const kernels_storage *storage, const char *key, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(key_path(storage, key, &path, error));
    return kernels_remove_file(path, error);
}

static kernels_status remove_half_files(const char *directory, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        if (is_half_file(listing.entries[i].path)) {
            KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, listing.entries[i].path);
            status = path != NULL ? kernels_remove_file(path, error) : kernels_fail_no_memory(error);
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

kernels_status kernels_storage_recover(const kernels_storage *storage, kernels_error *error) {
    for (size_t i = 0; storage->groups[i] != NULL; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(storage->directory, storage->groups[i]);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(remove_half_files(path, error));
    }
    return KERNELS_OK;
}
