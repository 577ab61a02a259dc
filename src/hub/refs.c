/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, tags and pull requests of a repository. */
#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"
#include "hub/hub_private.h"
#include "hub/repo_url.h"

/* Refs of one kind that a repository may have. */
#define REF_LIMIT ((size_t)200000)

static kernels_status read_ref(const kernels_node *node, const char *url, kernels_arena *arena, kernels_ref *ref,
                               kernels_error *error) {
    kernels_view name, full;
    KERNELS_TRY(kernels_hub_text_member(node, "name", url, &name, error));
    KERNELS_TRY(kernels_hub_text_member(node, "ref", url, &full, error));
    KERNELS_TRY(kernels_hub_commit_member(node, "targetCommit", url, ref->commit, error));
    ref->name = kernels_arena_copy_text(arena, name);
    ref->ref = kernels_arena_copy_text(arena, full);
    if (!ref->name || !ref->ref) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_revision_check(ref->name, error));
    return kernels_revision_check(ref->ref, error);
}

static kernels_status read_refs(const kernels_node *root, const char *key, const char *url, kernels_arena *arena,
                                const kernels_ref **refs, size_t *count, kernels_error *error) {
    const kernels_node *array = kernels_node_find(root, key);
    if (!array) {
        return KERNELS_OK;
    }
    if (!kernels_node_is(array, KERNELS_NODE_ARRAY) || array->count > REF_LIMIT) {
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected a list of at most %zu refs as '%s'", url, REF_LIMIT,
                            key);
    }
    kernels_ref *made = kernels_arena_array(arena, array->count + 1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < array->count; i++) {
        KERNELS_TRY(read_ref(array->as.items[i], url, arena, &made[i], error));
    }
    *refs = made;
    *count = array->count;
    return KERNELS_OK;
}

static kernels_status read_all(const kernels_node *root, const char *url, kernels_refs *refs, kernels_error *error) {
    if (!kernels_node_is(kernels_node_find(root, "branches"), KERNELS_NODE_ARRAY)) {
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected the list 'branches', found none", url);
    }
    KERNELS_TRY(read_refs(root, "branches", url, refs->owner, &refs->branches, &refs->branch_count, error));
    KERNELS_TRY(read_refs(root, "tags", url, refs->owner, &refs->tags, &refs->tag_count, error));
    return read_refs(root, "pullRequests", url, refs->owner, &refs->pull_requests, &refs->pull_request_count, error);
}

kernels_status kernels_hub_refs(kernels_hub *hub, kernels_repository_type type, const char *repo_id, bool pull_requests,
                                kernels_refs *refs, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, NULL, error));
    KERNELS_CLEANUP_FREE char *url =
        kernels_repo_api_url(hub->config.endpoint, type, repo_id, pull_requests ? "refs?include_prs=1" : "refs", NULL);
    if (!url) {
        return kernels_fail_no_memory(error);
    }
    kernels_document document;
    KERNELS_TRY(kernels_hub_get_json(hub, url, KERNELS_HUB_PAGE_LIMIT, &document, NULL, error));
    kernels_refs read = {.owner = kernels_arena_new(0)};
    kernels_status status = read.owner ? read_all(document.root, url, &read, error) : kernels_fail_no_memory(error);
    kernels_document_dispose(&document);
    if (status != KERNELS_OK) {
        kernels_refs_dispose(&read);
        return status;
    }
    *refs = read;
    return KERNELS_OK;
}

void kernels_refs_dispose(kernels_refs *refs) {
    kernels_arena_free(refs->owner);
    *refs = (kernels_refs){0};
}
