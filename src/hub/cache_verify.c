/* SPDX-License-Identifier: Apache-2.0 */
/* Is what the cache holds what the Hub gave? */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/view.h"
#include "hub/cache_scan.h"
#include "hub/repo_url.h"
#include "hub/tree_cache.h"

static void report(kernels_cache_check *check, const kernels_scanned_repository *r, const char *path,
                   const char *text) {
    check->problems++;
    check->problem(check->payload, r->repo_id, path, text);
}

static kernels_status check_cancelled(const kernels_cache_check *check, kernels_error *error) {
    return check->cancelled && check->cancelled(check->payload)
               ? kernels_fail(error, KERNELS_INTERRUPTED, "interrupted")
               : KERNELS_OK;
}

/* id: 40 digits name a git blob, 64 a SHA-256. */
static kernels_status check_content(const kernels_scanned_repository *r, const char *path, const char *id,
                                    kernels_cache_check *check, kernels_error *error) {
    kernels_digest digest;
    kernels_error failure = KERNELS_ERROR_INIT;
    uint64_t size = 0;
    KERNELS_TRY(check_cancelled(check, error));
    kernels_hash_algorithm algorithm = strlen(id) == 64 ? KERNELS_HASH_SHA256 : KERNELS_HASH_GIT_BLOB;
    kernels_status status = kernels_file_hash(path, algorithm, &digest, &size, &failure);
    if (status == KERNELS_NO_MEMORY) {
        kernels_error_move(error, &failure);
        return status;
    }
    if (status != KERNELS_OK) {
        report(check, r, path, kernels_error_message(&failure));
    } else if (!kernels_digest_equal_hex(&digest, kernels_view_of(id))) {
        report(check, r, path, "the content is not what its id says: remove it and download it again");
    }
    kernels_error_dispose(&failure);
    check->files++;
    check->bytes += size;
    if (check->progress) {
        check->progress(check->payload, NULL, check->bytes, r->bytes > check->bytes ? r->bytes : check->bytes);
    }
    return KERNELS_OK;
}

static kernels_status check_blobs(const kernels_scanned_repository *r, kernels_cache_check *check,
                                  kernels_error *error) {
    for (size_t i = 0; i < r->blob_count; i++) {
        const kernels_scanned_blob *blob = &r->blobs[i];
        if (blob->is_temporary) {
            continue;
        }
        if (kernels_object_name_is_valid(kernels_view_of(blob->name))) {
            KERNELS_TRY(check_content(r, blob->path, blob->name, check, error));
        } else {
            report(check, r, blob->path, "no id: a file that does not belong here");
        }
    }
    return KERNELS_OK;
}

static const char *id_in(const kernels_tree *tree, const char *path) {
    for (size_t i = 0; i < tree->count; i++) {
        const kernels_tree_entry *entry = &tree->entries[i];
        if (strcmp(entry->path, path) == 0) {
            return entry->lfs_sha256[0] ? entry->lfs_sha256 : entry->oid;
        }
    }
    return "";
}

/* A plain file (where there are no links) has no id of its own: a listing may know it. */
static kernels_status check_plain(const kernels_scanned_repository *r, const kernels_tree *tree,
                                  const kernels_scanned_file *file, kernels_cache_check *check, kernels_error *error) {
    const char *id = id_in(tree, file->name);
    if (id[0] == '\0') {
        check->unchecked++;
        return KERNELS_OK;
    }
    return check_content(r, file->path, id, check, error);
}

static kernels_status check_files(const kernels_scanned_repository *r, const kernels_scanned_snapshot *snapshot,
                                  const kernels_tree *tree, kernels_cache_check *check, kernels_error *error) {
    for (size_t i = 0; i < snapshot->file_count; i++) {
        const kernels_scanned_file *file = &snapshot->files[i];
        if (file->is_dangling) {
            report(check, r, file->path, "a link that leads nowhere");
        } else if (!file->blob) {
            KERNELS_TRY(check_plain(r, tree, file, check, error));
        }
    }
    return KERNELS_OK;
}

static bool has_snapshot(const kernels_scanned_repository *r, const char *commit) {
    for (size_t i = 0; i < r->snapshot_count; i++) {
        if (strcmp(r->snapshots[i].commit, commit) == 0) {
            return true;
        }
    }
    return false;
}

kernels_status kernels_cache_verify(const kernels_scanned_repository *r, kernels_cache_check *check,
                                    kernels_error *error) {
    KERNELS_TRY(check_blobs(r, check, error));
    for (size_t i = 0; i < r->snapshot_count; i++) {
        kernels_tree tree = {0};
        if (!kernels_tree_cache_read(r->path, r->snapshots[i].commit, NULL, &tree)) {
            (void)kernels_tree_cache_read(r->path, r->snapshots[i].commit, "build", &tree);
        }
        kernels_status status = check_files(r, &r->snapshots[i], &tree, check, error);
        kernels_tree_dispose(&tree);
        KERNELS_TRY(status);
    }
    for (size_t i = 0; i < r->ref_count; i++) {
        const kernels_scanned_ref *ref = &r->refs[i];
        if (!ref->is_temporary && !has_snapshot(r, ref->commit)) {
            report(check, r, ref->path,
                   ref->commit[0] ? "a ref whose commit is not in the cache" : "a ref without commit");
        }
    }
    return KERNELS_OK;
}
