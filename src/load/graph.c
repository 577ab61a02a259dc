/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of dependencies, walked depth first without recursion. Each node is located once, however many kernels
 * depend on it. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "load/node.h"

kernels_status kernels_graph_add(kernels_graph *graph, kernels_load_node *node, kernels_error *error) {
    if (graph->count == KERNELS_GRAPH_NODE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu kernels in one tree of dependencies",
                            KERNELS_GRAPH_NODE_LIMIT);
    }
    if (!kernels_grow((void **)&graph->nodes, &graph->capacity, graph->count, sizeof(kernels_load_node *),
                      KERNELS_GRAPH_NODE_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    graph->nodes[graph->count++] = node;
    return KERNELS_OK;
}

void kernels_graph_dispose(kernels_graph *graph) {
    for (size_t i = 0; i < graph->count; i++) {
        kernels_load_node_free(graph->nodes[i]);
    }
    kernels_free(graph->nodes);
    kernels_free(graph->finished);
    *graph = (kernels_graph){0};
}

static bool is_asked_for(const kernels_load_node *node, const kernels_dependency *dependency) {
    if (strcmp(node->repo_id, dependency->repo_id) != 0) {
        return false;
    }
    if (node->revision == NULL || dependency->revision == NULL) {
        return node->revision == dependency->revision && node->version == dependency->version;
    }
    return strcmp(node->revision, dependency->revision) == 0;
}

/* Index of the node for a dependency, or graph->count. */
static size_t find_node(const kernels_graph *graph, const kernels_dependency *dependency) {
    size_t index = 0;
    while (index < graph->count && !is_asked_for(graph->nodes[index], dependency)) {
        index++;
    }
    return index;
}

/* A kernel sees its dependencies by repository: it cannot have two versions of one. */
static kernels_status check_collisions(const kernels_load_node *node, kernels_error *error) {
    const kernels_metadata *metadata = &node->metadata;
    for (size_t i = 0; i < metadata->kernel_depends_count; i++) {
        for (size_t j = 0; j < i; j++) {
            const kernels_dependency *a = &metadata->kernel_depends[j];
            const kernels_dependency *b = &metadata->kernel_depends[i];
            if (strcmp(a->repo_id, b->repo_id) == 0 && kernels_dependency_compare(a, b) != 0) {
                return kernels_fail(error, KERNELS_SCHEMA,
                                    "Kernel %s depends on two versions of %s: expected one, found entries %zu and %zu "
                                    "of kernel-depends",
                                    node->repo_id, a->repo_id, j + 1, i + 1);
            }
        }
    }
    return KERNELS_OK;
}

/* The node for the next dependency of `parent`; *is_new says that it still has to be walked. */
static kernels_status enter(const kernels_request *request, kernels_graph *graph, kernels_load_node *parent,
                            size_t *index, bool *is_new, kernels_error *error) {
    const kernels_dependency *dependency = &parent->metadata.kernel_depends[parent->next_dependency++];
    *index = find_node(graph, dependency);
    *is_new = *index == graph->count;
    if (!*is_new) {
        return graph->nodes[*index]->on_path
                   ? kernels_fail(error, KERNELS_SCHEMA, "Cyclic kernel dependency detected: %s", dependency->repo_id)
                   : KERNELS_OK;
    }
    kernels_load_node *node = kernels_load_node_new(dependency->repo_id, dependency->version, dependency->revision);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_graph_add(graph, node, error);
    if (status != KERNELS_OK) {
        kernels_load_node_free(node);
        return status;
    }
    status = kernels_locate(request, node, parent, error);
    if (status != KERNELS_OK) {
        char label[1024];
        kernels_load_node_label(node, label, sizeof label);
        return kernels_wrap(error, status, "Could not resolve kernel %s, a dependency of %s", label, parent->repo_id);
    }
    return check_collisions(node, error);
}

static kernels_status walk(const kernels_request *request, kernels_graph *graph, size_t *stack, kernels_error *error) {
    size_t depth = 1;
    stack[0] = 0;
    graph->nodes[0]->on_path = true;
    while (depth > 0) {
        kernels_load_node *top = graph->nodes[stack[depth - 1]];
        if (top->next_dependency == top->metadata.kernel_depends_count) {
            top->on_path = false;
            graph->finished[graph->finished_count++] = stack[--depth];
            continue;
        }
        size_t index = 0;
        bool is_new = false;
        KERNELS_TRY(enter(request, graph, top, &index, &is_new, error));
        if (!is_new) {
            continue;
        }
        if (depth == KERNELS_GRAPH_DEPTH_LIMIT) {
            return kernels_fail(error, KERNELS_LIMIT, "expected kernel dependencies at most %zu deep",
                                KERNELS_GRAPH_DEPTH_LIMIT);
        }
        graph->nodes[index]->on_path = true;
        stack[depth++] = index;
    }
    return KERNELS_OK;
}

kernels_status kernels_graph_resolve(const kernels_request *request, kernels_graph *graph, kernels_error *error) {
    size_t stack[KERNELS_GRAPH_DEPTH_LIMIT];
    graph->finished = kernels_calloc(KERNELS_GRAPH_NODE_LIMIT, sizeof *graph->finished);
    if (graph->finished == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(check_collisions(graph->nodes[0], error));
    return walk(request, graph, stack, error);
}
