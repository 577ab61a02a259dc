/* SPDX-License-Identifier: Apache-2.0 */
/* Why the last call found no variant, as data that outlives the call (kernels_context_no_variant). */
#ifndef KERNELS_SRC_LOAD_FAILURE_H
#define KERNELS_SRC_LOAD_FAILURE_H

#include "hub/hub.h"
#include "kernels/load.h"

typedef struct kernels_failure {
    bool is_set;
    kernels_no_variant data; /* points into the following */
    char *repo_id;
    char commit[65];
    kernels_decisions decisions;
    uint64_t *versions;
    char fitting_variant[KERNELS_VARIANT_NAME_MAX + 1];
} kernels_failure;

/* Takes the decisions. Best effort for the rest: the error itself is what counts. commit NULL: a folder. */
void kernels_failure_set(kernels_failure *failure, const char *repo_id, const char *commit,
                         kernels_decisions *decisions);
void kernels_failure_set_versions(kernels_failure *failure, const kernels_cached_version *versions, size_t count);
void kernels_failure_set_fitting(kernels_failure *failure, uint64_t version, const char *variant);
void kernels_failure_clear(kernels_failure *failure);

#endif
