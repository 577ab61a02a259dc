/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant of which commit: asked of the overrides, then of the Hub, or offline of the cache. */
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/node.h"
#include "load/overrides.h"
#include "load/versions.h"

#define TEXT_LIMIT ((size_t)4096)
/* Versions in one message. */
#define NAMED_VERSIONS ((size_t)20)

static kernels_choice_options choice_for(const kernels_request *request, const kernels_load_node *parent) {
    return (kernels_choice_options){.for_native = request->for_native && parent == NULL,
                                    .as_noarch = request->for_native && parent != NULL ? parent->noarch_name : NULL};
}

/* ---- version or revision -> commit ---- */

static kernels_status set_ref(kernels_load_node *node, kernels_error *error) {
    if (node->revision == NULL) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(64);
        kernels_buffer_printf(&text, "v%" PRIu64, node->version);
        node->ref = kernels_buffer_take(&text);
    } else if (!kernels_view_is_hex(kernels_view_of(node->revision), 40)) {
        node->ref = kernels_strdup(node->revision);
    } else {
        return KERNELS_OK;
    }
    return node->ref != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status list_versions(const kernels_request *request, const char *repo_id, kernels_versions *versions,
                                    kernels_error *error) {
    return request->cache_only ? kernels_versions_list_cached(request->context, repo_id, versions, error)
                               : kernels_versions_list(request->context, repo_id, versions, error);
}

static kernels_status find_version(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    const kernels_cached_version *found = NULL;
    KERNELS_TRY(list_versions(request, node->repo_id, &node->versions, error));
    KERNELS_TRY(kernels_versions_find(request->context, &node->versions, node->repo_id, node->version, &found, error));
    memcpy(node->commit, found->commit, sizeof node->commit);
    return KERNELS_OK;
}

/* Is the Hub out of reach, rather than saying no? */
static bool is_out_of_reach(kernels_status status, const kernels_error *error) {
    return status == KERNELS_NETWORK || status == KERNELS_TIMEOUT || status == KERNELS_RATE_LIMITED ||
           (status == KERNELS_HTTP && error->http_status >= 500);
}

/* A Hub that cannot be reached does not stop who has the branch in the cache. */
static kernels_status find_revision(kernels_context *context, kernels_load_node *node, kernels_error *error) {
    kernels_error failure = KERNELS_ERROR_INIT;
    kernels_status status = kernels_hub_resolve_revision(context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id,
                                                         node->revision, node->commit, &failure);
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    if (status != KERNELS_OK && is_out_of_reach(status, &failure) &&
        kernels_cache_snapshot(context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->revision, node->commit,
                               &snapshot, NULL) == KERNELS_OK) {
        kernels_context_warn(context, KERNELS_WARNING_HUB,
                             "The Hub does not say what '%s' of %s is now (%s); the cached commit %s is used",
                             node->revision, node->repo_id, kernels_error_message(&failure), node->commit);
        kernels_error_dispose(&failure);
        return KERNELS_OK;
    }
    kernels_error_move(error, &failure);
    return status;
}

static kernels_status fail_not_cached(const kernels_load_node *node, kernels_status status, kernels_error *error) {
    char label[TEXT_LIMIT];
    kernels_load_node_label(node, label, sizeof label);
    return kernels_wrap(error, status,
                        "Cannot find a complete local snapshot of %s. In offline mode the kernel must already be in "
                        "the local cache: %s",
                        label,
                        node->locked ? "it was not downloaded, run `kernels download <project>` while online"
                                     : "load it once while online");
}

static kernels_status find_cached_revision(kernels_context *context, kernels_load_node *node, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_status status = kernels_cache_snapshot(context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id,
                                                   node->revision, node->commit, &snapshot, error);
    return status == KERNELS_OK ? status : fail_not_cached(node, status, error);
}

static kernels_status take_commit(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    KERNELS_TRY(kernels_commit_check(request->commit, error));
    memcpy(node->commit, request->commit, strlen(request->commit) + 1);
    node->locked = true;
    return KERNELS_OK;
}

kernels_status kernels_load_node_find_commit(const kernels_request *request, kernels_load_node *node, bool is_root,
                                             kernels_error *error) {
    if (is_root && request->commit != NULL) {
        return take_commit(request, node, error);
    }
    if (request->locks != NULL) {
        return kernels_locked_find(request, node, is_root, error);
    }
    KERNELS_TRY(node->revision == NULL ? find_version(request, node, error)
                : request->cache_only  ? find_cached_revision(request->context, node, error)
                                       : find_revision(request->context, node, error));
    return set_ref(node, error);
}

static void warn_of_status(kernels_context *context, const kernels_load_node *node, kernels_commit_tree *listing) {
    if (listing->tree.has_status_file && !listing->status_told) {
        listing->status_told = true;
        kernels_context_warn(
            context, KERNELS_WARNING_STATUS,
            "Repository %s (revision: %s) has a kernel-status.toml: the kernel may have been redirected "
            "to another repository. Redirects are not followed, the build in this repository is used.",
            node->repo_id, node->commit);
    }
}

