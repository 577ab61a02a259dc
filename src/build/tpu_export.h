/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export of a TPU kernel: what aot.toml declares becomes aot/manifest.json and aot/<function>.<platform>.<index>.mlirbc
 * in a variant. The work is done by a Python program (src/build/export_aot.py) in a build environment that has
 * jax, as a child process with a time limit.
 */
#ifndef KERNELS_SRC_BUILD_TPU_EXPORT_H
#define KERNELS_SRC_BUILD_TPU_EXPORT_H

#include <stdbool.h>

#include "kernels/base.h"

typedef struct kernels_tpu_export_options {
    const char *source_dir;                       /* holds aot.toml and the files it names */
    const char *variant_dir;                      /* aot/ is written below it; an aot/ that is there is replaced */
    const char *python;                           /* interpreter that has jax: kernels_environment.python */
    unsigned timeout_seconds;                     /* 0 = KERNELS_TPU_EXPORT_TIMEOUT */
    void (*log)(void *payload, const char *line); /* progress and the exporter's messages, may be NULL */
    void *payload;
} kernels_tpu_export_options;

#define KERNELS_TPU_EXPORT_TIMEOUT 600u

/* true when source_dir has an aot.toml: else there is nothing to export, and the variant stays as it is. */
bool kernels_tpu_export_is_wanted(const char *source_dir);
/* All or nothing: a failed export leaves variant_dir as it was. */
kernels_status kernels_tpu_export(const kernels_tpu_export_options *options, kernels_error *error);

#endif
