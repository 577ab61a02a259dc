/* SPDX-License-Identifier: Apache-2.0 */
/* What data/abi/ says, compiled in by data/abi/make_tables.py. Sets of manylinux policies are bit masks: bit i stands
 * for kernels_abi_policies[i]. */
#ifndef KERNELS_SRC_ABI_TABLES_H
#define KERNELS_SRC_ABI_TABLES_H

#include "kernels/abi.h"

/* Names ascending by bytes, each with the minor version that brought it. */
typedef struct kernels_abi_names {
    const char *text;
    const uint16_t *offsets; /* into text */
    const uint8_t *minors;
    const uint8_t *guards; /* kernels_abi_guard, or NULL */
    size_t count;
} kernels_abi_names;

/* A name that exists only where a feature macro is set. */
typedef enum kernels_abi_guard {
    KERNELS_ABI_GUARD_NONE = 0,
    KERNELS_ABI_GUARD_WINDOWS = 1,
    KERNELS_ABI_GUARD_DEBUG = 2,
    KERNELS_ABI_GUARD_OTHER = 3,
} kernels_abi_guard;

extern const kernels_abi_names kernels_abi_python_names;  /* minor of Python 3 */
extern const kernels_abi_names kernels_abi_torch_names;   /* minor of torch 2; 0: as old as the stable ABI */
extern const kernels_abi_names kernels_abi_tvm_ffi_names; /* minor of tvm-ffi 0 */
extern const unsigned kernels_abi_torch_newest_minor;     /* that the table knows */

typedef struct kernels_abi_policy {
    const char *name;
    const char *aliases; /* separated by blanks */
} kernels_abi_policy;
extern const kernels_abi_policy kernels_abi_policies[]; /* oldest first */
extern const size_t kernels_abi_policy_count;

typedef struct kernels_abi_arch {
    const char *name;
    uint32_t policies; /* that know it */
} kernels_abi_arch;
extern const kernels_abi_arch kernels_abi_archs[];
extern const size_t kernels_abi_arch_count;

extern const char *const kernels_abi_deps[]; /* "GLIBC", ... */
extern const size_t kernels_abi_dep_count;

typedef struct kernels_abi_dep_row {
    uint32_t policies;     /* that say anything about it */
    uint16_t first, count; /* its versions: rows of kernels_abi_version_rows */
} kernels_abi_dep_row;
extern const kernels_abi_dep_row kernels_abi_dep_rows[]; /* [arch * kernels_abi_dep_count + dep] */

typedef struct kernels_abi_version_row {
    uint16_t text;     /* offset into kernels_abi_version_text; numbers without trailing zeros */
    uint32_t policies; /* that allow it */
} kernels_abi_version_row;
extern const char kernels_abi_version_text[];
extern const kernels_abi_version_row kernels_abi_version_rows[];

typedef struct kernels_abi_library_row {
    const char *name; /* "libc.so.6" */
    uint32_t policies;
} kernels_abi_library_row;
extern const kernels_abi_library_row kernels_abi_library_rows[]; /* ascending */
extern const size_t kernels_abi_library_row_count;

typedef struct kernels_abi_forbidden_row {
    const char *library, *symbol;
    uint32_t policies;
} kernels_abi_forbidden_row;
extern const kernels_abi_forbidden_row kernels_abi_forbidden_rows[];
extern const size_t kernels_abi_forbidden_row_count;

/* Index of a name, or SIZE_MAX. */
size_t kernels_abi_names_find(const kernels_abi_names *names, kernels_view name);

#endif
