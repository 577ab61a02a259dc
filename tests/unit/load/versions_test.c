/* SPDX-License-Identifier: Apache-2.0 */
/* Version branches: all cases of loader/version_resolve.json, and offline those of loader/cache_refs.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "load/versions.h"
#include "vector.h"

/* ---- a context whose last warning is kept, with a cache of its own ---- */

typedef struct fixture {
    kernels_context *context;
    char *cache;
    char warning[512];
} fixture;

static void keep_warning(void *payload, const char *category, const char *message) {
    (void)category;
    fixture *made = payload;
    (void)snprintf(made->warning, sizeof made->warning, "%s", message);
}

static void fixture_open(fixture *made, bool offline) {
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    kernels_error error = KERNELS_ERROR_INIT;
    *made = (fixture){0};
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-versions-", &made->cache, NULL), KERNELS_OK);
    const kernels_context_options options = {.endpoint = "http://127.0.0.1:9",
                                             .cache_directory = made->cache,
                                             .offline = offline,
                                             .system = &system,
                                             .warning = keep_warning,
                                             .payload = made};
    if (kernels_context_new(&options, &made->context, &error) != KERNELS_OK) {
        fail_msg("%s", kernels_error_message(&error));
    }
}

static void fixture_close(fixture *made) {
    kernels_context_free(made->context);
    assert_int_equal(kernels_remove_tree(made->cache, NULL), KERNELS_OK);
    kernels_free(made->cache);
}

/* ---- version_resolve.json ---- */

static kernels_refs read_refs(kernels_document *document, const kernels_node *branches) {
    kernels_ref *refs = kernels_arena_array(document->arena, branches->count + 1, sizeof *refs);
    assert_non_null(refs);
    for (size_t i = 0; i < branches->count; i++) {
        refs[i].name = kernels_arena_copy_text(document->arena, branches->as.items[i]->as.text);
        (void)snprintf(refs[i].commit, sizeof refs[i].commit, "%040zu", i);
    }
    return (kernels_refs){.branches = refs, .branch_count = branches->count};
}

static void check_found(kernels_document *document, const kernels_node *vector, const kernels_refs *refs,
                        const kernels_cached_version *found) {
    const char *branch = vector_text(document, vector, "branch");
    for (size_t i = 0; i < refs->branch_count; i++) {
        if (strcmp(refs->branches[i].name, branch) == 0) {
            assert_string_equal(found->commit, refs->branches[i].commit);
            return;
        }
    }
    fail_msg("no branch %s", branch);
}

static void check_case(fixture *made, kernels_document *document, const kernels_node *vector) {
    const kernels_node *wanted = kernels_node_find(vector, "version");
    if (kernels_node_is(wanted, KERNELS_NODE_NEGATIVE)) {
        return; /* our type is unsigned; the program's test has the negative number */
    }
    kernels_refs refs = read_refs(document, kernels_node_find(vector, "branches"));
    kernels_versions versions = {0};
    const kernels_cached_version *found = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    made->warning[0] = '\0';
    assert_int_equal(kernels_versions_from_refs(&refs, &versions, NULL), KERNELS_OK);
    kernels_status status =
        kernels_versions_find(made->context, &versions, "o/k", wanted->as.unsigned_value, &found, &error);
    if (kernels_node_find(vector, "error") != NULL) {
        const char *message = vector_text(document, vector, "message");
        assert_int_equal(status, KERNELS_VERSION_NOT_FOUND);
        if (message != NULL) {
            assert_string_equal(kernels_error_message(&error), message);
        }
    } else {
        const char *warning = vector_text(document, vector, "warning");
        assert_int_equal(status, KERNELS_OK);
        check_found(document, vector, &refs, found);
        assert_string_equal(made->warning, warning != NULL ? warning : "");
    }
    kernels_error_dispose(&error);
    kernels_versions_dispose(&versions);
}

static void test_branches(void **state) {
    (void)state;
    fixture made;
    fixture_open(&made, false);
    kernels_document document = vector_read("loader/version_resolve.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    for (size_t i = 0; i < cases->count; i++) {
        check_case(&made, &document, cases->as.items[i]);
    }
    print_message("version_resolve.json: %zu cases\n", cases->count);
    assert_int_equal(cases->count, 17);
    kernels_document_dispose(&document);
    fixture_close(&made);
}

/* ---- cache_refs.json ---- */

static void write_cache(kernels_document *document, const fixture *made, const kernels_node *files) {
    for (size_t i = 0; i < files->count; i++) {
        const char *name = kernels_arena_copy_text(document->arena, files->as.members[i].key);
        char *path = kernels_path_join(made->cache, name);
        char *parent = kernels_path_parent(path);
        assert_int_equal(kernels_make_directories(parent, NULL), KERNELS_OK);
        assert_int_equal(kernels_file_write(path, files->as.members[i].value->as.text, 0, NULL), KERNELS_OK);
        kernels_free(path);
        kernels_free(parent);
    }
}

static void check_offline(fixture *made, const kernels_node *vector, uint64_t version, const char *key) {
    const kernels_node *wanted = kernels_node_find(vector, key);
    kernels_versions versions = {0};
    const kernels_cached_version *found = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_versions_list(made->context, "a/b", &versions, NULL), KERNELS_OK);
    kernels_status status = kernels_versions_find(made->context, &versions, "a/b", version, &found, &error);
    if (kernels_node_is(wanted, KERNELS_NODE_STRING)) {
        assert_int_equal(status, KERNELS_OK);
        assert_true(kernels_view_equal_text(wanted->as.text, found->commit));
    } else {
        bool offline = vector_true(wanted, "mentions_offline");
        assert_int_equal(status, KERNELS_VERSION_NOT_FOUND);
        assert_true((strstr(kernels_error_message(&error), "offline mode") != NULL) == offline);
    }
    kernels_error_dispose(&error);
    kernels_versions_dispose(&versions);
}

static void test_offline(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_refs.json");
    const kernels_node *cases = kernels_node_find(document.root, "offline_versions");
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *vector = cases->as.items[i];
        fixture made;
        fixture_open(&made, true);
        write_cache(&document, &made, kernels_node_find(vector, "files"));
        check_offline(&made, vector, 1, "version 1");
        check_offline(&made, vector, 9, "version 9");
        fixture_close(&made);
    }
    print_message("cache_refs.json: %zu caches\n", cases->count);
    assert_int_equal(cases->count, 9);
    kernels_document_dispose(&document);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_branches), cmocka_unit_test(test_offline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
