/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocator: everything of one document is freed at once. Blocks are aligned for any type. */
#ifndef KERNELS_SRC_BASE_ARENA_H
#define KERNELS_SRC_BASE_ARENA_H

#include "kernels/base.h"

typedef struct kernels_arena kernels_arena;

/* limit: most bytes it may hand out in all, 0 = KERNELS_ARENA_DEFAULT_LIMIT. */
#define KERNELS_ARENA_DEFAULT_LIMIT ((size_t)1024 * 1024 * 1024)
kernels_arena *kernels_arena_new(size_t limit); /* NULL when out of memory */
void kernels_arena_free(kernels_arena *arena);
void *kernels_arena_allocate(kernels_arena *arena, size_t size); /* zeroed; NULL: memory or limit */
void *kernels_arena_array(kernels_arena *arena, size_t count, size_t element_size);
char *kernels_arena_copy_text(kernels_arena *arena, kernels_view text);        /* NUL-terminated copy */
kernels_view kernels_arena_copy_view(kernels_arena *arena, kernels_view text); /* data NULL on failure */
char *kernels_arena_printf(kernels_arena *arena, const char *format, ...) KERNELS_PRINTF(2, 3);

#endif
