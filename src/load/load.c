/* SPDX-License-Identifier: Apache-2.0 */
/* The load pipeline: locate the kernel and all it depends on, validate, install dependencies first. */
#include <stdlib.h>

#include "base/error.h"
#include "load/kernel.h"
#include "load/node.h"

static kernels_status make_request(kernels_context *context, const kernels_load_options *options,
                                   kernels_request *request, kernels_error *error) {
    *request = (kernels_request){.context = context,
                                 .trust_remote_code = options->trust_remote_code,
                                 .for_native = !options->for_python,
                                 .no_verify = options->no_verify,
                                 .overrides = getenv("LOCAL_KERNELS")};
    return kernels_system_select_backend(&context->system, options->backend, &request->system, error);
}

/* The kernel that was asked for; the others are in the cache, and C has no use for them. */
static kernels_load_node *take_root(kernels_graph *graph) {
    kernels_load_node *root = graph->nodes[0];
    graph->nodes[0] = NULL;
    return root;
}

static kernels_status run(const kernels_request *request, kernels_graph *graph, kernels_error *error) {
    KERNELS_TRY(kernels_graph_resolve(request, graph, error));
    for (size_t i = 0; i < graph->count; i++) {
        KERNELS_TRY(kernels_validate(request, graph->nodes[i], error));
    }
    for (size_t i = 0; i < graph->finished_count; i++) {
        KERNELS_TRY(kernels_install(request, graph->nodes[graph->finished[i]], error));
    }
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
        status = run(request, &graph, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_kernel_new(take_root(&graph), folder != NULL, kernel, error);
    }
    kernels_graph_dispose(&graph);
    return status;
}

kernels_status kernels_load(kernels_context *context, const char *repo_id, const kernels_load_options *options,
                            kernels_kernel **kernel, kernels_error *error) {
    const kernels_load_options defaults = {0};
    if (context == NULL || repo_id == NULL || kernel == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "context, repo_id and kernel must be given");
    }
    options = options != NULL ? options : &defaults;
    bool has_version = options->has_version || options->version > 0;
    if (has_version && options->revision != NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "Only one of version and revision can be specified");
    }
    if (!has_version && options->revision == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "A kernel version or revision must be specified");
    }
    kernels_request request;
    KERNELS_TRY(make_request(context, options, &request, error));
    kernels_load_node *node = kernels_load_node_new(repo_id, options->version, options->revision);
    return node != NULL ? load_node(&request, node, NULL, kernel, error) : kernels_fail_no_memory(error);
}

kernels_status kernels_load_local(kernels_context *context, const char *path, const kernels_load_options *options,
                                  kernels_kernel **kernel, kernels_error *error) {
    const kernels_load_options defaults = {0};
    if (context == NULL || path == NULL || kernel == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "context, path and kernel must be given");
    }
    kernels_request request;
    KERNELS_TRY(make_request(context, options != NULL ? options : &defaults, &request, error));
    kernels_load_node *node = kernels_load_node_new(path, 0, NULL);
    return node != NULL ? load_node(&request, node, path, kernel, error) : kernels_fail_no_memory(error);
}
