/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a load one by one, for callers that walk the tree of dependencies themselves. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/node.h"

struct kernels_found {
    kernels_load_node *node;
    bool is_folder;
};

static kernels_status fail_null(const char *names, kernels_error *error) {
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s must be given", names);
}

/* ---- finding ---- */

/* Takes the node, also on failure. */
static kernels_status give_found(kernels_load_node *node, bool is_folder, kernels_found **found, kernels_error *error) {
    kernels_found *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        kernels_load_node_free(node);
        return kernels_fail_no_memory(error);
    }
    kernels_load_node_drop_listing(node);
    *made = (kernels_found){node, is_folder};
    *found = made;
    return KERNELS_OK;
}

kernels_status kernels_find(kernels_context *context, const char *repo_id, const kernels_load_options *options,
                            kernels_found **found, kernels_error *error) {
    static const kernels_load_options defaults = {0};
    if (context == NULL || repo_id == NULL || found == NULL) {
        return fail_null("context, repo_id and found", error);
    }
    options = options != NULL ? options : &defaults;
    kernels_request request;
    KERNELS_TRY(kernels_request_check_version(options, error));
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    request.overrides = NULL;
    kernels_load_node *node = kernels_load_node_new(repo_id, options->version, options->revision);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_locate(&request, node, NULL, error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
        return status;
    }
    return give_found(node, false, found, error);
}

kernels_status kernels_find_folder(kernels_context *context, const char *path, const kernels_load_options *options,
                                   kernels_found **found, kernels_error *error) {
    if (context == NULL || path == NULL || found == NULL) {
        return fail_null("context, path and found", error);
    }
    kernels_request request;
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    kernels_load_node *node = kernels_load_node_new(path, 0, NULL);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    const kernels_choice_options choice = {.for_native = request.for_native};
    kernels_status status = kernels_locate_folder(&request, node, path, &choice, error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
        return status;
    }
    return give_found(node, true, found, error);
}

void kernels_found_free(kernels_found *found) {
    if (found != NULL) {
        kernels_load_node_free(found->node);
        kernels_free(found);
    }
}

const char *kernels_found_repo_id(const kernels_found *found) { return found->is_folder ? NULL : found->node->repo_id; }

const char *kernels_found_commit(const kernels_found *found) {
    return found->node->commit[0] != '\0' ? found->node->commit : NULL;
}

const char *kernels_found_ref(const kernels_found *found) { return found->node->ref; }

const char *kernels_found_variant(const kernels_found *found) { return found->node->variant; }

const char *kernels_found_path(const kernels_found *found) { return found->node->path; }

const kernels_metadata *kernels_found_metadata(const kernels_found *found) { return &found->node->metadata; }

kernels_view kernels_found_metadata_text(const kernels_found *found) {
    return (kernels_view){found->node->metadata_text, found->node->metadata_size};
}

const kernels_decisions *kernels_found_decisions(const kernels_found *found) { return &found->node->decisions; }

/* ---- installing ---- */

static bool is_folder_name(const char *name) {
    kernels_view view = kernels_view_of(name);
    return view.size > 0 && view.size <= KERNELS_VARIANT_NAME_MAX && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && kernels_view_find(view, '/') == SIZE_MAX &&
           kernels_view_find(view, '\\') == SIZE_MAX;
}

