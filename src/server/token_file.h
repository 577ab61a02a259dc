/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/tokens: accounts that outlive one start of the server. One line each, "NAME rw SHA256" or "NAME ro SHA256" with
 * the hash of the token in hex; the token itself is shown once, when it is made. Mode 0600. Read when the server
 * starts.
 */
#ifndef KERNELS_SRC_SERVER_TOKEN_FILE_H
#define KERNELS_SRC_SERVER_TOKEN_FILE_H

#include "server/auth.h"

#define KERNELS_NEW_TOKEN_SIZE 44 /* "hf_", 40 hex digits, NUL */

/* Lines of the text into accounts (room for KERNELS_ACCOUNTS_LIMIT), behind the *count that are there. */
kernels_status kernels_token_text_parse(kernels_view text, kernels_account *accounts, size_t *count,
                                        kernels_error *error);
/* No file: none. */
kernels_status kernels_token_file_read(const char *directory, kernels_account *accounts, size_t *count,
                                       kernels_error *error);
/* account: NAME or NAME:ro. A name may have several tokens. */
kernels_status kernels_token_file_add(const char *directory, const char *account, char token[KERNELS_NEW_TOKEN_SIZE],
                                      kernels_error *error);
/* All tokens of the name; KERNELS_NOT_FOUND when it has none. */
kernels_status kernels_token_file_remove(const char *directory, const char *name, kernels_error *error);

#endif
