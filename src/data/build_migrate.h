/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files that migrate a build.toml share. */
#ifndef KERNELS_SRC_DATA_BUILD_MIGRATE_H
#define KERNELS_SRC_DATA_BUILD_MIGRATE_H

#include "data/build.h"
#include "data/text_edit.h"

typedef struct kernels_migration {
    const char *name; /* of the file */
    const char *license;
    const kernels_node *root;
    const kernels_build *build; /* what the file says, as read by its own edition */
    kernels_text_edits edits;
    kernels_error *error;
} kernels_migration;

/* Collects the edits that bring a file of edition 1 or 2 to edition 3. */
kernels_status kernels_migrate_old(kernels_migration *migration);

/* Two parts from a version of any number: "12" gives "12.0", "12.8.0" gives "12.8". Others fail and name the key. */
kernels_status kernels_migrate_version(kernels_migration *migration, const char *key, const kernels_node *value,
                                       char text[KERNELS_VERSION_TEXT_SIZE]);

#endif