/* A node for a commit whose files are wanted; *node is the caller's, also on failure. */
static kernels_status begin(kernels_context *context, const char *repo_id, const char *commit, const char *ref,
                            const kernels_load_options *options, kernels_request *request, kernels_load_node **node,
                            kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    KERNELS_TRY(kernels_commit_check(commit, error));
    KERNELS_TRY(kernels_request_make(context, options, request, error));
    kernels_load_node *made = kernels_load_node_new(repo_id, 0, commit);
    *node = made;
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    memcpy(made->commit, commit, strlen(commit) + 1);
    made->ref = kernels_strdup(ref);
    made->ask_before_download = !kernels_request_trusts(request, repo_id);
    return made->ref != NULL || ref == NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status install(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    if (request->cache_only) {
        KERNELS_TRY(kernels_load_node_find_cached(request, node, error));
    } else {
        KERNELS_TRY(kernels_load_node_list(request, node, error));
        node->on_hub = true;
    }
    return kernels_load_node_install(request, node, error);
}

kernels_status kernels_install(kernels_context *context, const char *repo_id, const char *commit, const char *variant,
                               const char *ref, const kernels_load_options *options, char **path,
                               kernels_error *error) {
    if (context == NULL || repo_id == NULL || commit == NULL || variant == NULL || path == NULL) {
        return fail_null("context, repo_id, commit, variant and path", error);
    }
    if (!is_folder_name(variant)) {
        return kernels_fail(error, KERNELS_UNSAFE_NAME, "'%s' is no name of a variant folder", variant);
    }
    kernels_request request;
    kernels_load_node *node = NULL;
    kernels_status status = begin(context, repo_id, commit, ref, options, &request, &node, error);
    if (status == KERNELS_OK) {
        memcpy(node->variant, variant, strlen(variant) + 1);
        status = install(&request, node, error);
    }
    if (status == KERNELS_OK) {
        *path = node->path;
        node->path = NULL;
    }
    kernels_load_node_free(node);
    return status;
}

static kernels_status find_cached_files(const kernels_request *request, const kernels_load_node *node,
                                        const kernels_tree_entry *const *files, size_t count, char **snapshot,
                                        kernels_error *error) {
    kernels_hub *hub = request->context->hub;
    KERNELS_TRY(
        kernels_cache_snapshot(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, NULL, snapshot, error));
    if (!kernels_cache_has_files(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, files, count)) {
        return kernels_fail(error, KERNELS_NOT_CACHED,
                            "the cache does not have all variants of '%s' at %s: load them once online", node->repo_id,
                            node->commit);
    }
    return KERNELS_OK;
}

static kernels_status install_files(const kernels_request *request, kernels_load_node *node, char **snapshot,
                                    kernels_error *error) {
    KERNELS_TRY(kernels_load_node_list(request, node, error));
    const kernels_tree_entry **files = kernels_calloc(node->tree.count + 1, sizeof *files);
    if (files == NULL) {
        return kernels_fail_no_memory(error);
    }
    size_t count = kernels_load_select_files(&node->tree, "build", files);
    kernels_status status = request->cache_only
                                ? find_cached_files(request, node, files, count, snapshot, error)
                                : kernels_load_node_fetch(request, node, files, count, node->ref, snapshot, error);
    if (status == KERNELS_OK && !request->no_verify) {
        status = kernels_load_node_check_listed(node, *snapshot, files, count, error);
    }
    kernels_free(files);
    return status;
}

kernels_status kernels_install_all(kernels_context *context, const char *repo_id, const char *commit, const char *ref,
                                   const kernels_load_options *options, char **path, kernels_error *error) {
    if (context == NULL || repo_id == NULL || commit == NULL || path == NULL) {
        return fail_null("context, repo_id, commit and path", error);
    }
    kernels_request request;
    kernels_load_node *node = NULL;
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_status status = begin(context, repo_id, commit, ref, options, &request, &node, error);
    if (status == KERNELS_OK) {
        status = install_files(&request, node, &snapshot, error);
    }
    kernels_load_node_free(node);
    char *build = status == KERNELS_OK ? kernels_path_join(snapshot, "build") : NULL;
    if (status == KERNELS_OK && build == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (status == KERNELS_OK) {
        *path = build;
    }
    return status;
}

kernels_status kernels_verify_folder(kernels_context *context, const char *path, bool *has_digest,
                                     kernels_error *error) {
    if (context == NULL || path == NULL || has_digest == NULL) {
        return fail_null("context, path and has_digest", error);
    }
    kernels_load_node *node = kernels_load_node_new(path, 0, NULL);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_view name = kernels_path_name(path);
    size_t size = name.size < KERNELS_VARIANT_NAME_MAX ? name.size : KERNELS_VARIANT_NAME_MAX;
    memcpy(node->variant, name.data, size);
    node->path = kernels_strdup(path);
    kernels_status status =
        node->path != NULL ? kernels_load_node_read_metadata(node, path, error) : kernels_fail_no_memory(error);
    bool has = status == KERNELS_OK && node->metadata.has_digest;
    if (has) {
        status = kernels_load_node_check_digest(node, error);
    }
    if (status == KERNELS_OK) {
        *has_digest = has;
    }
    kernels_load_node_free(node);
    return status;
}

/* ---- questions ---- */

kernels_status kernels_list_versions(kernels_context *context, const char *repo_id, bool cache_only,
                                     kernels_version_branch **versions, size_t *count, kernels_error *error) {
    if (context == NULL || repo_id == NULL || versions == NULL || count == NULL) {
        return fail_null("context, repo_id, versions and count", error);
    }
    kernels_versions found = {0};
    kernels_version_branch *made = NULL;
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    KERNELS_TRY(cache_only ? kernels_versions_list_cached(context, repo_id, &found, error)
                           : kernels_versions_list(context, repo_id, &found, error));
    size_t found_count = found.count;
    if (found_count > 0) {
        made = kernels_calloc(found_count, sizeof *made);
    }
    for (size_t i = 0; made != NULL && i < found_count; i++) {
        made[i].version = found.items[i].version;
        memcpy(made[i].commit, found.items[i].commit, sizeof made[i].commit);
    }
    kernels_versions_dispose(&found);
    if (made == NULL && found_count > 0) {
        return kernels_fail_no_memory(error);
    }
    *versions = made;
    *count = found_count;
    return KERNELS_OK;
}

kernels_status kernels_find_commit(kernels_context *context, const char *repo_id, const kernels_load_options *options,
                                   char commit[65], kernels_error *error) {
    if (context == NULL || repo_id == NULL || options == NULL || commit == NULL) {
        return fail_null("context, repo_id, options and commit", error);
    }
    kernels_request request;
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    KERNELS_TRY(kernels_request_check_version(options, error));
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    kernels_load_node *node = kernels_load_node_new(repo_id, options->version, options->revision);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_load_node_find_commit(&request, node, true, error);
    if (status == KERNELS_OK) {
        memcpy(commit, node->commit, sizeof node->commit);
    }
    kernels_load_node_free(node);
    return status;
}

static kernels_status list_folder(const kernels_request *request, const kernels_load_node *node,
                                  kernels_candidates *candidates, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    KERNELS_TRY(kernels_cache_snapshot(request->context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit,
                                       NULL, &snapshot, error));
    KERNELS_CLEANUP_FREE char *build = kernels_path_join(snapshot, "build");
    return build != NULL ? kernels_candidates_from_folder(build, candidates, error) : kernels_fail_no_memory(error);
}

static kernels_status list_candidates(const kernels_request *request, kernels_load_node *node,
                                      kernels_candidates *candidates, kernels_error *error) {
    if (request->cache_only) {
        return list_folder(request, node, candidates, error);
    }
    KERNELS_TRY(kernels_load_node_list(request, node, error));
    return kernels_candidates_from_tree(&node->tree, candidates, error);
}

/* The names live in the arena of the candidates, which names->owner takes over. */
static kernels_status give_names(kernels_candidates *candidates, kernels_names *names, kernels_error *error) {
    char **items = kernels_arena_array(candidates->arena, candidates->count + 1, sizeof *items);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < candidates->count; i++) {
        items[i] = kernels_arena_copy_text(candidates->arena, kernels_view_of(candidates->items[i].name));
        if (items[i] == NULL) {
            return kernels_fail_no_memory(error);
        }
    }
    *names = (kernels_names){items, candidates->count, candidates->arena};
    candidates->arena = NULL;
    return KERNELS_OK;
}

kernels_status kernels_list_variants(kernels_context *context, const char *repo_id, const char *commit, bool cache_only,
                                     kernels_names *names, kernels_error *error) {
    if (context == NULL || repo_id == NULL || commit == NULL || names == NULL) {
        return fail_null("context, repo_id, commit and names", error);
    }
    kernels_request request;
    kernels_load_node *node = NULL;
    kernels_candidates candidates = {0};
    const kernels_load_options options = {.cache_only = cache_only};
    kernels_status status = begin(context, repo_id, commit, NULL, &options, &request, &node, error);
    if (status == KERNELS_OK) {
        status = list_candidates(&request, node, &candidates, error);
    }
    if (status == KERNELS_OK) {
        status = give_names(&candidates, names, error);
    }
    kernels_candidates_dispose(&candidates);
    kernels_load_node_free(node);
    return status;
}

void kernels_names_dispose(kernels_names *names) {
    kernels_arena_free(names->owner);
    *names = (kernels_names){0};
}

kernels_status kernels_check_trust(kernels_context *context, const char *repo_id, const kernels_load_options *options,
                                   kernels_error *error) {
    if (context == NULL || repo_id == NULL) {
        return fail_null("context and repo_id", error);
    }
    kernels_request request;
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    return kernels_request_check_trust(&request, repo_id, NULL, error);
}
