/* SPDX-License-Identifier: Apache-2.0 */
#include "load/versions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

#define LIST_LIMIT ((size_t)1024 * 1024)

bool kernels_version_branch_parse(kernels_view name, uint64_t *version) {
    if (!kernels_view_starts_with(name, KERNELS_VIEW("v"))) {
        return false;
    }
    kernels_view digits = kernels_view_slice(name, 1, name.size);
    bool leading_zero = digits.size > 1 && digits.data[0] == '0';
    return !leading_zero && kernels_view_to_u64(digits, version);
}

static int compare_versions(const void *left, const void *right) {
    uint64_t a = ((const kernels_cached_version *)left)->version;
    uint64_t b = ((const kernels_cached_version *)right)->version;
    return (a > b) - (a < b);
}

kernels_status kernels_versions_from_refs(const kernels_refs *refs, kernels_versions *versions, kernels_error *error) {
    kernels_cached_version *items = kernels_calloc(refs->branch_count + 1, sizeof *items);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    size_t count = 0;
    for (size_t i = 0; i < refs->branch_count; i++) {
        const kernels_ref *branch = &refs->branches[i];
        if (kernels_version_branch_parse(kernels_view_of(branch->name), &items[count].version)) {
            memcpy(items[count].commit, branch->commit, sizeof items[count].commit);
            count++;
        }
    }
    qsort(items, count, sizeof *items, compare_versions);
    *versions = (kernels_versions){.items = items, .count = count};
    return KERNELS_OK;
}

kernels_status kernels_versions_list(kernels_context *context, const char *repo_id, kernels_versions *versions,
                                     kernels_error *error) {
    if (kernels_hub_is_offline(context->hub)) {
        return kernels_versions_list_cached(context, repo_id, versions, error);
    }
    kernels_refs refs = {0};
    KERNELS_TRY(kernels_hub_refs(context->hub, KERNELS_REPOSITORY_KERNEL, repo_id, false, &refs, error));
    kernels_status status = kernels_versions_from_refs(&refs, versions, error);
    kernels_refs_dispose(&refs);
    return status;
}

kernels_status kernels_versions_list_cached(kernels_context *context, const char *repo_id, kernels_versions *versions,
                                            kernels_error *error) {
    kernels_versions found = {.from_cache = true};
    KERNELS_TRY(kernels_cache_versions(context->hub, repo_id, &found.items, &found.count, error));
    *versions = found;
    return KERNELS_OK;
}

void kernels_versions_dispose(kernels_versions *versions) {
    kernels_string_free((char *)versions->items);
    *versions = (kernels_versions){0};
}

static kernels_status fail_not_found(const kernels_versions *versions, const char *repo_id, uint64_t version,
                                     kernels_error *error) {
    if (versions->count == 0 && versions->from_cache) {
        return kernels_fail(error, KERNELS_VERSION_NOT_FOUND,
                            "Version %" PRIu64 " of '%s' is not in the local cache and offline mode is on. Load the "
                            "kernel once while online, or give a commit as the revision.",
                            version, repo_id);
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer list = KERNELS_BUFFER_INIT(LIST_LIMIT);
    for (size_t i = 0; i < versions->count; i++) {
        kernels_buffer_printf(&list, "%s%" PRIu64, i > 0 ? ", " : "", versions->items[i].version);
    }
    kernels_fail(error, KERNELS_VERSION_NOT_FOUND, "Version %" PRIu64 " not found, available versions: %s", version,
                 kernels_buffer_text(&list));
    kernels_error_set_subject(error, repo_id);
    return KERNELS_VERSION_NOT_FOUND;
}

kernels_status kernels_versions_find(kernels_context *context, const kernels_versions *versions, const char *repo_id,
                                     uint64_t version, const kernels_cached_version **found, kernels_error *error) {
    for (size_t i = 0; i < versions->count; i++) {
        if (versions->items[i].version == version) {
            uint64_t newest = versions->items[versions->count - 1].version;
            if (newest > version) {
                kernels_context_warn(context, KERNELS_WARNING_VERSIONS,
                                     "You are using version %" PRIu64 " of '%s', but version %" PRIu64 " is available.",
                                     version, repo_id, newest);
            }
            *found = &versions->items[i];
            return KERNELS_OK;
        }
    }
    return fail_not_found(versions, repo_id, version, error);
}
