/* SPDX-License-Identifier: Apache-2.0 */
/* Which variants a kernel has on this system. */
#ifndef KERNELS_SRC_BUILD_PLAN_H
#define KERNELS_SRC_BUILD_PLAN_H

#include "base/buffer.h"
#include "kernels/data.h"

typedef struct kernels_planned_variant {
    const char *name; /* "torch-tpu"; static */
    kernels_backend backend;
} kernels_planned_variant;

typedef struct kernels_plan {
    kernels_planned_variant variants[KERNELS_BACKEND_COUNT];
    size_t count;
} kernels_plan;

/* os and cpu as kernels_system names them. A kernel that has to be compiled is KERNELS_UNSUPPORTED. */
kernels_status kernels_plan_make(const kernels_build *build, const char *os, const char *cpu, kernels_plan *plan,
                                 kernels_error *error);
/* Keeps the one variant of that name; KERNELS_NO_VARIANT lists the valid names. */
kernels_status kernels_plan_select(kernels_plan *plan, const char *name, kernels_error *error);

#endif
