/* SPDX-License-Identifier: Apache-2.0 */
/* What the libraries of one build variant say together; and what scan.c and wheel.c share. */
#ifndef KERNELS_SRC_ABI_VARIANT_H
#define KERNELS_SRC_ABI_VARIANT_H

#include "abi/scan.h"

typedef struct kernels_abi_candidates {
    char **paths;
    const char **names; /* last components of paths */
    size_t count, capacity;
} kernels_abi_candidates;

/* "k.so", "k.so.1", "k.pyd", "k.dylib", "k.dll" */
bool kernels_abi_is_library_name(kernels_view path);
/* By its first bytes. Code of a GPU is data to this machine's loader. */
bool kernels_abi_is_library_content(kernels_view bytes);

/* Takes over what the item holds; path is copied. */
kernels_status kernels_abi_scan_add(kernels_abi_scan *scan, const char *path, kernels_abi_scanned *item,
                                    kernels_error *error);
/* Warns of links among the items from first on that leave root, but for blobs of a Hub cache. */
kernels_status kernels_abi_scan_links(kernels_abi_scan *scan, size_t first, const char *root, kernels_error *error);
/* Names that two libraries export, and device code against metadata.json: an item for the variant, if there is
 * anything to say. */
kernels_status kernels_abi_scan_together(kernels_abi_scan *scan, const char *folder,
                                         const kernels_abi_candidates *libraries, kernels_error *error);

#endif
