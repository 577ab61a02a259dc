/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/* ---- positions ---- */

static size_t count_lines(kernels_view text) {
    size_t lines = 1;
    for (size_t i = 0; i < text.size; i++) {
        lines += text.data[i] == '\n';
    }
    return lines;
}

void kernels_text_edits_init(kernels_text_edits *edits, kernels_view text) {
    *edits = (kernels_text_edits){.text = text, .arena = kernels_arena_new(0), .line_count = count_lines(text)};
    edits->line_begins = edits->arena ? kernels_arena_array(edits->arena, edits->line_count, sizeof(size_t)) : NULL;
    if (!edits->line_begins) {
        edits->failed = true;
        return;
    }
    size_t line = 1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\n') {
            edits->line_begins[line++] = i + 1;
        }
    }
}

void kernels_text_edits_dispose(kernels_text_edits *edits) {
    kernels_arena_free(edits->arena);
    kernels_free(edits->items);
    *edits = (kernels_text_edits){0};
}

static size_t line_begin(const kernels_text_edits *edits, uint32_t line) {
    return line >= 1 && line <= edits->line_count ? edits->line_begins[line - 1] : edits->text.size;
}

static size_t offset_of(const kernels_text_edits *edits, kernels_position position) {
    size_t offset = line_begin(edits, position.line) + position.column - 1;
    return offset < edits->text.size ? offset : edits->text.size;
}

static char byte_at(const kernels_text_edits *edits, size_t offset) {
    return offset < edits->text.size ? edits->text.data[offset] : '\n';
}

static size_t skip_blanks(const kernels_text_edits *edits, size_t offset) {
    while (byte_at(edits, offset) == ' ' || byte_at(edits, offset) == '\t') {
        offset++;
    }
    return offset;
}

/* Behind the line's end, or the end of the text. */
static size_t next_line(const kernels_text_edits *edits, size_t offset) {
    while (offset < edits->text.size && edits->text.data[offset] != '\n') {
        offset++;
    }
    return offset < edits->text.size ? offset + 1 : offset;
}

/* The line end that the text uses. */
static const char *line_end(const kernels_text_edits *edits) {
    size_t first = kernels_view_find(edits->text, '\n');
    return first != SIZE_MAX && first > 0 && edits->text.data[first - 1] == '\r' ? "\r\n" : "\n";
}

/* Only an inline table has a comma or a brace behind a value; outside, nothing but a comment may follow. */
static bool is_inline(const kernels_text_edits *edits, const kernels_member *member) {
    char next = byte_at(edits, skip_blanks(edits, offset_of(edits, member->value->end)));
    return next == ',' || next == '}';
}

/* ---- collecting ---- */

static void add_edit(kernels_text_edits *edits, size_t begin, size_t end, kernels_view by) {
    kernels_view copy = edits->failed ? (kernels_view){NULL, 0} : kernels_arena_copy_view(edits->arena, by);
    if (!copy.data || !kernels_grow((void **)&edits->items, &edits->capacity, edits->count, sizeof(*edits->items),
                                    KERNELS_TEXT_EDITS_MAX)) {
        edits->failed = true;
        return;
    }
    edits->items[edits->count] = (kernels_text_edit){begin, end, copy, edits->count};
    edits->count++;
}

static void add_edit_buffer(kernels_text_edits *edits, size_t begin, size_t end, kernels_buffer *by) {
    if (by->failure != KERNELS_OK) {
        edits->failed = true;
    } else {
        add_edit(edits, begin, end, kernels_buffer_view(by));
    }
    kernels_buffer_dispose(by);
}

void kernels_text_edits_replace_key(kernels_text_edits *edits, const kernels_member *member, const char *by) {
    if (edits->failed) {
        return;
    }
    size_t begin = offset_of(edits, member->key_position);
    bool quoted = byte_at(edits, begin) == '"' || byte_at(edits, begin) == '\'';
    /* the keys that are renamed need no escapes */
    size_t end = begin + member->key.size + (quoted ? 2 : 0);
    add_edit(edits, begin, end, kernels_view_of(by));
}

