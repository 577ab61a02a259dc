/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mirror.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"

/* Fetched at a time: so much stands in the cache folder beside the store. */
#define BATCH_FILES ((size_t)256)
#define BATCH_BYTES (UINT64_C(1024) * 1024 * 1024)
#define BLOCK ((size_t)256 * 1024)
#define ARENA_LIMIT ((size_t)256 * 1024 * 1024)

typedef struct mirror {
    const kernels_mirror_options *options;
    kernels_mirror_result *result;
    kernels_repository *repository;
    const kernels_ref *ref;
    kernels_tree tree;
    kernels_arena *arena; /* of the commit */
} mirror;

/* ---- one file ---- */

typedef kernels_status add_function(void *writer, const void *data, size_t size, kernels_error *error);

static kernels_status copy_file(const char *path, void *writer, add_function *add, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *block = kernels_malloc(BLOCK);
    FILE *file = fopen(path, "rb");
    if (file == NULL || block == NULL) {
        int number = errno;
        if (file != NULL) {
            fclose(file);
            return kernels_fail_no_memory(error);
        }
        return kernels_fail_errno(error, number, "cannot read %s", path);
    }
    kernels_status status = KERNELS_OK;
    size_t got = 1;
    while (status == KERNELS_OK && got > 0) {
        got = fread(block, 1, BLOCK, file);
        status = got > 0 ? add(writer, block, got, error) : KERNELS_OK;
    }
    if (status == KERNELS_OK && ferror(file)) {
        status = kernels_fail(error, KERNELS_IO, "cannot read %s", path);
    }
    fclose(file);
    return status;
}

static kernels_status add_to_blob(void *writer, const void *data, size_t size, kernels_error *error) {
    return kernels_blob_writer_add(writer, data, size, error);
}

static kernels_status add_to_large_file(void *writer, const void *data, size_t size, kernels_error *error) {
    return kernels_lfs_writer_add(writer, data, size, error);
}

static kernels_status store_blob(mirror *m, const kernels_tree_entry *entry, const char *path, kernels_error *error) {
    char oid[KERNELS_COMMIT_ID_SIZE];
    kernels_blob_writer *writer = NULL;
    KERNELS_TRY(kernels_blob_writer_new(m->repository, &writer, error));
    kernels_status status = copy_file(path, writer, add_to_blob, error);
    if (status == KERNELS_OK) {
        status = kernels_blob_writer_finish(writer, oid, error);
    }
    kernels_blob_writer_free(writer);
    if (status == KERNELS_OK && strcmp(oid, entry->oid) != 0) {
        status =
            kernels_fail(error, KERNELS_INTEGRITY, "%s has the id %s here and %s there", entry->path, oid, entry->oid);
    }
    return status;
}

static kernels_status store_large_file(mirror *m, const kernels_tree_entry *entry, const char *path,
                                       kernels_error *error) {
    char found[KERNELS_SHA256_HEX_SIZE];
    kernels_lfs_writer *writer = NULL;
    KERNELS_TRY(kernels_lfs_writer_open(m->options->store, entry->lfs_sha256, entry->size, &writer, error));
    kernels_status status = copy_file(path, writer, add_to_large_file, error);
    if (status != KERNELS_OK) {
        kernels_lfs_writer_abort(writer);
        return status;
    }
    KERNELS_TRY(kernels_lfs_writer_finish(writer, found, error));
    return kernels_repository_grant_lfs(m->repository, entry->lfs_sha256, error);
}

static bool is_here(mirror *m, const kernels_tree_entry *entry) {
    uint64_t size;
    if (entry->lfs_sha256[0] != '\0') {
        return kernels_repository_lfs_size(m->repository, entry->lfs_sha256, &size, NULL) == KERNELS_OK &&
               size == entry->size;
    }
    return kernels_repository_has_blob(m->repository, entry->oid);
}

/* ---- the files of a commit ---- */

