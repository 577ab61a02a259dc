/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/published.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"

static kernels_status open_cached(kernels_context *context, const char *revision, bool recursive,
                                  kernels_published *published, kernels_error *error) {
    KERNELS_TRY(kernels_cache_snapshot(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id, revision,
                                       published->commit, &published->snapshot, error));
    if (recursive && kernels_cache_tree(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id, published->commit,
                                        "build", &published->tree, NULL) == KERNELS_OK) {
        return kernels_candidates_from_tree(&published->tree, &published->candidates, error);
    }
    KERNELS_CLEANUP_FREE char *build = kernels_path_join(published->snapshot, "build");
    if (build == NULL) {
        return kernels_fail_no_memory(error);
    }
    return kernels_candidates_from_folder(build, &published->candidates, error);
}

static kernels_status open_online(kernels_context *context, const char *revision, bool recursive,
                                  kernels_published *published, kernels_error *error) {
    KERNELS_TRY(kernels_hub_resolve_revision(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id, revision,
                                             published->commit, error));
    kernels_status status = kernels_hub_tree(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id,
                                             published->commit, "build", recursive, &published->tree, error);
    if (status == KERNELS_ENTRY_NOT_FOUND) {
        if (error != NULL) {
            kernels_error_dispose(error);
        }
        return KERNELS_OK; /* no build/: nothing is offered */
    }
    KERNELS_TRY(status);
    return kernels_candidates_from_tree(&published->tree, &published->candidates, error);
}

kernels_status kernels_published_open(kernels_context *context, const char *repo_id, const char *revision,
                                      bool recursive, kernels_published *published, kernels_error *error) {
    *published = (kernels_published){.repo_id = repo_id};
    kernels_status status = kernels_hub_is_offline(context->hub)
                                ? open_cached(context, revision, recursive, published, error)
                                : open_online(context, revision, recursive, published, error);
    if (status != KERNELS_OK) {
        kernels_published_dispose(published);
    }
    return status;
}

void kernels_published_dispose(kernels_published *published) {
    kernels_tree_dispose(&published->tree);
    kernels_free(published->snapshot);
    kernels_candidates_dispose(&published->candidates);
    *published = (kernels_published){0};
}

static const kernels_tree_entry *find_entry(const kernels_tree *tree, const char *path) {
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->entries[i].is_directory && strcmp(tree->entries[i].path, path) == 0) {
            return &tree->entries[i];
        }
    }
    return NULL;
}

kernels_status kernels_published_metadata(kernels_context *context, const kernels_published *published,
                                          const char *variant, const char *ref, kernels_metadata *metadata, bool *found,
                                          kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3("build", variant, "metadata.json");
    KERNELS_CLEANUP_FREE char *snapshot = kernels_strdup(published->snapshot);
    if (path == NULL || (published->snapshot != NULL && snapshot == NULL)) {
        return kernels_fail_no_memory(error);
    }
    *found = false;
    if (snapshot == NULL) {
        const kernels_tree_entry *entry = find_entry(&published->tree, path);
        if (entry == NULL) {
            return KERNELS_OK;
        }
        KERNELS_TRY(kernels_hub_fetch(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id, published->commit,
                                      &entry, 1, ref, &snapshot, error));
        /* so that nobody takes this part of the snapshot for the whole */
        kernels_cache_keep_tree(context->hub, KERNELS_REPOSITORY_KERNEL, published->repo_id, published->commit,
                                &published->tree);
    }
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(snapshot, path);
    if (full == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_exists(full)) {
        return KERNELS_OK;
    }
    *found = true;
    return kernels_metadata_read(full, metadata, error);
}
