/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/load.h - from a kernel's name to a verified folder on this machine.
 *
 *     kernels_context *context;
 *     kernels_kernel *kernel;
 *     kernels_error error = KERNELS_ERROR_INIT;
 *     if (kernels_context_new(NULL, &context, &error)) ...
 *     kernels_load_options options = {.version = 1, .has_version = true};
 *     if (kernels_load(context, "kernels-test/relu-tpu", &options, &kernel, &error)) ...
 *
 * A context belongs to one thread at a time; kernels and what was found are immutable and may be shared between
 * threads. Use one context for many loads: it keeps the connection to the Hub, the listings that it has seen and what
 * it loaded.
 *
 * kernels_load does everything. Who wants to look before anything is installed, or walks the tree of dependencies by
 * rules of its own, takes the steps one by one:
 *
 *     kernels_found *found;
 *     char *folder;
 *     if (kernels_find(context, "kernels-test/relu-tpu", &options, &found, &error)) ...
 *     ... kernels_found_metadata(found)->kernel_depends ...
 *     if (kernels_install(context, kernels_found_repo_id(found), kernels_found_commit(found),
 *                         kernels_found_variant(found), kernels_found_ref(found), &options, &folder, &error)) ...
 *
 * Since 0.1.
 */
#ifndef KERNELS_LOAD_H
#define KERNELS_LOAD_H

#include "kernels/base.h"
#include "kernels/data.h"
#include "kernels/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kernels_context kernels_context;
typedef struct kernels_kernel kernels_kernel;

/* All members optional; zero-initialise. Text is copied. NULL: from the environment, else the default. */
typedef struct kernels_context_options {
    const char *endpoint;         /* HF_ENDPOINT */
    const char *cache_directory;  /* KERNELS_CACHE, HF_HUB_CACHE, ... */
    const char *token;            /* HF_TOKEN, ... */
    bool offline;                 /* or HF_HUB_OFFLINE */
    bool online;                  /* HF_HUB_OFFLINE is not looked at; offline wins */
    bool telemetry, no_telemetry; /* instead of HF_HUB_DISABLE_TELEMETRY and the like; no_telemetry wins */
    const char *user_agent;       /* more entries for the Hub, "; " between them */
    const char *site_packages;    /* where torch, libtpu and plugins are looked for */
    const kernels_system *system; /* instead of detecting */
    /* Warnings and progress; called in the thread that uses the context. category is one of
     *   "trust"    the publisher was not asked about because the Hub is not used
     *   "versions" a newer version exists; a lock has several versions of one kernel
     *   "dirty"    a kernel was built from sources that were not committed
     *   "status"   the repository says where its kernel moved to
     *   "variants" names below build/ that are no build variants
     *   "hub"      anything else about the Hub and the cache */
    void (*warning)(void *payload, const char *category, const char *message);
    void (*progress)(void *payload, const char *file, uint64_t done, uint64_t total);
    /* Polled while waiting; true ends the call with KERNELS_INTERRUPTED. */
    bool (*cancelled)(void *payload);
    void *payload;
} kernels_context_options;

KERNELS_API kernels_status kernels_context_new(const kernels_context_options *options, kernels_context **context,
                                               kernels_error *error);
KERNELS_API void kernels_context_free(kernels_context *context);
/* What this machine is; belongs to the context, as do the texts. */
KERNELS_API const kernels_system *kernels_context_system(const kernels_context *context);
KERNELS_API bool kernels_context_is_offline(const kernels_context *context);
KERNELS_API const char *kernels_context_endpoint(const kernels_context *context);
KERNELS_API const char *kernels_context_cache_directory(const kernels_context *context);
KERNELS_API uint64_t kernels_context_requests(const kernels_context *context); /* sent to the Hub so far */

/* All members optional but for the version or the revision; zero-initialise. Functions say which ones they look at;
 * nothing is kept after the call. */
