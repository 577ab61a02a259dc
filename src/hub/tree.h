/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of a repository: reading one page of the Hub's answer, and judging the whole. Pure. */
#ifndef KERNELS_SRC_HUB_TREE_H
#define KERNELS_SRC_HUB_TREE_H

#include "base/arena.h"
#include "base/document.h"
#include "hub/hub.h"

/* Entries and pages of one listing. */
#define KERNELS_TREE_ENTRY_LIMIT ((size_t)200000)
#define KERNELS_TREE_PAGE_LIMIT 2000u

typedef struct kernels_tree_builder {
    kernels_arena *arena;
    kernels_tree_entry *entries; /* heap */
    size_t count, capacity;
    size_t skipped; /* links and submodules */
} kernels_tree_builder;

kernels_status kernels_tree_builder_init(kernels_tree_builder *builder, kernels_error *error);
void kernels_tree_builder_dispose(kernels_tree_builder *builder);
/* Adds the entries of one page; `name` goes into messages. KERNELS_UNSAFE_NAME for a path or id that must not be used.
 */
kernels_status kernels_tree_builder_add(kernels_tree_builder *builder, const kernels_node *page, const char *name,
                                        kernels_error *error);
/* Sorts and refuses paths that stand twice and files where another entry needs a folder. The builder becomes empty. */
kernels_status kernels_tree_builder_finish(kernels_tree_builder *builder, kernels_tree *tree, kernels_error *error);

#endif
