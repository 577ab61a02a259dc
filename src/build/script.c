/* SPDX-License-Identifier: Apache-2.0 */
#include "build/script.h"

#include <string.h>

#include "base/error.h"
#include "base/view.h"

#define TOKEN_LIMIT ((size_t)8 * 1024 * 1024)
#define TAB_WIDTH 8

typedef struct block {
    uint32_t indent; /* of the line that opened it */
    bool is_scope;   /* def or class */
} block;

typedef struct scanner {
    kernels_view text;
    const char *name;
    kernels_error *error;
    kernels_script *source;
    size_t at;
    uint32_t line;
    size_t brackets[KERNELS_SCRIPT_BRACKET_LIMIT];
    size_t bracket_count;
    block blocks[KERNELS_SCRIPT_INDENT_LIMIT];
    size_t block_count;
} scanner;

static kernels_status refuse(scanner *scan, uint32_t line, const char *what) {
    return kernels_fail(scan->error, KERNELS_SYNTAX, "%s:%u: not valid Python: %s", scan->name, line, what);
}

static char peek(const scanner *scan, size_t offset) {
    return scan->at + offset < scan->text.size ? scan->text.data[scan->at + offset] : '\0';
}

static bool is_name_start(char c) { return kernels_is_alpha(c) || c == '_' || (unsigned char)c >= 0x80; }

static bool is_name_part(char c) { return is_name_start(c) || kernels_is_digit(c); }

static kernels_status add_token(scanner *scan, kernels_script_token_type type, size_t begin, uint32_t line) {
    kernels_script *source = scan->source;
    if (!kernels_grow((void **)&source->tokens, &source->token_capacity, source->token_count, sizeof *source->tokens,
                      TOKEN_LIMIT)) {
        return kernels_fail_no_memory(scan->error);
    }
    source->tokens[source->token_count++] =
        (kernels_script_token){type, kernels_view_slice(scan->text, begin, scan->at), line, 0};
    return KERNELS_OK;
}

/* ---- strings ---- */

/* At a quote. Moves behind the closing one. */
static kernels_status skip_string(scanner *scan, uint32_t first_line) {
    char quote = peek(scan, 0);
    bool triple = peek(scan, 1) == quote && peek(scan, 2) == quote;
    scan->at += triple ? 3 : 1;
    while (scan->at < scan->text.size) {
        char c = peek(scan, 0);
        if (c == '\\') {
            scan->line += peek(scan, 1) == '\n';
            scan->at += 2;
        } else if (c == quote && (!triple || (peek(scan, 1) == quote && peek(scan, 2) == quote))) {
            scan->at += triple ? 3 : 1;
            return KERNELS_OK;
        } else if (c == '\n' && !triple) {
            break;
        } else {
            scan->line += c == '\n';
            scan->at++;
        }
    }
    return refuse(scan, first_line, "a string literal is not closed");
}

/* Length of a string prefix (r, b, u, f in any case, at most two) that a quote follows; 0 with *found false. */
static size_t string_prefix(const scanner *scan, bool *found) {
    size_t length = 0;
    while (length < 2 && peek(scan, length) && strchr("rRbBuUfF", peek(scan, length))) {
        length++;
    }
    *found = peek(scan, length) == '"' || peek(scan, length) == '\'';
    return *found ? length : 0;
}

/* ---- brackets and operators ---- */

static kernels_status note_bracket(scanner *scan, uint32_t line) {
    static const char open[] = "([{", closed[] = ")]}";
    kernels_script *source = scan->source;
    size_t index = source->token_count - 1;
    char c = source->tokens[index].text.data[0];
    if (strchr(open, c)) {
        if (scan->bracket_count == KERNELS_SCRIPT_BRACKET_LIMIT) {
            return refuse(scan, line, "too many nested brackets");
        }
        scan->brackets[scan->bracket_count++] = index;
        return KERNELS_OK;
    }
    if (!scan->bracket_count) {
        return refuse(scan, line, "a closing bracket without its opening one");
    }
    size_t partner = scan->brackets[--scan->bracket_count];
    const char *expected = strchr(open, source->tokens[partner].text.data[0]);
    if (closed[expected - open] != c) {
        return refuse(scan, line, "brackets do not match");
    }
    source->tokens[partner].match = index;
    source->tokens[index].match = partner;
    return KERNELS_OK;
}

