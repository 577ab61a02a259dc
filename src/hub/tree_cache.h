/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings of commits in the cache:
 *
 *     trees/<commit>.json     of the whole repository, left by other tools. Read, never written: its presence makes the
 *                             Python client refuse a snapshot that holds one variant only.
 *     .kernels/<commit>.json  of build/ alone, ours, in the same form. Other tools pass it over; it goes with the
 *                             repository's folder.
 */
#ifndef KERNELS_SRC_HUB_TREE_CACHE_H
#define KERNELS_SRC_HUB_TREE_CACHE_H

#include "hub/hub.h"

/* Files below `path` ("" or NULL = all) at a commit. false when no listing of it is there, or it is of another format,
 * damaged, or names no such file: it then counts as absent. */
bool kernels_tree_cache_read(const char *repository, const char *commit, const char *path, kernels_tree *tree);
/* Writes our own. */
kernels_status kernels_tree_cache_write(const char *repository, const char *commit, const kernels_tree *tree,
                                        kernels_error *error);
/* A listing from its text: the entries below `path`. */
bool kernels_tree_cache_parse(kernels_view text, const char *path, kernels_tree *tree);

#endif
