/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ run-time's demangler, for texts that people read; no decision hangs on it. */
#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

extern "C" {
#include "abi/mangled.h"
}

/* Longer names are shown as they are: the demangler's work grows faster than its input. */
static const size_t mangled_limit = 1024;

extern "C" void kernels_abi_demangle(kernels_view name, char text[KERNELS_ABI_DEMANGLED_SIZE]) {
    size_t size = name.size < KERNELS_ABI_DEMANGLED_SIZE ? name.size : KERNELS_ABI_DEMANGLED_SIZE - 1;
    if (size > 0) {
        std::memcpy(text, name.data, size);
    }
    text[size] = '\0';
    if (size > mangled_limit || size < 2 || text[0] != '_' || text[1] != 'Z') {
        return;
    }
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(text, nullptr, nullptr, &status),
                                                         &std::free);
    if (status == 0 && readable != nullptr && std::strlen(readable.get()) < KERNELS_ABI_DEMANGLED_SIZE) {
        std::memcpy(text, readable.get(), std::strlen(readable.get()) + 1);
    }
}
