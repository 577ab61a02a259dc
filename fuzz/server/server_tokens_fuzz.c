/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/memory.h"
#include "server/token_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_account *accounts = kernels_calloc(KERNELS_ACCOUNTS_LIMIT, sizeof *accounts);
    size_t count = 0;
    if (accounts != NULL) {
        kernels_status status =
            kernels_token_text_parse((kernels_view){(const char *)data, size}, accounts, &count, NULL);
        if (count > KERNELS_ACCOUNTS_LIMIT || (status == KERNELS_OK && count > 0 && accounts[0].name[0] == '\0')) {
            abort();
        }
    }
    kernels_free(accounts);
    return 0;
}
