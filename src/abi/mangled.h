/* SPDX-License-Identifier: Apache-2.0 */
/* What the mangled name of a C++ symbol says, without demangling: enough to decide, and safe on any bytes. */
#ifndef KERNELS_SRC_ABI_MANGLED_H
#define KERNELS_SRC_ABI_MANGLED_H

#include "kernels/base.h"

typedef struct kernels_abi_scope {
    kernels_view first, second; /* outermost namespaces; empty = none */
} kernels_abi_scope;

/* Itanium (_ZN...) and Microsoft (?...) names. A name outside of namespaces, or of std, has an empty scope. */
kernels_abi_scope kernels_abi_scope_of(kernels_view name);
/* In c10, at, or torch but not torch::stable. */
bool kernels_abi_scope_is_torch(const kernels_abi_scope *scope);
bool kernels_abi_scope_is(const kernels_abi_scope *scope, const char *first, const char *second);

typedef enum kernels_abi_strings {
    KERNELS_ABI_NO_STRING,
    KERNELS_ABI_NEW_STRING, /* std::__cxx11 */
    KERNELS_ABI_OLD_STRING, /* std::string of before GCC 5 */
} kernels_abi_strings;
/* Which std::string an Itanium name speaks of. */
kernels_abi_strings kernels_abi_strings_of(kernels_view name);

/* The readable form of an Itanium name in the buffer (name itself when it cannot be made). */
#define KERNELS_ABI_DEMANGLED_SIZE 2048
void kernels_abi_demangle(kernels_view name, char text[KERNELS_ABI_DEMANGLED_SIZE]);

#endif
