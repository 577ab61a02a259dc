/* SPDX-License-Identifier: Apache-2.0 */
#include "load/failure.h"

#include <stdio.h>

#include "base/memory.h"

void kernels_failure_set(kernels_failure *failure, const char *repo_id, const char *commit,
                         kernels_decisions *decisions) {
    kernels_failure_clear(failure);
    failure->repo_id = kernels_strdup(repo_id);
    failure->decisions = *decisions;
    *decisions = (kernels_decisions){0};
    if (failure->repo_id == NULL) {
        kernels_failure_clear(failure);
        return;
    }
    (void)snprintf(failure->commit, sizeof failure->commit, "%s", commit != NULL ? commit : "");
    failure->data.repo_id = failure->repo_id;
    failure->data.commit = commit != NULL ? failure->commit : NULL;
    failure->data.decisions = &failure->decisions;
    failure->is_set = true;
}

void kernels_failure_set_versions(kernels_failure *failure, const kernels_cached_version *versions, size_t count) {
    uint64_t *numbers = failure->is_set ? kernels_calloc(count + 1, sizeof *numbers) : NULL;
    if (numbers == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = versions[i].version;
    }
    kernels_free(failure->versions);
    failure->versions = numbers;
    failure->data.versions = numbers;
    failure->data.version_count = count;
}

void kernels_failure_set_fitting(kernels_failure *failure, uint64_t version, const char *variant) {
    (void)snprintf(failure->fitting_variant, sizeof failure->fitting_variant, "%s", variant);
    failure->data.has_fitting_version = true;
    failure->data.fitting_version = version;
    failure->data.fitting_variant = failure->fitting_variant;
}

void kernels_failure_clear(kernels_failure *failure) {
    kernels_free(failure->repo_id);
    kernels_free(failure->versions);
    kernels_decisions_dispose(&failure->decisions);
    *failure = (kernels_failure){0};
}
