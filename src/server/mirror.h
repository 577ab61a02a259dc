/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a repository of another hub into a store: all branches and tags as they are now, with the ids that their
 * commits have there. What is here already is not fetched again; nothing that is here goes away.
 */
#ifndef KERNELS_SRC_SERVER_MIRROR_H
#define KERNELS_SRC_SERVER_MIRROR_H

#include "hub/hub.h"
#include "server/store.h"

typedef struct kernels_mirror_options {
    kernels_store *store;
    kernels_hub *hub; /* its cache folder is for this alone: it is emptied again and again */
    kernels_repository_type type;
    const char *repo_id;
    /* Each kernel that a variant depends on; may come more than once. May be NULL. */
    void (*dependency)(void *payload, const char *repo_id);
    void *payload;
} kernels_mirror_options;

typedef struct kernels_mirror_result {
    size_t references, new_commits, new_files;
    uint64_t new_bytes;
} kernels_mirror_result;

/* A failure leaves the references that were done, and what was fetched for the others, to go on from. */
kernels_status kernels_mirror_repository(const kernels_mirror_options *options, kernels_mirror_result *result,
                                         kernels_error *error);

#endif
