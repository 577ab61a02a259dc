/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte-exact JSON. Two layouts: pretty (indent blanks, "key": value, one element a line, [] and {}
 * when empty, "\n", no final newline) and compact (indent 0: no blanks and no newlines at all).
 * Escapes: \" \\ \b \t \n \f \r, other bytes below 0x20 as \u00xx; everything else raw UTF-8, or with
 * ascii = true \uxxxx (surrogate pairs beyond U+FFFF), as Python's json.dumps.
 */
#ifndef KERNELS_SRC_BASE_JSON_WRITER_H
#define KERNELS_SRC_BASE_JSON_WRITER_H

#include "base/buffer.h"
#include "base/document.h"

#define KERNELS_JSON_WRITER_DEPTH 64

typedef struct kernels_json_writer {
    kernels_buffer *out;
    unsigned indent; /* blanks a level; 0 = compact */
    bool ascii;
    bool after_key;
    unsigned depth;
    uint8_t has_elements[KERNELS_JSON_WRITER_DEPTH];
    uint8_t is_object[KERNELS_JSON_WRITER_DEPTH];
} kernels_json_writer;

void kernels_json_writer_init(kernels_json_writer *writer, kernels_buffer *out, unsigned indent, bool ascii);
void kernels_json_begin_object(kernels_json_writer *writer);
void kernels_json_end_object(kernels_json_writer *writer);
void kernels_json_begin_array(kernels_json_writer *writer);
void kernels_json_end_array(kernels_json_writer *writer);
void kernels_json_key(kernels_json_writer *writer, const char *key);
void kernels_json_key_view(kernels_json_writer *writer, kernels_view key);
void kernels_json_string(kernels_json_writer *writer, kernels_view text);
void kernels_json_text(kernels_json_writer *writer, const char *text); /* NULL writes null */
void kernels_json_unsigned(kernels_json_writer *writer, uint64_t value);
void kernels_json_signed(kernels_json_writer *writer, int64_t value);
void kernels_json_double(kernels_json_writer *writer, double value); /* shortest that reads back; not finite: null */
void kernels_json_boolean(kernels_json_writer *writer, bool value);
void kernels_json_null(kernels_json_writer *writer);
/* A key and its value. */
void kernels_json_member_view(kernels_json_writer *writer, const char *key, kernels_view text);
void kernels_json_member_text(kernels_json_writer *writer, const char *key, const char *text); /* NULL writes null */
void kernels_json_member_unsigned(kernels_json_writer *writer, const char *key, uint64_t value);
void kernels_json_member_signed(kernels_json_writer *writer, const char *key, int64_t value);
void kernels_json_member_double(kernels_json_writer *writer, const char *key, double value);
void kernels_json_member_boolean(kernels_json_writer *writer, const char *key, bool value);
/* Writes a whole tree (NUMBER nodes as they were written, DATE as a string). No recursion. */
void kernels_json_node(kernels_json_writer *writer, const kernels_node *node);

#endif
