/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of Python source that knows what the builder's checks need: tokens, logical lines, brackets and
 * how deep a line stands. It is no parser: text that Python itself would refuse may pass.
 */
#ifndef KERNELS_SRC_BUILD_PYTHON_SOURCE_H
#define KERNELS_SRC_BUILD_PYTHON_SOURCE_H

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_PYTHON_SIZE_LIMIT ((size_t)16 * 1024 * 1024) /* bytes of one file */
#define KERNELS_PYTHON_BRACKET_LIMIT 200                     /* nesting, as CPython's */
#define KERNELS_PYTHON_INDENT_LIMIT 100                      /* nesting, as CPython's */

typedef enum kernels_python_token_type {
    KERNELS_PYTHON_NAME, /* also keywords */
    KERNELS_PYTHON_NUMBER,
    KERNELS_PYTHON_STRING,
    KERNELS_PYTHON_OPERATOR, /* brackets and punctuation too */
} kernels_python_token_type;

typedef struct kernels_python_token {
    kernels_python_token_type type;
    kernels_view text;
    uint32_t line; /* 1-based, of its first character */
    size_t match;  /* brackets: index of the partner */
} kernels_python_token;

typedef struct kernels_python_line { /* logical: backslashes and brackets joined */
    size_t begin, end;               /* tokens */
    bool top_level;                  /* not indented */
    bool in_scope;                   /* inside the body of a function or class */
} kernels_python_line;

typedef struct kernels_python_source {
    kernels_python_token *tokens;
    size_t token_count, token_capacity;
    kernels_python_line *lines;
    size_t line_count, line_capacity;
} kernels_python_source;

/* Tokens are views into text, which must stay. name is for messages ("<name>:<line>: ..."). */
kernels_status kernels_python_scan(kernels_view text, const char *name, kernels_python_source *source,
                                   kernels_error *error);
void kernels_python_source_dispose(kernels_python_source *source);

/* ---- questions about tokens [begin, end) ---- */

bool kernels_python_is(const kernels_python_source *source, size_t index, const char *text);
/* First token at bracket depth 0 that is the operator `text`, or end. */
size_t kernels_python_find(const kernels_python_source *source, size_t begin, size_t end, const char *text);

typedef struct kernels_python_call {
    kernels_view callee;             /* last name of what is called: "custom_op" of torch.library.custom_op */
    size_t arguments, arguments_end; /* tokens between the brackets */
} kernels_python_call;
/* true when the range is one call of a name or attribute, brackets around it allowed. */
bool kernels_python_parse_call(const kernels_python_source *source, size_t begin, size_t end,
                               kernels_python_call *call);
/* First positional argument of a call (a starred one too); false: it has none. */
bool kernels_python_first_positional(const kernels_python_source *source, const kernels_python_call *call,
                                     size_t *begin, size_t *end);
/* true when the range is nothing but string literals without f or b prefix; out receives their joined value. */
bool kernels_python_constant_string(const kernels_python_source *source, size_t begin, size_t end, kernels_buffer *out);

#endif
