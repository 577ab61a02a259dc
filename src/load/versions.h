/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a kernel are branches named "v" and a plain decimal number. */
#ifndef KERNELS_SRC_LOAD_VERSIONS_H
#define KERNELS_SRC_LOAD_VERSIONS_H

#include "hub/hub.h"
#include "load/context.h"

typedef struct kernels_versions {
    kernels_cached_version *items; /* ascending */
    size_t count;
    bool from_cache; /* only those that the cache knows */
} kernels_versions;

/* "v10" -> 10; false for "v01", "v+1", "V1", "v1.0". */
bool kernels_version_branch_parse(kernels_view name, uint64_t *version);

/* Those among the branches of a repository. */
kernels_status kernels_versions_from_refs(const kernels_refs *refs, kernels_versions *versions, kernels_error *error);
/* From the Hub, or offline from the cache. */
kernels_status kernels_versions_list(kernels_context *context, const char *repo_id, kernels_versions *versions,
                                     kernels_error *error);
/* From the cache alone. */
kernels_status kernels_versions_list_cached(kernels_context *context, const char *repo_id, kernels_versions *versions,
                                            kernels_error *error);
void kernels_versions_dispose(kernels_versions *versions);

/* The wanted one; KERNELS_VERSION_NOT_FOUND lists those there are (offline and none at all: says so). Warns when a
 * newer one exists. */
kernels_status kernels_versions_find(kernels_context *context, const kernels_versions *versions, const char *repo_id,
                                     uint64_t version, const kernels_cached_version **found, kernels_error *error);

#endif
