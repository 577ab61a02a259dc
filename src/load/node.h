/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel on its way from a name to a folder. */
#ifndef KERNELS_SRC_LOAD_NODE_H
#define KERNELS_SRC_LOAD_NODE_H

#include "hub/hub.h"
#include "load/candidates.h"
#include "load/context.h"

/* What one call of kernels_load asks for, the same for the kernel and all its dependencies. */
typedef struct kernels_request {
    kernels_context *context;
    kernels_system system; /* with the selected backend */
    bool trust_remote_code;
    bool for_native;
    bool no_verify;
    const char *overrides; /* text of LOCAL_KERNELS, or NULL */
} kernels_request;

/* Filled step by step: name (what is asked for), location (which variant, where), metadata, path. */
typedef struct kernels_load_node {
    /* asked for: repo_id with version, or with revision when that is not NULL */
    char *repo_id;
    uint64_t version;
    char *revision;

    /* where it is */
    bool on_hub;              /* files still have to be fetched */
    bool ask_before_download; /* that the publisher is trusted is only remembered: ask before anything is fetched */
    char commit[65];          /* "" for a local folder */
    char *ref;                /* to be recorded in the cache: "v1", "main"; NULL = none */
    kernels_tree tree;        /* everything below build/; from the cache only where it is remembered there */
    char *path;               /* the variant folder; on_hub: known once installed */
    kernels_decisions decisions;
    char variant[KERNELS_VARIANT_NAME_MAX + 1]; /* name of the variant folder */
    const char *noarch_name;                    /* of a chosen noarch variant, else NULL; in decisions */

    bool has_metadata;
    kernels_metadata metadata;
    bool verified;

    /* walking the tree of dependencies */
    bool on_path, finished;
    size_t next_dependency;
} kernels_load_node;

kernels_load_node *kernels_load_node_new(const char *repo_id, uint64_t version, const char *revision);
void kernels_load_node_free(kernels_load_node *node);

/* Notes the best of the decisions as the chosen one. */
void kernels_load_node_choose(kernels_load_node *node);

/* Reads <folder>/metadata.json into the node. */
kernels_status kernels_load_node_read_metadata(kernels_load_node *node, const char *folder, kernels_error *error);

/* "good/leaf (version 1)", "good/leaf (revision: main)" for messages; writes at most size bytes. */
void kernels_load_node_label(const kernels_load_node *node, char *text, size_t size);

/* ---- the steps ---- */

/* locate.c: overrides, then the Hub, or offline the cache. Fetches metadata.json and nothing else. */
kernels_status kernels_locate(const kernels_request *request, kernels_load_node *node, const kernels_load_node *parent,
                              kernels_error *error);
/* local.c: a repository folder, its build folder or a variant folder. */
kernels_status kernels_locate_folder(const kernels_request *request, kernels_load_node *node, const char *folder,
                                     const kernels_choice_options *choice, kernels_error *error);
/* validate.c: kernels-minver, dirty builds. */
kernels_status kernels_validate(const kernels_request *request, const kernels_load_node *node, kernels_error *error);
/* locate.c: version or revision -> commit and ref, from the Hub or offline from the cache. */
kernels_status kernels_load_node_find_commit(kernels_context *context, kernels_load_node *node, kernels_error *error);
/* install.c: the files below a folder but for byte code; `files` has room for all of the tree. */
size_t kernels_load_select_files(const kernels_tree *tree, const char *folder, const kernels_tree_entry **files);
/* install.c: files of the node's commit into the cache; the publisher is asked for first where that is still due. */
kernels_status kernels_load_node_fetch(const kernels_request *request, kernels_load_node *node,
                                       const kernels_tree_entry *const *files, size_t count, const char *ref,
                                       char **snapshot, kernels_error *error);
/* install.c: fetches the files of the variant and checks every one of them. */
kernels_status kernels_install(const kernels_request *request, kernels_load_node *node, kernels_error *error);

/* ---- the tree ---- */

/* Most kernels in one tree of dependencies, and its greatest depth. */
#define KERNELS_GRAPH_NODE_LIMIT ((size_t)1000)
#define KERNELS_GRAPH_DEPTH_LIMIT ((size_t)64)

typedef struct kernels_graph {
    kernels_load_node **nodes; /* in the order of discovery: a kernel before its dependencies; [0] is the root */
    size_t count, capacity;
    size_t *finished; /* indices in the order of completion: dependencies first */
    size_t finished_count;
} kernels_graph;

/* graph.c: locates every dependency of nodes[0], which is located already. Each (repository, version or revision)
 * once. */
kernels_status kernels_graph_resolve(const kernels_request *request, kernels_graph *graph, kernels_error *error);
kernels_status kernels_graph_add(kernels_graph *graph, kernels_load_node *node, kernels_error *error);
void kernels_graph_dispose(kernels_graph *graph);

#endif
