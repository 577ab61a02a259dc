/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/view.h"

void kernels_json_writer_init(kernels_json_writer *writer, kernels_buffer *out, unsigned indent, bool ascii) {
    memset(writer, 0, sizeof *writer);
    writer->out = out;
    writer->indent = indent;
    writer->ascii = ascii;
}

static void new_line(kernels_json_writer *writer, unsigned depth) {
    if (writer->indent > 0) {
        kernels_buffer_add_char(writer->out, '\n');
        for (unsigned i = 0; i < depth * writer->indent; i++) {
            kernels_buffer_add_char(writer->out, ' ');
        }
    }
}

/* What stands between the elements of a container, before an element or a key. */
static void begin_element(kernels_json_writer *writer) {
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (writer->depth == 0) {
        return;
    }
    uint8_t *has_elements = &writer->has_elements[writer->depth - 1];
    if (*has_elements) {
        kernels_buffer_add_char(writer->out, ',');
    }
    *has_elements = 1;
    new_line(writer, writer->depth);
}

static void begin_container(kernels_json_writer *writer, char open, bool is_object) {
    begin_element(writer);
    kernels_buffer_add_char(writer->out, open);
    if (writer->depth >= KERNELS_JSON_WRITER_DEPTH) {
        writer->out->failure = KERNELS_LIMIT;
        return;
    }
    writer->has_elements[writer->depth] = 0;
    writer->is_object[writer->depth] = is_object;
    writer->depth++;
}

static void end_container(kernels_json_writer *writer, char close) {
    assert(writer->depth > 0);
    writer->depth--;
    if (writer->has_elements[writer->depth]) {
        new_line(writer, writer->depth);
    }
    kernels_buffer_add_char(writer->out, close);
}

void kernels_json_begin_object(kernels_json_writer *writer) { begin_container(writer, '{', true); }
void kernels_json_end_object(kernels_json_writer *writer) { end_container(writer, '}'); }
void kernels_json_begin_array(kernels_json_writer *writer) { begin_container(writer, '[', false); }
void kernels_json_end_array(kernels_json_writer *writer) { end_container(writer, ']'); }

/* Code point of a valid UTF-8 sequence at text[*at]; moves *at behind it. Bytes that are not UTF-8 give U+FFFD. */
static uint32_t next_code_point(kernels_view text, size_t *at) {
    const unsigned char *p = (const unsigned char *)text.data + *at;
    size_t size = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (!kernels_view_is_utf8(kernels_view_slice(text, *at, *at + size))) {
        *at += 1;
        return 0xFFFD;
    }
    uint32_t code = size == 1 ? p[0] : p[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        code = code << 6 | (p[i] & 0x3Fu);
    }
    *at += size;
    return code;
}

static void write_ascii_escape(kernels_buffer *out, uint32_t code) {
    if (code >= 0x10000) {
        code -= 0x10000;
        kernels_buffer_printf(out, "\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
    } else {
        kernels_buffer_printf(out, "\\u%04x", code);
    }
}

static const char *short_escape(char c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\f':
        return "\\f";
    case '\r':
        return "\\r";
    default:
        return NULL;
    }
}

static void write_string(kernels_json_writer *writer, kernels_view text) {
    kernels_buffer_add_char(writer->out, '"');
    for (size_t i = 0; i < text.size;) {
        char c = text.data[i];
        const char *escape = short_escape(c);
        if (escape) {
            kernels_buffer_add_text(writer->out, escape);
            i++;
        } else if ((unsigned char)c < 0x20) {
            write_ascii_escape(writer->out, (unsigned char)c);
            i++;
        } else if ((unsigned char)c >= 0x80 && writer->ascii) {
            write_ascii_escape(writer->out, next_code_point(text, &i));
        } else {
            kernels_buffer_add_char(writer->out, c);
            i++;
        }
    }
    kernels_buffer_add_char(writer->out, '"');
}

void kernels_json_key_view(kernels_json_writer *writer, kernels_view key) {
    begin_element(writer);
    write_string(writer, key);
    kernels_buffer_add_text(writer->out, writer->indent > 0 ? ": " : ":");
    writer->after_key = true;
}

void kernels_json_key(kernels_json_writer *writer, const char *key) {
    kernels_json_key_view(writer, kernels_view_of(key));
}

void kernels_json_string(kernels_json_writer *writer, kernels_view text) {
    begin_element(writer);
    write_string(writer, text);
}

static void write_raw(kernels_json_writer *writer, const char *text) {
    begin_element(writer);
    kernels_buffer_add_text(writer->out, text);
}

void kernels_json_text(kernels_json_writer *writer, const char *text) {
    if (text) {
        kernels_json_string(writer, kernels_view_of(text));
    } else {
        kernels_json_null(writer);
    }
}

