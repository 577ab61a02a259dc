/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of exported TPU kernels without a TPU: every function, specialisation and generation is compiled by
 * libtpu for that generation's topology, each in a child process with a time limit; then the cpu
 * specialisations run on an XLA CPU plugin and are compared with the author's reference function.
 */
#ifndef KERNELS_SRC_BUILD_TPU_CHECK_H
#define KERNELS_SRC_BUILD_TPU_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_TPU_COMPILE_TIMEOUT 60u

typedef struct kernels_tpu_check_options {
    const char *variant_dir;          /* holds aot/ */
    const char *source_dir;           /* holds aot.toml, for the comparison; NULL = skipped */
    const char *const *generations;   /* "v5e"; instead of those of the manifest */
    size_t generation_count;          /* 0 = those of the manifest */
    const char *libtpu;               /* file; NULL = plugin search */
    const char *cpu_plugin;           /* file; NULL = plugin search */
    const char *python;               /* interpreter that has jax; NULL = comparison skipped */
    const char *site_packages;        /* part of the plugin search; NULL = that of the environment */
    unsigned timeout_seconds;         /* of one compile; 0 = KERNELS_TPU_COMPILE_TIMEOUT */
    bool no_compare;
    void (*log)(void *payload, const char *line); /* compiler messages (verbose), may be NULL */
    void *payload;
} kernels_tpu_check_options;

typedef enum kernels_tpu_outcome {
    KERNELS_TPU_PASSED,
    KERNELS_TPU_FAILED,
    KERNELS_TPU_SKIPPED,
} kernels_tpu_outcome;

/* One compile. Sizes in bytes. Text belongs to the report. */
typedef struct kernels_tpu_compile {
    const char *function;
    const char *inputs; /* "f32[256,1024], f32[1024]" */
    const char *generation;
    kernels_tpu_outcome outcome;
    const char *message; /* why it failed; NULL when it passed */
    bool has_memory;     /* the next five are known */
    int64_t code_bytes, argument_bytes, output_bytes, alias_bytes, temporary_bytes;
    bool has_cost;
    double flops, bytes_accessed;
    bool has_allocation; /* an allocation did not fit: the next three are known */
    uint64_t wanted_bytes, available_bytes;
    const char *memory_space; /* "vmem" */
    double seconds;
} kernels_tpu_compile;

/* One comparison of the cpu specialisation with the reference function. */
typedef struct kernels_tpu_comparison {
    const char *function;
    const char *inputs;
    kernels_tpu_outcome outcome;
    const char *message;      /* why it failed or was skipped */
    double largest_difference; /* of |got - want|, over all elements */
} kernels_tpu_comparison;

typedef struct kernels_tpu_report {
    kernels_tpu_compile *compiles;
    size_t compile_count;
    kernels_tpu_comparison *comparisons;
    size_t comparison_count;
    const char *libtpu;     /* file used */
    const char *cpu_plugin; /* file used; NULL = none */
    bool passed;            /* nothing failed; skipped comparisons do not count */
    void *owner;            /* private */
} kernels_tpu_report;

/* KERNELS_OK whenever the checks ran: see report->passed. KERNELS_PLUGIN_NOT_FOUND: no libtpu, with the search order. */
kernels_status kernels_tpu_check(const kernels_tpu_check_options *options, kernels_tpu_report *report,
                                 kernels_error *error);
void kernels_tpu_report_dispose(kernels_tpu_report *report);
/* Table for people. variant names the variant in its heading. */
void kernels_tpu_report_table(const kernels_tpu_report *report, const char *variant, kernels_buffer *out);
/* true when this machine can have a libtpu at all (x86_64 Linux). */
bool kernels_tpu_check_is_possible(void);

#endif
