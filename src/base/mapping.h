/* SPDX-License-Identifier: Apache-2.0 */
/* A file as memory: only the pages that are looked at are read. Somebody who shortens the file meanwhile kills the
 * process (SIGBUS), so this is for files that are replaced as a whole, as libraries are. */
#ifndef KERNELS_SRC_BASE_MAPPING_H
#define KERNELS_SRC_BASE_MAPPING_H

#include "kernels/base.h"

typedef struct kernels_mapping {
    const uint8_t *data; /* not NULL, also when size is 0 */
    size_t size;
} kernels_mapping;

/* Anything but a regular file is an error; a FIFO does not block. */
kernels_status kernels_mapping_open(const char *path, kernels_mapping *mapping, kernels_error *error);
void kernels_mapping_close(kernels_mapping *mapping);
/* Drops the pages looked at so far from the process's memory; they are read again when they are needed again. */
void kernels_mapping_forget(const kernels_mapping *mapping);

#endif