static kernels_status empty_cache(mirror *m, kernels_error *error) {
    const char *cache = kernels_hub_cache_directory(m->options->hub);
    KERNELS_TRY(kernels_remove_tree(cache, error));
    return kernels_make_directories(cache, error);
}

static kernels_status fetch_batch(mirror *m, const kernels_tree_entry *const *files, size_t count,
                                  kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    KERNELS_TRY(empty_cache(m, error));
    KERNELS_TRY(kernels_hub_fetch(m->options->hub, m->options->type, m->options->repo_id, m->ref->commit, files, count,
                                  NULL, &snapshot, error));
    for (size_t i = 0; i < count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(snapshot, files[i]->path);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(files[i]->lfs_sha256[0] != '\0' ? store_large_file(m, files[i], path, error)
                                                    : store_blob(m, files[i], path, error));
        m->result->new_files++;
        m->result->new_bytes += files[i]->size;
    }
    return KERNELS_OK;
}

static kernels_status fetch_missing(mirror *m, kernels_error *error) {
    const kernels_tree_entry *batch[BATCH_FILES];
    size_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->tree.count; i++) {
        const kernels_tree_entry *entry = &m->tree.entries[i];
        if (entry->is_directory || is_here(m, entry)) {
            continue;
        }
        if (count == BATCH_FILES || (count > 0 && bytes + entry->size > BATCH_BYTES)) {
            KERNELS_TRY(fetch_batch(m, batch, count, error));
            count = 0;
            bytes = 0;
        }
        batch[count++] = entry;
        bytes += entry->size;
    }
    return count > 0 ? fetch_batch(m, batch, count, error) : KERNELS_OK;
}

static kernels_status list_files(mirror *m, kernels_change **files, size_t *count, kernels_error *error) {
    *files = kernels_arena_array(m->arena, m->tree.count + 1, sizeof **files);
    *count = 0;
    if (*files == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < m->tree.count; i++) {
        const kernels_tree_entry *entry = &m->tree.entries[i];
        kernels_change *file = &(*files)[*count];
        if (entry->is_directory) {
            continue;
        }
        const char *reason = kernels_store_path_unsafe_reason(kernels_view_of(entry->path));
        if (reason != NULL) {
            return kernels_fail(error, KERNELS_UNSAFE_NAME, "%s cannot be used: %s", entry->path, reason);
        }
        *file = (kernels_change){.type = KERNELS_CHANGE_PUT, .path = entry->path};
        if (entry->lfs_sha256[0] != '\0') {
            KERNELS_TRY(
                kernels_repository_add_pointer(m->repository, entry->lfs_sha256, entry->size, file->oid, error));
        } else {
            snprintf(file->oid, sizeof file->oid, "%.40s", entry->oid);
        }
        (*count)++;
    }
    return KERNELS_OK;
}

/* ---- dependencies ---- */

static kernels_status read_metadata(mirror *m, const kernels_tree_entry *entry, kernels_error *error) {
    kernels_blob_reader *reader = NULL;
    kernels_metadata metadata;
    size_t got = 1, size = 0;
    char *text = kernels_arena_allocate(m->arena, (size_t)entry->size + 1);
    if (text == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_blob_reader_open(m->repository, entry->oid, 0, &reader, error));
    kernels_status status = KERNELS_OK;
    while (status == KERNELS_OK && got > 0) {
        status = kernels_blob_reader_read(reader, text + size, (size_t)entry->size - size, &got, error);
        size += status == KERNELS_OK ? got : 0;
    }
    kernels_blob_reader_close(reader);
    KERNELS_TRY(status);
    if (kernels_metadata_parse((kernels_view){text, size}, entry->path, &metadata, NULL) == KERNELS_OK) {
        for (size_t i = 0; i < metadata.kernel_depends_count; i++) {
            m->options->dependency(m->options->payload, metadata.kernel_depends[i].repo_id);
        }
        kernels_metadata_dispose(&metadata);
    }
    return KERNELS_OK; /* metadata that cannot be read is for those who load the kernel */
}

