/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define ARENA_BLOCK_SIZE ((size_t)16 * 1024)
#define ARENA_ALIGNMENT _Alignof(max_align_t)

typedef struct arena_block {
    struct arena_block *next;
    size_t used, size; /* of the bytes behind this header */
} arena_block;

#define ARENA_HEADER ((sizeof(arena_block) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT)

struct kernels_arena {
    arena_block *blocks;
    size_t handed_out, limit;
};

kernels_arena *kernels_arena_new(size_t limit) {
    kernels_arena *arena = kernels_calloc(1, sizeof *arena);
    if (arena) {
        arena->limit = limit ? limit : KERNELS_ARENA_DEFAULT_LIMIT;
    }
    return arena;
}

void kernels_arena_free(kernels_arena *arena) {
    if (!arena) {
        return;
    }
    while (arena->blocks) {
        arena_block *next = arena->blocks->next;
        kernels_free(arena->blocks);
        arena->blocks = next;
    }
    kernels_free(arena);
}

static bool arena_add_block(kernels_arena *arena, size_t size) {
    size_t block_size = size > ARENA_BLOCK_SIZE ? size : ARENA_BLOCK_SIZE;
    arena_block *block = kernels_malloc(ARENA_HEADER + block_size);
    if (!block) {
        return false;
    }
    *block = (arena_block){.next = arena->blocks, .size = block_size};
    arena->blocks = block;
    return true;
}

void *kernels_arena_allocate(kernels_arena *arena, size_t size) {
    if (size > arena->limit - arena->handed_out) {
        return NULL;
    }
    size_t rounded = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (rounded == 0) {
        rounded = ARENA_ALIGNMENT;
    }
    arena_block *block = arena->blocks;
    if (!block || block->size - block->used < rounded) {
        if (!arena_add_block(arena, rounded)) {
            return NULL;
        }
        block = arena->blocks;
    }
    void *result = (char *)block + ARENA_HEADER + block->used;
    block->used += rounded;
    arena->handed_out += size;
    return memset(result, 0, rounded);
}

void *kernels_arena_array(kernels_arena *arena, size_t count, size_t element_size) {
    if (element_size && count > SIZE_MAX / element_size) {
        return NULL;
    }
    return kernels_arena_allocate(arena, count * element_size);
}

char *kernels_arena_copy_text(kernels_arena *arena, kernels_view text) {
    char *copy = text.size < SIZE_MAX ? kernels_arena_allocate(arena, text.size + 1) : NULL;
    if (copy && text.size) {
        memcpy(copy, text.data, text.size);
    }
    return copy;
}

kernels_view kernels_arena_copy_view(kernels_arena *arena, kernels_view text) {
    char *copy = kernels_arena_copy_text(arena, text);
    return (kernels_view){copy, copy ? text.size : 0};
}

char *kernels_arena_printf(kernels_arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    char *text = size < 0 ? NULL : kernels_arena_allocate(arena, (size_t)size + 1);
    if (text) {
        (void)vsnprintf(text, (size_t)size + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    return text;
}
