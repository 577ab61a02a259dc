/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Hub: requests, the cache shared with huggingface_hub, tokens, offline mode, uploads.
 * One kernels_hub belongs to one thread at a time; what it returns is immutable.
 */
#ifndef KERNELS_SRC_HUB_HUB_H
#define KERNELS_SRC_HUB_HUB_H

#include "kernels/base.h"
#include "kernels/data.h"

typedef struct kernels_hub kernels_hub;

typedef enum kernels_repository_type { KERNELS_REPOSITORY_KERNEL, KERNELS_REPOSITORY_MODEL } kernels_repository_type;

/* Progress of one batch of downloads or uploads. total is 0 while unknown. file is NULL for the whole. */
typedef void kernels_progress_function(void *payload, const char *file, uint64_t done, uint64_t total);
typedef enum kernels_log_level { KERNELS_LOG_DEBUG, KERNELS_LOG_INFO, KERNELS_LOG_WARNING } kernels_log_level;
typedef void kernels_log_function(void *payload, kernels_log_level level, const char *message);

/* NULL members mean: from the environment (HF_ENDPOINT, HF_HUB_CACHE / KERNELS_CACHE, HF_TOKEN and its
 * look-up order, HF_HUB_OFFLINE), else the default. */
typedef struct kernels_hub_options {
    const char *endpoint;
    const char *cache_directory;
    const char *token;
    bool no_token;
    bool require_token;           /* KERNELS_TOKEN_NOT_FOUND when the look-up finds none */
    bool offline;                 /* or'ed with the environment */
    bool online;                  /* whatever the environment says of offline mode; offline wins */
    bool telemetry, no_telemetry; /* neither: the environment decides what the user agent tells; no_telemetry wins */
    const char *user_agent;       /* complete library part, NULL = kernels/<version> */
    const char *client;           /* entries that are sent without telemetry too ("python/3.12.4"); NULL = none */
    kernels_progress_function *progress;
    kernels_log_function *log;
    void *payload; /* for both callbacks */
    /* polled while waiting; true aborts with KERNELS_INTERRUPTED. May be NULL. */
    bool (*cancelled)(void *payload);
} kernels_hub_options;

kernels_status kernels_hub_new(const kernels_hub_options *options, kernels_hub **hub, kernels_error *error);
void kernels_hub_free(kernels_hub *hub);
bool kernels_hub_is_offline(const kernels_hub *hub);
const char *kernels_hub_endpoint(const kernels_hub *hub);
const char *kernels_hub_web_address(const kernels_hub *hub); /* for people: "https://hf.co", or the endpoint in use */
const char *kernels_hub_cache_directory(const kernels_hub *hub);
bool kernels_hub_has_token(const kernels_hub *hub);
uint64_t kernels_hub_request_count(const kernels_hub *hub); /* sent so far; for tests and benchmarks */

/* Files that came from the Hub, so far. */
void kernels_hub_fetched(const kernels_hub *hub, uint64_t *files, uint64_t *bytes);

/* ---- reading the Hub ---- */

typedef struct kernels_ref {
    const char *name; /* "v1" */
    const char *ref;  /* "refs/heads/v1" */
    char commit[65];
} kernels_ref;

typedef struct kernels_refs {
    const kernels_ref *branches, *tags, *pull_requests;
    size_t branch_count, tag_count, pull_request_count;
    void *owner;
} kernels_refs;

kernels_status kernels_hub_refs(kernels_hub *hub, kernels_repository_type type, const char *repo_id, bool pull_requests,
                                kernels_refs *refs, kernels_error *error);
void kernels_refs_dispose(kernels_refs *refs);

/* Commit of a branch, tag, commit or "refs/..." (GET .../revision/R); 40 hex digits give themselves, no request. */
kernels_status kernels_hub_resolve_revision(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                            const char *revision, char commit[65], kernels_error *error);

typedef struct kernels_tree_entry {
    const char *path; /* from the repository root; checked to be safe */
    bool is_directory;
    uint64_t size;
    char oid[65];        /* git blob or tree id */
    char lfs_sha256[65]; /* "" = not an LFS file */
} kernels_tree_entry;

typedef struct kernels_tree {
    const kernels_tree_entry *entries; /* ascending by bytes of path */
    size_t count;
    bool from_cache;      /* files only, no folders */
    bool has_status_file; /* a cached listing of the whole repository shows kernel-status.toml at the root */
    void *owner;
} kernels_tree;

/* path: "" or NULL = the root. An unknown path is KERNELS_ENTRY_NOT_FOUND. Pages are followed. A recursive listing of
 * a commit that the cache knows needs no request: what a commit holds never changes. */