static size_t operator_length(const scanner *scan) {
    static const char *const operators[] = {"**=", "//=", ">>=", "<<=", "...", "**", "//", ">>",
                                            "<<",  "->",  ":=",  "==",  "!=",  "<=", ">=", "+=",
                                            "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@="};
    kernels_view rest = kernels_view_slice(scan->text, scan->at, scan->text.size);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (kernels_view_starts_with(rest, kernels_view_of(operators[i]))) {
            return strlen(operators[i]);
        }
    }
    return strchr("()[]{},:.;@=+-*/%&|^~<>", rest.data[0]) ? 1 : 0;
}

static kernels_status scan_operator(scanner *scan) {
    size_t begin = scan->at, length = operator_length(scan);
    if (length == 0) {
        return refuse(scan, scan->line, "a character that cannot stand there");
    }
    scan->at += length;
    KERNELS_TRY(add_token(scan, KERNELS_SCRIPT_OPERATOR, begin, scan->line));
    return length == 1 && strchr("()[]{}", scan->text.data[begin]) ? note_bracket(scan, scan->line) : KERNELS_OK;
}

static kernels_status scan_token(scanner *scan) {
    size_t begin = scan->at;
    uint32_t line = scan->line;
    bool is_string = false;
    size_t prefix = string_prefix(scan, &is_string);
    char c = peek(scan, 0);
    if (is_string) {
        scan->at += prefix;
        KERNELS_TRY(skip_string(scan, line));
        return add_token(scan, KERNELS_SCRIPT_STRING, begin, line);
    }
    if (is_name_start(c)) {
        while (is_name_part(peek(scan, 0))) {
            scan->at++;
        }
        return add_token(scan, KERNELS_SCRIPT_NAME, begin, line);
    }
    if (kernels_is_digit(c) || (c == '.' && kernels_is_digit(peek(scan, 1)))) {
        while (is_name_part(peek(scan, 0)) || peek(scan, 0) == '.') {
            scan->at++;
        }
        return add_token(scan, KERNELS_SCRIPT_NUMBER, begin, line);
    }
    return scan_operator(scan);
}

/* ---- lines ---- */

static void skip_comment(scanner *scan) {
    while (scan->at < scan->text.size && peek(scan, 0) != '\n') {
        scan->at++;
    }
}

/* Blanks, comments, joined lines. *ended: a line break that ends the logical line was passed. */
static void skip_blank(scanner *scan, bool *ended) {
    *ended = false;
    while (scan->at < scan->text.size && !*ended) {
        char c = peek(scan, 0);
        if (c == '#') {
            skip_comment(scan);
        } else if (c == '\n') {
            *ended = scan->bracket_count == 0;
            scan->line++;
            scan->at++;
        } else if (c == '\\' && (peek(scan, 1) == '\n' || (peek(scan, 1) == '\r' && peek(scan, 2) == '\n'))) {
            scan->at += peek(scan, 1) == '\n' ? 2 : 3;
            scan->line++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
            scan->at++;
        } else {
            return;
        }
    }
}

/* Indentation of the next line that is neither blank nor a comment; the scanner stands behind it. */
static uint32_t next_indent(scanner *scan) {
    uint32_t indent = 0;
    for (;; scan->at++) {
        switch (peek(scan, 0)) {
        case ' ':
            indent++;
            break;
        case '\t':
            indent = (indent / TAB_WIDTH + 1) * TAB_WIDTH;
            break;
        case '\n':
            scan->line++;
            indent = 0;
            break;
        case '\r':
        case '\f':
            break;
        case '#':
            skip_comment(scan);
            scan->at--;
            break;
        default:
            return indent;
        }
    }
}

/* Leaves the blocks that this line is no longer part of, notes the one that it may open. */
static kernels_status note_blocks(scanner *scan, uint32_t indent, kernels_script_line *line) {
    while (scan->block_count && scan->blocks[scan->block_count - 1].indent >= indent) {
        scan->block_count--;
    }
    line->top_level = indent == 0;
    for (size_t i = 0; i < scan->block_count; i++) {
        line->in_scope |= scan->blocks[i].is_scope;
    }
    if (!kernels_script_is(scan->source, line->end - 1, ":")) {
        return KERNELS_OK;
    }
    if (scan->block_count == KERNELS_SCRIPT_INDENT_LIMIT) {
        return refuse(scan, scan->line, "too many nested blocks");
    }
    bool is_async = kernels_script_is(scan->source, line->begin, "async");
    size_t keyword = line->begin + (is_async ? 1 : 0);
    bool is_scope =
        kernels_script_is(scan->source, keyword, "def") || kernels_script_is(scan->source, keyword, "class");
    scan->blocks[scan->block_count++] = (block){indent, is_scope};
    return KERNELS_OK;
}

