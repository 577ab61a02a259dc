/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of Python source that knows what the builder's checks need: tokens, logical lines, brackets and
 * how deep a line stands. It is no parser: text that Python itself would refuse may pass.
 */
#ifndef KERNELS_SRC_BUILD_SCRIPT_H
#define KERNELS_SRC_BUILD_SCRIPT_H

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_SCRIPT_SIZE_LIMIT ((size_t)16 * 1024 * 1024) /* bytes of one file */
#define KERNELS_SCRIPT_BRACKET_LIMIT 200                     /* nesting, as CPython's */
#define KERNELS_SCRIPT_INDENT_LIMIT 100                      /* nesting, as CPython's */

typedef enum kernels_script_token_type {
    KERNELS_SCRIPT_NAME, /* also keywords */
    KERNELS_SCRIPT_NUMBER,
    KERNELS_SCRIPT_STRING,
    KERNELS_SCRIPT_OPERATOR, /* brackets and punctuation too */
} kernels_script_token_type;

typedef struct kernels_script_token {
    kernels_script_token_type type;
    kernels_view text;
    uint32_t line; /* 1-based, of its first character */
    size_t match;  /* brackets: index of the partner */
} kernels_script_token;

typedef struct kernels_script_line { /* logical: backslashes and brackets joined */
    size_t begin, end;               /* tokens */
    bool top_level;                  /* not indented */
    bool in_scope;                   /* inside the body of a function or class */
} kernels_script_line;

typedef struct kernels_script {
    kernels_script_token *tokens;
    size_t token_count, token_capacity;
    kernels_script_line *lines;
    size_t line_count, line_capacity;
} kernels_script;

/* Tokens are views into text, which must stay. name is for messages ("<name>:<line>: ..."). */
kernels_status kernels_script_scan(kernels_view text, const char *name, kernels_script *source, kernels_error *error);
void kernels_script_dispose(kernels_script *source);

/* ---- questions about tokens [begin, end) ---- */

bool kernels_script_is(const kernels_script *source, size_t index, const char *text);
/* First token at bracket depth 0 that is the operator `text`, or end. */
size_t kernels_script_find(const kernels_script *source, size_t begin, size_t end, const char *text);

typedef struct kernels_script_call {
    kernels_view callee;             /* last name of what is called: "custom_op" of torch.library.custom_op */
    size_t arguments, arguments_end; /* tokens between the brackets */
} kernels_script_call;
/* true when the range is one call of a name or attribute, brackets around it allowed. */
bool kernels_script_parse_call(const kernels_script *source, size_t begin, size_t end, kernels_script_call *call);
/* First positional argument of a call (a starred one too); false: it has none. */
bool kernels_script_first_positional(const kernels_script *source, const kernels_script_call *call, size_t *begin,
                                     size_t *end);
/* true when the range is nothing but string literals without f or b prefix; out receives their joined value. */
bool kernels_script_constant_string(const kernels_script *source, size_t begin, size_t end, kernels_buffer *out);

#endif
