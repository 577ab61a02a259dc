/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/token.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/view.h"

#define TOKEN_LIMIT ((size_t)16 * 1024)

/* CR and LF vanish, blanks around too. Heap text; *token NULL when nothing is left. */
static kernels_status clean(kernels_view raw, const char *origin, char **token, kernels_error *error) {
    if (raw.size > TOKEN_LIMIT) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "%s holds %zu bytes, expected a token, which is shorter than 16 KiB; set it again", origin,
                            raw.size);
    }
    kernels_buffer kept = KERNELS_BUFFER_INIT(TOKEN_LIMIT);
    for (size_t i = 0; i < raw.size; i++) {
        if (raw.data[i] != '\r' && raw.data[i] != '\n') {
            kernels_buffer_add_char(&kept, raw.data[i]);
        }
    }
    kernels_status status = kernels_buffer_status(&kept, error);
    kernels_view trimmed = kernels_view_trim_ascii(kernels_buffer_view(&kept));
    *token = NULL;
    if (status == KERNELS_OK && trimmed.size > 0) {
        *token = kernels_strndup(trimmed.data, trimmed.size);
        status = *token ? kernels_token_check(*token, error) : kernels_fail_no_memory(error);
        if (status != KERNELS_OK) {
            kernels_token_free(*token);
            *token = NULL;
        }
    }
    kernels_token_free(kernels_buffer_take(&kept));
    return status;
}

static kernels_status from_file(const char *path, char **token, kernels_error *error) {
    char *data = NULL;
    size_t size = 0;
    if (!kernels_file_is_regular(path) || kernels_file_read(path, TOKEN_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return KERNELS_OK; /* no file, or one that we may not read: no token */
    }
    kernels_status status = clean((kernels_view){data, size}, path, token, error);
    kernels_token_free(data);
    return status;
}

static kernels_status look_up(const kernels_hub_config *config, kernels_environment_function *environment,
                              void *payload, char **token, kernels_error *error) {
    const char *exchange = environment(payload, "HF_OIDC_RESOURCE");
    if (exchange && exchange[0]) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "HF_OIDC_RESOURCE is set, but exchanging a CI identity for a token is not supported; "
                            "unset it and set HF_TOKEN");
    }
    const char *variable = "HF_TOKEN";
    const char *value = environment(payload, variable);
    if (!value || !value[0]) {
        variable = "HUGGING_FACE_HUB_TOKEN";
        value = environment(payload, variable);
    }
    KERNELS_TRY(clean(kernels_view_of(value), variable, token, error));
    return *token ? KERNELS_OK : from_file(config->token_path, token, error);
}

kernels_status kernels_token_find(const kernels_hub_config *config, kernels_environment_function *environment,
                                  void *payload, kernels_token_rule rule, char **token, kernels_error *error) {
    *token = NULL;
    if (rule == KERNELS_TOKEN_NONE || (rule == KERNELS_TOKEN_IF_FOUND && config->no_implicit_token)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(look_up(config, environment, payload, token, error));
    if (!*token && rule == KERNELS_TOKEN_REQUIRED) {
        return kernels_fail(error, KERNELS_TOKEN_NOT_FOUND,
                            "a token is required, but none was found in HF_TOKEN or %s; run `hf auth login` or set "
                            "HF_TOKEN",
                            config->token_path);
    }
    return KERNELS_OK;
}

kernels_status kernels_token_check(const char *token, kernels_error *error) {
    size_t size = strlen(token);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)token[i];
        if (c < 0x20 || c >= 0x7f) {
            return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                                "the token holds a character that a token cannot hold (byte %zu); copy it again",
                                i + 1);
        }
    }
    if (size == 0 || size > TOKEN_LIMIT) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "the token is empty or longer than 16 KiB");
    }
    return KERNELS_OK;
}

void kernels_token_free(char *token) {
    if (token) {
        /* volatile: the compiler may not drop stores to memory about to be freed */
        for (volatile char *c = token; *c; c++) {
            *c = '\0';
        }
    }
    kernels_free(token);
}
