/* SPDX-License-Identifier: Apache-2.0 */
/* The build variants that a repository or a folder offers, and the choice among them. */
#ifndef KERNELS_SRC_LOAD_CANDIDATES_H
#define KERNELS_SRC_LOAD_CANDIDATES_H

#include "base/arena.h"
#include "hub/hub.h"
#include "kernels/resolve.h"
#include "load/context.h"

typedef struct kernels_candidate {
    const char *name;
    bool has_aot;     /* holds exported programs: aot/<function>.<platform>.<index>.mlirbc */
    bool has_aot_cpu; /* ... some of them for the platform cpu */
} kernels_candidate;

typedef struct kernels_candidates {
    kernels_arena *arena;
    kernels_candidate *items; /* ascending by bytes of name */
    size_t count;
} kernels_candidates;

/* From a recursive listing of build/ in a repository. */
kernels_status kernels_candidates_from_tree(const kernels_tree *tree, kernels_candidates *candidates,
                                            kernels_error *error);
/* Sub-folders of a folder (links followed); a folder that cannot be read has none. */
kernels_status kernels_candidates_from_folder(const char *folder, kernels_candidates *candidates, kernels_error *error);
void kernels_candidates_dispose(kernels_candidates *candidates);

typedef struct kernels_choice_options {
    bool for_native;       /* variants that C cannot call are rejected, see docs/internals/load.md */
    const char *as_noarch; /* a dependency of a kernel whose noarch variant was taken although the backend differs:
                              its noarch variants of that name are taken too; NULL = no such kernel */
} kernels_choice_options;

/* origin (may be NULL: silent) says in warnings where names that are no variant names were found. */
kernels_status kernels_candidates_resolve(kernels_context *context, const kernels_candidates *candidates,
                                          const kernels_system *system, const kernels_choice_options *options,
                                          const char *origin, kernels_decisions *decisions, kernels_error *error);

#endif
