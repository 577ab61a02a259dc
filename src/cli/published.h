/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit of a repository offers: build variants and their metadata, from the Hub or, offline, from the cache. */
#ifndef KERNELS_SRC_CLI_PUBLISHED_H
#define KERNELS_SRC_CLI_PUBLISHED_H

#include "load/candidates.h"
#include "load/context.h"

typedef struct kernels_published {
    const char *repo_id; /* as given */
    char commit[65];
    kernels_tree tree;             /* online; offline where the cache remembers it */
    char *snapshot;                /* offline */
    kernels_candidates candidates; /* none when there is no build/ */
} kernels_published;

/* revision: a commit, or offline also any name the cache knows. recursive: the files below the variants too, so that
 * their metadata can be read; offline then all variants that were published, where the cache remembers them, else those
 * that it holds. KERNELS_NOT_CACHED offline when the snapshot is absent. */
kernels_status kernels_published_open(kernels_context *context, const char *repo_id, const char *revision,
                                      bool recursive, kernels_published *published, kernels_error *error);
void kernels_published_dispose(kernels_published *published);

/* metadata.json of one variant. found is false when the variant has none. Online it is fetched into the cache, and the
 * commit recorded there under ref (NULL: not), so that the same question can be answered offline. */
kernels_status kernels_published_metadata(kernels_context *context, const kernels_published *published,
                                          const char *variant, const char *ref, kernels_metadata *metadata, bool *found,
                                          kernels_error *error);

#endif
