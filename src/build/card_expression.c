/* SPDX-License-Identifier: Apache-2.0 */
#include "build/card_expression.h"

#include <string.h>

#include "base/error.h"
#include "base/view.h"

#define TEXT_LIMIT ((size_t)1024 * 1024) /* of one value that a filter makes */
#define FILTER_ARGUMENT_LIMIT 4

typedef enum operation { OPEN, OR, AND, NOT, EQUAL, UNEQUAL, IN, NOT_IN } operation;

typedef struct evaluation {
    kernels_card_scope *scope;
    kernels_view whole, rest;
    kernels_card_value values[KERNELS_CARD_OPERAND_LIMIT];
    size_t value_count;
    operation operations[KERNELS_CARD_OPERAND_LIMIT];
    size_t operation_count;
} evaluation;

static kernels_status refuse(evaluation *run, const char *what) {
    return kernels_fail(run->scope->error, KERNELS_SYNTAX, "%s:%u: %s in \"%.*s\"", run->scope->name, run->scope->line,
                        what, KERNELS_VIEW_ARGS(run->whole));
}

/* ---- values ---- */

static kernels_card_value text_value(kernels_view text) {
    return (kernels_card_value){.type = KERNELS_CARD_TEXT, .as.text = text};
}

static kernels_card_value boolean_value(bool boolean) {
    return (kernels_card_value){.type = KERNELS_CARD_BOOLEAN, .as.boolean = boolean};
}

static kernels_card_value integer_value(uint64_t integer) {
    return (kernels_card_value){.type = KERNELS_CARD_INTEGER, .as.integer = integer};
}

bool kernels_card_is_true(const kernels_card_value *value) {
    switch (value->type) {
    case KERNELS_CARD_BOOLEAN:
        return value->as.boolean;
    case KERNELS_CARD_INTEGER:
        return value->as.integer != 0;
    case KERNELS_CARD_TEXT:
        return value->as.text.size != 0;
    case KERNELS_CARD_LIST:
        return value->as.list.count != 0;
    case KERNELS_CARD_LOOP:
        return true;
    case KERNELS_CARD_UNDEFINED:
        break;
    }
    return false;
}

void kernels_card_print(const kernels_card_value *value, kernels_buffer *out) {
    switch (value->type) {
    case KERNELS_CARD_BOOLEAN:
        kernels_buffer_add_text(out, value->as.boolean ? "true" : "false");
        break;
    case KERNELS_CARD_INTEGER:
        kernels_buffer_printf(out, "%llu", (unsigned long long)value->as.integer);
        break;
    case KERNELS_CARD_TEXT:
        kernels_buffer_add_view(out, value->as.text);
        break;
    case KERNELS_CARD_LIST:
        kernels_buffer_add_char(out, '[');
        for (size_t i = 0; i < value->as.list.count; i++) {
            kernels_buffer_printf(out, "%s\"%s\"", i ? ", " : "", value->as.list.items[i]);
        }
        kernels_buffer_add_char(out, ']');
        break;
    case KERNELS_CARD_LOOP:
    case KERNELS_CARD_UNDEFINED:
        break;
    }
}

static bool equal(const kernels_card_value *a, const kernels_card_value *b) {
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case KERNELS_CARD_BOOLEAN:
        return a->as.boolean == b->as.boolean;
    case KERNELS_CARD_INTEGER:
        return a->as.integer == b->as.integer;
    case KERNELS_CARD_TEXT:
        return kernels_view_equal(a->as.text, b->as.text);
    case KERNELS_CARD_LIST:
        if (a->as.list.count != b->as.list.count) {
            return false;
        }
        for (size_t i = 0; i < a->as.list.count; i++) {
            if (strcmp(a->as.list.items[i], b->as.list.items[i]) != 0) {
                return false;
            }
        }
        return true;
    case KERNELS_CARD_LOOP:
    case KERNELS_CARD_UNDEFINED:
        break;
    }
    return a->type == KERNELS_CARD_UNDEFINED;
}

static bool contains(const kernels_card_value *all, const kernels_card_value *part) {
    if (part->type != KERNELS_CARD_TEXT) {
        return false;
    }
    if (all->type == KERNELS_CARD_TEXT) {
        return kernels_view_contains(all->as.text, part->as.text);
    }
    for (size_t i = 0; all->type == KERNELS_CARD_LIST && i < all->as.list.count; i++) {
        if (kernels_view_equal_text(part->as.text, all->as.list.items[i])) {
            return true;
        }
    }
    return false;
}

