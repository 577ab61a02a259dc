/* SPDX-License-Identifier: Apache-2.0 */
/* build.toml inside this room: the tables of its editions, and reading without judging the edition. */
#ifndef KERNELS_SRC_DATA_BUILD_H
#define KERNELS_SRC_DATA_BUILD_H

#include "data/schema.h"

/* Bits of kernels_reader.mask: which edition a row belongs to (only 5 is written in the file) ... */
#define KERNELS_EDITION_5 (1u << 0)
#define KERNELS_EDITION_4 (1u << 1)
#define KERNELS_EDITION_3 (1u << 2)
#define KERNELS_EDITION_2 (1u << 3)
#define KERNELS_EDITION_1 (1u << 4)

/* ... and which kind of kernel. */
#define KERNELS_KERNEL_KIND(backend) (1u << (8 + (unsigned)(backend)))

/* Reads the whole document as the edition in reader->mask. */
kernels_status kernels_build_schema_read(kernels_reader *reader, const kernels_node *root, kernels_build *build);

/* Finds the edition and reads the document; build->edition is 5, 4 or 3. Editions 2 and 1 are
 * KERNELS_UNSUPPORTED_EDITION, except for migration, which also takes versions of any number of parts
 * in older editions. Of edition 1 and 2 only what later editions know too is stored. */
kernels_status kernels_build_read_document(const kernels_document *document, const char *name, bool for_migration,
                                           kernels_build *build, kernels_error *error);

/* What shows that an unmarked file is of edition 1 or 2 ("general.universal"), or NULL. */
const char *kernels_build_old_sign(const kernels_node *root);

#endif
