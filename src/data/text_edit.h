/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing a TOML text in place: edits are collected by the source positions of its parsed
 * document and applied in one go; every byte that no edit covers stays as it is. Failure (out of
 * memory) is sticky until kernels_text_edits_apply.
 */
#ifndef KERNELS_SRC_DATA_TEXT_EDIT_H
#define KERNELS_SRC_DATA_TEXT_EDIT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/document.h"

typedef struct kernels_text_edit {
    size_t begin, end; /* the bytes it replaces */
    kernels_view by;
    size_t order;
} kernels_text_edit;

typedef struct kernels_text_edits {
    kernels_view text;
    kernels_arena *arena;
    size_t *line_begins;
    size_t line_count;
    kernels_text_edit *items;
    size_t count, capacity;
    bool failed;
} kernels_text_edits;

/* Most edits of one text. */
#define KERNELS_TEXT_EDITS_MAX ((size_t)1000000)

/* text ends in a newline and stays until dispose, which is called in any case. */
void kernels_text_edits_init(kernels_text_edits *edits, kernels_view text);
void kernels_text_edits_dispose(kernels_text_edits *edits);

void kernels_text_edits_replace_key(kernels_text_edits *edits, const kernels_member *member, const char *by);
void kernels_text_edits_replace_value(kernels_text_edits *edits, const kernels_node *value, kernels_view by);
/* Adds `pair` ("key = value") to the table of `anchor`, behind it, in its form: a line of its own
 * with the same indentation and dotted prefix, or an element of the same inline table. */
void kernels_text_edits_add_after(kernels_text_edits *edits, const kernels_member *anchor, kernels_view pair);
/* Removes a member, with its line where it has one of its own. */
void kernels_text_edits_remove(kernels_text_edits *edits, const kernels_member *member);
/* Adds lines at the end of the text, behind an empty one. */
void kernels_text_edits_append(kernels_text_edits *edits, kernels_view lines);

kernels_status kernels_text_edits_apply(kernels_text_edits *edits, kernels_buffer *out, kernels_error *error);

#endif
