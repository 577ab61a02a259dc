/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

struct kernels_hash {
    EVP_MD_CTX *context;
    kernels_hash_algorithm algorithm;
};

static const EVP_MD *message_digest(kernels_hash_algorithm algorithm) {
    switch (algorithm) {
    case KERNELS_HASH_SHA256:
        return EVP_sha256();
    case KERNELS_HASH_SHA512:
        return EVP_sha512();
    case KERNELS_HASH_GIT_BLOB:
        return EVP_sha1();
    }
    return NULL;
}

static kernels_status fail_openssl(kernels_error *error) {
    return kernels_fail(error, KERNELS_INTERNAL, "hashing failed in OpenSSL");
}

/* type NULL: that of before */
static kernels_status begin(kernels_hash *hash, const EVP_MD *type, uint64_t total_size, kernels_error *error) {
    bool begun = EVP_DigestInit_ex(hash->context, type, NULL) == 1;
    if (begun && hash->algorithm == KERNELS_HASH_GIT_BLOB) {
        char header[32];
        int size = snprintf(header, sizeof header, "blob %llu", (unsigned long long)total_size);
        begun = EVP_DigestUpdate(hash->context, header, (size_t)size + 1) == 1; /* with its NUL */
    }
    return begun ? KERNELS_OK : fail_openssl(error);
}

kernels_status kernels_hash_new(kernels_hash_algorithm algorithm, uint64_t total_size, kernels_hash **hash,
                                kernels_error *error) {
    kernels_hash *made = kernels_calloc(1, sizeof *made);
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->algorithm = algorithm;
    made->context = EVP_MD_CTX_new();
    kernels_status status =
        made->context ? begin(made, message_digest(algorithm), total_size, error) : fail_openssl(error);
    if (status != KERNELS_OK) {
        kernels_hash_free(made);
        return status;
    }
    *hash = made;
    return KERNELS_OK;
}

kernels_status kernels_hash_restart(kernels_hash *hash, uint64_t total_size, kernels_error *error) {
    return begin(hash, NULL, total_size, error);
}

kernels_status kernels_hash_update(kernels_hash *hash, const void *data, size_t size, kernels_error *error) {
    return EVP_DigestUpdate(hash->context, data, size) == 1 ? KERNELS_OK : fail_openssl(error);
}

kernels_status kernels_hash_digest(kernels_hash *hash, kernels_digest *digest, kernels_error *error) {
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    unsigned size = 0;
    bool done =
        copy && EVP_MD_CTX_copy_ex(copy, hash->context) == 1 && EVP_DigestFinal_ex(copy, digest->bytes, &size) == 1;
    EVP_MD_CTX_free(copy);
    digest->size = size;
    return done ? KERNELS_OK : fail_openssl(error);
}

kernels_status kernels_hash_finish(kernels_hash *hash, kernels_digest *digest, kernels_error *error) {
    unsigned size = 0;
    bool done = EVP_DigestFinal_ex(hash->context, digest->bytes, &size) == 1;
    digest->size = size;
    return done ? KERNELS_OK : fail_openssl(error);
}

void kernels_hash_free(kernels_hash *hash) {
    if (hash) {
        EVP_MD_CTX_free(hash->context);
        kernels_free(hash);
    }
}

kernels_status kernels_hash_bytes(kernels_hash_algorithm algorithm, const void *data, size_t size,
                                  kernels_digest *digest, kernels_error *error) {
    kernels_hash *hash = NULL;
    KERNELS_TRY(kernels_hash_new(algorithm, size, &hash, error));
    kernels_status status = kernels_hash_update(hash, data, size, error);
    if (status == KERNELS_OK) {
        status = kernels_hash_digest(hash, digest, error);
    }
    kernels_hash_free(hash);
    return status;
}

void kernels_digest_hex(const kernels_digest *digest, char hex[KERNELS_DIGEST_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < digest->size; i++) {
        hex[2 * i] = digits[digest->bytes[i] >> 4];
        hex[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    hex[2 * digest->size] = '\0';
}

bool kernels_digest_equal_hex(const kernels_digest *digest, kernels_view hex) {
    char own[KERNELS_DIGEST_HEX_SIZE];
    kernels_digest_hex(digest, own);
    return kernels_view_equal_ascii_case(kernels_view_of(own), hex);
}
