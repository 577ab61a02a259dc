/* SPDX-License-Identifier: Apache-2.0 */
/* Wheels: kernels_abi_scan_wheel_bytes. Members that claim to be large are left to the limits' own test. */
#include "abi/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_abi_scan scan = {0};
    (void)kernels_abi_scan_wheel_bytes(&scan, (kernels_view){(const char *)data, size}, "k.whl", NULL);
    kernels_abi_scan_dispose(&scan);
    return 0;
}
