/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an import stub: a shared library that defines names and does nothing else. What needs the real library
 * can be loaded with it; whoever calls one of its functions is told which, on standard error, and aborted.
 */
#ifndef KERNELS_SRC_BUILD_ELF_STUB_H
#define KERNELS_SRC_BUILD_ELF_STUB_H

#include "base/buffer.h"

typedef struct kernels_stub_symbol {
    kernels_view name;
    kernels_view version; /* empty = none */
} kernels_stub_symbol;

#define KERNELS_STUB_SYMBOLS_MAX ((size_t)100000)

/* Adds an x86_64 ELF library to `out`. The same symbols in the same order give the same bytes; each name once. */
kernels_status kernels_elf_stub_write(kernels_view soname, const kernels_stub_symbol *symbols, size_t count,
                                      kernels_buffer *out, kernels_error *error);

#endif
