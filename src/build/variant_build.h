/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that make one noarch variant from a prepared source folder. */
#ifndef KERNELS_SRC_BUILD_VARIANT_BUILD_H
#define KERNELS_SRC_BUILD_VARIANT_BUILD_H

#include "build/engine.h"
#include "build/plan.h"
#include "build/report.h"
#include "build/variant_log.h"

typedef struct kernels_variant_build {
    const kernels_builder_options *options;
    const kernels_build *build;
    const char *source_dir;  /* the selected sources and the generated project */
    const char *variant_dir; /* made by this */
    kernels_planned_variant variant;
    kernels_variant_report *report;
    kernels_variant_log *log;
    const char *step; /* the one that runs, for messages */
} kernels_variant_build;

kernels_status kernels_variant_build_run(kernels_variant_build *job, kernels_error *error);

#endif