kernels_status kernels_load_node_list(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    kernels_context *context = request->context;
    kernels_commit_tree *listing = NULL;
    KERNELS_TRY(kernels_commit_tree_get(&context->trees, context->hub, node->repo_id, node->commit, request->cache_only,
                                        &listing, error));
    kernels_load_node_drop_listing(node);
    node->listing = listing;
    node->tree = listing->tree;
    warn_of_status(context, node, listing);
    return KERNELS_OK;
}

/* ---- the Hub ---- */

/* The newest version may have what this one lacks: the variant of it that fits, in `variant`. Failures of this look do
 * not matter. */
static bool newest_fits(const kernels_request *request, const kernels_load_node *node,
                        const kernels_choice_options *choice, char variant[KERNELS_VARIANT_NAME_MAX + 1]) {
    kernels_context *context = request->context;
    kernels_commit_tree *listing = NULL;
    kernels_candidates candidates = {0};
    kernels_decisions decisions = {0};
    const kernels_cached_version *newest = &node->versions.items[node->versions.count - 1];
    bool fits = strcmp(newest->commit, node->commit) != 0 &&
                kernels_commit_tree_get(&context->trees, context->hub, node->repo_id, newest->commit,
                                        request->cache_only, &listing, NULL) == KERNELS_OK &&
                kernels_candidates_from_tree(&listing->tree, &candidates, NULL) == KERNELS_OK &&
                kernels_candidates_resolve(context, &candidates, &request->system, choice, NULL, &decisions, NULL) ==
                    KERNELS_OK &&
                decisions.accepted_count > 0;
    if (fits) {
        memcpy(variant, decisions.items[0].variant.name, KERNELS_VARIANT_NAME_MAX + 1);
    }
    kernels_decisions_dispose(&decisions);
    kernels_candidates_dispose(&candidates);
    kernels_commit_tree_release(listing);
    return fits;
}

static void list_other_versions(const kernels_load_node *node, kernels_buffer *message) {
    size_t named = 0;
    for (size_t i = node->versions.count; i > 0 && named < NAMED_VERSIONS; i--) {
        const kernels_cached_version *version = &node->versions.items[i - 1];
        if (strcmp(version->commit, node->commit) != 0) {
            kernels_buffer_printf(message, "%s%" PRIu64, named++ == 0 ? "\n\nOther versions of it: " : ", ",
                                  version->version);
        }
    }
    if (named == NAMED_VERSIONS) {
        kernels_buffer_add_text(message, ", ...");
    }
}

/* What else there is. With requests only the newest version is looked into; the failure keeps it all as data. */
static void add_hint(const kernels_request *request, kernels_load_node *node, const kernels_choice_options *choice,
                     kernels_buffer *message) {
    kernels_failure *failure = &request->context->failure;
    char variant[KERNELS_VARIANT_NAME_MAX + 1];
    bool may_ask = !request->no_hint && !request->cache_only;
    if (node->versions.count == 0 && may_ask) {
        (void)kernels_versions_list(request->context, node->repo_id, &node->versions, NULL);
    }
    if (node->versions.count == 0) {
        return;
    }
    kernels_failure_set_versions(failure, node->versions.items, node->versions.count);
    uint64_t newest = node->versions.items[node->versions.count - 1].version;
    if (may_ask && newest_fits(request, node, choice, variant)) {
        kernels_failure_set_fitting(failure, newest, variant);
        kernels_buffer_printf(message,
                              "\n\nConsider upgrading to version v%" PRIu64 ": its variant %s fits this system.",
                              newest, variant);
    } else {
        list_other_versions(node, message);
    }
}

static kernels_status fail_no_variant(const kernels_request *request, kernels_load_node *node,
                                      const kernels_choice_options *choice, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer message = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    KERNELS_CLEANUP_FREE char *trace = kernels_decisions_trace(&node->decisions);
    kernels_buffer_printf(&message, "Cannot find a build variant for this system in %s (revision: %s):\n\n%s",
                          node->repo_id, node->commit,
                          trace == NULL || trace[0] == '\0' ? "it has no build variants" : trace);
    kernels_failure_set(&request->context->failure, node->repo_id, node->commit, &node->decisions);
    add_hint(request, node, choice, &message);
    kernels_fail(error, KERNELS_NO_VARIANT, "%s", kernels_buffer_text(&message));
    kernels_error_set_subject(error, node->repo_id);
    return KERNELS_NO_VARIANT;
}

static kernels_status choose(const kernels_request *request, kernels_load_node *node,
                             const kernels_candidates *candidates, const kernels_choice_options *choice,
                             kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer origin = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    kernels_buffer_printf(&origin, "Repository %s (revision: %s)", node->repo_id, node->commit);
    KERNELS_TRY(kernels_candidates_resolve(request->context, candidates, &request->system, choice,
                                           kernels_buffer_text(&origin), &node->decisions, error));
    if (node->decisions.accepted_count == 0) {
        return fail_no_variant(request, node, choice, error);
    }
    kernels_load_node_choose(node);
    return KERNELS_OK;
}

