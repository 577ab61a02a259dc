/* SPDX-License-Identifier: Apache-2.0 */
/* `update-build`: a build.toml of an older edition becomes one of edition 5. The text: kernels_build_migrate. */
#ifndef KERNELS_SRC_BUILD_CONFIG_UPDATE_H
#define KERNELS_SRC_BUILD_CONFIG_UPDATE_H

#include "kernels/data.h"

typedef struct kernels_config_update {
    unsigned edition; /* that the file has */
    char *text;       /* what it becomes; NULL: it is of edition 5 */
    char *difference; /* unified diff between the two; NULL likewise */
} kernels_config_update;

/* Reads <kernel_dir>/build.toml; changes nothing. license is for files without one (NULL: that is an error). */
kernels_status kernels_config_update_make(const char *kernel_dir, const char *license, kernels_config_update *update,
                                          kernels_error *error);
/* Replaces the file in one step; a link to it stays a link. Nothing happens at edition 5. */
kernels_status kernels_config_update_write(const char *kernel_dir, const kernels_config_update *update,
                                           kernels_error *error);
void kernels_config_update_dispose(kernels_config_update *update);

#endif
