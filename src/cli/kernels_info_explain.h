/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels info --explain`: which variant a machine gets and why, why not the others, which other versions fit. */
#ifndef KERNELS_SRC_CLI_KERNELS_INFO_EXPLAIN_H
#define KERNELS_SRC_CLI_KERNELS_INFO_EXPLAIN_H

#include "base/arena.h"
#include "base/json_writer.h"
#include "load/candidates.h"
#include "load/context.h"

/* What is explained. */
typedef struct kernels_explain_request {
    kernels_context *context;
    const char *system_file; /* that describes the machine; NULL = this one */
    const char *backend;     /* NULL = detected */
    const char *repo_id;     /* NULL: a local folder, which has no other versions */
    const char *commit;      /* of the version that is shown */
    const kernels_candidates *candidates;
} kernels_explain_request;

/* Another version and what of it fits. */
typedef struct kernels_explained_version {
    uint64_t version;
    char commit[65];
    const char *variant; /* NULL: nothing, note may say why */
    const char *note;
} kernels_explained_version;

typedef struct kernels_explanation {
    kernels_system system; /* with the selected backend */
    const char *system_file;
    const char *commit;
    kernels_decisions decisions;
    kernels_explained_version *versions; /* descending */
    size_t version_count, versions_left_out;
    kernels_arena *arena;
} kernels_explanation;

/* Texts of the request must outlive the explanation. */
kernels_status kernels_explain(const kernels_explain_request *request, kernels_explanation *explanation,
                               kernels_error *error);
void kernels_explanation_dispose(kernels_explanation *explanation);
void kernels_explanation_print(const kernels_explanation *explanation, kernels_buffer *out);
void kernels_explanation_write(const kernels_explanation *explanation, kernels_json_writer *writer); /* an object */

#endif
