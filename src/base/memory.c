/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void *kernels_malloc(size_t size) {
    if (kernels_fault(KERNELS_FAULT_ALLOCATE)) {
        return NULL;
    }
    return malloc(size ? size : 1);
}

void *kernels_calloc(size_t count, size_t size) {
    if (kernels_fault(KERNELS_FAULT_ALLOCATE)) {
        return NULL;
    }
    return count && size ? calloc(count, size) : calloc(1, 1);
}

void *kernels_realloc(void *block, size_t size) {
    if (kernels_fault(KERNELS_FAULT_ALLOCATE)) {
        return NULL;
    }
    return realloc(block, size);
}

void kernels_free(void *block) { free(block); }

char *kernels_strndup(const char *text, size_t size) {
    char *copy = kernels_malloc(size + 1);
    if (copy) {
        if (size) {
            memcpy(copy, text, size);
        }
        copy[size] = '\0';
    }
    return copy;
}

char *kernels_strdup(const char *text) { return text ? kernels_strndup(text, strlen(text)) : NULL; }

bool kernels_grow(void **items, size_t *capacity, size_t count, size_t element_size, size_t limit) {
    if (count < *capacity) {
        return true;
    }
    if (count >= limit || element_size == 0) {
        return false;
    }
    size_t wanted = *capacity < 8 ? 8 : *capacity * 2;
    if (wanted > limit) {
        wanted = limit;
    }
    if (wanted > SIZE_MAX / element_size) {
        return false;
    }
    void *grown = kernels_realloc(*items, wanted * element_size);
    if (!grown) {
        return false;
    }
    *items = grown;
    *capacity = wanted;
    return true;
}

void kernels_cleanup_free(void *pointer_to_block) {
    void *block;
    memcpy(&block, pointer_to_block, sizeof block);
    kernels_free(block);
}
