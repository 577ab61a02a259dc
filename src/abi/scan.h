/* SPDX-License-Identifier: Apache-2.0 */
/* Checking many files: folders, build variants. What a file is decides its content, not its name. */
#ifndef KERNELS_SRC_ABI_SCAN_H
#define KERNELS_SRC_ABI_SCAN_H

#include "kernels/abi.h"

/* The answer about one file, or about a variant as a whole (is_variant: findings that no single file has). */
typedef struct kernels_abi_scanned {
    char *path;
    char *variant; /* name of the build variant, or NULL */
    bool is_variant;
    kernels_abi_format format;
    char *machine; /* of the first image */
    char *exports; /* names that a kernel is entered by, one a line */
    kernels_abi_report report;
    kernels_error error; /* status other than KERNELS_OK: it could not be checked */
} kernels_abi_scanned;

typedef struct kernels_abi_scan {
    kernels_abi_limits limits; /* variant and siblings are set for each file */
    unsigned flags;            /* kernels_abi_flags */
    kernels_abi_scanned *items;
    size_t count, capacity;
    size_t failed;   /* items with an error */
    size_t errors;   /* findings of that severity */
    size_t warnings; /* likewise */
} kernels_abi_scan;

/* Most files of one run. */
#define KERNELS_ABI_SCAN_LIMIT ((size_t)1000000)

/* Each fails only when it cannot go on at all (out of memory, a folder that cannot be listed): a file that cannot be
 * checked is an item with an error. */
kernels_status kernels_abi_scan_file(kernels_abi_scan *scan, const char *path, kernels_error *error);
/* Bytes under a name, for members of an archive. */
kernels_status kernels_abi_scan_memory(kernels_abi_scan *scan, kernels_view bytes, const char *name,
                                       kernels_error *error);
/* All libraries below a folder, in the order of their paths. Links to files are followed, links to folders are not.
 * root is the folder that links should not leave. */
kernels_status kernels_abi_scan_folder(kernels_abi_scan *scan, const char *folder, const char *root,
                                       kernels_error *error);
/* The same for a build variant: its name sets limits, its libraries are compared with each other and with
 * metadata.json. */
kernels_status kernels_abi_scan_variant(kernels_abi_scan *scan, const char *folder, const char *name, const char *root,
                                        kernels_error *error);
/* The libraries in a wheel, read in place; names of members are shown, never used as paths. */
kernels_status kernels_abi_scan_wheel(kernels_abi_scan *scan, const char *path, kernels_error *error);
kernels_status kernels_abi_scan_wheel_bytes(kernels_abi_scan *scan, kernels_view bytes, const char *path,
                                            kernels_error *error);
/* Neither errors nor, with strict, warnings. */
bool kernels_abi_scan_passed(const kernels_abi_scan *scan, bool strict);
void kernels_abi_scan_dispose(kernels_abi_scan *scan);

#endif
