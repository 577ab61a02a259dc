/* SPDX-License-Identifier: Apache-2.0 */
/* The unique id of a build: part of the op namespace, so that two versions of a kernel can be loaded together.
 * (The random form is kernels_unique_id_random of kernels/data.h.) */
#ifndef KERNELS_SRC_BUILD_IDENTITY_H
#define KERNELS_SRC_BUILD_IDENTITY_H

#include "build/git.h"

#define KERNELS_BUILD_ID_SIZE 16 /* 7 digits, "_dirty", NUL */

typedef enum kernels_build_id_form {
    KERNELS_BUILD_ID_TREE,   /* digits of the tree of HEAD, as `create-pyproject` */
    KERNELS_BUILD_ID_COMMIT, /* digits of HEAD, as `build` */
} kernels_build_id_form;

/* From git, with "_dirty" when dirty. state must be found. */
void kernels_build_id_from_git(const kernels_git_state *state, kernels_build_id_form form, bool dirty,
                               char id[KERNELS_BUILD_ID_SIZE]);
/* First digits of a source digest. */
void kernels_build_id_from_digest(const char *hex, char id[KERNELS_BUILD_ID_SIZE]);

#endif
