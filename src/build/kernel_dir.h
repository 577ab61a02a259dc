/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are in a kernel's folder. */
#ifndef KERNELS_SRC_BUILD_KERNEL_DIR_H
#define KERNELS_SRC_BUILD_KERNEL_DIR_H

#include "kernels/data.h"

/* Name of the framework's Python folder: "torch-ext", "tvm-ffi-ext". */
const char *kernels_extension_directory(const kernels_build *build);

/* A built variant. */
typedef struct kernels_built_variant {
    char *name; /* "torch-tpu" */
    char *path;
} kernels_built_variant;

/* The first of <dir>/result, <dir>/build, <dir> that holds variants (folders with a metadata.json). */
typedef struct kernels_built {
    char *directory;                 /* the winner */
    kernels_built_variant *variants; /* ascending by name */
    size_t count;
} kernels_built;

/* KERNELS_NOT_FOUND naming the three places when there is none. */
kernels_status kernels_built_find(const char *kernel_dir, kernels_built *built, kernels_error *error);
void kernels_built_dispose(kernels_built *built);

/* Every variant's metadata.json must parse: the first that does not is the error. */
kernels_status kernels_built_check(const kernels_built *built, kernels_error *error);
/* Who hears of hashing; each may be NULL. */
typedef struct kernels_hash_listener {
    void (*variant)(void *payload, const char *path); /* before each */
    void (*warning)(void *payload, const char *message);
    void *payload;
} kernels_hash_listener;

/* Digest of every variant into its metadata.json. An unchanged file is not written. Warns about file names that
 * verification will refuse. */
kernels_status kernels_built_hash(const kernels_built *built, const kernels_hash_listener *listener,
                                  kernels_error *error);
kernels_status kernels_variant_hash(const char *variant_dir, kernels_error *error);

#endif
