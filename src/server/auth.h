/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts and signed addresses. Tokens are kept only as SHA-256 and compared in constant time.
 * Immutable after it was made; shared by all threads.
 */
#ifndef KERNELS_SRC_SERVER_AUTH_H
#define KERNELS_SRC_SERVER_AUTH_H

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_ACCOUNTS_LIMIT 1000
#define KERNELS_ACCOUNT_NAME_LIMIT 96

typedef struct kernels_account {
    char name[KERNELS_ACCOUNT_NAME_LIMIT + 1];
    bool can_write;
    unsigned char token_hash[32];
} kernels_account;

typedef struct kernels_auth kernels_auth;

/* false: NAME may hold letters, digits, "-", "_" and "." only. */
bool kernels_account_set_name(kernels_account *account, kernels_view name);

/* Each text is NAME:TOKEN or NAME:TOKEN:ro. KERNELS_USAGE when one is not (the message does not show the token).
 * directory (may be NULL): with the accounts of its file of tokens. */
kernels_status kernels_auth_new(const char *const *accounts, size_t count, const char *directory, kernels_auth **auth,
                                kernels_error *error);
void kernels_auth_free(kernels_auth *auth);
bool kernels_auth_has_accounts(const kernels_auth *auth);
bool kernels_auth_has_account(const kernels_auth *auth, kernels_view name);

typedef enum kernels_auth_result {
    KERNELS_AUTH_ANONYMOUS, /* no header */
    KERNELS_AUTH_ACCOUNT,
    KERNELS_AUTH_INVALID, /* a header that fits no account */
} kernels_auth_result;

/* header: value of Authorization, or NULL. Without accounts every token is as good as none. */
kernels_auth_result kernels_auth_check(const kernels_auth *auth, const char *header, const kernels_account **account);

/* HMAC-SHA-256 of a text under a key drawn at start, as 64 hex digits: proves that this server handed out an
 * address, for requests that come without a token. */
kernels_status kernels_auth_sign(const kernels_auth *auth, kernels_view text, char signature[65], kernels_error *error);
bool kernels_auth_signature_is_valid(const kernels_auth *auth, kernels_view text, kernels_view signature);

#endif
