/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind kernels_abi_read_elf: read_elf.c (headers), elf_dynamic.c (what the loader reads), elf_symbols.c
 * (tables of symbols and versions). */
#ifndef KERNELS_SRC_ABI_ELF_H
#define KERNELS_SRC_ABI_ELF_H

#include "abi/part.h"

typedef struct kernels_elf_section {
    uint32_t name, type, link, info;
    uint64_t flags, address, offset, size;
} kernels_elf_section;

typedef struct kernels_elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size;
} kernels_elf_segment;

typedef struct kernels_elf {
    kernels_abi_part *part;
    kernels_bytes bytes;
    bool is_64_bit;
    uint16_t type, machine;
    uint64_t section_offset, segment_offset;
    uint64_t section_count, segment_count;
    uint64_t section_names; /* index */
} kernels_elf;

enum {
    KERNELS_ELF_SYMTAB = 2,
    KERNELS_ELF_NOBITS = 8,
    KERNELS_ELF_DYNSYM = 11,
    KERNELS_ELF_VERNEED = 0x6ffffffe,
    KERNELS_ELF_VERSYM = 0x6fffffff,
};

/* Index below section_count; the table was checked to be there. */
kernels_elf_section kernels_elf_section_at(const kernels_elf *elf, uint64_t index);
kernels_elf_segment kernels_elf_segment_at(const kernels_elf *elf, uint64_t index);
/* Content of a section; damage when it is outside the file. */
kernels_status kernels_elf_section_bytes(const kernels_elf *elf, const kernels_elf_section *section,
                                         kernels_bytes *bytes, kernels_error *error);
/* The section of that index, for a link; damage when there is none. */
kernels_status kernels_elf_linked_bytes(const kernels_elf *elf, uint32_t index, kernels_bytes *bytes,
                                        kernels_error *error);

/* Where the tables of one kind of symbols are. */
typedef struct kernels_elf_tables {
    kernels_bytes symbols, strings;
    kernels_bytes versions; /* u16 a symbol; size 0 = none */
    kernels_bytes needs;    /* needed versions */
    uint32_t need_count;    /* entries of needs */
    bool is_static;
    size_t first; /* symbol to begin with */
} kernels_elf_tables;

static inline size_t kernels_elf_symbol_size(const kernels_elf *elf) { return elf->is_64_bit ? 24 : 16; }

/* Reads PT_DYNAMIC into the image; found = it names a symbol table. */
kernels_status kernels_elf_read_dynamic(kernels_elf *elf, kernels_elf_tables *tables, bool *found,
                                        kernels_error *error);
/* Adds what the tables hold to the part. */
kernels_status kernels_elf_read_symbols(const kernels_elf *elf, const kernels_elf_tables *tables, kernels_error *error);

#endif
