/* SPDX-License-Identifier: Apache-2.0 */
#include "load/obtain.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/node.h"

static void tell_begin(const kernels_obtain_options *options, const kernels_load_node *node) {
    if (options->begin != NULL) {
        options->begin(options->payload, node->repo_id, node->commit);
    }
}

static void tell_done(const kernels_obtain_options *options, const kernels_obtained *obtained) {
    if (options->done != NULL) {
        options->done(options->payload, obtained);
    }
}

static kernels_status replace_ref(kernels_load_node *node, const char *ref, kernels_error *error) {
    if (ref == NULL) {
        return KERNELS_OK;
    }
    kernels_free(node->ref);
    node->ref = kernels_strdup(ref);
    return node->ref != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- one variant ---- */

static kernels_status count_files(const char *folder, kernels_obtained *obtained, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(folder, KERNELS_LIST_RECURSIVE | KERNELS_LIST_FOLLOW_LINKS, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, listing.entries[i].path);
        uint64_t size = 0;
        if (path == NULL) {
            status = kernels_fail_no_memory(error);
        } else if (listing.entries[i].type == KERNELS_ENTRY_FILE) {
            status = kernels_file_size(path, &size, error);
            obtained->files++;
            obtained->bytes += size;
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

static kernels_status install_variant(const kernels_request *request, const kernels_obtain_options *options,
                                      kernels_load_node *node, kernels_error *error) {
    tell_begin(options, node);
    KERNELS_TRY(kernels_load_node_install(request, node, error));
    KERNELS_CLEANUP_FREE char *build = kernels_path_parent(node->path);
    KERNELS_CLEANUP_FREE char *snapshot = build != NULL ? kernels_path_parent(build) : NULL;
    if (snapshot == NULL) {
        return kernels_fail_no_memory(error);
    }
    const char *variant = node->variant;
    kernels_obtained obtained = {.repo_id = node->repo_id,
                                 .commit = node->commit,
                                 .snapshot = snapshot,
                                 .variants = &variant,
                                 .variant_count = 1};
    KERNELS_TRY(count_files(node->path, &obtained, error));
    tell_done(options, &obtained);
    return KERNELS_OK;
}

static kernels_status obtain_variant(const kernels_request *request, const kernels_obtain_options *options,
                                     kernels_graph *graph, kernels_error *error) {
    kernels_load_node *root = graph->nodes[0];
    KERNELS_TRY(kernels_locate(request, root, NULL, error));
    KERNELS_TRY(replace_ref(root, options->ref, error));
    if (!options->dependencies) {
        return install_variant(request, options, root, error);
    }
    KERNELS_TRY(kernels_graph_resolve(request, graph, error));
    for (size_t i = 0; i < graph->finished_count; i++) {
        KERNELS_TRY(install_variant(request, options, graph->nodes[graph->finished[i]], error));
    }
    return KERNELS_OK;
}

/* ---- all variants ---- */

static kernels_status fetch_all(const kernels_request *request, kernels_load_node *node, kernels_obtained *obtained,
                                char **snapshot, kernels_error *error) {
    const kernels_tree_entry **files = kernels_calloc(node->tree.count + 1, sizeof *files);
    if (files == NULL) {
        return kernels_fail_no_memory(error);
    }
    obtained->files = kernels_load_select_files(&node->tree, "build", files);
    for (size_t i = 0; i < obtained->files; i++) {
        obtained->bytes += files[i]->size;
    }
    kernels_status status = kernels_load_node_fetch(request, node, files, obtained->files, node->ref, snapshot, error);
    kernels_free(files);
    return status;
}

static bool is_queued(const kernels_graph *graph, const kernels_dependency *dependency) {
    for (size_t i = 0; i < graph->count; i++) {
        const kernels_load_node *node = graph->nodes[i];
        bool same_revision = node->revision == NULL || dependency->revision == NULL
                                 ? node->revision == dependency->revision && node->version == dependency->version
                                 : strcmp(node->revision, dependency->revision) == 0;
        if (strcmp(node->repo_id, dependency->repo_id) == 0 && same_revision) {
            return true;
        }
    }
    return false;
}

static kernels_status queue_dependency(kernels_graph *graph, const kernels_dependency *dependency,
                                       kernels_error *error) {
    if (is_queued(graph, dependency)) {
        return KERNELS_OK;
    }
    kernels_load_node *node = kernels_load_node_new(dependency->repo_id, dependency->version, dependency->revision);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_graph_add(graph, node, error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
    }
    return status;
}

/* What any of the variants depends on. A variant without readable metadata has nothing to say. */
static kernels_status queue_dependencies(kernels_graph *graph, const char *snapshot, const kernels_obtained *obtained,
                                         kernels_error *error) {
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < obtained->variant_count && status == KERNELS_OK; i++) {
        KERNELS_CLEANUP_FREE char *folder = kernels_path_join3(snapshot, "build", obtained->variants[i]);
        KERNELS_CLEANUP_FREE char *path = folder != NULL ? kernels_path_join(folder, "metadata.json") : NULL;
        kernels_metadata metadata;
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        if (!kernels_file_is_regular(path) || kernels_metadata_read(path, &metadata, NULL) != KERNELS_OK) {
            continue;
        }
        for (size_t j = 0; j < metadata.kernel_depends_count && status == KERNELS_OK; j++) {
            status = queue_dependency(graph, &metadata.kernel_depends[j], error);
        }
        kernels_metadata_dispose(&metadata);
    }
    return status;
}

static kernels_status obtain_commit(const kernels_request *request, const kernels_obtain_options *options,
                                    kernels_graph *graph, kernels_load_node *node, kernels_error *error) {
    kernels_candidates candidates = {0};
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_obtained obtained = {.repo_id = node->repo_id, .commit = node->commit};
    KERNELS_TRY(kernels_candidates_from_tree(&node->tree, &candidates, error));
    const char **names = kernels_calloc(candidates.count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < candidates.count; i++) {
        names[i] = candidates.items[i].name;
    }
    obtained.variants = names;
    obtained.variant_count = candidates.count;
    kernels_status status =
        names != NULL ? fetch_all(request, node, &obtained, &snapshot, error) : kernels_fail_no_memory(error);
    obtained.snapshot = snapshot;
    if (status == KERNELS_OK && options->dependencies) {
        status = queue_dependencies(graph, snapshot, &obtained, error);
    }
    if (status == KERNELS_OK) {
        tell_done(options, &obtained);
    }
    kernels_free(names);
    kernels_candidates_dispose(&candidates);
    return status;
}

static kernels_status obtain_all(const kernels_request *request, const kernels_obtain_options *options,
                                 kernels_graph *graph, kernels_error *error) {
    for (size_t i = 0; i < graph->count; i++) {
        kernels_load_node *node = graph->nodes[i];
        KERNELS_TRY(kernels_repository_id_check(kernels_view_of(node->repo_id), error));
        KERNELS_TRY(kernels_load_node_find_commit(request, node, i == 0, error));
        KERNELS_TRY(replace_ref(node, i == 0 ? options->ref : NULL, error));
        tell_begin(options, node);
        kernels_status status = kernels_load_node_list(request, node, error);
        if (status != KERNELS_OK) {
            return kernels_wrap(error, status, "cannot list what %s (revision: %s) has in build/", node->repo_id,
                                node->commit);
        }
        KERNELS_TRY(obtain_commit(request, options, graph, node, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_obtain(kernels_context *context, const char *repo_id, uint64_t version, const char *revision,
                              const kernels_obtain_options *options, kernels_error *error) {
    const kernels_load_options load_options = {.trust_remote_code = true, .for_python = true};
    kernels_request request;
    KERNELS_TRY(kernels_request_make(context, &load_options, &request, error));
    request.overrides = NULL;
    kernels_graph graph = {0};
    kernels_load_node *node = kernels_load_node_new(repo_id, version, revision);
    kernels_status status = node != NULL ? kernels_graph_add(&graph, node, error) : kernels_fail_no_memory(error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
        return status;
    }
    status = options->all_variants ? obtain_all(&request, options, &graph, error)
                                   : obtain_variant(&request, options, &graph, error);
    kernels_graph_dispose(&graph);
    return status;
}
