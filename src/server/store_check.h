/* SPDX-License-Identifier: Apache-2.0 */
/* Is everything in the store whole? Reads all of it. */
#ifndef KERNELS_SRC_SERVER_STORE_CHECK_H
#define KERNELS_SRC_SERVER_STORE_CHECK_H

#include "server/store.h"

typedef struct kernels_check_result {
    size_t repositories, references, objects, large_files, problems;
} kernels_check_result;

/* Every object is hashed and has what it points to; every reference leads to a commit; every large file has the hash
 * that it is named by, and those that repositories use are there. KERNELS_OK also with problems: each is told to
 * `problem`, in one line. */
kernels_status kernels_store_check(kernels_store *store, void (*problem)(void *payload, const char *text),
                                   void *payload, kernels_check_result *result, kernels_error *error);

#endif
