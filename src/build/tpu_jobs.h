/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work for a PJRT plugin, done in child processes: a compiler that crashes or hangs costs the one job it was
 * at, not the builder and not the other jobs.
 *
 * The child is `kernel-builder tpu-worker` (tpu_worker.h): it gets the list as JSON on its standard input
 * and answers with one JSON line when it begins and one when it ends a job. When it dies, the job that was
 * begun and not ended is the culprit; a new child goes on behind it.
 */
#ifndef KERNELS_SRC_BUILD_TPU_JOBS_H
#define KERNELS_SRC_BUILD_TPU_JOBS_H

#include "base/document.h"
#include "kernels/runtime.h"
#include "runtime/pjrt.h"

typedef enum kernels_tpu_outcome {
    KERNELS_TPU_PASSED,
    KERNELS_TPU_FAILED,
    KERNELS_TPU_SKIPPED,
} kernels_tpu_outcome;

/* An array in a file: compact row-major elements. */
typedef struct kernels_tpu_array {
    kernels_shape shape;
    const char *file;
} kernels_tpu_array;

/* Compile `program` for `topology`; or, with topology NULL, run it on inputs and compare with outputs. */
typedef struct kernels_tpu_job {
    const char *program; /* file of portable StableHLO */
    const char *topology;
    const kernels_tpu_array *inputs, *outputs;
    size_t input_count, output_count;
    double rtol, atol;
    /* results; text is in the arena given to kernels_tpu_jobs_run */
    kernels_tpu_outcome outcome;
    const char *message; /* why it failed */
    double seconds;
    kernels_pjrt_stats stats;  /* of a compile that passed */
    double largest_difference; /* of a comparison that ran */
} kernels_tpu_job;

typedef struct kernels_tpu_jobs_options {
    const char *plugin;
    unsigned timeout_seconds;                     /* of one job */
    void (*log)(void *payload, const char *line); /* each line of the children's standard error, may be NULL */
    void *payload;
    kernels_arena *arena;
} kernels_tpu_jobs_options;

#define KERNELS_TPU_JOBS_MAX 100000u

/* Fills the results of all jobs. Fails only when no child can be started. */
kernels_status kernels_tpu_jobs_run(const kernels_tpu_jobs_options *options, kernels_tpu_job *jobs, size_t count,
                                    kernels_error *error);

#endif
