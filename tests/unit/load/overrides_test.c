/* SPDX-License-Identifier: Apache-2.0 */
/* LOCAL_KERNELS: all cases of loader/local_kernels_env.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/overrides.h"
#include "vector.h"

static void check_map(kernels_document *document, const char *text, const kernels_node *map) {
    for (size_t i = 0; i < map->count; i++) {
        const char *repo_id = kernels_arena_copy_text(document->arena, map->as.members[i].key);
        char *path = NULL;
        assert_int_equal(kernels_overrides_find(text, repo_id, &path, NULL), KERNELS_OK);
        assert_non_null(path);
        assert_string_equal(path, vector_text(document, map, repo_id));
        kernels_free(path);
    }
    char *none = NULL;
    assert_int_equal(kernels_overrides_find(text, "not/there", &none, NULL), KERNELS_OK);
    assert_null(none);
}

static void test_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/local_kernels_env.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *vector = cases->as.items[i];
        const char *text = vector_text(&document, vector, "LOCAL_KERNELS");
        const kernels_node *map = kernels_node_find(vector, "ok");
        if (map != NULL) {
            check_map(&document, text, map);
            continue;
        }
        char *path = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_int_equal(kernels_overrides_find(text, "a/b", &path, &error), KERNELS_INVALID_ARGUMENT);
        assert_string_equal(kernels_error_message(&error), vector_text(&document, vector, "message"));
        assert_null(path);
        kernels_error_dispose(&error);
    }
    print_message("local_kernels_env.json: %zu cases\n", cases->count);
    assert_int_equal(cases->count, 15);
    kernels_document_dispose(&document);
}

static void test_unset_variable(void **state) {
    (void)state;
    char *path = NULL;
    assert_int_equal(kernels_overrides_find(NULL, "a/b", &path, NULL), KERNELS_OK);
    assert_null(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors), cmocka_unit_test(test_unset_variable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
