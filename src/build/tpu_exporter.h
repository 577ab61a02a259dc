/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the exporter (export_aot.py) as a child process with a time limit and an environment of its own. */
#ifndef KERNELS_SRC_BUILD_TPU_EXPORTER_H
#define KERNELS_SRC_BUILD_TPU_EXPORTER_H

#include "build/aot_config.h"

typedef struct kernels_tpu_exporter {
    const char *python;     /* interpreter that has jax */
    const char *source_dir; /* holds the files that the configuration names */
    const char *output_dir; /* existing scratch folder: files and result.json land there */
    unsigned timeout_seconds;
    void (*log)(void *payload, const char *line); /* each line of its standard error, may be NULL */
    void *payload;
} kernels_tpu_exporter;

typedef enum kernels_tpu_exporter_mode {
    KERNELS_TPU_EXPORTER_EXPORT,    /* programs of all functions */
    KERNELS_TPU_EXPORTER_REFERENCE, /* inputs and results of those with a reference, in that order */
} kernels_tpu_exporter_mode;

/* result is what the exporter wrote: {"jax", "jaxlib", "libtpu", "functions": [...]}, one element a function. */
kernels_status kernels_tpu_exporter_run(const kernels_tpu_exporter *exporter, kernels_tpu_exporter_mode mode,
                                        const kernels_aot_config *config, kernels_document *result,
                                        kernels_error *error);

#endif