typedef struct kernels_load_options {
    bool has_version;     /* version is given; a version of 0 is a normal one */
    uint64_t version;     /* setting it to >= 1 is enough, has_version is then implied */
    const char *revision; /* branch, tag or commit; exactly one of version and revision */
    const char *backend;  /* NULL = detected */
    /* Whom to trust: publishers that the Hub calls trusted, and besides */
    bool trust_remote_code;     /* everybody */
    const char *const *trusted; /* these repository ids, compared exactly; a dependency needs its own entry */
    size_t trusted_count;
    bool for_python; /* also variants that only Python can load; false: those that C can call */
    bool no_verify;  /* skip the digest check */
    bool cache_only; /* no request for this call, as in offline mode */
    bool no_hint;    /* when no variant fits, do not ask the Hub whether the newest version has one */
    /* Where the commits come from, in place of asking the Hub what a version or revision is now. */
    const char *commit;         /* of the kernel that was asked for: 40 or 64 hex digits */
    const kernels_locks *locks; /* of it and all its dependencies; version and revision may then both be absent.
                                   A kernel that is not in there is KERNELS_NOT_LOCKED. Of several versions of the
                                   kernel asked for the one that no other entry needs is taken, as far as the cache
                                   tells, else the highest, with a warning. */
} kernels_load_options;

/*
 * Resolves, downloads what the cache lacks, checks every file against the digest of metadata.json; the same for all
 * that the kernel depends on. LOCAL_KERNELS overrides the Hub. Offline only the cache is used. KERNELS_NO_VARIANT
 * carries the trace of decisions (kernels_context_no_variant gives it as data); KERNELS_INTEGRITY names the files. A
 * variant folder that the context has loaded already gives the same kernel, without hashing it again.
 */
KERNELS_API kernels_status kernels_load(kernels_context *context, const char *repo_id,
                                        const kernels_load_options *options, kernels_kernel **kernel,
                                        kernels_error *error);
/* A repository folder, its build folder or a variant folder on disk. options may be NULL. */
KERNELS_API kernels_status kernels_load_local(kernels_context *context, const char *path,
                                              const kernels_load_options *options, kernels_kernel **kernel,
                                              kernels_error *error);
KERNELS_API void kernels_kernel_free(kernels_kernel *kernel);

/* All belong to the kernel. */
KERNELS_API const char *kernels_kernel_path(const kernels_kernel *kernel);     /* the variant folder */
KERNELS_API const char *kernels_kernel_variant(const kernels_kernel *kernel);  /* its name */
KERNELS_API const char *kernels_kernel_repo_id(const kernels_kernel *kernel);  /* NULL for a local folder */
KERNELS_API const char *kernels_kernel_revision(const kernels_kernel *kernel); /* commit; NULL for a local folder */
KERNELS_API const kernels_metadata *kernels_kernel_metadata(const kernels_kernel *kernel);
/* true: every file matched the digest; false: metadata.json has none, or no_verify. */
KERNELS_API bool kernels_kernel_is_verified(const kernels_kernel *kernel);
KERNELS_API const kernels_decisions *kernels_kernel_decisions(const kernels_kernel *kernel);
/* The machine as the kernel's context detected it; NULL when the context was told. */
KERNELS_API const kernels_system *kernels_kernel_system(const kernels_kernel *kernel);

/* What the context has loaded so far, dependencies before the kernels that need them. The kernels and the array belong
 * to the context: valid until it loads again or is freed. */
KERNELS_API const kernels_kernel *const *kernels_context_kernels(const kernels_context *context, size_t *count);

/* ---- step by step ---- */

/* One kernel that was found: who publishes it, which variant of which commit fits, and its metadata. */
typedef struct kernels_found kernels_found;

/*
 * Finds one kernel, without what it depends on. Of its files only metadata.json is fetched. LOCAL_KERNELS is not looked
 * at. Looks at: version or revision, commit, locks, backend, trust, for_python, cache_only, no_hint.
 */
KERNELS_API kernels_status kernels_find(kernels_context *context, const char *repo_id,
                                        const kernels_load_options *options, kernels_found **found,
                                        kernels_error *error);
/* The same in a repository folder, its build folder or a variant folder. Looks at: backend, for_python. options may be
 * NULL. */
KERNELS_API kernels_status kernels_find_folder(kernels_context *context, const char *path,
                                               const kernels_load_options *options, kernels_found **found,
                                               kernels_error *error);
KERNELS_API void kernels_found_free(kernels_found *found);

/* All belong to what was found. */
KERNELS_API const char *kernels_found_repo_id(const kernels_found *found); /* NULL for a folder */
KERNELS_API const char *kernels_found_commit(const kernels_found *found);  /* NULL for a folder */
/* Under what the commit is to be recorded, so that it is found offline: "v1", "main". NULL: nothing to record. */
KERNELS_API const char *kernels_found_ref(const kernels_found *found);
KERNELS_API const char *kernels_found_variant(const kernels_found *found); /* name of the folder as it is spelt */
KERNELS_API const char *kernels_found_path(const kernels_found *found);    /* the folder; NULL: not fetched yet */
KERNELS_API const kernels_metadata *kernels_found_metadata(const kernels_found *found);
KERNELS_API kernels_view kernels_found_metadata_text(const kernels_found *found); /* bytes of metadata.json */
KERNELS_API const kernels_decisions *kernels_found_decisions(const kernels_found *found);

