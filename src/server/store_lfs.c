/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/view.h"
#include "server/store_internal.h"

#define COPY_BLOCK ((size_t)1024 * 1024)
#define KEY_SIZE 160

struct kernels_lfs_writer {
    kernels_storage_writer *object;
    uint64_t expected_size;
    char sha256[KERNELS_SHA256_HEX_SIZE]; /* "" = any content of that size */
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

static kernels_status lfs_key(const char *sha256, char key[KEY_SIZE], kernels_error *error) {
    if (!kernels_is_sha256(kernels_view_of(sha256))) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "expected a SHA-256 in 64 lower-case hex digits");
    }
    snprintf(key, KEY_SIZE, "lfs/%s", sha256);
    return KERNELS_OK;
}

kernels_status kernels_store_lfs_size(const kernels_store *store, const char *sha256, uint64_t *size,
                                      kernels_error *error) {
    return kernels_store_lfs_open(store, sha256, NULL, size, error);
}

kernels_status kernels_store_lfs_open(const kernels_store *store, const char *sha256, int *descriptor, uint64_t *size,
                                      kernels_error *error) {
    char key[KEY_SIZE];
    KERNELS_TRY(lfs_key(sha256, key, error));
    return kernels_storage_read(store->storage, key, descriptor, size, error);
}

/* ---- which repository may use which content ---- */

/* An empty file in the repository's own folder, so that it goes when the repository goes. */
static kernels_status grant_path(const kernels_repository *repository, const char *sha256, char **path,
                                 kernels_error *error) {
    if (!kernels_is_sha256(kernels_view_of(sha256))) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "expected a SHA-256 in 64 lower-case hex digits");
    }
    *path = kernels_path_join3(git_repository_path(repository->git), KERNELS_STORE_GRANTS, sha256);
    return *path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_repository_grant_lfs(kernels_repository *repository, const char *sha256, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(grant_path(repository, sha256, &path, error));
    if (kernels_file_is_regular(path)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *folder = kernels_path_parent(path);
    if (folder == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directory(folder, error));
    return kernels_file_write(path, KERNELS_VIEW(""), 0, error);
}

kernels_status kernels_repository_lfs_size(const kernels_repository *repository, const char *sha256, uint64_t *size,
                                           kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(grant_path(repository, sha256, &path, error));
    if (!kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_NOT_FOUND, "the repository has no large file with SHA-256 %s", sha256);
    }
    return kernels_store_lfs_size(repository->store, sha256, size, error);
}

/* ---- writing ---- */

static kernels_status open_writer(const kernels_store *store, const char *key, const char *sha256, uint64_t size,
                                  kernels_lfs_writer **writer, kernels_error *error) {
    kernels_lfs_writer *opened = kernels_calloc(1, sizeof *opened);
    if (opened == NULL) {
        return kernels_fail_no_memory(error);
    }
    opened->expected_size = size;
    snprintf(opened->sha256, sizeof opened->sha256, "%s", sha256);
    kernels_status status = kernels_storage_write(store->storage, key, &opened->object, error);
    if (status != KERNELS_OK) {
        kernels_free(opened);
        return status;
    }
    *writer = opened;
    return KERNELS_OK;
}

kernels_status kernels_lfs_writer_open(const kernels_store *store, const char *sha256, uint64_t size,
                                       kernels_lfs_writer **writer, kernels_error *error) {
    char key[KEY_SIZE];
    KERNELS_TRY(lfs_key(sha256, key, error));
    return open_writer(store, key, sha256, size, writer, error);
}

kernels_status kernels_lfs_writer_add(kernels_lfs_writer *writer, const void *data, size_t size, kernels_error *error) {
    if (size > writer->expected_size - kernels_storage_writer_size(writer->object)) {
        return kernels_fail(error, KERNELS_INTEGRITY, "the content is longer than the announced %" PRIu64 " bytes",
                            writer->expected_size);
    }
    return kernels_storage_writer_add(writer->object, data, size, error);
}

