/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the vectors below tests/data, for the unit tests. Include after cmocka. */
#ifndef KERNELS_TESTS_UNIT_VECTOR_H
#define KERNELS_TESTS_UNIT_VECTOR_H

#include <stdlib.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

static inline kernels_document vector_read(const char *name) {
    const char *data = getenv("KERNELS_TEST_DATA");
    kernels_document document = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    assert_non_null(data);
    char *path = kernels_path_join(data, name);
    assert_non_null(path);
    if (kernels_json_read_file(path, (size_t)64 * 1024 * 1024, &document, &error) != KERNELS_OK) {
        fail_msg("%s", kernels_error_message(&error));
    }
    kernels_free(path);
    return document;
}

/* Text of a member, in memory of the document's arena; NULL for null and absent ones. */
static inline const char *vector_text(kernels_document *document, const kernels_node *node, const char *key) {
    const kernels_node *found = kernels_node_find(node, key);
    if (!kernels_node_is(found, KERNELS_NODE_STRING)) {
        return NULL;
    }
    char *text = kernels_arena_copy_text(document->arena, found->as.text);
    assert_non_null(text);
    return text;
}

static inline bool vector_true(const kernels_node *node, const char *key) {
    const kernels_node *found = kernels_node_find(node, key);
    return kernels_node_is(found, KERNELS_NODE_BOOLEAN) && found->as.boolean;
}

#endif