/* ---- reading ---- */

static void skip_blanks(kernels_view *text) {
    size_t at = 0;
    while (at < text->size && strchr(" \t\r\n", text->data[at])) {
        at++;
    }
    *text = kernels_view_slice(*text, at, text->size);
}

kernels_view kernels_card_word(kernels_view *text) {
    size_t size = 0;
    while (size < text->size && (kernels_is_alpha(text->data[size]) || text->data[size] == '_' ||
                                 (size && kernels_is_digit(text->data[size])))) {
        size++;
    }
    kernels_view word = kernels_view_slice(*text, 0, size);
    *text = kernels_view_slice(*text, size, text->size);
    skip_blanks(text);
    return word;
}

static bool take(evaluation *run, const char *symbol) {
    kernels_view wanted = kernels_view_of(symbol);
    if (!kernels_view_starts_with(run->rest, wanted)) {
        return false;
    }
    run->rest = kernels_view_slice(run->rest, wanted.size, run->rest.size);
    skip_blanks(&run->rest);
    return true;
}

/* The word, if it stands next. */
static bool take_word(evaluation *run, const char *word) {
    kernels_view rest = run->rest;
    if (!kernels_view_equal_text(kernels_card_word(&rest), word)) {
        return false;
    }
    run->rest = rest;
    return true;
}

/* Keeps what a buffer holds as a value. */
static kernels_status keep(evaluation *run, kernels_buffer *buffer, kernels_card_value *value) {
    kernels_status status = kernels_buffer_status(buffer, run->scope->error);
    if (!status) {
        kernels_view copy = kernels_arena_copy_view(run->scope->arena, kernels_buffer_view(buffer));
        *value = text_value(copy);
        status = copy.data || !copy.size ? KERNELS_OK : kernels_fail_no_memory(run->scope->error);
    }
    kernels_buffer_dispose(buffer);
    return status;
}

