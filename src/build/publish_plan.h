/* SPDX-License-Identifier: Apache-2.0 */
/* What an upload changes in a repository: pure, from the files here and the names there. */
#ifndef KERNELS_SRC_BUILD_PUBLISH_PLAN_H
#define KERNELS_SRC_BUILD_PUBLISH_PLAN_H

#include "base/arena.h"
#include "build/kernel_dir.h"
#include "hub/hub.h"

#define KERNELS_PUBLISH_OPERATIONS_MAX 200000

/* One commit (the Hub client splits it into batches). */
typedef struct kernels_publish_branch {
    const char *name;
    kernels_operation *operations;
    size_t count, capacity;
    size_t unchanged; /* additions that were taken out again */
} kernels_publish_branch;

typedef struct kernels_publish_plan {
    kernels_publish_branch branches[2]; /* ascending by name; the kernel's branch and, for the card, main */
    size_t count;
    kernels_arena *arena; /* of names and paths */
} kernels_publish_plan;

typedef struct kernels_publish_input {
    const char *kernel_dir;
    const kernels_built *built;
    const char *branch;        /* where the builds go */
    bool is_new;               /* it holds what it inherited from main */
    const char *const *remote; /* its files, in the order of the Hub */
    size_t remote_count;
} kernels_publish_input;

/* A link in a variant that does not lead to a file of the same variant, and names that cannot stand in a repository,
 * are refused by name (KERNELS_UNSAFE_NAME). */
kernels_status kernels_publish_plan_make(const kernels_publish_input *input, kernels_publish_plan *plan,
                                         kernels_error *error);
/* Takes out the additions whose content the tree of that branch has already. */
kernels_status kernels_publish_plan_drop_unchanged(kernels_publish_plan *plan, const char *branch,
                                                   const kernels_tree *tree, kernels_error *error);
size_t kernels_publish_plan_operations(const kernels_publish_plan *plan); /* of all branches */
void kernels_publish_plan_dispose(kernels_publish_plan *plan);

#endif
