/* SPDX-License-Identifier: Apache-2.0 */
/* What lfs.c, which asks the Hub where large files go, hands to lfs_send.c, which sends them there. */
#ifndef KERNELS_SRC_HUB_LFS_H
#define KERNELS_SRC_HUB_LFS_H

#include "hub/upload.h"

#define KERNELS_LFS_TYPE "application/vnd.git-lfs+json"

typedef struct kernels_lfs_object {
    const kernels_upload_file *file;
    const kernels_node *actions; /* of the Hub's answer; NULL = the store has it */
} kernels_lfs_object;

/* Sends them, several requests at a time. */
kernels_status kernels_lfs_send(const kernels_upload *upload, const kernels_lfs_object *objects, size_t count,
                                kernels_error *error);

#endif
