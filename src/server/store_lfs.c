/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/view.h"
#include "server/store_internal.h"

struct kernels_lfs_writer {
    kernels_file_writer *file;
    uint64_t expected_size;
    char sha256[KERNELS_SHA256_HEX_SIZE];
};

bool kernels_is_sha256(kernels_view text) {
    if (!kernels_view_is_hex(text, KERNELS_SHA256_HEX_SIZE - 1)) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (kernels_is_upper(text.data[i])) {
            return false;
        }
    }
    return true;
}

static kernels_status lfs_path(const kernels_store *store, const char *sha256, char **path, kernels_error *error) {
    if (!kernels_is_sha256(kernels_view_of(sha256))) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "expected a SHA-256 in 64 lower-case hex digits");
    }
    *path = kernels_path_join(store->lfs_directory, sha256);
    return *path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_store_lfs_size(const kernels_store *store, const char *sha256, uint64_t *size,
                                      kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(lfs_path(store, sha256, &path, error));
    if (!kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_NOT_FOUND, "no large file with SHA-256 %s is stored", sha256);
    }
    return kernels_file_size(path, size, error);
}

kernels_status kernels_store_lfs_open(const kernels_store *store, const char *sha256, int *descriptor, uint64_t *size,
                                      kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(lfs_path(store, sha256, &path, error));
    KERNELS_TRY(kernels_store_lfs_size(store, sha256, size, error));
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

kernels_status kernels_lfs_writer_open(const kernels_store *store, const char *sha256, uint64_t size,
                                       kernels_lfs_writer **writer, kernels_error *error) {
    static const kernels_hash_algorithm algorithms[] = {KERNELS_HASH_SHA256};
    const kernels_file_writer_options options = {.algorithms = algorithms, .algorithm_count = 1};
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(lfs_path(store, sha256, &path, error));
    kernels_lfs_writer *opened = kernels_calloc(1, sizeof *opened);
    if (opened == NULL) {
        return kernels_fail_no_memory(error);
    }
    opened->expected_size = size;
    memcpy(opened->sha256, sha256, KERNELS_SHA256_HEX_SIZE);
    kernels_status status = kernels_file_writer_open(path, &options, &opened->file, error);
    if (status != KERNELS_OK) {
        kernels_free(opened);
        return status;
    }
    *writer = opened;
    return KERNELS_OK;
}

kernels_status kernels_lfs_writer_add(kernels_lfs_writer *writer, const void *data, size_t size, kernels_error *error) {
    if (size > writer->expected_size - kernels_file_writer_size(writer->file)) {
        return kernels_fail(error, KERNELS_INTEGRITY, "the content of %s is longer than the announced %llu bytes",
                            writer->sha256, (unsigned long long)writer->expected_size);
    }
    return kernels_file_writer_write(writer->file, data, size, error);
}

static kernels_status check_content(kernels_lfs_writer *writer, kernels_error *error) {
    uint64_t size = kernels_file_writer_size(writer->file);
    if (size != writer->expected_size) {
        return kernels_fail(error, KERNELS_INTEGRITY, "expected %llu bytes of %s, received %llu",
                            (unsigned long long)writer->expected_size, writer->sha256, (unsigned long long)size);
    }
    kernels_digest digest;
    KERNELS_TRY(kernels_file_writer_digest(writer->file, KERNELS_HASH_SHA256, &digest, error));
    if (!kernels_digest_equal_hex(&digest, kernels_view_of(writer->sha256))) {
        char found[KERNELS_DIGEST_HEX_SIZE];
        kernels_digest_hex(&digest, found);
        return kernels_fail(error, KERNELS_INTEGRITY, "expected content with SHA-256 %s, received %s", writer->sha256,
                            found);
    }
    return KERNELS_OK;
}

kernels_status kernels_lfs_writer_finish(kernels_lfs_writer *writer, kernels_error *error) {
    kernels_status status = check_content(writer, error);
    if (status != KERNELS_OK) {
        kernels_lfs_writer_abort(writer);
        return status;
    }
    status = kernels_file_writer_commit(writer->file, error);
    kernels_free(writer);
    return status;
}

void kernels_lfs_writer_abort(kernels_lfs_writer *writer) {
    if (writer != NULL) {
        kernels_file_writer_abort(writer->file);
        kernels_free(writer);
    }
}
