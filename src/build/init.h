/* SPDX-License-Identifier: Apache-2.0 */
/* A new kernel project from templates. */
#ifndef KERNELS_SRC_BUILD_INIT_H
#define KERNELS_SRC_BUILD_INIT_H

#include "kernels/data.h"

typedef struct kernels_init_options {
    const char *owner, *repository;  /* "someone", "Vec_Scale" */
    const char *directory;           /* NULL = the display name, in the current folder */
    const char *license;             /* NULL = Apache-2.0 */
    const kernels_backend *backends; /* without repeats */
    size_t backend_count;
    bool overwrite;
} kernels_init_options;

typedef struct kernels_init_result {
    char *repo_id;   /* in the Hub's spelling: "someone/Vec-Scale" */
    char *directory; /* absolute */
} kernels_init_result;

/* "OWNER/REPO", both parts not empty, one "/": owner and repository, heap text. false: it is not. */
bool kernels_init_split_name(kernels_view text, char **owner, char **repository);

/* Writes everything or, when a file is in the way (without overwrite), nothing. Then a git repository with all
 * files staged. Backends that need a compiler are KERNELS_UNSUPPORTED. */
kernels_status kernels_init_project(const kernels_init_options *options, kernels_init_result *result,
                                    kernels_error *error);
void kernels_init_result_dispose(kernels_init_result *result);

#endif
