/* SPDX-License-Identifier: Apache-2.0 */
/* Target: kernels_shape_parse. Every accepted text is the one canonical text of its shape. */
#include <stdlib.h>
#include <string.h>

#include "kernels/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_shape shape;
    kernels_view text = {(const char *)data, size};
    if (kernels_shape_parse(text, &shape, NULL) == KERNELS_OK) {
        char *printed = kernels_shape_print(&shape);
        if (printed && (strlen(printed) != size || memcmp(printed, data, size) != 0)) {
            abort();
        }
        kernels_string_free(printed);
    }
    return 0;
}
