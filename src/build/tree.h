/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a folder as one value: copying a selection of them and the digest of it, the SHA-256 of one line a
 * file, "<mode> <sha256> <size> <path>\n", ascending by bytes of path.
 */
#ifndef KERNELS_SRC_BUILD_TREE_H
#define KERNELS_SRC_BUILD_TREE_H

#include "base/hash.h"
#include "kernels/base.h"

#define KERNELS_PATHS_LIMIT 100000 /* files of one kernel */

typedef struct kernels_paths {
    char **items; /* relative, parts joined by "/" */
    size_t count, capacity;
} kernels_paths;

kernels_status kernels_paths_add(kernels_paths *paths, const char *path, kernels_error *error); /* copied */
void kernels_paths_sort(kernels_paths *paths); /* by bytes, repeats dropped */
void kernels_paths_dispose(kernels_paths *paths);
/* All regular files below directory; links and anything else are refused by name. */
kernels_status kernels_paths_list(const char *directory, kernels_paths *paths, kernels_error *error);

/* Copies the files from one folder to another, making folders; mode 0 = that of each source. */
kernels_status kernels_paths_copy(const kernels_paths *paths, const char *from, const char *to, unsigned mode,
                                  kernels_error *error);
/* Makes the files read-only. */
kernels_status kernels_paths_seal(const kernels_paths *paths, const char *directory, kernels_error *error);
/* paths must be sorted. */
kernels_status kernels_paths_digest(const kernels_paths *paths, const char *directory,
                                    char hex[KERNELS_DIGEST_HEX_SIZE], kernels_error *error);

#endif
