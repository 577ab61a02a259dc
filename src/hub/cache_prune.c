/* SPDX-License-Identifier: Apache-2.0 */
/* Removing from the cache what nobody needs. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/cache_scan.h"
#include "hub/repo_url.h"

typedef struct prune {
    const char *cache;
    const kernels_scanned_repository *repository;
    kernels_cache_pruning *pruning;
    int64_t now;
} prune;

static bool is_old(const prune *p, int64_t modified) { return p->now - modified >= (int64_t)p->pruning->min_age; }

static void note(prune *p, const char *path, uint64_t bytes, const char *reason) {
    p->pruning->count++;
    p->pruning->bytes += bytes;
    p->pruning->removed(p->pruning->payload, p->repository->repo_id, path, bytes, reason);
}

static kernels_status remove_file(prune *p, const char *path, uint64_t bytes, const char *reason,
                                  kernels_error *error) {
    if (!p->pruning->dry_run) {
        KERNELS_TRY(kernels_remove_file(path, error));
    }
    note(p, path, bytes, reason);
    return KERNELS_OK;
}

/* The lock of a blob, whoever downloads it; false: somebody does. Without a lock file nobody can hold it. */
static bool take_lock(const prune *p, const char *blob, kernels_file_lock **lock) {
    KERNELS_CLEANUP_FREE char *folder = kernels_cache_folder_name(KERNELS_REPOSITORY_KERNEL, p->repository->repo_id);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/.locks/%s/%s.lock", p->cache, folder ? folder : "", blob);
    *lock = NULL;
    if (!folder || path.failure != KERNELS_OK) {
        return false;
    }
    return !kernels_file_exists(kernels_buffer_text(&path)) ||
           kernels_file_lock_take(kernels_buffer_text(&path), 0, lock, NULL) == KERNELS_OK;
}

/* Links that lead nowhere come first: what they name is no longer needed then. */
static kernels_status prune_links(prune *p, kernels_error *error) {
    for (size_t i = 0; i < p->repository->snapshot_count; i++) {
        const kernels_scanned_snapshot *snapshot = &p->repository->snapshots[i];
        for (size_t j = 0; j < snapshot->file_count; j++) {
            const kernels_scanned_file *file = &snapshot->files[j];
            if (file->is_dangling && is_old(p, snapshot->modified)) {
                KERNELS_TRY(remove_file(p, file->path, 0, "a link that leads nowhere", error));
            }
        }
    }
    return KERNELS_OK;
}

static kernels_status prune_blob(prune *p, const kernels_scanned_blob *blob, kernels_error *error) {
    kernels_file_lock *lock = NULL;
    if (blob->is_used || !is_old(p, blob->modified) || !take_lock(p, blob->name, &lock)) {
        return KERNELS_OK;
    }
    kernels_status status =
        remove_file(p, blob->path, blob->size,
                    blob->is_temporary ? "of a download that did not end" : "no snapshot links to it", error);
    kernels_file_lock_release(lock);
    return status;
}

static kernels_status prune_refs(prune *p, kernels_error *error) {
    for (size_t i = 0; i < p->repository->ref_count; i++) {
        const kernels_scanned_ref *ref = &p->repository->refs[i];
        if (ref->is_temporary && is_old(p, ref->modified)) {
            KERNELS_TRY(remove_file(p, ref->path, 0, "of a process that did not end", error));
        }
    }
    return KERNELS_OK;
}

static bool has_ref(const kernels_scanned_repository *r, const char *commit) {
    for (size_t i = 0; i < r->ref_count; i++) {
        if (!r->refs[i].is_temporary && strcmp(r->refs[i].commit, commit) == 0) {
            return true;
        }
    }
    return false;
}

/* Blobs that only this snapshot used are unused from now on. */
static kernels_status prune_snapshot(prune *p, const kernels_scanned_snapshot *snapshot, kernels_error *error) {
    uint64_t plain = 0;
    for (size_t i = 0; i < snapshot->file_count; i++) {
        plain += snapshot->files[i].blob ? 0 : snapshot->files[i].size;
    }
    if (!p->pruning->dry_run) {
        KERNELS_TRY(kernels_remove_tree(snapshot->path, error));
    }
    note(p, snapshot->path, plain, "no ref names this commit");
    return KERNELS_OK;
}

static kernels_status prune_detached(prune *p, kernels_error *error) {
    kernels_scanned_repository *r = (kernels_scanned_repository *)p->repository;
    for (size_t i = 0; i < r->blob_count; i++) {
        r->blobs[i].is_used = false;
    }
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const kernels_scanned_snapshot *snapshot = &r->snapshots[i];
        if (!has_ref(r, snapshot->commit) && is_old(p, snapshot->modified)) {
            KERNELS_TRY(prune_snapshot(p, snapshot, error));
            continue;
        }
        for (size_t j = 0; j < snapshot->file_count; j++) {
            for (size_t k = 0; snapshot->files[j].blob && k < r->blob_count; k++) {
                r->blobs[k].is_used = r->blobs[k].is_used || (!r->blobs[k].is_temporary &&
                                                              strcmp(r->blobs[k].name, snapshot->files[j].blob) == 0);
            }
        }
    }
    return KERNELS_OK;
}

/* Our listings of snapshots that are gone. */
static kernels_status prune_listings(prune *p, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join(p->repository->path, KERNELS_CACHE_OWN_FOLDER);
    kernels_listing listing = {0};
    if (!folder) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_directory(folder)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_list(folder, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        kernels_view name = kernels_view_of(listing.entries[i].path);
        KERNELS_CLEANUP_FREE char *commit = kernels_strndup(name.data, name.size > 5 ? name.size - 5 : 0);
        KERNELS_CLEANUP_FREE char *snapshot = commit ? kernels_cache_snapshot_path(p->repository->path, commit) : NULL;
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, listing.entries[i].path);
        uint64_t size = 0;
        if (!snapshot || !path) {
            status = kernels_fail_no_memory(error);
        } else if (kernels_view_ends_with(name, KERNELS_VIEW(".json")) && !kernels_file_is_directory(snapshot)) {
            (void)kernels_file_size(path, &size, NULL);
            status = remove_file(p, path, size, "the listing of a commit that is gone", error);
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

kernels_status kernels_cache_prune(const char *cache, const kernels_scanned_repository *repository,
                                   kernels_cache_pruning *pruning, kernels_error *error) {
    prune p = {cache, repository, pruning, (int64_t)time(NULL)};
    KERNELS_TRY(prune_links(&p, error));
    KERNELS_TRY(prune_refs(&p, error));
    if (pruning->detached) {
        KERNELS_TRY(prune_detached(&p, error));
    }
    for (size_t i = 0; i < repository->blob_count; i++) {
        KERNELS_TRY(prune_blob(&p, &repository->blobs[i], error));
    }
    return prune_listings(&p, error);
}