static kernels_status scan_line(scanner *scan) {
    kernels_script *source = scan->source;
    uint32_t indent = next_indent(scan);
    kernels_script_line line = {.begin = source->token_count};
    bool ended = false;
    while (scan->at < scan->text.size && !ended) {
        KERNELS_TRY(scan_token(scan));
        skip_blank(scan, &ended);
    }
    if (scan->bracket_count) {
        size_t unclosed = scan->brackets[scan->bracket_count - 1];
        return refuse(scan, source->tokens[unclosed].line, "a bracket is not closed");
    }
    line.end = source->token_count;
    if (line.end == line.begin) {
        return KERNELS_OK;
    }
    KERNELS_TRY(note_blocks(scan, indent, &line));
    if (!kernels_grow((void **)&source->lines, &source->line_capacity, source->line_count, sizeof *source->lines,
                      TOKEN_LIMIT)) {
        return kernels_fail_no_memory(scan->error);
    }
    source->lines[source->line_count++] = line;
    return KERNELS_OK;
}

kernels_status kernels_script_scan(kernels_view text, const char *name, kernels_script *source, kernels_error *error) {
    *source = (kernels_script){0};
    if (text.size > KERNELS_SCRIPT_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: a Python file of %zu bytes is over the limit of %zu", name,
                            text.size, KERNELS_SCRIPT_SIZE_LIMIT);
    }
    if (text.size && memchr(text.data, '\0', text.size)) {
        return kernels_fail(error, KERNELS_SYNTAX, "%s: not valid Python: it holds a zero byte", name);
    }
    scanner scan = {.text = text, .name = name, .error = error, .source = source, .line = 1};
    if (kernels_view_starts_with(text, KERNELS_VIEW("\xef\xbb\xbf"))) {
        scan.at = 3;
    }
    kernels_status status = KERNELS_OK;
    while (scan.at < text.size && !status) {
        status = scan_line(&scan);
    }
    if (status) {
        kernels_script_dispose(source);
    }
    return status;
}

void kernels_script_dispose(kernels_script *source) {
    kernels_free(source->tokens);
    kernels_free(source->lines);
    *source = (kernels_script){0};
}

/* ---- questions ---- */

bool kernels_script_is(const kernels_script *source, size_t index, const char *text) {
    return index < source->token_count && source->tokens[index].type != KERNELS_SCRIPT_STRING &&
           kernels_view_equal_text(source->tokens[index].text, text);
}

static bool opens(const kernels_script *source, size_t index) {
    return kernels_script_is(source, index, "(") || kernels_script_is(source, index, "[") ||
           kernels_script_is(source, index, "{");
}

size_t kernels_script_find(const kernels_script *source, size_t begin, size_t end, const char *text) {
    size_t i = begin;
    while (i < end && !kernels_script_is(source, i, text)) {
        i = opens(source, i) ? source->tokens[i].match + 1 : i + 1;
    }
    return i < end ? i : end;
}

/* Takes brackets off that enclose the whole range. */
static void strip_brackets(const kernels_script *source, size_t *begin, size_t *end) {
    while (*begin + 1 < *end && kernels_script_is(source, *begin, "(") && source->tokens[*begin].match == *end - 1) {
        (*begin)++;
        (*end)--;
    }
}

/* A chain of names, attributes, subscripts and calls: what may stand before the bracket of a call. */
static bool is_primary(const kernels_script *source, size_t begin, size_t end) {
    bool after_name = false;
    for (size_t i = begin; i < end; i++) {
        const kernels_script_token *token = &source->tokens[i];
        if (token->type == KERNELS_SCRIPT_NAME && !after_name) {
            after_name = true;
        } else if (kernels_script_is(source, i, ".") && after_name) {
            after_name = false;
        } else if (after_name && (kernels_script_is(source, i, "(") || kernels_script_is(source, i, "["))) {
            i = token->match;
        } else {
            return false;
        }
    }
    return after_name;
}

bool kernels_script_parse_call(const kernels_script *source, size_t begin, size_t end, kernels_script_call *call) {
    strip_brackets(source, &begin, &end);
    if (end < begin + 3 || !kernels_script_is(source, end - 1, ")")) {
        return false;
    }
    size_t open = source->tokens[end - 1].match;
    if (open <= begin || source->tokens[open - 1].type != KERNELS_SCRIPT_NAME || !is_primary(source, begin, open)) {
        return false;
    }
    *call = (kernels_script_call){source->tokens[open - 1].text, open + 1, end - 1};
    return true;
}

