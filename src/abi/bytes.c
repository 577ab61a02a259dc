/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/bytes.h"

#include <string.h>

bool kernels_bytes_slice(kernels_bytes bytes, uint64_t offset, uint64_t size, kernels_bytes *part) {
    if (offset > bytes.size || size > bytes.size - offset) {
        return false;
    }
    *part = (kernels_bytes){bytes.data + offset, (size_t)size, bytes.is_big_endian};
    return true;
}

bool kernels_bytes_from(kernels_bytes bytes, uint64_t offset, kernels_bytes *part) {
    return offset <= bytes.size && kernels_bytes_slice(bytes, offset, bytes.size - offset, part);
}

bool kernels_bytes_text(kernels_bytes bytes, uint64_t offset, kernels_view *text) {
    if (offset >= bytes.size) {
        return false;
    }
    const uint8_t *begin = bytes.data + offset;
    const uint8_t *end = memchr(begin, 0, bytes.size - (size_t)offset);
    if (end == NULL) {
        return false;
    }
    *text = (kernels_view){(const char *)begin, (size_t)(end - begin)};
    return true;
}

kernels_cursor kernels_cursor_at(kernels_bytes bytes, uint64_t offset) {
    return (kernels_cursor){bytes, offset, offset > bytes.size};
}

/* The next size bytes, or NULL. */
static const uint8_t *take(kernels_cursor *cursor, uint64_t size) {
    kernels_bytes part;
    if (cursor->failed || !kernels_bytes_slice(cursor->bytes, cursor->at, size, &part)) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += size;
    return part.data;
}

uint8_t kernels_cursor_u8(kernels_cursor *cursor) {
    const uint8_t *from = take(cursor, 1);
    return from == NULL ? 0 : from[0];
}

uint16_t kernels_cursor_u16(kernels_cursor *cursor) {
    const uint8_t *from = take(cursor, 2);
    return from == NULL ? 0 : kernels_load_u16(from, cursor->bytes.is_big_endian);
}

uint32_t kernels_cursor_u32(kernels_cursor *cursor) {
    const uint8_t *from = take(cursor, 4);
    return from == NULL ? 0 : kernels_load_u32(from, cursor->bytes.is_big_endian);
}

uint64_t kernels_cursor_u64(kernels_cursor *cursor) {
    const uint8_t *from = take(cursor, 8);
    return from == NULL ? 0 : kernels_load_u64(from, cursor->bytes.is_big_endian);
}

uint64_t kernels_cursor_word(kernels_cursor *cursor, bool is_64_bit) {
    return is_64_bit ? kernels_cursor_u64(cursor) : kernels_cursor_u32(cursor);
}

void kernels_cursor_skip(kernels_cursor *cursor, uint64_t size) { (void)take(cursor, size); }
