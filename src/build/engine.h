/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a kernel: from its folder to a result folder in the store, with a link `result` in the kernel's folder.
 *
 *     <store>/out/<digest of the bundle>/bundle/<variant>/...     what result points to
 *     <store>/out/<digest of the bundle>/bundle/benchmarks/, CARD.md
 *     <store>/out/<digest of the bundle>/build-report.json
 *     <store>/log/<kernel>-<variant>.log
 *     <store>/work                                                scratch folders of running builds
 */
#ifndef KERNELS_SRC_BUILD_ENGINE_H
#define KERNELS_SRC_BUILD_ENGINE_H

#include "kernels/data.h"

typedef enum kernels_build_message {
    KERNELS_BUILD_PROGRESS, /* what is done now */
    KERNELS_BUILD_WARNING,
    KERNELS_BUILD_LOG, /* a line of the log of a variant; only with stream_logs */
} kernels_build_message;

typedef enum kernels_build_environment {
    KERNELS_BUILD_ENVIRONMENT_JAX,       /* the locked one with jax, jaxlib and libtpu */
    KERNELS_BUILD_ENVIRONMENT_TORCH_TPU, /* that one, and torch and torch_tpu for the import check */
    KERNELS_BUILD_ENVIRONMENT_HOST,      /* the interpreter on PATH, which must have jax */
} kernels_build_environment;

typedef struct kernels_builder_options {
    const char *kernel_dir;
    const char *variant; /* NULL = all of this system */
    const char *store;   /* NULL = from the environment variables */
    kernels_build_environment environment;
    const char *const *licences; /* accepted, by wheel name */
    size_t licence_count;
    bool no_check_tpu;
    bool stream_logs;
    void (*message)(void *payload, kernels_build_message type, const char *text); /* may be NULL */
    void *payload;
} kernels_builder_options;

/* All or nothing: on failure neither `result` nor the store's out/ changed. result_dir (heap text) is the folder that
 * `result` points to. */
kernels_status kernels_builder_build(const kernels_builder_options *options, char **result_dir, kernels_error *error);
/* Replaces every entry of the result in <kernel_dir>/build; other entries stay. */
kernels_status kernels_builder_copy_result(const char *result_dir, const char *kernel_dir, kernels_error *error);

#endif
