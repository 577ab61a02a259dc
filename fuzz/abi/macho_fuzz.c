/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of Mach-O files, thin and universal: kernels_abi_read_macho and all checks. */
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_bytes(data, size);
    return 0;
}
