/* SPDX-License-Identifier: Apache-2.0 */
/* Lock of a build environment: which wheels, exactly. data/locks/<name>.<system>.toml. */
#ifndef KERNELS_SRC_BUILD_ENVIRONMENT_LOCK_H
#define KERNELS_SRC_BUILD_ENVIRONMENT_LOCK_H

#include "base/document.h"
#include "kernels/base.h"

#define KERNELS_LOCK_FORMAT 1u
#define KERNELS_LOCK_SIZE_LIMIT ((size_t)1024 * 1024)
#define KERNELS_LOCK_WHEELS_MAX 256u

typedef struct kernels_lock_wheel {
    const char *name, *version, *file, *sha256;
    uint64_t size;       /* bytes */
    const char *licence; /* what must be accepted, NULL = nothing */
} kernels_lock_wheel;

typedef struct kernels_environment_lock {
    const char *python; /* "3.11" */
    const char *base;   /* name of the shipped lock whose packages are there, too; NULL = none */
    const kernels_lock_wheel *wheels;
    size_t count;
    kernels_document document; /* owns everything */
} kernels_environment_lock;

/* Strict: unknown keys, missing keys and values that could mean something to pip are errors with their place. */
kernels_status kernels_environment_lock_parse(kernels_view text, const char *name, kernels_environment_lock *lock,
                                              kernels_error *error);
void kernels_environment_lock_dispose(kernels_environment_lock *lock);

#endif
