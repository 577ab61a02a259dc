/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share about metadata and digests. */
#ifndef KERNELS_SRC_DATA_METADATA_H
#define KERNELS_SRC_DATA_METADATA_H

#include "base/json_writer.h"
#include "data/schema.h"

/* Copies the digest's hashes into the arena; the copy has no owner of its own. */
kernels_status kernels_digest_copy(const kernels_variant_digest *from, kernels_arena *arena, kernels_variant_digest *to,
                                   kernels_error *error);
/* The arena behind metadata, made on first use; NULL = no memory. */
kernels_arena *kernels_metadata_arena(kernels_metadata *metadata);

/* Writes {"repo-id": ..., "version" or "revision": ...}. */
void kernels_dependency_write(kernels_json_writer *writer, const kernels_dependency *dependency);

/* Whether Python may write it beside the sources: *.pyc, or below __pycache__. */
bool kernels_is_bytecode(kernels_view path);

#endif
