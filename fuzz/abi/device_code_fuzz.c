/* SPDX-License-Identifier: Apache-2.0 */
/* Device code in libraries: kernels_abi_read_nv_fatbin, kernels_abi_read_hip_fatbin. */
#include <stdlib.h>

#include "abi/part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_abi_part part;
    const kernels_bytes bytes = {data, size, false};
    if (kernels_abi_part_init(&part, "object", bytes, NULL) != KERNELS_OK) {
        abort();
    }
    (void)kernels_abi_read_nv_fatbin(&part, bytes, NULL);
    (void)kernels_abi_read_hip_fatbin(&part, bytes, NULL);
    kernels_abi_part_finish(&part);
    kernels_abi_part_dispose(&part);
    return 0;
}
