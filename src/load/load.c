/* SPDX-License-Identifier: Apache-2.0 */
/* The load pipeline: locate the kernel and all it depends on, validate, install dependencies first. */
#include "base/error.h"
#include "load/kernel.h"
#include "load/node.h"
#include "load/registry.h"

/* The kernel of a node that is installed, from now on in the registry. Takes the node out of the graph. */
static kernels_status keep(const kernels_request *request, kernels_load_node **place, bool is_local,
                           kernels_error *error) {
    kernels_kernel *kernel = NULL;
    kernels_load_node *node = *place;
    *place = NULL;
    KERNELS_TRY(kernels_kernel_new(request->context, node, is_local, &kernel, error));
    kernels_status status = kernels_registry_add(request->context, kernel, error);
    kernels_kernel_free(kernel);
    return status;
}

/* Everything is installed before anything is registered: a failure leaves no half of a tree behind. */
static kernels_status run(const kernels_request *request, kernels_graph *graph, bool is_local, kernels_error *error) {
    KERNELS_TRY(kernels_graph_resolve(request, graph, error));
    for (size_t i = 0; i < graph->count; i++) {
        KERNELS_TRY(kernels_validate(request, graph->nodes[i], error));
    }
    for (size_t i = 0; i < graph->finished_count; i++) {
        kernels_load_node *node = graph->nodes[graph->finished[i]];
        if (kernels_registry_find(request, node) == NULL) {
            KERNELS_TRY(kernels_load_node_install(request, node, error));
        }
    }
    for (size_t i = 0; i < graph->finished_count; i++) {
        kernels_load_node **place = &graph->nodes[graph->finished[i]];
        if (kernels_registry_find(request, *place) == NULL) {
            KERNELS_TRY(keep(request, place, is_local && graph->finished[i] == 0, error));
        }
    }
    return KERNELS_OK;
}

/* Loads from a node that is located, but for what it was loaded before. */
static kernels_status load_located(const kernels_request *request, kernels_graph *graph, bool is_local,
                                   kernels_kernel **kernel, kernels_error *error) {
    kernels_context *context = request->context;
    kernels_kernel *known = kernels_registry_find(request, graph->nodes[0]);
    if (known == NULL) {
        KERNELS_TRY(run(request, graph, is_local, error));
        known = context->kernels[context->kernel_count - 1];
    }
    *kernel = kernels_kernel_retain(known);
    return KERNELS_OK;
}

/* Loads from a node that is new (folder NULL) or stands for a folder. Owns the node. */
static kernels_status load_node(const kernels_request *request, kernels_load_node *node, const char *folder,
                                kernels_kernel **kernel, kernels_error *error) {
    kernels_graph graph = {0};
    kernels_status status = kernels_graph_add(&graph, node, error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
        return status;
    }
    if (folder == NULL) {
        status = kernels_locate(request, node, NULL, error);
    } else {
        const kernels_choice_options choice = {.for_native = request->for_native};
        status = kernels_locate_folder(request, node, folder, &choice, error);
    }
    if (status == KERNELS_OK) {
        status = load_located(request, &graph, folder != NULL, kernel, error);
    }
    kernels_graph_dispose(&graph);
    return status;
}

kernels_status kernels_load(kernels_context *context, const char *repo_id, const kernels_load_options *options,
                            kernels_kernel **kernel, kernels_error *error) {
    static const kernels_load_options defaults = {0};
    if (context == NULL || repo_id == NULL || kernel == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "context, repo_id and kernel must be given");
    }
    options = options != NULL ? options : &defaults;
    kernels_request request;
    KERNELS_TRY(kernels_request_check_version(options, error));
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    kernels_load_node *node = kernels_load_node_new(repo_id, options->version, options->revision);
    return node != NULL ? load_node(&request, node, NULL, kernel, error) : kernels_fail_no_memory(error);
}

kernels_status kernels_load_local(kernels_context *context, const char *path, const kernels_load_options *options,
                                  kernels_kernel **kernel, kernels_error *error) {
    if (context == NULL || path == NULL || kernel == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "context, path and kernel must be given");
    }
    kernels_request request;
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    kernels_load_node *node = kernels_load_node_new(path, 0, NULL);
    return node != NULL ? load_node(&request, node, path, kernel, error) : kernels_fail_no_memory(error);
}
