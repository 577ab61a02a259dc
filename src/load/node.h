/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel on its way from a name to a folder. */
#ifndef KERNELS_SRC_LOAD_NODE_H
#define KERNELS_SRC_LOAD_NODE_H

#include "hub/hub.h"
#include "load/candidates.h"
#include "load/context.h"
#include "load/versions.h"

/* What one call of kernels_load asks for, the same for the kernel and all its dependencies. */
typedef struct kernels_request {
    kernels_context *context;
    kernels_system system; /* with the selected backend */
    bool trust_all;
    const char *const *trusted; /* repository ids that are trusted besides */
    size_t trusted_count;
    bool any_version; /* of the root: the lock says which */
    bool cache_only;  /* no requests; always set in offline mode */
    bool for_native;
    bool no_verify;
    bool no_hint;
    const char *commit;         /* of the root, or NULL */
    const kernels_locks *locks; /* where commits come from, or NULL */
    const char *overrides;      /* text of LOCAL_KERNELS, or NULL */
} kernels_request;

/* request.c: what the caller's options ask for; a backend that cannot be selected is an error. Forgets the failure of
 * the call before. */
kernels_status kernels_request_make(kernels_context *context, const kernels_load_options *options,
                                    kernels_request *request, kernels_error *error);
/* request.c: exactly one of version and revision (neither, where a lock says it); one of them makes the node. */
kernels_status kernels_request_check_version(const kernels_load_options *options, kernels_error *error);
/* request.c: is the publisher of this repository not to be asked about? */
bool kernels_request_trusts(const kernels_request *request, const char *repo_id);
/* request.c: may it be run? ask_before_download NULL: the answer has to be the Hub's own, now. Else it may be a
 * remembered one, and *ask_before_download is set: the Hub must be asked before anything is fetched. */
kernels_status kernels_request_check_trust(const kernels_request *request, const char *repo_id,
                                           bool *ask_before_download, kernels_error *error);

/* Filled step by step: name (what is asked for), location (which variant, where), metadata, path. */
typedef struct kernels_load_node {
    /* asked for: repo_id with version, or with revision when that is not NULL */
    char *repo_id;
    uint64_t version;
    char *revision;

    /* where it is */
    bool on_hub;                  /* files still have to be fetched */
    bool ask_before_download;     /* that the publisher is trusted is only remembered: ask before anything is fetched */
    char commit[65];              /* "" for a local folder */
    bool locked;                  /* the commit is the caller's, not what the Hub says now */
    char *ref;                    /* to be recorded in the cache: "v1", "main"; NULL = none */
    kernels_versions versions;    /* that the repository has, where they were asked for */
    kernels_commit_tree *listing; /* keeps the tree alive */
    kernels_tree tree;            /* everything below build/; from the cache only where it is remembered there */
    char *path;                   /* the variant folder; on_hub: known once installed */
    kernels_decisions decisions;
    char variant[KERNELS_VARIANT_NAME_MAX + 1]; /* name of the variant folder */
    const char *noarch_name;                    /* of a chosen noarch variant, else NULL; in decisions */

    bool has_metadata;
    kernels_metadata metadata;
    char *metadata_text;
    size_t metadata_size;
    bool checked;  /* every file, in one of two ways: */
    bool verified; /* against the digest of metadata.json */

    /* walking the tree of dependencies */
    bool on_path, finished;
    size_t next_dependency;
} kernels_load_node;

kernels_load_node *kernels_load_node_new(const char *repo_id, uint64_t version, const char *revision);
void kernels_load_node_free(kernels_load_node *node);
/* What is immutable and shared must not hold a listing of a context. */
void kernels_load_node_drop_listing(kernels_load_node *node);

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
kernels_status kernels_load_node_find_commit(const kernels_request *request, kernels_load_node *node, bool is_root,
                                             kernels_error *error);
/* locked.c: the commit that the request's lock has for the node. */
kernels_status kernels_locked_find(const kernels_request *request, kernels_load_node *node, bool is_root,
                                   kernels_error *error);
/* locate.c: what the commit has below build/. */
kernels_status kernels_load_node_list(const kernels_request *request, kernels_load_node *node, kernels_error *error);
/* locate.c: the variant folder in the cache, complete; the path is set. */
kernels_status kernels_load_node_find_cached(const kernels_request *request, kernels_load_node *node,
                                             kernels_error *error);
/* install.c: the files below a folder but for byte code; `files` has room for all of the tree. */
size_t kernels_load_select_files(const kernels_tree *tree, const char *folder, const kernels_tree_entry **files);
/* install.c: files of the node's commit into the cache; the publisher is asked for first where that is still due. */
kernels_status kernels_load_node_fetch(const kernels_request *request, kernels_load_node *node,
                                       const kernels_tree_entry *const *files, size_t count, const char *ref,
                                       char **snapshot, kernels_error *error);
/* install.c: fetches the files of the variant, and its metadata where that is still missing, and checks every one. */
kernels_status kernels_load_node_install(const kernels_request *request, kernels_load_node *node, kernels_error *error);
/* install.c: checks files in a snapshot against the listing of the commit. */
kernels_status kernels_load_node_check_listed(const kernels_load_node *node, const char *snapshot,
                                              const kernels_tree_entry *const *files, size_t count,
                                              kernels_error *error);
/* install.c: the files of the folder against the digest of the node's metadata. */
kernels_status kernels_load_node_check_digest(kernels_load_node *node, kernels_error *error);

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