kernels_status kernels_hub_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                const char *revision, const char *path, bool recursive, kernels_tree *tree,
                                kernels_error *error);
/* The recursive listing of a commit from the cache alone, never a request: KERNELS_NOT_CACHED without one. */
kernels_status kernels_cache_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                  const char *commit, const char *path, kernels_tree *tree, kernels_error *error);
void kernels_tree_dispose(kernels_tree *tree);

/* KERNELS_OK: trusted publisher. KERNELS_UNTRUSTED: not, or it could not be verified. Asks once a process. */
kernels_status kernels_hub_check_publisher(kernels_hub *hub, const char *repo_id, kernels_error *error);
/* Did the Hub call the publisher trusted within the last day? No request. Enough for files that are in the cache
 * already; before anything is downloaded kernels_hub_check_publisher must be asked. */
bool kernels_hub_remembers_publisher(const kernels_hub *hub, const char *repo_id);
/* Name of the token's user; heap text (kernels_string_free). */
kernels_status kernels_hub_whoami(kernels_hub *hub, char **name, kernels_error *error);

/* ---- the cache ---- */

/* Fetches the given files (entries of a tree of that commit) that the cache lacks, several at once, each hashed
 * on the way and compared with its id before it gets its name; makes the pointers. Then, when ref is not NULL,
 * records refs/<ref> = commit. snapshot (heap text) receives the snapshot folder. */
kernels_status kernels_hub_fetch(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                 const char *commit, const kernels_tree_entry *const *files, size_t count,
                                 const char *ref, char **snapshot, kernels_error *error);

/* Are all of them in the snapshot, in the right size? Then kernels_hub_fetch will send nothing. */
bool kernels_cache_has_files(kernels_hub *hub, kernels_repository_type type, const char *repo_id, const char *commit,
                             const kernels_tree_entry *const *files, size_t count);
/* Keeps the listing of build/ at a commit beside its snapshot, so that the next kernels_hub_tree of it needs no
 * request. Best effort; does nothing when there is no snapshot. */
void kernels_cache_keep_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id, const char *commit,
                             const kernels_tree *tree);

/* Folder of a cached snapshot for a commit, branch, tag or ref text, without any request:
 * KERNELS_NOT_CACHED when absent. commit may be NULL. snapshot is heap text. */
kernels_status kernels_cache_snapshot(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                      const char *revision, char commit[65], char **snapshot, kernels_error *error);

typedef struct kernels_cached_version {
    uint64_t version;
    char commit[65];
} kernels_cached_version;
/* Version branches recorded in refs/ ("kernels--" before the older "models--"), ascending. Heap array,
 * free with kernels_string_free((char *)versions). No cache: count 0. */
kernels_status kernels_cache_versions(kernels_hub *hub, const char *repo_id, kernels_cached_version **versions,
                                      size_t *count, kernels_error *error);
/* Why the cached snapshot of build/<variant>/ is not complete: KERNELS_NOT_CACHED naming up to three missing
 * files; KERNELS_OK when complete. Judged by a listing if the cache has one, else by metadata.json. */
kernels_status kernels_cache_check_variant(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                           const char *commit, const char *variant, kernels_error *error);

/* ---- writing ---- */

typedef enum kernels_operation_type { KERNELS_OPERATION_ADD, KERNELS_OPERATION_DELETE } kernels_operation_type;

typedef struct kernels_operation {
    kernels_operation_type type;
    const char *path;       /* in the repository */
    const char *local_path; /* ADD: the file; NULL = content below */
    kernels_view content;   /* ADD without local_path */
} kernels_operation;

typedef struct kernels_commit_result {
    char commit[65]; /* "" when there was nothing to commit */
    size_t added, deleted, unchanged;
    char *pull_request_url; /* NULL unless create_pr; heap text */
    uint64_t pull_request;  /* its number */
} kernels_commit_result;

/* Existing is fine. id_on_hub (may be NULL) receives the id in the Hub's own spelling; heap text. */
kernels_status kernels_hub_create_repository(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                             bool is_private, char **id_on_hub, kernels_error *error);
/* Existing is fine (*created = false). */
kernels_status kernels_hub_create_branch(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                         const char *branch, bool *created, kernels_error *error);
/* preupload -> LFS (basic, multipart) -> commit, in batches of 1000 operations; additions whose content is already
 * there are dropped, an empty commit is not made. message may hold no newline. */
kernels_status kernels_hub_commit(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                  const char *branch, const kernels_operation *operations, size_t count,
                                  const char *message, bool create_pr, kernels_commit_result *result,
                                  kernels_error *error);
void kernels_commit_result_dispose(kernels_commit_result *result);

#endif