/*
 * Fetches those files of a variant that the cache lacks, checks every file and records ref (NULL: nothing) for the
 * commit. Offline or with cache_only: what is in the cache, KERNELS_NOT_CACHED when it is not complete. Looks at: trust
 * (before a download), no_verify, cache_only. path receives the variant folder, heap text (kernels_string_free).
 */
KERNELS_API kernels_status kernels_install(kernels_context *context, const char *repo_id, const char *commit,
                                           const char *variant, const char *ref, const kernels_load_options *options,
                                           char **path, kernels_error *error);
/* The same for everything below build/; path receives that folder. */
KERNELS_API kernels_status kernels_install_all(kernels_context *context, const char *repo_id, const char *commit,
                                               const char *ref, const kernels_load_options *options, char **path,
                                               kernels_error *error);
/* Files below a folder of the commit that is no build variant ("benchmarks"): fetched where the cache lacks them, each
 * checked against its id on the way. The publisher must be trusted, whatever the cache has. path receives the folder,
 * heap text. Looks at: trust, cache_only. KERNELS_ENTRY_NOT_FOUND: there is none. */
KERNELS_API kernels_status kernels_install_folder(kernels_context *context, const char *repo_id, const char *commit,
                                                  const char *folder, const kernels_load_options *options, char **path,
                                                  kernels_error *error);
/* Checks the files of a variant folder against the digest of its metadata.json; *has_digest false: it has none, and
 * nothing was checked. */
KERNELS_API kernels_status kernels_verify_folder(kernels_context *context, const char *path, bool *has_digest,
                                                 kernels_error *error);

/* A branch "v<number>" and its commit. */
typedef struct kernels_version_branch {
    uint64_t version;
    char commit[65];
} kernels_version_branch;

/* Ascending. *versions is a heap array: kernels_string_free((char *)versions); NULL when count is 0. */
KERNELS_API kernels_status kernels_list_versions(kernels_context *context, const char *repo_id, bool cache_only,
                                                 kernels_version_branch **versions, size_t *count,
                                                 kernels_error *error);
/* Commit of a version (KERNELS_VERSION_NOT_FOUND lists those there are; warns of a newer one) or of a revision. Looks
 * at: version or revision, cache_only. */
KERNELS_API kernels_status kernels_find_commit(kernels_context *context, const char *repo_id,
                                               const kernels_load_options *options, char commit[65],
                                               kernels_error *error);
/* Names of the folders below build/ at a commit, ascending. */
typedef struct kernels_names {
    char *const *items;
    size_t count;
    void *owner; /* private */
} kernels_names;
KERNELS_API kernels_status kernels_list_variants(kernels_context *context, const char *repo_id, const char *commit,
                                                 bool cache_only, kernels_names *names, kernels_error *error);
KERNELS_API void kernels_names_dispose(kernels_names *names);
/* May this kernel be run? KERNELS_UNTRUSTED says why not. Looks at: trust, cache_only (a warning in place of the
 * question). options may be NULL. */
KERNELS_API kernels_status kernels_check_trust(kernels_context *context, const char *repo_id,
                                               const kernels_load_options *options, kernels_error *error);

/* ---- why nothing fits, as data ---- */

typedef struct kernels_no_variant {
    const char *repo_id;                /* or the folder */
    const char *commit;                 /* NULL for a folder */
    const kernels_decisions *decisions; /* all rejected */
    const uint64_t *versions;           /* that the repository has, as far as known; ascending */
    size_t version_count;
    bool has_fitting_version; /* the newest version has a variant that fits */
    uint64_t fitting_version;
    const char *fitting_variant; /* its name; NULL = none */
} kernels_no_variant;

/* Of the last call that ended with KERNELS_NO_VARIANT; NULL when the last call that looked for a kernel did not.
 * Belongs to the context: valid until it is used again. */
KERNELS_API const kernels_no_variant *kernels_context_no_variant(const kernels_context *context);

#ifdef __cplusplus
}
#endif

#endif
