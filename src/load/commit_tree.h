/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of build/ at a commit that a context has seen. What a commit holds never changes, so one that is remembered
 * saves the request, or reading and parsing the one in the cache. */
#ifndef KERNELS_SRC_LOAD_COMMIT_TREE_H
#define KERNELS_SRC_LOAD_COMMIT_TREE_H

#include "hub/hub.h"

/* Listings that one context remembers, and the entries of the largest that is worth it. */
#define KERNELS_COMMIT_TREES 64
#define KERNELS_COMMIT_TREE_ENTRIES ((size_t)10000)

typedef struct kernels_commit_tree {
    size_t references;
    char *repo_id;
    char commit[65];
    kernels_tree tree;
    bool kept;        /* beside the snapshot in the cache */
    bool status_told; /* the warning about kernel-status.toml was given */
} kernels_commit_tree;

typedef struct kernels_commit_trees {
    kernels_commit_tree *items[KERNELS_COMMIT_TREES];
    size_t next; /* the place that is used next, once all are taken */
} kernels_commit_trees;

/* KERNELS_INVALID_ARGUMENT for what is no commit: 40 or 64 lower-case hex digits. */
kernels_status kernels_commit_check(const char *commit, kernels_error *error);
/* From memory, the cache or the Hub; cache_only: KERNELS_NOT_CACHED in place of a request. Release it. */
kernels_status kernels_commit_tree_get(kernels_commit_trees *trees, kernels_hub *hub, const char *repo_id,
                                       const char *commit, bool cache_only, kernels_commit_tree **tree,
                                       kernels_error *error);
void kernels_commit_tree_release(kernels_commit_tree *tree);
void kernels_commit_trees_dispose(kernels_commit_trees *trees);

#endif
