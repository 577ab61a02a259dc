/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of card templates. */
#ifndef KERNELS_SRC_BUILD_CARD_EXPRESSION_H
#define KERNELS_SRC_BUILD_CARD_EXPRESSION_H

#include "base/arena.h"
#include "build/card_template.h"

typedef struct kernels_card_scope {
    kernels_card_variable variables[KERNELS_CARD_VARIABLE_LIMIT]; /* a later one hides an earlier one */
    size_t count;
    kernels_arena *arena; /* of values that filters make */
    const char *name;     /* for messages, with line */
    uint32_t line;
    kernels_error *error;
} kernels_card_scope;

kernels_status kernels_card_evaluate(kernels_card_scope *scope, kernels_view expression, kernels_card_value *value);
bool kernels_card_is_true(const kernels_card_value *value);
void kernels_card_print(const kernels_card_value *value, kernels_buffer *out);
kernels_status kernels_card_scope_add(kernels_card_scope *scope, kernels_view name, kernels_card_value value);
/* A word [A-Za-z_][A-Za-z0-9_]* at the start of *text, which moves behind it and the blanks; "" = none. */
kernels_view kernels_card_word(kernels_view *text);

#endif
