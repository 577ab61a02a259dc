/* SPDX-License-Identifier: Apache-2.0 */
/* What git says about a kernel's folder, and the repository that `init` makes. Through libgit2. */
#ifndef KERNELS_SRC_BUILD_GIT_H
#define KERNELS_SRC_BUILD_GIT_H

#include "kernels/base.h"

#define KERNELS_GIT_ID_SIZE 65

typedef struct kernels_git_state {
    bool found;                       /* in a repository with a commit; the rest is empty otherwise */
    char commit[KERNELS_GIT_ID_SIZE]; /* of HEAD */
    char tree[KERNELS_GIT_ID_SIZE];   /* of that commit */
    bool dirty;        /* a tracked file differs between commit, index and work tree, in the whole repository */
    bool is_untracked; /* one of the files asked about is not in the index */
    char reason[256];  /* not found: why, for a warning */
} kernels_git_state;

/* Searches upwards from directory. files (relative to directory, may be NULL) are asked about. A missing or
 * unreadable repository is no error. */
kernels_status kernels_git_read(const char *directory, const char *const *files, size_t file_count,
                                kernels_git_state *state, kernels_error *error);

/* `git init` and `git add .` in directory. A repository that is there is kept. */
kernels_status kernels_git_init(const char *directory, kernels_error *error);

/* Unified diff ("--- a/<name>", three lines around each change) between two texts; heap text, kernels_free. */
kernels_status kernels_git_diff(const char *name, kernels_view before, kernels_view after, char **difference,
                                kernels_error *error);

#endif
