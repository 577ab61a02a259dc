/* SPDX-License-Identifier: Apache-2.0 */
#include "server/token_file.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/data.h"

#define FILE_NAME "tokens"
#define FILE_LIMIT ((size_t)1024 * 1024)

/* ---- reading ---- */

static bool parse_line(kernels_view line, kernels_account *account) {
    kernels_view rest = line, name, rights, hash;
    if (!kernels_view_split(&rest, ' ', &name) || !kernels_view_split(&rest, ' ', &rights) ||
        !kernels_view_split(&rest, ' ', &hash) || rest.data != NULL) {
        return false;
    }
    account->can_write = kernels_view_equal_text(rights, "rw");
    if ((!account->can_write && !kernels_view_equal_text(rights, "ro")) || !kernels_account_set_name(account, name) ||
        !kernels_view_is_hex(hash, 2 * sizeof account->token_hash)) {
        return false;
    }
    kernels_buffer bytes = KERNELS_BUFFER_INIT(sizeof account->token_hash);
    bool is_hash = kernels_decode_hex(&bytes, hash) && bytes.size == sizeof account->token_hash;
    if (is_hash) {
        memcpy(account->token_hash, bytes.data, sizeof account->token_hash);
    }
    kernels_buffer_dispose(&bytes);
    return is_hash;
}

kernels_status kernels_token_text_parse(kernels_view text, kernels_account *accounts, size_t *count,
                                        kernels_error *error) {
    kernels_view rest = text, line;
    for (size_t number = 1; kernels_view_split(&rest, '\n', &line); number++) {
        if (line.size == 0) {
            continue;
        }
        if (*count == KERNELS_ACCOUNTS_LIMIT) {
            return kernels_fail(error, KERNELS_LIMIT, "at most %d accounts can be given", KERNELS_ACCOUNTS_LIMIT);
        }
        if (!parse_line(line, &accounts[*count])) {
            return kernels_fail(error, KERNELS_SYNTAX,
                                "line %zu of the file of tokens is not \"NAME rw|ro SHA256\"; remove it, or make "
                                "tokens with --add-token",
                                number);
        }
        (*count)++;
    }
    return KERNELS_OK;
}

/* Heap text; "" when there is no file. */
static kernels_status read_text(const char *path, char **text, kernels_error *error) {
    size_t size;
    if (!kernels_file_exists(path)) {
        *text = kernels_strdup("");
        return *text != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
    }
    return kernels_file_read(path, FILE_LIMIT, text, &size, error);
}

kernels_status kernels_token_file_read(const char *directory, kernels_account *accounts, size_t *count,
                                       kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, FILE_NAME);
    KERNELS_CLEANUP_FREE char *text = NULL;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(read_text(path, &text, error));
    kernels_status status = kernels_token_text_parse(kernels_view_of(text), accounts, count, error);
    kernels_error_set_subject(error, status != KERNELS_OK ? path : NULL);
    return status;
}

/* ---- changing ---- */

static kernels_status make_token(char token[KERNELS_NEW_TOKEN_SIZE], char hash[KERNELS_DIGEST_HEX_SIZE],
                                 kernels_error *error) {
    static const char prefix[] = "hf_";
    kernels_digest digest;
    memcpy(token, prefix, sizeof(prefix));
    KERNELS_TRY(kernels_random_hex(token + strlen(prefix), KERNELS_NEW_TOKEN_SIZE - sizeof(prefix), error));
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, token, strlen(token), &digest, error));
    kernels_digest_hex(&digest, hash);
    return KERNELS_OK;
}

kernels_status kernels_token_file_add(const char *directory, const char *account, char token[KERNELS_NEW_TOKEN_SIZE],
                                      kernels_error *error) {
    kernels_account made = {.can_write = true};
    kernels_view name = kernels_view_of(account);
    char hash[KERNELS_DIGEST_HEX_SIZE];
    if (kernels_view_ends_with(name, KERNELS_VIEW(":ro"))) {
        made.can_write = false;
        name = kernels_view_slice(name, 0, name.size - 3);
    }
    if (!kernels_account_set_name(&made, name)) {
        return kernels_fail(error, KERNELS_USAGE,
                            "expected NAME or NAME:ro; NAME may hold letters, digits, \"-\", \"_\" and \".\"");
    }
    KERNELS_TRY(kernels_make_directories(directory, error));
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, FILE_NAME);
    KERNELS_CLEANUP_FREE char *old = NULL;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(read_text(path, &old, error));
    KERNELS_TRY(make_token(token, hash, error));
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(FILE_LIMIT);
    kernels_buffer_printf(&text, "%s%s %s %s\n", old, made.name, made.can_write ? "rw" : "ro", hash);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return kernels_file_write(path, kernels_buffer_view(&text), 0600, error);
}

kernels_status kernels_token_file_remove(const char *directory, const char *name, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, FILE_NAME);
    KERNELS_CLEANUP_FREE char *old = NULL;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(read_text(path, &old, error));
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(FILE_LIMIT);
    kernels_view rest = kernels_view_of(old), line;
    bool found = false;
    while (kernels_view_split(&rest, '\n', &line)) {
        if (kernels_view_equal_text(kernels_view_slice(line, 0, kernels_view_find(line, ' ')), name)) {
            found = true;
        } else if (line.size > 0) {
            kernels_buffer_printf(&text, "%.*s\n", KERNELS_VIEW_ARGS(line));
        }
    }
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return found ? kernels_file_write(path, kernels_buffer_view(&text), 0600, error)
                 : kernels_fail(error, KERNELS_NOT_FOUND, "%s has no token in %s", name, path);
}
