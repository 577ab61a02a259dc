/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ symbols: kernels_abi_scope_of, kernels_abi_strings_of, kernels_abi_demangle. */
#include <stdlib.h>
#include <string.h>

#include "abi/mangled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(kernels_view part, kernels_view whole) {
    if (part.size > 0 && (part.data < whole.data || part.data + part.size > whole.data + whole.size)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const kernels_view name = {(const char *)data, size};
    char text[KERNELS_ABI_DEMANGLED_SIZE];
    kernels_abi_scope scope = kernels_abi_scope_of(name);
    check_inside(scope.first, name);
    check_inside(scope.second, name);
    (void)kernels_abi_strings_of(name);
    kernels_abi_demangle(name, text);
    return strlen(text) < KERNELS_ABI_DEMANGLED_SIZE ? 0 : 1;
}