bool kernels_script_first_positional(const kernels_script *source, const kernels_script_call *call, size_t *begin,
                                     size_t *end) {
    size_t at = call->arguments;
    while (at < call->arguments_end) {
        size_t comma = kernels_script_find(source, at, call->arguments_end, ",");
        bool is_keyword = kernels_script_is(source, at, "**") ||
                          (source->tokens[at].type == KERNELS_SCRIPT_NAME && kernels_script_is(source, at + 1, "="));
        if (!is_keyword) {
            *begin = at;
            *end = comma;
            return true;
        }
        at = comma + 1;
    }
    return false;
}

/* ---- string literals ---- */

static void add_code_point(kernels_buffer *out, uint32_t code) {
    if (code < 0x80) {
        kernels_buffer_add_char(out, (char)code);
        return;
    }
    if (code < 0x800) {
        kernels_buffer_add_char(out, (char)(0xc0 | (code >> 6)));
    } else if (code < 0x10000) {
        kernels_buffer_add_char(out, (char)(0xe0 | (code >> 12)));
        kernels_buffer_add_char(out, (char)(0x80 | ((code >> 6) & 0x3f)));
    } else {
        kernels_buffer_add_char(out, (char)(0xf0 | ((code >> 18) & 7)));
        kernels_buffer_add_char(out, (char)(0x80 | ((code >> 12) & 0x3f)));
        kernels_buffer_add_char(out, (char)(0x80 | ((code >> 6) & 0x3f)));
    }
    kernels_buffer_add_char(out, (char)(0x80 | (code & 0x3f)));
}

static int digit_value(char c) {
    if (kernels_is_digit(c)) {
        return c - '0';
    }
    char lower = kernels_to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

/* Up to `most` digits of a base at text[at]; returns how many. */
static size_t read_digits(kernels_view text, size_t at, size_t most, int base, uint32_t *value) {
    size_t count = 0;
    *value = 0;
    while (count < most && at + count < text.size && digit_value(text.data[at + count]) < base) {
        *value = *value * (uint32_t)base + (uint32_t)digit_value(text.data[at + count]);
        count++;
    }
    return count;
}

/* The escape at text[at] (a backslash); returns how many bytes it takes. Unknown ones stay as written. */
static size_t add_escape(kernels_view text, size_t at, kernels_buffer *out) {
    static const char letters[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    char c = at + 1 < text.size ? text.data[at + 1] : '\0';
    const char *simple = c ? strchr(letters, c) : NULL;
    if (simple) {
        kernels_buffer_add_char(out, values[simple - letters]);
        return 2;
    }
    if (c == '\n') {
        return 2;
    }
    uint32_t value = 0;
    size_t wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (wanted && read_digits(text, at + 2, wanted, 16, &value) == wanted && value < 0x110000) {
        add_code_point(out, value);
        return 2 + wanted;
    }
    size_t octal = wanted ? 0 : read_digits(text, at + 1, 3, 8, &value);
    if (octal) {
        add_code_point(out, value);
        return 1 + octal;
    }
    kernels_buffer_add_char(out, '\\');
    return 1;
}

/* false: an f-string or bytes. */
static bool add_literal(kernels_view text, kernels_buffer *out) {
    bool raw = false;
    size_t at = 0;
    for (; text.data[at] != '"' && text.data[at] != '\''; at++) {
        char c = kernels_to_lower(text.data[at]);
        if (c == 'f' || c == 'b') {
            return false;
        }
        raw |= c == 'r';
    }
    kernels_view body = kernels_view_slice(text, at, text.size);
    bool triple = body.size >= 6 && body.data[1] == body.data[0] && body.data[2] == body.data[0];
    body = kernels_view_slice(body, triple ? 3 : 1, body.size - (triple ? 3 : 1));
    for (size_t i = 0; i < body.size;) {
        if (body.data[i] == '\\' && !raw) {
            i += add_escape(body, i, out);
        } else {
            kernels_buffer_add_char(out, body.data[i++]);
        }
    }
    return true;
}

bool kernels_script_constant_string(const kernels_script *source, size_t begin, size_t end, kernels_buffer *out) {
    strip_brackets(source, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        if (source->tokens[i].type != KERNELS_SCRIPT_STRING || !add_literal(source->tokens[i].text, out)) {
            return false;
        }
    }
    return begin < end;
}
