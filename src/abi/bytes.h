/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading foreign bytes: nothing outside of [data, data + size) is ever touched. A cursor fails for good at the first
 * field that is not there, so that a structure is read field by field with one check at its end.
 */
#ifndef KERNELS_SRC_ABI_BYTES_H
#define KERNELS_SRC_ABI_BYTES_H

#include "kernels/base.h"

typedef struct kernels_bytes {
    const uint8_t *data;
    size_t size;
    bool is_big_endian;
} kernels_bytes;

/* Part of the bytes; false when it is not all there. */
bool kernels_bytes_slice(kernels_bytes bytes, uint64_t offset, uint64_t size, kernels_bytes *part);
/* Everything from offset on; false when offset is outside. */
bool kernels_bytes_from(kernels_bytes bytes, uint64_t offset, kernels_bytes *part);
/* The text at offset; false when it does not end inside the bytes. */
bool kernels_bytes_text(kernels_bytes bytes, uint64_t offset, kernels_view *text);

typedef struct kernels_cursor {
    kernels_bytes bytes;
    uint64_t at;
    bool failed;
} kernels_cursor;

kernels_cursor kernels_cursor_at(kernels_bytes bytes, uint64_t offset);
/* 0 after a failure. */
uint8_t kernels_cursor_u8(kernels_cursor *cursor);
uint16_t kernels_cursor_u16(kernels_cursor *cursor);
uint32_t kernels_cursor_u32(kernels_cursor *cursor);
uint64_t kernels_cursor_u64(kernels_cursor *cursor);
uint64_t kernels_cursor_word(kernels_cursor *cursor, bool is_64_bit); /* 4 or 8 bytes */
void kernels_cursor_skip(kernels_cursor *cursor, uint64_t size);

/* For loops over tables whose whole size was checked. */
static inline uint16_t kernels_load_u16(const uint8_t *from, bool is_big_endian) {
    unsigned high = from[is_big_endian ? 0 : 1], low = from[is_big_endian ? 1 : 0];
    return (uint16_t)(high << 8 | low);
}

static inline uint32_t kernels_load_u32(const uint8_t *from, bool is_big_endian) {
    uint32_t first = kernels_load_u16(from, is_big_endian), second = kernels_load_u16(from + 2, is_big_endian);
    return is_big_endian ? first << 16 | second : second << 16 | first;
}

static inline uint64_t kernels_load_u64(const uint8_t *from, bool is_big_endian) {
    uint64_t first = kernels_load_u32(from, is_big_endian), second = kernels_load_u32(from + 4, is_big_endian);
    return is_big_endian ? first << 32 | second : second << 32 | first;
}

#endif
