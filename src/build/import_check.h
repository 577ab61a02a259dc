/* SPDX-License-Identifier: Apache-2.0 */
/* The import check: a built TPU variant is imported in the environment `torch-tpu`, in a child process that has no
 * TPU and nothing of the caller's environment. */
#ifndef KERNELS_SRC_BUILD_IMPORT_CHECK_H
#define KERNELS_SRC_BUILD_IMPORT_CHECK_H

#include "kernels/base.h"

typedef struct kernels_import_check {
    const char *python;                           /* of the environment `torch-tpu` */
    const char *variant_dir;                      /* absolute; holds __init__.py */
    const char *package;                          /* Python name of the kernel */
    void (*log)(void *payload, const char *line); /* what the import says, may be NULL */
    void *payload;
} kernels_import_check;

/* detail (heap text): with what it was imported. KERNELS_CHECK_FAILED says why it was not. */
kernels_status kernels_import_check_run(const kernels_import_check *check, char **detail, kernels_error *error);

#endif
