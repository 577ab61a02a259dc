/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_variant_parse; parse(print(x)) must be x. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_variant variant, again;
    char printed[KERNELS_VARIANT_NAME_MAX + 1], backend[64];
    if (kernels_variant_parse((kernels_view){(const char *)data, size}, &variant, &error) == KERNELS_OK) {
        kernels_variant_print(&variant, printed);
        kernels_variant_print_backend(&variant, backend);
        if (kernels_variant_parse((kernels_view){printed, strlen(printed)}, &again, NULL) != KERNELS_OK ||
            !kernels_variant_equal(&variant, &again)) {
            abort();
        }
    }
    kernels_error_dispose(&error);
    return 0;
}
