/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build environments: a Python virtual environment made from a lock (exact versions, SHA-256 of every
 * wheel), kept below the store and shared by all builds. An environment may stand on another one (`base` in its lock):
 * then that one's packages can be imported in it, too. Where torch is and NVIDIA's libraries are not, import stubs
 * (build/import_stubs.h) take their place.
 *
 *     <store>/env/<SHA-256 of the lock>/            the environment (with a base: of both locks)
 *     <store>/env/<SHA-256 of the lock>/.complete   written last: without it the folder is not used
 *     <store>/env/<SHA-256 of the lock>.lock        held while one process makes it
 *
 * store: KERNEL_BUILDER_STORE, else XDG_CACHE_HOME/kernel-builder, else ~/.cache/kernel-builder.
 */
#ifndef KERNELS_SRC_BUILD_ENVIRONMENT_H
#define KERNELS_SRC_BUILD_ENVIRONMENT_H

#include "kernels/base.h"

typedef struct kernels_environment {
    char *directory;     /* of the virtual environment */
    char *python;        /* its interpreter */
    char *site_packages; /* where its own packages are: of "jax", jax and the plugins */
} kernels_environment;

typedef struct kernels_environment_options {
    const char *name;            /* of the lock: "jax", "torch-tpu"; NULL = "jax" */
    const char *lock_path;       /* a lock file to use instead of the one shipped under that name; NULL = shipped */
    const char *store;           /* NULL: as the environment variables say */
    const char *wheel_dir;       /* wheels found there are not downloaded; NULL = $KERNEL_BUILDER_WHEEL_DIR */
    const char *const *licences; /* accepted, by wheel name: "libtpu" */
    size_t licence_count;
    void (*progress)(void *payload, const char *message); /* may be NULL */
    void *payload;
} kernels_environment_options;

/* The environment if it was made before; KERNELS_NOT_FOUND (the message says how to make it) if not.
 * Downloads nothing, starts nothing. options may be NULL. */
kernels_status kernels_environment_find(const kernels_environment_options *options, kernels_environment *environment,
                                        kernels_error *error);
/* As above, and makes it when it is not there: needs the licences of its wheels accepted
 * (KERNELS_PERMISSION names them), the lock's Python, and pip's way to the wheels. */
kernels_status kernels_environment_provide(const kernels_environment_options *options, kernels_environment *environment,
                                           kernels_error *error);
void kernels_environment_dispose(kernels_environment *environment);

/* The folder of the store, not made by this call. Heap text. */
kernels_status kernels_store_directory(const char *store, char **directory, kernels_error *error);

#endif
