/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading documents by tables. A kernels_schema lists the keys of one table or object; each row names
 * the function that checks and stores the value. Formats are data: a new key is a new row.
 *
 * Every failure is KERNELS_SCHEMA with the message "<file>:<line>:<column>: <dotted.key>: ...".
 */
#ifndef KERNELS_SRC_DATA_SCHEMA_H
#define KERNELS_SRC_DATA_SCHEMA_H

#include "base/arena.h"
#include "base/document.h"
#include "data/text.h"
#include "kernels/data.h"

/* What stays the same while one document is read. */
typedef struct kernels_reader {
    const char *name;     /* of the file, for messages */
    kernels_arena *arena; /* everything stored lives here */
    kernels_error *error;
    unsigned mask;          /* rows whose mask has none of these bits are not there */
    bool any_version_width; /* accept versions of any number of parts where two are wanted */
} kernels_reader;

/* Where we are: a chain from the innermost key or index outwards. Lives on the stack. */
typedef struct kernels_place {
    const struct kernels_place *parent; /* NULL: the document itself */
    kernels_view key;                   /* data NULL: a list element */
    size_t index;
    kernels_position position;
} kernels_place;

/* Most links of a chain (general.cuda.kernel-depends[1].version has five). */
#define KERNELS_PLACE_DEPTH 12

/* Stores the value of node at target; `second` is the row's second target, NULL when it has none. */
typedef kernels_status kernels_read_function(kernels_reader *reader, const kernels_place *place,
                                             const kernels_node *node, void *target, void *second);

#define KERNELS_NO_OFFSET ((size_t)-1)

typedef struct kernels_field {
    const char *key;
    const char *other_key;       /* a second accepted spelling, or NULL */
    kernels_read_function *read; /* NULL: the key is refused, with `hint` */
    size_t offset;               /* of the target in the structure */
    size_t second_offset;        /* KERNELS_NO_OFFSET: none */
    unsigned mask;               /* 0: always there */
    bool required;
    bool null_is_absent;
    const char *hint; /* said after "unknown key" */
} kernels_field;

typedef struct kernels_schema {
    const kernels_field *fields;
    size_t count;        /* <= KERNELS_SCHEMA_FIELDS_MAX */
    bool ignore_unknown; /* else an unknown key is an error */
} kernels_schema;

#define KERNELS_SCHEMA_FIELDS_MAX 32
#define KERNELS_SCHEMA(rows, ignore) ((kernels_schema){(rows), sizeof(rows) / sizeof((rows)[0]), (ignore)})

/* Reads an object into the structure at target. */
kernels_status kernels_schema_read(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   const kernels_schema *schema, void *target);
/* The row for a key under the reader's mask, or NULL. */
const kernels_field *kernels_schema_field(const kernels_schema *schema, unsigned mask, kernels_view key);

/* ---- failures ---- */

kernels_status kernels_reader_fail(kernels_reader *reader, const kernels_place *place, const char *format, ...)
    KERNELS_PRINTF(3, 4);
/* The same with another status. */
kernels_status kernels_reader_fail_as(kernels_reader *reader, kernels_status status, const kernels_place *place,
                                      const char *format, ...) KERNELS_PRINTF(4, 5);
/* "expected <expected>, found a list" */
kernels_status kernels_reader_wrong_type(kernels_reader *reader, const kernels_place *place, const char *expected,
                                         const kernels_node *found);
/* "expected <expected>, found `value`" */
kernels_status kernels_reader_bad_value(kernels_reader *reader, const kernels_place *place, const char *expected,
                                        kernels_view found);
kernels_status kernels_reader_no_memory(kernels_reader *reader);

/* ---- readers of values (target, second) ---- */

kernels_read_function kernels_read_text;         /* const char **, bool *given or none */
kernels_read_function kernels_read_unsigned;     /* uint64_t *, bool *given or none */
kernels_read_function kernels_read_boolean;      /* bool *, bool *given or none */
kernels_read_function kernels_read_texts;        /* kernels_strings *, bool *given or none */
kernels_read_function kernels_read_name;         /* const char **: a kernel name */
kernels_read_function kernels_read_object_id;    /* const char **, in lower case */
kernels_read_function kernels_read_git_url;      /* const char **, as written */
kernels_read_function kernels_read_version2;     /* kernels_version *, of two parts */
kernels_read_function kernels_read_version3;     /* kernels_version *, of three parts */
kernels_read_function kernels_read_backend;      /* kernels_backend * */
kernels_read_function kernels_read_backends;     /* const kernels_backend **, size_t *count */
kernels_read_function kernels_read_dependencies; /* const kernels_dependency **, size_t *count */
kernels_read_function kernels_read_dependency;   /* kernels_dependency * */

/* Fails unless node is a list; "a list of strings". */
kernels_status kernels_read_list(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const char *expected);
/* The place of a list's element. */
kernels_place kernels_place_element(const kernels_place *list, const kernels_node *node, size_t index);

/* The text of a string node; a NUL inside is refused, since C callers could not see what follows. */
kernels_status kernels_read_view(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const char *expected, kernels_view *text);

#endif
