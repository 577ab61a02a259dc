/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cache holds of kernels: read for listing it, checking it and clearing it up. Repositories of other types
 * belong to other tools and are not looked at.
 */
#ifndef KERNELS_SRC_HUB_CACHE_SCAN_H
#define KERNELS_SRC_HUB_CACHE_SCAN_H

#include "base/arena.h"
#include "hub/hub.h"

typedef struct kernels_scanned_blob {
    const char *path; /* absolute */
    const char *name; /* its id; of a temporary file: what stands before ".<8 hex>.incomplete" */
    uint64_t size;
    int64_t modified; /* seconds since 1970 */
    bool is_temporary;
    bool is_used; /* a snapshot links to it */
} kernels_scanned_blob;

typedef struct kernels_scanned_ref {
    const char *name;
    const char *path;
    char commit[65]; /* "" when the file holds no commit */
    bool is_temporary;
    int64_t modified;
} kernels_scanned_ref;

typedef struct kernels_scanned_file {
    const char *path; /* absolute */
    const char *name; /* from the snapshot's folder */
    const char *blob; /* what it links to, NULL for a plain file */
    uint64_t size;    /* 0 for a dangling link */
    bool is_dangling;
} kernels_scanned_file;

typedef struct kernels_scanned_snapshot {
    const char *commit;
    const char *path;
    int64_t modified;
    kernels_scanned_file *files;
    size_t file_count;
    uint64_t bytes;
    const char **variants; /* folders below build/, ascending */
    size_t variant_count;
} kernels_scanned_snapshot;

typedef struct kernels_scanned_repository {
    kernels_arena *arena;
    const char *repo_id;
    const char *path;
    kernels_scanned_blob *blobs;
    size_t blob_count;
    kernels_scanned_ref *refs;
    size_t ref_count;
    kernels_scanned_snapshot *snapshots; /* ascending by commit */
    size_t snapshot_count;
    uint64_t bytes; /* on disk: blobs, temporary files and plain files in snapshots */
} kernels_scanned_repository;

/* Ids of the kernels in a cache, ascending; heap array of heap texts, freed by kernels_scan_names_free. No cache: 0. */
kernels_status kernels_scan_names(const char *cache, char ***names, size_t *count, kernels_error *error);
void kernels_scan_names_free(char **names, size_t count);

/* KERNELS_NOT_CACHED when the cache has no such kernel. */
kernels_status kernels_scan_repository(const char *cache, const char *repo_id, kernels_scanned_repository *repository,
                                       kernels_error *error);
void kernels_scanned_repository_dispose(kernels_scanned_repository *repository);

/* ---- checking ---- */

typedef struct kernels_cache_check {
    void (*problem)(void *payload, const char *repo_id, const char *path, const char *text);
    void (*progress)(void *payload, const char *file, uint64_t done, uint64_t total);
    bool (*cancelled)(void *payload);
    void *payload;
    uint64_t files, bytes;      /* hashed */
    size_t problems, unchecked; /* unchecked: plain files whose id is not known */
} kernels_cache_check;

/* Hashes every blob and compares it with its name, likewise plain files that a listing knows; reports links that lead
 * nowhere and refs without snapshot. Changes nothing. */
kernels_status kernels_cache_verify(const kernels_scanned_repository *repository, kernels_cache_check *check,
                                    kernels_error *error);

/* ---- clearing up ---- */

typedef struct kernels_cache_pruning {
    bool dry_run;
    bool detached;    /* also snapshots that no ref names */
    uint64_t min_age; /* seconds: younger things may be in use right now */
    void (*removed)(void *payload, const char *repo_id, const char *path, uint64_t bytes, const char *reason);
    void *payload;
    size_t count;
    uint64_t bytes;
} kernels_cache_pruning;

/* Removes what nobody needs: temporary files of downloads that died, blobs that no snapshot links to, links that lead
 * nowhere, listings of snapshots that are gone. A blob whose lock is held is left alone. */
kernels_status kernels_cache_prune(const char *cache, const kernels_scanned_repository *repository,
                                   kernels_cache_pruning *pruning, kernels_error *error);

#endif
