/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing through OpenSSL. */
#ifndef KERNELS_SRC_BASE_HASH_H
#define KERNELS_SRC_BASE_HASH_H

#include "kernels/base.h"

typedef enum kernels_hash_algorithm {
    KERNELS_HASH_SHA256,
    KERNELS_HASH_SHA512,
    KERNELS_HASH_GIT_BLOB, /* SHA-1 of "blob <size>\0" + content: id of a file in git */
} kernels_hash_algorithm;

#define KERNELS_HASH_SIZE_MAX 64

typedef struct kernels_digest {
    unsigned char bytes[KERNELS_HASH_SIZE_MAX];
    size_t size; /* 32, 64 or 20 */
} kernels_digest;

typedef struct kernels_hash kernels_hash;

/* total_size is used by KERNELS_HASH_GIT_BLOB only. */
kernels_status kernels_hash_new(kernels_hash_algorithm algorithm, uint64_t total_size, kernels_hash **hash,
                                kernels_error *error);
kernels_status kernels_hash_update(kernels_hash *hash, const void *data, size_t size, kernels_error *error);
/* The hash can go on after it: the digest is that of everything so far. */
kernels_status kernels_hash_digest(kernels_hash *hash, kernels_digest *digest, kernels_error *error);
/* The same for one that is not continued: cheaper. Only restart and free may follow. */
kernels_status kernels_hash_finish(kernels_hash *hash, kernels_digest *digest, kernels_error *error);
/* As new, with the same algorithm. */
kernels_status kernels_hash_restart(kernels_hash *hash, uint64_t total_size, kernels_error *error);
void kernels_hash_free(kernels_hash *hash);
kernels_status kernels_hash_bytes(kernels_hash_algorithm algorithm, const void *data, size_t size,
                                  kernels_digest *digest, kernels_error *error);

/* Lower-case hex with NUL: 2 * size + 1 <= KERNELS_DIGEST_HEX_SIZE bytes. */
#define KERNELS_DIGEST_HEX_SIZE (2 * KERNELS_HASH_SIZE_MAX + 1)
void kernels_digest_hex(const kernels_digest *digest, char hex[KERNELS_DIGEST_HEX_SIZE]);
bool kernels_digest_equal_hex(const kernels_digest *digest, kernels_view hex); /* either case */

#endif
