/* SPDX-License-Identifier: Apache-2.0 */
/* An image while a reader fills it, with the memory behind its lists. The readers are read_elf.c, read_macho.c and
 * read_pe.c; object.c decides which one gets the bytes. */
#ifndef KERNELS_SRC_ABI_PART_H
#define KERNELS_SRC_ABI_PART_H

#include "abi/bytes.h"
#include "base/error.h"
#include "base/mapping.h"
#include "kernels/abi.h"

typedef struct kernels_abi_list {
    kernels_view *items;
    size_t count, capacity;
} kernels_abi_list;

typedef struct kernels_abi_part {
    kernels_abi_image image;         /* complete after kernels_abi_part_finish */
    const char *path;                /* for messages */
    kernels_bytes bytes;             /* the file, or the slice */
    bool symtab_only, lists_exports; /* kernels_abi_flags */
    /* Why the symbols could not be read. Checks of symbols give it; others need not care. */
    kernels_error symbols_error;
    kernels_abi_symbol *symbols;
    kernels_abi_version *versions;
    kernels_abi_gpu_arch *gpu_archs;
    size_t symbol_count, symbol_capacity, version_count, version_capacity, gpu_arch_count, gpu_arch_capacity;
    kernels_abi_list needed, run_path, exports;
    size_t name_bytes; /* of all names so far */
    char machine[24];  /* image.machine when it has no name */
} kernels_abi_part;

struct kernels_abi_object {
    char *path;
    kernels_abi_format format;
    kernels_mapping mapping; /* empty: the bytes are the caller's */
    kernels_abi_part *parts;
    size_t part_count;
};

/* Symbols, libraries, versions and the like of one file: each takes bytes of it, so more cannot be. */
#define KERNELS_ABI_LIST_LIMIT ((size_t)1 << 26)

/* Names may share their ends, but not so that all of them together are many times the file: reading a damaged file
 * must not take longer than its size explains. */
#define KERNELS_ABI_NAME_FACTOR 4u
#define KERNELS_ABI_NAME_SLACK ((size_t)64 * 1024)
/* Counts a name in; damage when it is one too many. */
kernels_status kernels_abi_part_count_name(kernels_abi_part *part, kernels_view name, kernels_error *error);

kernels_status kernels_abi_part_init(kernels_abi_part *part, const char *path, kernels_bytes bytes,
                                     kernels_error *error);
void kernels_abi_part_dispose(kernels_abi_part *part);
/* Points the image at the lists. */
void kernels_abi_part_finish(kernels_abi_part *part);

/* KERNELS_SYNTAX "<path>: <format>", for damage. */
kernels_status kernels_abi_damaged(const kernels_abi_part *part, kernels_error *error, const char *format, ...)
    KERNELS_PRINTF(3, 4);
#if defined(__GNUC__)
#define kernels_abi_damaged(...) kernels_failure_((kernels_abi_damaged)(__VA_ARGS__)) /* see base/error.h */
#endif

kernels_status kernels_abi_list_add(kernels_abi_list *list, kernels_view text, kernels_error *error);
/* The index of a new version. */
kernels_status kernels_abi_part_add_version(kernels_abi_part *part, kernels_view name, kernels_view library,
                                            uint32_t *index, kernels_error *error);
/* A name that is not UTF-8 is damage. */
kernels_status kernels_abi_part_add_symbol(kernels_abi_part *part, const kernels_abi_symbol *symbol,
                                           kernels_error *error);
kernels_status kernels_abi_part_add_gpu_arch(kernels_abi_part *part, const char *name, kernels_error *error);

/* image.machine = "machine 0x1234". */
void kernels_abi_set_unknown_machine(kernels_abi_part *part, unsigned number);

/* "PyInit_k", "__tvm_ffi_f": names that a kernel is entered by. */
bool kernels_abi_is_entry(const uint8_t *name, size_t size);

kernels_status kernels_abi_read_elf(kernels_abi_part *part, kernels_error *error);
kernels_status kernels_abi_read_macho(kernels_abi_part *part, kernels_error *error);
kernels_status kernels_abi_read_pe(kernels_abi_part *part, kernels_error *error);

/* Device code: the architectures in a .nv_fatbin or .hip_fatbin section. */
kernels_status kernels_abi_read_nv_fatbin(kernels_abi_part *part, kernels_bytes section, kernels_error *error);
kernels_status kernels_abi_read_hip_fatbin(kernels_abi_part *part, kernels_bytes section, kernels_error *error);

#endif
