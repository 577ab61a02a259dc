/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_version_parse; parse(print(x)) must equal x. */
#include <stdlib.h>
#include <string.h>

#include "kernels/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_version version, again;
    char printed[KERNELS_VERSION_TEXT_SIZE];
    if (kernels_version_parse((kernels_view){(const char *)data, size}, &version, &error) == KERNELS_OK) {
        kernels_version_print(&version, printed);
        if (kernels_version_parse((kernels_view){printed, strlen(printed)}, &again, NULL) != KERNELS_OK ||
            kernels_version_compare(&version, &again) != 0 || version.count != again.count) {
            abort();
        }
    }
    kernels_error_dispose(&error);
    return 0;
}
