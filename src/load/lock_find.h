/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel that is to be locked: its publisher, its commit, and what any of its variants depends on. */
#ifndef KERNELS_SRC_LOAD_LOCK_FIND_H
#define KERNELS_SRC_LOAD_LOCK_FIND_H

#include "base/arena.h"
#include "hub/hub.h"
#include "load/context.h"

/* Asks whether the publisher is trusted, then which commit the version or revision is. */
kernels_status kernels_lock_find_commit(kernels_context *context, const kernels_dependency *key, char commit[65],
                                        kernels_error *error);

/* The listing of build/ at that commit; having none is an error. */
kernels_status kernels_lock_find_tree(kernels_context *context, const kernels_dependency *key, const char *commit,
                                      kernels_tree *tree, kernels_error *error);

/* The kernel-depends of all variants together, each once, sorted. They live in the arena. */
kernels_status kernels_lock_find_depends(kernels_context *context, const kernels_dependency *key, const char *commit,
                                         kernels_arena *arena, const kernels_dependency **depends, size_t *count,
                                         kernels_error *error);

/* "good/leaf (version 1)", "good/leaf (revision main)". */
#define KERNELS_LOCK_LABEL_SIZE 1024
void kernels_lock_label(const kernels_dependency *key, char text[KERNELS_LOCK_LABEL_SIZE]);

/* What both forms of lock files want before any question is asked: dependencies, and a Hub to ask. */
kernels_status kernels_lock_check(const kernels_context *context, const kernels_dependency *dependencies, size_t count,
                                  kernels_error *error);

#endif
