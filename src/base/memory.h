/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that calls malloc and free, so that tests can make the n-th allocation fail. */
#ifndef KERNELS_SRC_BASE_MEMORY_H
#define KERNELS_SRC_BASE_MEMORY_H

#include <stddef.h>

#include "kernels/base.h"

void *kernels_malloc(size_t size);               /* NULL when out of memory */
void *kernels_calloc(size_t count, size_t size); /* zeroed, overflow checked */
void *kernels_realloc(void *block, size_t size); /* as realloc; size 0 is not allowed */
void kernels_free(void *block);                  /* NULL allowed */
char *kernels_strdup(const char *text);          /* NULL in, NULL out */
char *kernels_strndup(const char *text, size_t size);

/* Grows *items (elements of element_size bytes) so that one more fits after count elements;
 * doubles, never past limit elements. *capacity is updated. Returns false when out of memory
 * or at the limit; *items stays valid. Call as kernels_grow((void **)&array, ...). */
bool kernels_grow(void **items, size_t *capacity, size_t count, size_t element_size, size_t limit);

/* Frees *block at the end of the scope: `KERNELS_CLEANUP_FREE char *text = ...;` */
void kernels_cleanup_free(void *pointer_to_block);
#define KERNELS_CLEANUP(function) __attribute__((cleanup(function)))
#define KERNELS_CLEANUP_FREE KERNELS_CLEANUP(kernels_cleanup_free)

#endif
