/* SPDX-License-Identifier: Apache-2.0 */
/* Single objects of git, read from front to back. libgit2 would map the whole file into memory. */
#ifndef KERNELS_SRC_SERVER_STORE_LOOSE_H
#define KERNELS_SRC_SERVER_STORE_LOOSE_H

#include "kernels/base.h"

typedef struct kernels_loose_reader kernels_loose_reader;

/* directory: "<repository>/objects"; oid: 40 hex digits. KERNELS_NOT_FOUND: no single object, it may be packed. */
kernels_status kernels_loose_reader_open(const char *directory, const char *oid, kernels_loose_reader **reader,
                                         kernels_error *error);
/* Up to `size` bytes of the content; *got 0 at the end. */
kernels_status kernels_loose_reader_read(kernels_loose_reader *reader, void *data, size_t size, size_t *got,
                                         kernels_error *error);
void kernels_loose_reader_close(kernels_loose_reader *reader); /* NULL allowed */

#endif