void kernels_json_unsigned(kernels_json_writer *writer, uint64_t value) {
    begin_element(writer);
    kernels_buffer_printf(writer->out, "%llu", (unsigned long long)value);
}

void kernels_json_signed(kernels_json_writer *writer, int64_t value) {
    begin_element(writer);
    kernels_buffer_printf(writer->out, "%lld", (long long)value);
}

void kernels_json_double(kernels_json_writer *writer, double value) {
    if (!isfinite(value)) {
        kernels_json_null(writer);
        return;
    }
    char text[40];
    for (int precision = 1; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    if (!strpbrk(text, ".e")) { /* stays a float for readers that tell the two apart */
        memcpy(text + strlen(text), ".0", 3);
    }
    write_raw(writer, text);
}

void kernels_json_boolean(kernels_json_writer *writer, bool value) { write_raw(writer, value ? "true" : "false"); }

void kernels_json_null(kernels_json_writer *writer) { write_raw(writer, "null"); }

/* ---- members ---- */

void kernels_json_member_view(kernels_json_writer *writer, const char *key, kernels_view text) {
    kernels_json_key(writer, key);
    kernels_json_string(writer, text);
}

void kernels_json_member_text(kernels_json_writer *writer, const char *key, const char *text) {
    kernels_json_key(writer, key);
    kernels_json_text(writer, text);
}

void kernels_json_member_unsigned(kernels_json_writer *writer, const char *key, uint64_t value) {
    kernels_json_key(writer, key);
    kernels_json_unsigned(writer, value);
}

void kernels_json_member_signed(kernels_json_writer *writer, const char *key, int64_t value) {
    kernels_json_key(writer, key);
    kernels_json_signed(writer, value);
}

void kernels_json_member_double(kernels_json_writer *writer, const char *key, double value) {
    kernels_json_key(writer, key);
    kernels_json_double(writer, value);
}

void kernels_json_member_boolean(kernels_json_writer *writer, const char *key, bool value) {
    kernels_json_key(writer, key);
    kernels_json_boolean(writer, value);
}

/* ---- trees ---- */

static void write_scalar(kernels_json_writer *writer, const kernels_node *node) {
    switch (node->type) {
    case KERNELS_NODE_BOOLEAN:
        kernels_json_boolean(writer, node->as.boolean);
        break;
    case KERNELS_NODE_UNSIGNED:
        kernels_json_unsigned(writer, node->as.unsigned_value);
        break;
    case KERNELS_NODE_NEGATIVE:
        kernels_json_signed(writer, node->as.negative);
        break;
    case KERNELS_NODE_NUMBER:
        begin_element(writer);
        kernels_buffer_add_view(writer->out, node->as.text);
        break;
    case KERNELS_NODE_STRING:
    case KERNELS_NODE_DATE:
        kernels_json_string(writer, node->as.text);
        break;
    default:
        kernels_json_null(writer);
        break;
    }
}

static bool is_container(const kernels_node *node) {
    return node->type == KERNELS_NODE_ARRAY || node->type == KERNELS_NODE_OBJECT;
}

static void open_container(kernels_json_writer *writer, const kernels_node *node) {
    if (node->type == KERNELS_NODE_OBJECT) {
        kernels_json_begin_object(writer);
    } else {
        kernels_json_begin_array(writer);
    }
}

void kernels_json_node(kernels_json_writer *writer, const kernels_node *node) {
    const kernels_node *stack[KERNELS_JSON_WRITER_DEPTH];
    size_t next[KERNELS_JSON_WRITER_DEPTH], depth = 0;
    if (!is_container(node)) {
        write_scalar(writer, node);
        return;
    }
    open_container(writer, node);
    stack[0] = node;
    next[0] = 0;
    depth = 1;
    while (depth > 0 && !writer->out->failure) {
        const kernels_node *top = stack[depth - 1];
        if (next[depth - 1] == top->count) {
            end_container(writer, top->type == KERNELS_NODE_OBJECT ? '}' : ']');
            depth--;
            continue;
        }
        size_t index = next[depth - 1]++;
        const kernels_node *child;
        if (top->type == KERNELS_NODE_OBJECT) {
            kernels_json_key_view(writer, top->as.members[index].key);
            child = top->as.members[index].value;
        } else {
            child = top->as.items[index];
        }
        if (!is_container(child)) {
            write_scalar(writer, child);
        } else if (depth == KERNELS_JSON_WRITER_DEPTH) {
            writer->out->failure = KERNELS_LIMIT;
        } else {
            open_container(writer, child);
            stack[depth] = child;
            next[depth++] = 0;
        }
    }
}
