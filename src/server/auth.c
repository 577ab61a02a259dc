/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/view.h"
#include "kernels/data.h"
#include "server/token_file.h"

#define HASH_BLOCK 64

struct kernels_auth {
    kernels_account *accounts;
    size_t count;
    unsigned char key[32];
};

/* Takes the same time wherever the two differ. */
static bool equal_constant_time(const void *a, const void *b, size_t size) {
    const volatile unsigned char *x = a, *y = b;
    unsigned char difference = 0;
    for (size_t i = 0; i < size; i++) {
        difference = (unsigned char)(difference | (x[i] ^ y[i]));
    }
    return difference == 0;
}

/* ---- accounts ---- */

static bool token_is_valid(kernels_view token) {
    for (size_t i = 0; i < token.size; i++) {
        if (token.data[i] <= ' ' || token.data[i] > '~') {
            return false;
        }
    }
    return token.size > 0;
}

bool kernels_account_set_name(kernels_account *account, kernels_view name) {
    if (kernels_view_find(name, '/') != SIZE_MAX || kernels_repository_id_check(name, NULL) != KERNELS_OK ||
        name.size >= sizeof account->name) {
        return false;
    }
    memcpy(account->name, name.data, name.size);
    account->name[name.size] = '\0';
    return true;
}

static kernels_status parse_account(const char *text, kernels_account *account, kernels_error *error) {
    const kernels_view suffix = KERNELS_VIEW(":ro");
    kernels_view view = kernels_view_of(text);
    size_t colon = kernels_view_find(view, ':');
    kernels_view name = kernels_view_slice(view, 0, colon);
    kernels_view token = colon == SIZE_MAX ? (kernels_view){NULL, 0} : kernels_view_slice(view, colon + 1, view.size);
    account->can_write = !kernels_view_ends_with(token, suffix);
    if (!account->can_write) {
        token = kernels_view_slice(token, 0, token.size - suffix.size);
    }
    if (!kernels_account_set_name(account, name) || !token_is_valid(token)) {
        return kernels_fail(error, KERNELS_USAGE,
                            "an account is given as NAME:TOKEN or NAME:TOKEN:ro; NAME may hold letters, digits, "
                            "\"-\", \"_\" and \".\", TOKEN no blanks");
    }
    kernels_digest digest;
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, token.data, token.size, &digest, error));
    memcpy(account->token_hash, digest.bytes, sizeof account->token_hash);
    return KERNELS_OK;
}

static kernels_status fill(kernels_auth *auth, const char *const *accounts, size_t count, const char *directory,
                           kernels_error *error) {
    if (count > KERNELS_ACCOUNTS_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "at most %d accounts can be given", KERNELS_ACCOUNTS_LIMIT);
    }
    auth->accounts = kernels_calloc(KERNELS_ACCOUNTS_LIMIT, sizeof *auth->accounts);
    if (auth->accounts == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (; auth->count < count; auth->count++) {
        KERNELS_TRY(parse_account(accounts[auth->count], &auth->accounts[auth->count], error));
    }
    if (directory != NULL) {
        KERNELS_TRY(kernels_token_file_read(directory, auth->accounts, &auth->count, error));
    }
    return kernels_random(auth->key, sizeof auth->key, error);
}

kernels_status kernels_auth_new(const char *const *accounts, size_t count, const char *directory, kernels_auth **auth,
                                kernels_error *error) {
    kernels_auth *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = fill(made, accounts, count, directory, error);
    if (status != KERNELS_OK) {
        kernels_auth_free(made);
        return status;
    }
    *auth = made;
    return KERNELS_OK;
}

void kernels_auth_free(kernels_auth *auth) {
    if (auth != NULL) {
        kernels_free(auth->accounts);
        kernels_free(auth);
    }
}

bool kernels_auth_has_accounts(const kernels_auth *auth) { return auth->count > 0; }

bool kernels_auth_has_account(const kernels_auth *auth, kernels_view name) {
    for (size_t i = 0; i < auth->count; i++) {
        if (kernels_view_equal_text(name, auth->accounts[i].name)) {
            return true;
        }
    }
    return false;
}

kernels_auth_result kernels_auth_check(const kernels_auth *auth, const char *header, const kernels_account **account) {
    const kernels_view scheme = KERNELS_VIEW("Bearer ");
    kernels_view text = kernels_view_of(header);
    kernels_digest digest;
    *account = NULL;
    if (header == NULL || auth->count == 0) {
        return KERNELS_AUTH_ANONYMOUS;
    }
    if (!kernels_view_equal_ascii_case(kernels_view_slice(text, 0, scheme.size), scheme)) {
        return KERNELS_AUTH_INVALID;
    }
    kernels_view token = kernels_view_trim_ascii(kernels_view_slice(text, scheme.size, text.size));
    if (kernels_hash_bytes(KERNELS_HASH_SHA256, token.data, token.size, &digest, NULL) != KERNELS_OK) {
        return KERNELS_AUTH_INVALID;
    }
    for (size_t i = 0; i < auth->count; i++) { /* all of them, found or not */
        if (equal_constant_time(digest.bytes, auth->accounts[i].token_hash, sizeof auth->accounts[i].token_hash)) {
            *account = &auth->accounts[i];
        }
    }
    return *account != NULL ? KERNELS_AUTH_ACCOUNT : KERNELS_AUTH_INVALID;
}

/* ---- signatures (RFC 2104) ---- */

static kernels_status hash_two(const void *a, size_t a_size, const void *b, size_t b_size, kernels_digest *digest,
                               kernels_error *error) {
    kernels_hash *hash = NULL;
    KERNELS_TRY(kernels_hash_new(KERNELS_HASH_SHA256, 0, &hash, error));
    kernels_status status = kernels_hash_update(hash, a, a_size, error);
    if (status == KERNELS_OK) {
        status = kernels_hash_update(hash, b, b_size, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_hash_digest(hash, digest, error);
    }
    kernels_hash_free(hash);
    return status;
}

kernels_status kernels_auth_sign(const kernels_auth *auth, kernels_view text, char signature[65],
                                 kernels_error *error) {
    unsigned char inner[HASH_BLOCK], outer[HASH_BLOCK];
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    for (size_t i = 0; i < HASH_BLOCK; i++) {
        unsigned char key = i < sizeof auth->key ? auth->key[i] : 0;
        inner[i] = key ^ 0x36;
        outer[i] = key ^ 0x5c;
    }
    KERNELS_TRY(hash_two(inner, sizeof inner, text.data, text.size, &digest, error));
    KERNELS_TRY(hash_two(outer, sizeof outer, digest.bytes, digest.size, &digest, error));
    kernels_digest_hex(&digest, hex);
    memcpy(signature, hex, 65);
    return KERNELS_OK;
}

bool kernels_auth_signature_is_valid(const kernels_auth *auth, kernels_view text, kernels_view signature) {
    char expected[65];
    return signature.size == 64 && kernels_auth_sign(auth, text, expected, NULL) == KERNELS_OK &&
           equal_constant_time(expected, signature.data, 64);
}