static kernels_status read_string(evaluation *run, kernels_card_value *value) {
    char quote = run->rest.data[0];
    kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    size_t at = 1;
    for (; at < run->rest.size && run->rest.data[at] != quote; at++) {
        char c = run->rest.data[at];
        if (c == '\\' && at + 1 < run->rest.size) {
            c = run->rest.data[++at];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        kernels_buffer_add_char(&text, c);
    }
    if (at >= run->rest.size) {
        kernels_buffer_dispose(&text);
        return refuse(run, "a string is not closed");
    }
    run->rest = kernels_view_slice(run->rest, at + 1, run->rest.size);
    skip_blanks(&run->rest);
    return keep(run, &text, value);
}

static kernels_status read_integer(evaluation *run, kernels_card_value *value) {
    size_t digits = 0;
    while (digits < run->rest.size && kernels_is_digit(run->rest.data[digits])) {
        digits++;
    }
    uint64_t integer = 0;
    if (!kernels_view_to_u64(kernels_view_slice(run->rest, 0, digits), &integer)) {
        return refuse(run, "a number that is too large");
    }
    run->rest = kernels_view_slice(run->rest, digits, run->rest.size);
    skip_blanks(&run->rest);
    *value = integer_value(integer);
    return KERNELS_OK;
}

static kernels_card_value look_up(const kernels_card_scope *scope, kernels_view name) {
    for (size_t i = scope->count; i-- > 0;) {
        if (kernels_view_equal(scope->variables[i].name, name)) {
            return scope->variables[i].value;
        }
    }
    return (kernels_card_value){0};
}

static kernels_status read_primary(evaluation *run, kernels_card_value *value) {
    char c = run->rest.size ? run->rest.data[0] : '\0';
    if (c == '"' || c == '\'') {
        return read_string(run, value);
    }
    if (kernels_is_digit(c)) {
        return read_integer(run, value);
    }
    kernels_view word = kernels_card_word(&run->rest);
    if (!word.size) {
        return refuse(run, "a value is missing");
    }
    bool is_true = kernels_view_equal_text(word, "true") || kernels_view_equal_text(word, "True");
    bool is_false = kernels_view_equal_text(word, "false") || kernels_view_equal_text(word, "False");
    bool is_none = kernels_view_equal_text(word, "none") || kernels_view_equal_text(word, "None");
    *value = is_true || is_false ? boolean_value(is_true)
             : is_none           ? (kernels_card_value){0}
                                 : look_up(run->scope, word);
    return KERNELS_OK;
}

/* ---- attributes, subscripts, filters ---- */

static kernels_card_value attribute(const kernels_card_value *value, kernels_view name) {
    if (value->type == KERNELS_CARD_LOOP) {
        size_t index = value->as.loop.index, count = value->as.loop.count;
        if (kernels_view_equal_text(name, "index")) {
            return integer_value(index + 1);
        }
        if (kernels_view_equal_text(name, "index0")) {
            return integer_value(index);
        }
        if (kernels_view_equal_text(name, "first")) {
            return boolean_value(index == 0);
        }
        if (kernels_view_equal_text(name, "last")) {
            return boolean_value(index + 1 == count);
        }
        if (kernels_view_equal_text(name, "length")) {
            return integer_value(count);
        }
    }
    return (kernels_card_value){0};
}

static kernels_card_value item(const kernels_card_value *value, const kernels_card_value *key) {
    if (key->type == KERNELS_CARD_TEXT) {
        return attribute(value, key->as.text);
    }
    if (value->type == KERNELS_CARD_LIST && key->type == KERNELS_CARD_INTEGER &&
        key->as.integer < value->as.list.count) {
        return text_value(kernels_view_of(value->as.list.items[key->as.integer]));
    }
    return (kernels_card_value){0};
}

static kernels_status change_case(evaluation *run, kernels_card_value *value, bool upper) {
    kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    kernels_card_print(value, &text);
    for (size_t i = 0; i < text.size; i++) {
        char c = kernels_to_lower(text.data[i]);
        text.data[i] = upper && kernels_is_lower(c) ? (char)(c - 32) : c;
    }
    return keep(run, &text, value);
}

static kernels_status join(evaluation *run, kernels_card_value *value, const kernels_card_value *separator) {
    kernels_buffer text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    if (value->type == KERNELS_CARD_LIST) {
        for (size_t i = 0; i < value->as.list.count; i++) {
            if (i) {
                kernels_card_print(separator, &text);
            }
            kernels_buffer_add_text(&text, value->as.list.items[i]);
        }
    } else {
        kernels_card_print(value, &text);
    }
    return keep(run, &text, value);
}

static uint64_t length(const kernels_card_value *value) {
    if (value->type == KERNELS_CARD_LIST) {
        return value->as.list.count;
    }
    uint64_t characters = 0;
    for (size_t i = 0; value->type == KERNELS_CARD_TEXT && i < value->as.text.size; i++) {
        characters += ((unsigned char)value->as.text.data[i] & 0xc0) != 0x80;
    }
    return characters;
}

static kernels_status apply_filter(evaluation *run, kernels_view name, const kernels_card_value *argument,
                                   kernels_card_value *value) {
    if (kernels_view_equal_text(name, "lower") || kernels_view_equal_text(name, "upper")) {
        return change_case(run, value, name.data[0] == 'u');
    }
    if (kernels_view_equal_text(name, "join")) {
        return join(run, value, argument);
    }
    if (kernels_view_equal_text(name, "length")) {
        *value = integer_value(length(value));
        return KERNELS_OK;
    }
    if (kernels_view_equal_text(name, "default")) {
        *value = value->type == KERNELS_CARD_UNDEFINED ? *argument : *value;
        return KERNELS_OK;
    }
    return refuse(run, "unknown filter (there are join, lower, upper, length, default)");
}

static kernels_status read_filter(evaluation *run, kernels_card_value *value) {
    kernels_view name = kernels_card_word(&run->rest);
    kernels_card_value arguments[FILTER_ARGUMENT_LIMIT] = {{0}};
    size_t count = 0;
    bool more = take(run, "(") && !take(run, ")");
    while (more) {
        if (count == FILTER_ARGUMENT_LIMIT) {
            return refuse(run, "too many arguments");
        }
        KERNELS_TRY(read_primary(run, &arguments[count++]));
        more = take(run, ",");
        if (!more && !take(run, ")")) {
            return refuse(run, "a bracket is not closed");
        }
    }
    return apply_filter(run, name, &arguments[0], value);
}

static kernels_status read_postfixes(evaluation *run, kernels_card_value *value) {
    for (;;) {
        if (take(run, ".")) {
            kernels_view name = kernels_card_word(&run->rest);
            *value = attribute(value, name);
        } else if (take(run, "[")) {
            kernels_card_value key = {0};
            KERNELS_TRY(read_primary(run, &key));
            if (!take(run, "]")) {
                return refuse(run, "a bracket is not closed");
            }
            *value = item(value, &key);
        } else if (take(run, "|")) {
            KERNELS_TRY(read_filter(run, value));
        } else {
            return KERNELS_OK;
        }
    }
}

/* ---- operators ---- */

static unsigned precedence(operation op) {
    static const unsigned table[] = {
        [OPEN] = 0, [OR] = 1, [AND] = 2, [NOT] = 3, [EQUAL] = 4, [UNEQUAL] = 4, [IN] = 4, [NOT_IN] = 4};
    return table[op];
}

static void reduce(evaluation *run) {
    operation op = run->operations[--run->operation_count];
    kernels_card_value *right = &run->values[run->value_count - 1];
    if (op == NOT) {
        *right = boolean_value(!kernels_card_is_true(right));
        return;
    }
    kernels_card_value *left = right - 1;
    switch (op) {
    case OR:
        *left = kernels_card_is_true(left) ? *left : *right;
        break;
    case AND:
        *left = kernels_card_is_true(left) ? *right : *left;
        break;
    case EQUAL:
    case UNEQUAL:
        *left = boolean_value(equal(left, right) == (op == EQUAL));
        break;
    default:
        *left = boolean_value(contains(right, left) == (op == IN));
        break;
    }
    run->value_count--;
}

static kernels_status push(evaluation *run, operation op) {
    if (run->operation_count == KERNELS_CARD_OPERAND_LIMIT) {
        return refuse(run, "too deep an expression");
    }
    run->operations[run->operation_count++] = op;
    return KERNELS_OK;
}

/* One operand with the brackets and nots before it and what hangs on it. */
static kernels_status read_operand(evaluation *run) {
    for (;;) {
        if (take_word(run, "not")) {
            KERNELS_TRY(push(run, NOT));
        } else if (take(run, "(")) {
            KERNELS_TRY(push(run, OPEN));
        } else {
            break;
        }
    }
    if (run->value_count == KERNELS_CARD_OPERAND_LIMIT) {
        return refuse(run, "too deep an expression");
    }
    kernels_card_value *value = &run->values[run->value_count++];
    KERNELS_TRY(read_primary(run, value));
    return read_postfixes(run, value);
}

static kernels_status close_brackets(evaluation *run) {
    while (take(run, ")")) {
        while (run->operation_count && run->operations[run->operation_count - 1] != OPEN) {
            reduce(run);
        }
        if (!run->operation_count) {
            return refuse(run, "a closing bracket without its opening one");
        }
        run->operation_count--;
        KERNELS_TRY(read_postfixes(run, &run->values[run->value_count - 1]));
    }
    return KERNELS_OK;
}

static bool read_operator(evaluation *run, operation *op) {
    static const struct {
        const char *word;
        operation op;
    } words[] = {{"or", OR}, {"and", AND}, {"in", IN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (take_word(run, words[i].word)) {
            *op = words[i].op;
            return true;
        }
    }
    bool is_equal = take(run, "==");
    if (is_equal || take(run, "!=")) {
        *op = is_equal ? EQUAL : UNEQUAL;
        return true;
    }
    if (take_word(run, "not") && take_word(run, "in")) {
        *op = NOT_IN;
        return true;
    }
    return false;
}

kernels_status kernels_card_evaluate(kernels_card_scope *scope, kernels_view expression, kernels_card_value *value) {
    evaluation run = {.scope = scope, .whole = kernels_view_trim_ascii(expression)};
    run.rest = run.whole;
    for (;;) {
        operation op;
        KERNELS_TRY(read_operand(&run));
        KERNELS_TRY(close_brackets(&run));
        if (!run.rest.size) {
            break;
        }
        if (!read_operator(&run, &op)) {
            return refuse(&run, "something that is no operator");
        }
        while (run.operation_count && precedence(run.operations[run.operation_count - 1]) >= precedence(op)) {
            reduce(&run);
        }
        KERNELS_TRY(push(&run, op));
    }
    while (run.operation_count) {
        if (run.operations[run.operation_count - 1] == OPEN) {
            return refuse(&run, "a bracket is not closed");
        }
        reduce(&run);
    }
    *value = run.values[0];
    return KERNELS_OK;
}

kernels_status kernels_card_scope_add(kernels_card_scope *scope, kernels_view name, kernels_card_value value) {
    if (scope->count == KERNELS_CARD_VARIABLE_LIMIT) {
        return kernels_fail(scope->error, KERNELS_LIMIT, "%s:%u: more than %d variables", scope->name, scope->line,
                            KERNELS_CARD_VARIABLE_LIMIT);
    }
    scope->variables[scope->count++] = (kernels_card_variable){name, value};
    return KERNELS_OK;
}
