/* SPDX-License-Identifier: Apache-2.0 */
/* What a build did, for build-report.json: every variant with its checks, and whether it may be published. */
#ifndef KERNELS_SRC_BUILD_REPORT_H
#define KERNELS_SRC_BUILD_REPORT_H

#include "base/buffer.h"
#include "kernels/data.h"

#define KERNELS_REPORT_CHECKS_MAX 16
#define KERNELS_REPORT_REASONS_MAX 16
#define KERNELS_REPORT_NAME "build-report.json"
#define KERNELS_REPORT_SIZE_LIMIT ((size_t)16 * 1024 * 1024)

/* A check that fails ends the build: it stands in no report. */
typedef enum kernels_check_outcome {
    KERNELS_CHECK_PASSED,
    KERNELS_CHECK_SKIPPED,
} kernels_check_outcome;

typedef struct kernels_check_record {
    const char *name; /* static: "layout" */
    kernels_check_outcome outcome;
    char *detail; /* NULL = nothing to say */
} kernels_check_record;

typedef struct kernels_variant_report {
    const char *name; /* static */
    kernels_check_record checks[KERNELS_REPORT_CHECKS_MAX];
    size_t check_count;
    const char *reasons[KERNELS_REPORT_REASONS_MAX]; /* static: why it is not publishable; none = it is */
    size_t reason_count;
} kernels_variant_report;

typedef struct kernels_build_report {
    const char *kernel;
    uint64_t version;
    const char *unique_id;
    const char *source_digest; /* SHA-256 of the sources */
    const char *bundle_digest; /* SHA-256 of the result */
    kernels_variant_report variants[KERNELS_BACKEND_COUNT];
    size_t variant_count;
} kernels_build_report;

/* detail is copied; out of memory loses it. */
void kernels_report_check(kernels_variant_report *report, const char *name, kernels_check_outcome outcome,
                          const char *detail);
void kernels_report_reason(kernels_variant_report *report, const char *reason); /* once each */
bool kernels_report_is_publishable(const kernels_build_report *report);
void kernels_report_print(const kernels_build_report *report, kernels_buffer *out);
void kernels_report_dispose(kernels_build_report *report);

/* Reads the report beside a built folder: the one next to what `built_dir` is or points to. reasons (may be empty
 * text) gets one line each. false: there is no readable report. */
bool kernels_report_read_reasons(const char *built_dir, kernels_buffer *reasons);

#endif
