/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the cache without loading: one fitting variant or all of them, with or without what a kernel depends on. The
 * publisher is not asked about, since nothing is run. */
#ifndef KERNELS_SRC_LOAD_OBTAIN_H
#define KERNELS_SRC_LOAD_OBTAIN_H

#include "load/context.h"

typedef struct kernels_obtained {
    const char *repo_id, *commit;
    const char *snapshot; /* its folder in the cache */
    const char *const *variants;
    size_t variant_count;
    size_t files;
    uint64_t bytes;
} kernels_obtained;

typedef struct kernels_obtain_options {
    bool all_variants;
    bool dependencies; /* also what the kernel depends on */
    const char *ref;   /* recorded for the commit; NULL = the version or branch that was asked for */
    /* Called for each kernel; may be NULL. */
    void (*begin)(void *payload, const char *repo_id, const char *commit);
    void (*done)(void *payload, const kernels_obtained *obtained);
    void *payload;
} kernels_obtain_options;

/* revision NULL: that version. Files are checked against their ids on the way, variants against their digest. */
kernels_status kernels_obtain(kernels_context *context, const char *repo_id, uint64_t version, const char *revision,
                              const kernels_obtain_options *options, kernels_error *error);

#endif
