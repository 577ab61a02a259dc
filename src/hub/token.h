/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the user's token. */
#ifndef KERNELS_SRC_HUB_TOKEN_H
#define KERNELS_SRC_HUB_TOKEN_H

#include "hub/config.h"

typedef enum kernels_token_rule {
    KERNELS_TOKEN_IF_FOUND, /* the usual look-up, none is fine */
    KERNELS_TOKEN_REQUIRED, /* the look-up must find one; HF_HUB_DISABLE_IMPLICIT_TOKEN does not count */
    KERNELS_TOKEN_NONE,
} kernels_token_rule;

/* Looks at HF_TOKEN (else HUGGING_FACE_HUB_TOKEN), then at the token file. *token: heap text, NULL when there is
 * none. KERNELS_TOKEN_NOT_FOUND only under KERNELS_TOKEN_REQUIRED. */
kernels_status kernels_token_find(const kernels_hub_config *config, kernels_environment_function *environment,
                                  void *payload, kernels_token_rule rule, char **token, kernels_error *error);
/* KERNELS_INVALID_ARGUMENT for a token that cannot stand in a header; the text does not show it. */
kernels_status kernels_token_check(const char *token, kernels_error *error);
/* Overwrites and frees. NULL allowed. */
void kernels_token_free(char *token);

#endif
