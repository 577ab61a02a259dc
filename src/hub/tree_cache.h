/* SPDX-License-Identifier: Apache-2.0 */
/* trees/<commit>.json: the listing of a commit that other tools leave in the cache. It is read, never written: its
 * presence makes the Python client refuse a snapshot that holds one variant only. */
#ifndef KERNELS_SRC_HUB_TREE_CACHE_H
#define KERNELS_SRC_HUB_TREE_CACHE_H

#include "hub/hub.h"

/* false when there is none, or it is of another format, or damaged: it then counts as absent. Files only. */
bool kernels_tree_cache_read(const char *repository, const char *commit, kernels_tree *tree);
/* The same from its text. */
bool kernels_tree_cache_parse(kernels_view text, kernels_tree *tree);

#endif
