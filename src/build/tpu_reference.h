/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of tpu_check.h: what the author's reference functions give on random inputs (made by the exporter
 * in a jax environment), and what the exported cpu programs make of the same inputs. */
#ifndef KERNELS_SRC_BUILD_TPU_REFERENCE_H
#define KERNELS_SRC_BUILD_TPU_REFERENCE_H

#include "build/tpu_check.h"
#include "kernels/runtime.h"

/* What a row of report->comparisons is about; specialisation NULL: nothing to run. */
typedef struct kernels_tpu_reference_row {
    const kernels_signature *function;
    const kernels_specialisation *specialisation;
} kernels_tpu_reference_row;

/* Fills all comparisons of the report that have a specialisation. Fails on a broken aot.toml and the like; a reference
 * function that fails is a failed comparison. */
kernels_status kernels_tpu_reference_compare(const kernels_tpu_check_options *options,
                                             const kernels_tpu_jobs_options *jobs,
                                             const kernels_tpu_reference_row *rows, kernels_tpu_report *report,
                                             kernels_error *error);

#endif
