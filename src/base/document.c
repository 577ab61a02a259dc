/* SPDX-License-Identifier: Apache-2.0 */
/* Access to documents. They are made by document_parse.cc. */
#include "base/document.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/view.h"

void kernels_document_dispose(kernels_document *document) {
    if (document) {
        kernels_arena_free(document->arena);
        *document = (kernels_document){0};
    }
}

const kernels_member *kernels_node_member(const kernels_node *node, const char *key) {
    if (!node || node->type != KERNELS_NODE_OBJECT) {
        return NULL;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (kernels_view_equal_text(node->as.members[i].key, key)) {
            return &node->as.members[i];
        }
    }
    return NULL;
}

const kernels_node *kernels_node_find(const kernels_node *node, const char *key) {
    const kernels_member *member = kernels_node_member(node, key);
    return member ? member->value : NULL;
}

static int compare_members(const void *a, const void *b) {
    const kernels_member *x = *(const kernels_member *const *)a, *y = *(const kernels_member *const *)b;
    int order = kernels_view_compare(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Sorted pointers, so that an object of very many keys is no way to make us spend quadratic time. */
const kernels_member *kernels_node_duplicate(const kernels_node *object) {
    if (!object || object->type != KERNELS_NODE_OBJECT || object->count < 2) {
        return NULL;
    }
    KERNELS_CLEANUP_FREE const kernels_member **sorted = kernels_calloc(object->count, sizeof *sorted);
    if (!sorted) {
        return NULL;
    }
    for (size_t i = 0; i < object->count; i++) {
        sorted[i] = &object->as.members[i];
    }
    qsort(sorted, object->count, sizeof *sorted, compare_members);
    for (size_t i = 1; i < object->count; i++) {
        if (kernels_view_equal(sorted[i - 1]->key, sorted[i]->key)) {
            return sorted[i];
        }
    }
    return NULL;
}

const char *kernels_node_type_name(kernels_node_type type) {
    switch (type) {
    case KERNELS_NODE_NULL:
        return "null";
    case KERNELS_NODE_BOOLEAN:
        return "boolean";
    case KERNELS_NODE_UNSIGNED:
        return "integer";
    case KERNELS_NODE_NEGATIVE:
        return "negative integer";
    case KERNELS_NODE_NUMBER:
        return "number";
    case KERNELS_NODE_STRING:
        return "string";
    case KERNELS_NODE_ARRAY:
        return "list";
    case KERNELS_NODE_OBJECT:
        return "table";
    case KERNELS_NODE_DATE:
        return "date";
    }
    return "unknown";
}

kernels_view kernels_node_text(const kernels_node *node) {
    return node && node->type == KERNELS_NODE_STRING ? node->as.text : (kernels_view){NULL, 0};
}

bool kernels_node_is(const kernels_node *node, kernels_node_type type) { return node && node->type == type; }

typedef kernels_status parse_function(kernels_view text, const char *name, kernels_document *document,
                                      kernels_error *error);

static kernels_status read_document(const char *path, size_t limit, parse_function *parse, kernels_document *document,
                                    kernels_error *error) {
    char *data = NULL;
    size_t size = 0;
    KERNELS_TRY(kernels_file_read(path, limit, &data, &size, error));
    kernels_status status = parse((kernels_view){data, size}, path, document, error);
    kernels_free(data);
    return status;
}

kernels_status kernels_json_read_file(const char *path, size_t limit, kernels_document *document,
                                      kernels_error *error) {
    return read_document(path, limit, kernels_json_parse, document, error);
}

kernels_status kernels_toml_read_file(const char *path, size_t limit, kernels_document *document,
                                      kernels_error *error) {
    return read_document(path, limit, kernels_toml_parse, document, error);
}
