/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of exported TPU kernels without a TPU: every function, specialisation and generation is compiled by
 * libtpu for that generation's topology, in a child process with a time limit; then the cpu specialisations
 * run on an XLA CPU plugin and are compared with the author's reference function.
 */
#ifndef KERNELS_SRC_BUILD_TPU_CHECK_H
#define KERNELS_SRC_BUILD_TPU_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/json_writer.h"
#include "build/tpu_jobs.h"
#include "build/tpu_message.h"
#include "kernels/base.h"

#define KERNELS_TPU_COMPILE_TIMEOUT 60u /* seconds */

typedef struct kernels_tpu_check_options {
    const char *variant_dir;        /* holds aot/ */
    const char *source_dir;         /* holds aot.toml, for the comparison; NULL = skipped */
    const char *const *generations; /* "v5e", instead of those of the manifest */
    size_t generation_count;        /* 0 = those of the manifest */
    const char *libtpu;             /* file; NULL = plugin search */
    const char *cpu_plugin;         /* file; NULL = plugin search */
    const char *python;             /* interpreter that has jax; NULL = comparison skipped */
    const char *site_packages;      /* part of the plugin search; NULL = none */
    unsigned timeout_seconds;       /* of one compile, of one comparison; 0 = KERNELS_TPU_COMPILE_TIMEOUT */
    bool no_compare;
    void (*log)(void *payload, const char *line); /* what compiler and exporter say, may be NULL */
    void *payload;
} kernels_tpu_check_options;

/* One compile. Text belongs to the report. */
typedef struct kernels_tpu_compile {
    const char *function;
    const char *inputs; /* "f32[256,1024], f32[1024]" */
    const char *generation;
    kernels_tpu_outcome outcome;
    const char *message; /* why it failed; NULL when it passed */
    double seconds;
    kernels_pjrt_stats stats; /* when it passed; -1 = not told */
    bool has_allocation;      /* it failed because this did not fit */
    kernels_tpu_allocation allocation;
} kernels_tpu_compile;

/* One comparison of a cpu specialisation with the reference function. */
typedef struct kernels_tpu_comparison {
    const char *function;
    const char *inputs; /* "" when the function has no cpu specialisation */
    kernels_tpu_outcome outcome;
    const char *message;       /* why it failed or was skipped */
    double largest_difference; /* of |got - want|, when it ran; NaN = not known */
} kernels_tpu_comparison;

typedef struct kernels_tpu_report {
    kernels_tpu_compile *compiles;
    size_t compile_count;
    kernels_tpu_comparison *comparisons;
    size_t comparison_count;
    const char *libtpu;     /* file used */
    const char *cpu_plugin; /* file used; NULL = none */
    bool passed;            /* nothing failed; skipped comparisons do not count */
    kernels_arena *arena;   /* private: owns everything */
} kernels_tpu_report;

/* true when this machine can have a libtpu at all (x86_64 Linux). */
bool kernels_tpu_check_is_possible(void);
/* true when the variant holds aot/: else there is nothing to check. */
bool kernels_tpu_check_is_wanted(const char *variant_dir);
/* KERNELS_OK whenever the checks ran: see report->passed. KERNELS_PLUGIN_NOT_FOUND: no libtpu, with the places that
 * were searched. KERNELS_INTEGRITY: a program is not the one of the manifest. */
kernels_status kernels_tpu_check(const kernels_tpu_check_options *options, kernels_tpu_report *report,
                                 kernels_error *error);
void kernels_tpu_report_dispose(kernels_tpu_report *report);

/* For people, with a heading. */
void kernels_tpu_report_table(const kernels_tpu_report *report, const char *variant, kernels_buffer *out);
/* One object: {"variant", "passed", "libtpu", "cpu_plugin", "compiles": [...], "comparisons": [...]}. */
void kernels_tpu_report_json(const kernels_tpu_report *report, const char *variant, kernels_json_writer *writer);

#endif
