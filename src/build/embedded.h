/* SPDX-License-Identifier: Apache-2.0 */
/* Files compiled into the program (cmake/EmbedFiles.cmake): the templates of projects. */
#ifndef KERNELS_SRC_BUILD_EMBEDDED_H
#define KERNELS_SRC_BUILD_EMBEDDED_H

#include "kernels/base.h"

typedef struct kernels_embedded_file {
    const char *path; /* below templates/ */
    kernels_view text;
} kernels_embedded_file;

extern const kernels_embedded_file kernels_templates[];
extern const size_t kernels_templates_count;

#endif
