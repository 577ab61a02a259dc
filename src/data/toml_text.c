/* SPDX-License-Identifier: Apache-2.0 */
#include "data/toml_text.h"

#include "base/view.h"

static bool has_control(kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool has(kernels_view text, char byte) { return kernels_view_find(text, byte) != SIZE_MAX; }

static void add_escaped(kernels_buffer *out, char c, bool multi_line) {
    static const char names[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    if (c == '\n' && multi_line) {
        kernels_buffer_add_char(out, c);
        return;
    }
    for (size_t i = 0; names[i]; i++) {
        if (c == names[i]) {
            kernels_buffer_add_char(out, '\\');
            kernels_buffer_add_char(out, letters[i]);
            return;
        }
    }
    if ((unsigned char)c < 0x20 || c == 0x7f) {
        kernels_buffer_printf(out, "\\u%04X", (unsigned)(unsigned char)c);
    } else {
        kernels_buffer_add_char(out, c);
    }
}

void kernels_toml_add_string(kernels_buffer *out, kernels_view text) {
    if ((has(text, '"') || has(text, '\\')) && !has(text, '\'') && !has_control(text)) {
        kernels_buffer_add_char(out, '\'');
        kernels_buffer_add_view(out, text);
        kernels_buffer_add_char(out, '\'');
        return;
    }
    bool multi_line = has(text, '\n');
    kernels_buffer_add_text(out, multi_line ? "\"\"\"\n" : "\"");
    for (size_t i = 0; i < text.size; i++) {
        add_escaped(out, text.data[i], multi_line);
    }
    kernels_buffer_add_text(out, multi_line ? "\"\"\"" : "\"");
}

void kernels_toml_add_key(kernels_buffer *out, kernels_view key) {
    bool bare = key.size > 0;
    for (size_t i = 0; i < key.size; i++) {
        bare = bare && (kernels_is_alnum(key.data[i]) || key.data[i] == '_' || key.data[i] == '-');
    }
    kernels_buffer_add_text(out, bare ? "" : "\"");
    for (size_t i = 0; i < key.size; i++) {
        add_escaped(out, key.data[i], false);
    }
    kernels_buffer_add_text(out, bare ? "" : "\"");
}

void kernels_toml_add_list(kernels_buffer *out, const kernels_view *items, size_t count) {
    kernels_buffer_add_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_add_text(out, count > 1 ? "\n    " : "");
        kernels_toml_add_string(out, items[i]);
        kernels_buffer_add_text(out, count > 1 ? "," : "");
    }
    kernels_buffer_add_text(out, count > 1 ? "\n]" : "]");
}
