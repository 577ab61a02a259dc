/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects under keys: written once, read, listed, deleted, never changed. These four calls are all that large files
 * need, so that an object store can stand behind this header; today a folder does.
 *
 * A key is "<group>/<name>" of lower-case letters, digits and "-": "lfs/<sha256>", "parts/<upload>-<number>".
 * Shared by all threads.
 */
#ifndef KERNELS_SRC_SERVER_STORAGE_H
#define KERNELS_SRC_SERVER_STORAGE_H

#include "base/file.h"
#include "kernels/base.h"

typedef struct kernels_storage kernels_storage;

/* groups: NULL-terminated names of the groups that will be used. */
kernels_status kernels_storage_open(const char *directory, const char *const *groups, kernels_storage **storage,
                                    kernels_error *error);
void kernels_storage_close(kernels_storage *storage);
/* Removes what a killed writer left. Nobody else may be writing. */
kernels_status kernels_storage_recover(const kernels_storage *storage, kernels_error *error);

/* ---- read ---- */

/* descriptor (NULL: only the size is wanted) is to be closed by the caller. KERNELS_NOT_FOUND. */
kernels_status kernels_storage_read(const kernels_storage *storage, const char *key, int *descriptor, uint64_t *size,
                                    kernels_error *error);

/* ---- write once ---- */

typedef struct kernels_storage_writer kernels_storage_writer;

kernels_status kernels_storage_write(const kernels_storage *storage, const char *key, kernels_storage_writer **writer,
                                     kernels_error *error);
kernels_status kernels_storage_writer_add(kernels_storage_writer *writer, const void *data, size_t size,
                                          kernels_error *error);
uint64_t kernels_storage_writer_size(const kernels_storage_writer *writer);
/* Of all that was added. */
kernels_status kernels_storage_writer_sha256(kernels_storage_writer *writer, kernels_digest *digest,
                                             kernels_error *error);
/* Nobody sees the object before this, and then all of it. Whoever writes a key again must bring the same content.
 * Frees the writer. */
kernels_status kernels_storage_writer_finish(kernels_storage_writer *writer, kernels_error *error);
void kernels_storage_writer_abort(kernels_storage_writer *writer); /* NULL allowed */

/* ---- list, delete ---- */

/* Names of the group's objects, ascending; dispose with kernels_listing_dispose. */
kernels_status kernels_storage_list(const kernels_storage *storage, const char *group, kernels_listing *names,
                                    kernels_error *error);
kernels_status kernels_storage_delete(const kernels_storage *storage, const char *key, kernels_error *error);

#endif
