/* SPDX-License-Identifier: Apache-2.0 */
/* What all requests share: settings, accounts, storage. Immutable while the server runs. */
#ifndef KERNELS_SRC_SERVER_SERVICE_H
#define KERNELS_SRC_SERVER_SERVICE_H

#include "server/auth.h"
#include "server/faults.h"
#include "server/store.h"

typedef struct kernels_service {
    kernels_store *store;
    kernels_auth *auth;
    kernels_faults *faults; /* NULL: none */
    const char *const *trusted;
    size_t trusted_count;
    const char *const *private_repositories;
    size_t private_count;
    const char *const *aliases;
    size_t alias_count;
    bool read_only;
    bool cdn;
    uint64_t lfs_threshold; /* files of this size and more go to large-file storage; UINT64_MAX: none */
    uint64_t lfs_part_size; /* larger ones come in parts of that size from clients that can */
    size_t page_size;
    uint64_t max_body;
    unsigned timeout;      /* seconds */
    const char *scheme;    /* "http" or "https" */
    const char *authority; /* "127.0.0.1:8080", for requests without a usable Host header */
} kernels_service;

#endif
