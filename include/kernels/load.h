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
 * A context belongs to one thread at a time; kernels are immutable and may be shared between threads.
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
    const char *site_packages;    /* where torch, libtpu and plugins are looked for */
    const kernels_system *system; /* instead of detecting */
    /* Warnings and progress; called in the thread that uses the context. */
    void (*warning)(void *payload, const char *message);
    void (*progress)(void *payload, const char *file, uint64_t done, uint64_t total);
    /* Polled while waiting; true ends the call with KERNELS_INTERRUPTED. */
    bool (*cancelled)(void *payload);
    void *payload;
} kernels_context_options;

KERNELS_API kernels_status kernels_context_new(const kernels_context_options *options, kernels_context **context,
                                               kernels_error *error);
KERNELS_API void kernels_context_free(kernels_context *context);
/* What this machine is; belongs to the context. */
KERNELS_API const kernels_system *kernels_context_system(const kernels_context *context);

typedef struct kernels_load_options {
    bool has_version;       /* version is given; a version of 0 is a normal one */
    uint64_t version;       /* setting it to >= 1 is enough, has_version is then implied */
    const char *revision;   /* branch, tag or commit; exactly one of version and revision */
    const char *backend;    /* NULL = detected */
    bool trust_remote_code; /* also publishers that are not trusted */
    bool for_python;        /* also variants that only Python can load; false: those that C can call */
    bool no_verify;         /* skip the digest check */
} kernels_load_options;

/*
 * Resolves, downloads what the cache lacks, checks every file against the digest of metadata.json.
 * LOCAL_KERNELS overrides the Hub. Offline only the cache is used. KERNELS_NO_VARIANT carries the trace of
 * decisions; KERNELS_INTEGRITY names the files.
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

#ifdef __cplusplus
}
#endif

#endif
