/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of the cache that all Hub tools share:
 *
 *     <cache>/CACHEDIR.TAG
 *     <cache>/.locks/kernels--owner--name/<blob>.lock
 *     <cache>/kernels--owner--name/blobs/<blob>            content, named by its id
 *     <cache>/kernels--owner--name/refs/<revision>         a commit, no newline
 *     <cache>/kernels--owner--name/snapshots/<commit>/...  relative links to blobs
 *     <cache>/kernels--owner--name/trees/<commit>.json     listing, written by other tools
 *     <cache>/kernels--owner--name/.kernels/<commit>.json  listing of build/, written by us (tree_cache.h)
 *
 * Functions that give a char * return heap text, NULL = no memory.
 */
#ifndef KERNELS_SRC_HUB_CACHE_H
#define KERNELS_SRC_HUB_CACHE_H

#include "hub/hub.h"

/* In a repository's folder: what is ours alone. */
#define KERNELS_CACHE_OWN_FOLDER ".kernels"

/* "kernels--owner--name" */
char *kernels_cache_folder_name(kernels_repository_type type, const char *repo_id);
/* <cache>/<folder name> */
char *kernels_cache_repository(const char *cache, kernels_repository_type type, const char *repo_id);
char *kernels_cache_snapshot_path(const char *repository, const char *commit);
/* Target of the link at snapshots/<commit>/<path>: "../../blobs/<blob>", one ".." more for each folder of path. */
char *kernels_cache_pointer_target(const char *path, const char *blob);

/* Commit recorded for a revision; KERNELS_NOT_CACHED when there is none or it holds something else. */
kernels_status kernels_cache_read_ref(const char *repository, const char *revision, char commit[65],
                                      kernels_error *error);
/* Records it, unless it stands there already or the revision is a commit itself. */
kernels_status kernels_cache_write_ref(const char *repository, const char *revision, const char *commit,
                                       kernels_error *error);
/* Warns once when others can write into the cache or a folder above it; with KERNELS_VERIFY=1 that is
 * KERNELS_UNTRUSTED. */
kernels_status kernels_cache_guard(kernels_hub *hub, kernels_error *error);
/* Writes <cache>/CACHEDIR.TAG if it is missing, so that backup programs skip the cache. Never fails. */
void kernels_cache_tag(const char *cache);

#endif