static const kernels_tree_entry *find_file(const kernels_tree *tree, const char *path) {
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->entries[i].is_directory && strcmp(tree->entries[i].path, path) == 0) {
            return &tree->entries[i];
        }
    }
    return NULL;
}

/* metadata.json alone: nothing else is fetched before the whole tree of dependencies has been accepted. */
static kernels_status fetch_metadata(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join("build", node->variant);
    KERNELS_CLEANUP_FREE char *path = folder != NULL ? kernels_path_join(folder, "metadata.json") : NULL;
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    const kernels_tree_entry *entry = find_file(&node->tree, path);
    if (entry == NULL) {
        kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%s (revision: %s) has no %s: the variant is not a complete build",
                     node->repo_id, node->commit, path);
        kernels_error_set_subject(error, node->repo_id);
        return KERNELS_ENTRY_NOT_FOUND;
    }
    KERNELS_TRY(kernels_load_node_fetch(request, node, &entry, 1, NULL, &snapshot, error));
    KERNELS_CLEANUP_FREE char *variant = kernels_path_join(snapshot, folder);
    if (variant == NULL) {
        return kernels_fail_no_memory(error);
    }
    return kernels_load_node_read_metadata(node, variant, error);
}

static kernels_status locate_on_hub(const kernels_request *request, kernels_load_node *node,
                                    const kernels_choice_options *choice, kernels_error *error) {
    kernels_status status = kernels_load_node_list(request, node, error);
    if (status == KERNELS_ENTRY_NOT_FOUND) {
        return kernels_wrap(error, status, "%s (revision: %s) has no build folder: it is no published kernel",
                            node->repo_id, node->commit);
    }
    KERNELS_TRY(status);
    node->on_hub = true;
    kernels_candidates candidates = {0};
    KERNELS_TRY(kernels_candidates_from_tree(&node->tree, &candidates, error));
    status = choose(request, node, &candidates, choice, error);
    kernels_candidates_dispose(&candidates);
    KERNELS_TRY(status);
    return fetch_metadata(request, node, error);
}

/* ---- the cache ---- */

/* Sets the node's path to its variant folder, once that is complete. */
kernels_status kernels_load_node_find_cached(const kernels_request *request, kernels_load_node *node,
                                             kernels_error *error) {
    kernels_hub *hub = request->context->hub;
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_status status =
        kernels_cache_snapshot(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, NULL, &snapshot, error);
    if (status == KERNELS_OK) {
        status = kernels_cache_check_variant(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, node->variant,
                                             error);
    }
    if (status != KERNELS_OK) {
        return fail_not_cached(node, status, error);
    }
    /* the ids of its files, where the cache remembers them */
    if (node->listing == NULL) {
        (void)kernels_load_node_list(request, node, NULL);
    }
    node->path = kernels_path_join3(snapshot, "build", node->variant);
    return node->path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status locate_in_cache(const kernels_request *request, kernels_load_node *node,
                                      const kernels_choice_options *choice, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_status status = kernels_cache_snapshot(request->context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id,
                                                   node->commit, NULL, &snapshot, error);
    if (status != KERNELS_OK) {
        return fail_not_cached(node, status, error);
    }
    KERNELS_CLEANUP_FREE char *build = kernels_path_join(snapshot, "build");
    if (build == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_candidates candidates = {0};
    KERNELS_TRY(kernels_candidates_from_folder(build, &candidates, error));
    status = choose(request, node, &candidates, choice, error);
    kernels_candidates_dispose(&candidates);
    KERNELS_TRY(status);
    KERNELS_TRY(kernels_load_node_find_cached(request, node, error));
    return kernels_load_node_read_metadata(node, node->path, error);
}

kernels_status kernels_locate(const kernels_request *request, kernels_load_node *node, const kernels_load_node *parent,
                              kernels_error *error) {
    const kernels_choice_options choice = choice_for(request, parent);
    KERNELS_CLEANUP_FREE char *folder = NULL;
    KERNELS_TRY(kernels_overrides_find(request->overrides, node->repo_id, &folder, error));
    if (folder != NULL) {
        kernels_status status = kernels_locate_folder(request, node, folder, &choice, error);
        return status == KERNELS_OK
                   ? status
                   : kernels_wrap(error, status, "LOCAL_KERNELS replaces %s by %s", node->repo_id, folder);
    }
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(node->repo_id), error));
    KERNELS_TRY(kernels_request_check_trust(request, node->repo_id, &node->ask_before_download, error));
    KERNELS_TRY(kernels_load_node_find_commit(request, node, parent == NULL, error));
    return request->cache_only ? locate_in_cache(request, node, &choice, error)
                               : locate_on_hub(request, node, &choice, error);
}
