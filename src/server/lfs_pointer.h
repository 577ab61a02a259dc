/* SPDX-License-Identifier: Apache-2.0 */
/* The small text that stands in git for a large file. */
#ifndef KERNELS_SRC_SERVER_LFS_POINTER_H
#define KERNELS_SRC_SERVER_LFS_POINTER_H

#include "base/buffer.h"
#include "server/store.h"

#define KERNELS_LFS_POINTER_LIMIT 200

/* true for exactly the three lines that kernels_lfs_pointer_print writes */
bool kernels_lfs_pointer_parse(kernels_view text, char sha256[KERNELS_SHA256_HEX_SIZE], uint64_t *size);
void kernels_lfs_pointer_print(kernels_buffer *out, const char *sha256, uint64_t size);

#endif