void kernels_text_edits_replace_value(kernels_text_edits *edits, const kernels_node *value, kernels_view by) {
    if (!edits->failed) {
        add_edit(edits, offset_of(edits, value->begin), offset_of(edits, value->end), by);
    }
}

void kernels_text_edits_add_after(kernels_text_edits *edits, const kernels_member *anchor, kernels_view pair) {
    if (edits->failed) {
        return;
    }
    kernels_buffer by = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    size_t end = offset_of(edits, anchor->value->end);
    if (is_inline(edits, anchor)) {
        kernels_buffer_add_text(&by, ", ");
        kernels_buffer_add_view(&by, pair);
        add_edit_buffer(edits, end, end, &by);
        return;
    }
    size_t begin = line_begin(edits, anchor->key_position.line), place = next_line(edits, end);
    kernels_buffer_add_view(&by, kernels_view_slice(edits->text, begin, offset_of(edits, anchor->key_position)));
    kernels_buffer_add_view(&by, pair);
    kernels_buffer_add_text(&by, line_end(edits));
    add_edit_buffer(edits, place, place, &by);
}

/* Removes the element with the comma behind it, or, as the last one, with the comma before it. */
static void remove_inline(kernels_text_edits *edits, size_t begin, size_t end) {
    while (begin > 0 && !strchr(",{", edits->text.data[begin - 1])) {
        begin--; /* blanks and the dotted prefix of the key */
    }
    size_t next = skip_blanks(edits, end);
    if (byte_at(edits, next) == ',') {
        end = next + 1;
    } else if (begin > 0 && edits->text.data[begin - 1] == ',') {
        begin--;
    }
    add_edit(edits, begin, end, KERNELS_VIEW(""));
}

void kernels_text_edits_remove(kernels_text_edits *edits, const kernels_member *member) {
    if (edits->failed) {
        return;
    }
    size_t end = offset_of(edits, member->value->end);
    if (is_inline(edits, member)) {
        remove_inline(edits, offset_of(edits, member->key_position), end);
    } else {
        add_edit(edits, line_begin(edits, member->key_position.line), next_line(edits, end), KERNELS_VIEW(""));
    }
}

void kernels_text_edits_append(kernels_text_edits *edits, kernels_view lines) {
    if (edits->failed) {
        return;
    }
    kernels_buffer by = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_view line;
    kernels_buffer_add_text(&by, line_end(edits));
    while (kernels_view_split(&lines, '\n', &line)) {
        kernels_buffer_add_view(&by, line);
        kernels_buffer_add_text(&by, lines.data ? line_end(edits) : "");
    }
    add_edit_buffer(edits, edits->text.size, edits->text.size, &by);
}

/* ---- applying ---- */

static int compare_edits(const void *a, const void *b) {
    const kernels_text_edit *left = a, *right = b;
    if (left->begin != right->begin) {
        return left->begin < right->begin ? -1 : 1;
    }
    return (left->order > right->order) - (left->order < right->order);
}

kernels_status kernels_text_edits_apply(kernels_text_edits *edits, kernels_buffer *out, kernels_error *error) {
    if (edits->failed) {
        return kernels_fail_no_memory(error);
    }
    if (edits->count > 0) {
        qsort(edits->items, edits->count, sizeof(*edits->items), compare_edits);
    }
    size_t done = 0;
    for (size_t i = 0; i < edits->count; i++) {
        const kernels_text_edit *edit = &edits->items[i];
        kernels_buffer_add_view(out, kernels_view_slice(edits->text, done, edit->begin));
        kernels_buffer_add_view(out, edit->by);
        done = edit->end > done ? edit->end : done;
    }
    kernels_buffer_add_view(out, kernels_view_slice(edits->text, done, edits->text.size));
    return kernels_buffer_status(out, error);
}
