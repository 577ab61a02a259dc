/* SPDX-License-Identifier: Apache-2.0 */
/* Branches "vN" are the versions of a kernel. */
#ifndef KERNELS_SRC_SERVER_VERSIONS_H
#define KERNELS_SRC_SERVER_VERSIONS_H

#include "server/store.h"

/* true for "refs/heads/v<decimal number>", without leading zeros */
bool kernels_ref_version(const char *name, uint64_t *version);
bool kernels_refs_latest_version(const kernels_store_ref *refs, size_t count, uint64_t *version);

#endif
