/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template language of cards, a subset of Jinja: {{ value }}, {% if/elif/else/endif %}, {% for/else/endfor %},
 * {% set %}, {% raw %}, {# comment #}, "-" trimming, the filters join, lower, upper, length, default. The line break
 * behind a block tag goes, one line break at the very end goes, what is undefined is empty and false.
 */
#ifndef KERNELS_SRC_BUILD_CARD_TEMPLATE_H
#define KERNELS_SRC_BUILD_CARD_TEMPLATE_H

#include "base/buffer.h"
#include "kernels/data.h"

#define KERNELS_CARD_BLOCK_LIMIT 32           /* nested if and for */
#define KERNELS_CARD_VARIABLE_LIMIT 128       /* given, set and loop variables together */
#define KERNELS_CARD_OPERAND_LIMIT 64         /* nesting of one expression */
#define KERNELS_CARD_STEP_LIMIT (1000 * 1000) /* tags and pieces of text, repeats counted */

typedef enum kernels_card_type {
    KERNELS_CARD_UNDEFINED,
    KERNELS_CARD_BOOLEAN,
    KERNELS_CARD_INTEGER,
    KERNELS_CARD_TEXT,
    KERNELS_CARD_LIST,
    KERNELS_CARD_LOOP, /* the `loop` of a for block */
} kernels_card_type;

typedef struct kernels_card_value {
    kernels_card_type type;
    union {
        bool boolean;
        uint64_t integer;
        kernels_view text;
        kernels_strings list;
        struct {
            size_t index, count; /* index from 0 */
        } loop;
    } as;
} kernels_card_value;

typedef struct kernels_card_variable {
    kernels_view name;
    kernels_card_value value;
} kernels_card_variable;

/* name is for messages ("<name>:<line>: ..."). Unknown tags, filters and broken syntax: KERNELS_SYNTAX. */
kernels_status kernels_card_template_render(kernels_view text, const char *name, const kernels_card_variable *variables,
                                            size_t count, kernels_buffer *out, kernels_error *error);

#endif
