/* SPDX-License-Identifier: Apache-2.0 */
/* Target: kernels_npy_parse. The elements lie inside the file, and writing gives a header that reads back. */
#include <stdlib.h>

#include "runtime/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_header(const kernels_shape *shape, kernels_view elements) {
    kernels_buffer file = KERNELS_BUFFER_INIT(KERNELS_NPY_HEADER_LIMIT + elements.size);
    kernels_shape read;
    kernels_view read_elements;
    kernels_npy_header(&file, shape);
    kernels_buffer_add_view(&file, elements);
    if (!file.failure && (kernels_npy_parse(kernels_buffer_view(&file), "again", &read, &read_elements, NULL) ||
                          !kernels_shape_equal(shape, &read))) {
        abort();
    }
    kernels_buffer_dispose(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_shape shape;
    kernels_view file = {(const char *)data, size}, elements;
    if (kernels_npy_parse(file, "file.npy", &shape, &elements, NULL) == KERNELS_OK) {
        if (elements.data + elements.size != file.data + file.size) {
            abort();
        }
        check_header(&shape, elements);
    }
    return 0;
}