static kernels_status tell_dependencies(mirror *m, kernels_error *error) {
    for (size_t i = 0; i < m->tree.count && m->options->dependency != NULL; i++) {
        const kernels_tree_entry *entry = &m->tree.entries[i];
        kernels_view path = kernels_view_of(entry->path);
        if (!entry->is_directory && entry->lfs_sha256[0] == '\0' && entry->size <= KERNELS_METADATA_SIZE_LIMIT &&
            kernels_view_starts_with(path, KERNELS_VIEW("build/")) &&
            kernels_view_ends_with(path, KERNELS_VIEW("/metadata.json"))) {
            KERNELS_TRY(read_metadata(m, entry, error));
        }
    }
    return KERNELS_OK;
}

/* ---- references ---- */

static kernels_status copy_commit(mirror *m, kernels_error *error) {
    kernels_change *files;
    kernels_import import = {.reference = m->ref->ref, .origin = m->ref->commit};
    if (!kernels_repository_has_origin(m->repository, m->ref->commit)) {
        KERNELS_TRY(fetch_missing(m, error));
        KERNELS_TRY(list_files(m, &files, &import.file_count, error));
        import.files = files;
        import.message = kernels_arena_printf(m->arena, "%s at %s\n", m->options->repo_id, m->ref->commit);
        if (import.message == NULL) {
            return kernels_fail_no_memory(error);
        }
        m->result->new_commits++;
    }
    m->result->references++;
    KERNELS_TRY(kernels_repository_import(m->repository, &import, error));
    return tell_dependencies(m, error);
}

static kernels_status copy_ref(mirror *m, const kernels_ref *ref, kernels_error *error) {
    m->ref = ref;
    m->arena = kernels_arena_new(ARENA_LIMIT);
    if (m->arena == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_hub_tree(m->options->hub, m->options->type, m->options->repo_id, ref->commit, NULL,
                                             true, &m->tree, error);
    if (status == KERNELS_OK) {
        status = copy_commit(m, error);
        kernels_tree_dispose(&m->tree);
    }
    kernels_arena_free(m->arena);
    return status == KERNELS_OK ? KERNELS_OK
                                : kernels_wrap(error, status, "cannot mirror %s of %s", ref->ref, m->options->repo_id);
}

static kernels_status copy_refs(mirror *m, const kernels_ref *refs, size_t count, kernels_error *error) {
    for (size_t i = 0; i < count; i++) {
        KERNELS_TRY(copy_ref(m, &refs[i], error));
    }
    return KERNELS_OK;
}

static kernels_status open_repository(mirror *m, kernels_error *error) {
    const kernels_mirror_options *options = m->options;
    kernels_view id = kernels_view_of(options->repo_id);
    kernels_status status = kernels_store_create_repository(options->store, options->type, id, false, error);
    if (status != KERNELS_OK && status != KERNELS_ALREADY_EXISTS) {
        return status;
    }
    kernels_error_dispose(error);
    return kernels_repository_open(options->store, options->type, id, &m->repository, error);
}

kernels_status kernels_mirror_repository(const kernels_mirror_options *options, kernels_mirror_result *result,
                                         kernels_error *error) {
    mirror m = {.options = options, .result = result};
    kernels_refs refs = {0};
    *result = (kernels_mirror_result){0};
    /* first of all: a repository that is not there leaves no empty one here */
    KERNELS_TRY(kernels_hub_refs(options->hub, options->type, options->repo_id, false, &refs, error));
    kernels_status status = open_repository(&m, error);
    if (status == KERNELS_OK) {
        status = copy_refs(&m, refs.branches, refs.branch_count, error);
    }
    if (status == KERNELS_OK) {
        status = copy_refs(&m, refs.tags, refs.tag_count, error);
    }
    kernels_repository_close(m.repository);
    kernels_refs_dispose(&refs);
    return status;
}
