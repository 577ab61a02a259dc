/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: one tree type for JSON and TOML. Nodes and text live in the document's arena and are
 * freed with it. Object members keep their order and, for JSON, their duplicates (kernels_node_find
 * gives the first; kernels_node_duplicate finds a repeated key). Numbers that fit are integers, with
 * the full unsigned 64-bit range; other JSON numbers keep their text. Source positions are 1-based,
 * columns count bytes.
 */
#ifndef KERNELS_SRC_BASE_DOCUMENT_H
#define KERNELS_SRC_BASE_DOCUMENT_H

#include "base/arena.h"
#include "kernels/base.h"

typedef enum kernels_node_type {
    KERNELS_NODE_NULL,
    KERNELS_NODE_BOOLEAN,
    KERNELS_NODE_UNSIGNED, /* >= 0, fits uint64_t */
    KERNELS_NODE_NEGATIVE, /* < 0, fits int64_t */
    KERNELS_NODE_NUMBER,   /* any other number: a float, or an integer out of range */
    KERNELS_NODE_STRING,
    KERNELS_NODE_ARRAY,
    KERNELS_NODE_OBJECT,
    KERNELS_NODE_DATE, /* TOML date and time, kept as text */
} kernels_node_type;

typedef struct kernels_position {
    uint32_t line, column; /* 0 = unknown */
} kernels_position;

typedef struct kernels_node kernels_node;

typedef struct kernels_member {
    kernels_view key;
    kernels_position key_position;
    kernels_node *value;
} kernels_member;

struct kernels_node {
    kernels_node_type type;
    kernels_position begin, end; /* of the value in the source */
    size_t count;                /* of items or members */
    union {
        bool boolean;
        uint64_t unsigned_value;
        int64_t negative;
        kernels_view text;       /* STRING, DATE; NUMBER as written */
        kernels_node **items;    /* ARRAY */
        kernels_member *members; /* OBJECT, in source order (TOML too) */
    } as;
};

typedef struct kernels_document {
    kernels_arena *arena;
    kernels_node *root;
} kernels_document;

/* Bounds for hostile input: nesting and size. Deeper input is KERNELS_LIMIT, never a crash. */
#define KERNELS_JSON_DEPTH_LIMIT 256
#define KERNELS_TOML_DEPTH_LIMIT 128
#define KERNELS_DOCUMENT_SIZE_LIMIT ((size_t)256 * 1024 * 1024)

/* RFC 8259, UTF-8 without BOM, one value, no trailing text. `name` (file or what it is) goes into
 * messages: "<name>:<line>:<column>: ...". Lone surrogate escapes are refused. */
kernels_status kernels_json_parse(kernels_view text, const char *name, kernels_document *document,
                                  kernels_error *error);
/* TOML 1.0; a leading BOM is allowed. Not UTF-8: KERNELS_NOT_UTF8. */
kernels_status kernels_toml_parse(kernels_view text, const char *name, kernels_document *document,
                                  kernels_error *error);
kernels_status kernels_json_read_file(const char *path, size_t limit, kernels_document *document, kernels_error *error);
kernels_status kernels_toml_read_file(const char *path, size_t limit, kernels_document *document, kernels_error *error);
void kernels_document_dispose(kernels_document *document);

/* Value of a key, or NULL when node is no object or has no such key. */
const kernels_node *kernels_node_find(const kernels_node *node, const char *key);
const kernels_member *kernels_node_member(const kernels_node *node, const char *key);
/* First key that stands twice in this object, or NULL. */
const kernels_member *kernels_node_duplicate(const kernels_node *object);
const char *kernels_node_type_name(kernels_node_type type); /* "string", "integer", "table" ... */
/* The text of a STRING node, else an empty view with data NULL. */
kernels_view kernels_node_text(const kernels_node *node);
bool kernels_node_is(const kernels_node *node, kernels_node_type type); /* false for NULL */

#endif
