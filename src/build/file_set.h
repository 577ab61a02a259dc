/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files made in memory and written together: everything is rendered, and everything that is in the way
 * is known, before the first byte reaches the disk.
 */
#ifndef KERNELS_SRC_BUILD_FILE_SET_H
#define KERNELS_SRC_BUILD_FILE_SET_H

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_FILE_SET_LIMIT 4096 /* files */

typedef struct kernels_new_file {
    char *path; /* below the target folder, parts joined by "/" */
    char *content;
    size_t size;
} kernels_new_file;

typedef struct kernels_file_set {
    kernels_new_file *items;
    size_t count, capacity;
} kernels_file_set;

/* A value for every "@name@" in a template or in its path. */
typedef struct kernels_placeholder {
    const char *name; /* NULL ends a table */
    const char *value;
} kernels_placeholder;

/* Both copied. */
kernels_status kernels_file_set_add(kernels_file_set *set, const char *path, kernels_view content,
                                    kernels_error *error);
/* Renders all templates below templates/<folder>/, their paths taken relative to it. A placeholder that is
 * not in the table stays as it is. Unknown folder: KERNELS_INTERNAL. */
kernels_status kernels_file_set_add_templates(kernels_file_set *set, const char *folder,
                                              const kernels_placeholder *placeholders, kernels_error *error);
/* Lists on separate lines, each indented by two, the files that exist below directory; returns their number. */
size_t kernels_file_set_existing(const kernels_file_set *set, const char *directory, kernels_buffer *list);
/* Writes all below directory, making folders as needed. Removes what it had written when one fails and
 * nothing stood there before. */
kernels_status kernels_file_set_write(const kernels_file_set *set, const char *directory, kernels_error *error);
const kernels_new_file *kernels_file_set_find(const kernels_file_set *set, const char *path); /* or NULL */
void kernels_file_set_sort(kernels_file_set *set);                                            /* by bytes of path */
void kernels_file_set_dispose(kernels_file_set *set);

#endif