static kernels_status check_content(kernels_lfs_writer *writer, char found[KERNELS_SHA256_HEX_SIZE],
                                    kernels_error *error) {
    uint64_t size = kernels_storage_writer_size(writer->object);
    char hex[KERNELS_DIGEST_HEX_SIZE];
    kernels_digest digest;
    if (size != writer->expected_size) {
        return kernels_fail(error, KERNELS_INTEGRITY, "expected %" PRIu64 " bytes, received %" PRIu64,
                            writer->expected_size, size);
    }
    KERNELS_TRY(kernels_storage_writer_sha256(writer->object, &digest, error));
    kernels_digest_hex(&digest, hex);
    memcpy(found, hex, KERNELS_SHA256_HEX_SIZE);
    if (writer->sha256[0] != '\0' && strcmp(found, writer->sha256) != 0) {
        return kernels_fail(error, KERNELS_INTEGRITY, "expected content with SHA-256 %s, received %s", writer->sha256,
                            found);
    }
    return KERNELS_OK;
}

kernels_status kernels_lfs_writer_finish(kernels_lfs_writer *writer, char sha256[KERNELS_SHA256_HEX_SIZE],
                                         kernels_error *error) {
    kernels_status status = check_content(writer, sha256, error);
    if (status != KERNELS_OK) {
        kernels_lfs_writer_abort(writer);
        return status;
    }
    status = kernels_storage_writer_finish(writer->object, error);
    kernels_free(writer);
    return status;
}

void kernels_lfs_writer_abort(kernels_lfs_writer *writer) {
    if (writer != NULL) {
        kernels_storage_writer_abort(writer->object);
        kernels_free(writer);
    }
}

/* ---- in parts ---- */

static void part_key(const char *upload, uint64_t number, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "parts/%s-%" PRIu64, upload, number);
}

kernels_status kernels_lfs_writer_open_part(const kernels_store *store, const char *upload, uint64_t number,
                                            uint64_t size, kernels_lfs_writer **writer, kernels_error *error) {
    char key[KEY_SIZE];
    part_key(upload, number, key);
    return open_writer(store, key, "", size, writer, error);
}

static kernels_status copy_descriptor(int from, kernels_lfs_writer *to, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *block = kernels_malloc(COPY_BLOCK);
    if (block == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (;;) {
        ssize_t got = read(from, block, COPY_BLOCK);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? KERNELS_OK : kernels_fail_errno(error, errno, "cannot read a part of an upload");
        }
        KERNELS_TRY(kernels_lfs_writer_add(to, block, (size_t)got, error));
    }
}

static kernels_status add_parts(const kernels_store *store, const char *upload, uint64_t count, kernels_lfs_writer *to,
                                kernels_error *error) {
    for (uint64_t number = 1; number <= count; number++) {
        char key[KEY_SIZE];
        uint64_t size;
        int descriptor = -1;
        part_key(upload, number, key);
        kernels_status status = kernels_storage_read(store->storage, key, &descriptor, &size, error);
        if (status == KERNELS_NOT_FOUND) {
            return kernels_fail(error, KERNELS_BAD_REQUEST, "part %" PRIu64 " was not sent", number);
        }
        KERNELS_TRY(status);
        status = copy_descriptor(descriptor, to, error);
        close(descriptor);
        KERNELS_TRY(status);
    }
    return KERNELS_OK;
}

kernels_status kernels_store_lfs_join(const kernels_store *store, const char *upload, uint64_t count,
                                      const char *sha256, uint64_t size, kernels_error *error) {
    char found[KERNELS_SHA256_HEX_SIZE];
    kernels_lfs_writer *writer = NULL;
    KERNELS_TRY(kernels_lfs_writer_open(store, sha256, size, &writer, error));
    kernels_status status = add_parts(store, upload, count, writer, error);
    if (status != KERNELS_OK) {
        kernels_lfs_writer_abort(writer);
        return status; /* the parts stay: what is missing may still come */
    }
    status = kernels_lfs_writer_finish(writer, found, error);
    for (uint64_t number = 1; number <= count; number++) {
        char key[KEY_SIZE];
        part_key(upload, number, key);
        (void)kernels_storage_delete(store->storage, key, NULL);
    }
    return status;
}

kernels_status kernels_store_lfs_forget_parts(const kernels_store *store, kernels_error *error) {
    kernels_listing names = {0};
    KERNELS_TRY(kernels_storage_list(store->storage, "parts", &names, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < names.count && status == KERNELS_OK; i++) {
        KERNELS_CLEANUP_FREE char *key = kernels_path_join("parts", names.entries[i].path);
        status = key != NULL ? kernels_storage_delete(store->storage, key, error) : kernels_fail_no_memory(error);
    }
    kernels_listing_dispose(&names);
    return status;
}
