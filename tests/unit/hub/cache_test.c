/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on disk: loader/cache_refs.json, snapshots, completeness, listings of other tools; listings of a Hub. */
#include "support/test_support.h"

#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "hub/cache.h"
#include "hub/hub.h"
#include "hub/tree.h"
#include "hub/tree_cache.h"
#include "vector.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

typedef struct fixture {
    char *root;
    kernels_hub *hub;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof(*f));
    kernels_error error = KERNELS_ERROR_INIT;
    assert_non_null(f);
    assert_ok(kernels_make_temporary_directory(NULL, "cache", &f->root, &error), error);
    const kernels_hub_options options = {
        .cache_directory = f->root, .endpoint = "http://127.0.0.1:9", .offline = true, .no_token = true};
    assert_ok(kernels_hub_new(&options, &f->hub, &error), error);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    kernels_hub_free(f->hub);
    assert_int_equal(kernels_remove_tree(f->root, NULL), KERNELS_OK);
    kernels_free(f->root);
    free(f);
    return 0;
}

static void write_file(const char *root, const char *path, kernels_view text) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *full = kernels_path_join(root, path);
    char *parent = kernels_path_parent(full);
    assert_ok(kernels_make_directories(parent, &error), error);
    assert_ok(kernels_file_write(full, text, 0, &error), error);
    kernels_free(parent);
    kernels_free(full);
}

static void write_text(const char *root, const char *path, const char *text) {
    write_file(root, path, kernels_view_of(text));
}

/* ---- refs ---- */

static void check_write_case(fixture *f, kernels_document *document, const kernels_node *c, size_t index) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *repository = kernels_arena_printf(document->arena, "%s/kernels--w--%zu", f->root, index);
    const char *revision = vector_text(document, c, "revision");
    const char *before = vector_text(document, c, "before");
    if (before) {
        write_text(repository, kernels_arena_printf(document->arena, "refs/%s", revision), before);
    }
    assert_ok(kernels_cache_write_ref(repository, revision, vector_text(document, c, "commit"), &error), error);
    const kernels_node *after = kernels_node_find(c, "after");
    char *refs = kernels_path_join(repository, "refs");
    for (size_t i = 0; i < after->count; i++) {
        char *data = NULL;
        size_t size = 0;
        char *path =
            kernels_arena_printf(document->arena, "%s/%.*s", repository, KERNELS_VIEW_ARGS(after->as.members[i].key));
        assert_ok(kernels_file_read(path, 1000, &data, &size, &error), error);
        assert_true(kernels_view_equal((kernels_view){data, size}, kernels_node_text(after->as.members[i].value)));
        kernels_free(data);
    }
    assert_int_equal(kernels_file_exists(refs), after->count > 0);
    kernels_free(refs);
}

static void test_write_refs(void **state) {
    fixture *f = *state;
    kernels_document document = vector_read("loader/cache_refs.json");
    const kernels_node *cases = kernels_node_find(document.root, "write");
    assert_true(cases->count >= 7);
    for (size_t i = 0; i < cases->count; i++) {
        check_write_case(f, &document, cases->as.items[i], i);
    }
    kernels_document_dispose(&document);
    assert_int_equal(kernels_cache_write_ref(f->root, "../x", COMMIT, NULL), KERNELS_UNSAFE_NAME);
}

static void check_versions_case(kernels_document *document, const kernels_node *c) {
    fixture *f = NULL;
    void *state = NULL;
    set_up(&state);
    f = state;
    const kernels_node *files = kernels_node_find(c, "files");
    for (size_t i = 0; i < files->count; i++) {
        write_file(f->root, kernels_arena_copy_text(document->arena, files->as.members[i].key),
                   kernels_node_text(files->as.members[i].value));
    }
    kernels_cached_version *versions = NULL;
    size_t count = 99;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_cache_versions(f->hub, "a/b", &versions, &count, &error), error);
    const kernels_node *expected = kernels_node_find(c, "versions");
    assert_int_equal(count, expected->count);
    for (size_t i = 0; i < count; i++) {
        uint64_t version = 0;
        assert_true(kernels_view_to_u64(expected->as.members[i].key, &version));
        assert_int_equal(versions[i].version, version);
        assert_true(kernels_view_equal_text(kernels_node_text(expected->as.members[i].value), versions[i].commit));
    }
    kernels_free(versions);
    tear_down(&state);
}

static void test_offline_versions(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_refs.json");
    const kernels_node *cases = kernels_node_find(document.root, "offline_versions");
    assert_true(cases->count >= 9);
    for (size_t i = 0; i < cases->count; i++) {
        check_versions_case(&document, cases->as.items[i]);
    }
    kernels_document_dispose(&document);
}

/* ---- snapshots ---- */

static void test_snapshot(void **state) {
    fixture *f = *state;
    char commit[65] = "";
    char *snapshot = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_repository_type type = KERNELS_REPOSITORY_KERNEL;
    assert_int_equal(kernels_cache_snapshot(f->hub, type, "a/b", "v1", commit, &snapshot, &error), KERNELS_NOT_CACHED);
    write_text(f->root, "kernels--a--b/refs/v1", COMMIT "\n");
    assert_int_equal(kernels_cache_snapshot(f->hub, type, "a/b", "v1", commit, &snapshot, &error), KERNELS_NOT_CACHED);
    write_text(f->root, "kernels--a--b/snapshots/" COMMIT "/x", "x");
    assert_ok(kernels_cache_snapshot(f->hub, type, "a/b", "v1", commit, &snapshot, &error), error);
    assert_string_equal(commit, COMMIT);
    assert_contains(snapshot, "/kernels--a--b/snapshots/" COMMIT);
    kernels_free(snapshot);
    assert_ok(kernels_cache_snapshot(f->hub, type, "a/b", COMMIT, NULL, &snapshot, &error), error);
    kernels_free(snapshot);
    write_text(f->root, "kernels--a--b/refs/bad", "../../../../etc");
    assert_int_equal(kernels_cache_snapshot(f->hub, type, "a/b", "bad", commit, &snapshot, &error), KERNELS_NOT_CACHED);
    assert_int_equal(kernels_cache_snapshot(f->hub, type, "a/b", "..", commit, &snapshot, &error), KERNELS_UNSAFE_NAME);
    assert_int_not_equal(kernels_cache_snapshot(f->hub, type, "../x", "v1", commit, &snapshot, &error), KERNELS_OK);
    kernels_error_dispose(&error);
}

static kernels_status check(fixture *f, kernels_error *error) {
    return kernels_cache_check_variant(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", COMMIT, "torch-cpu", error);
}

#define SNAPSHOT "kernels--a--b/snapshots/" COMMIT "/"
#define LISTING "kernels--a--b/trees/" COMMIT ".json"

static void test_variant_by_listing(void **state) {
    fixture *f = *state;
    kernels_error error = KERNELS_ERROR_INIT;
    write_text(f->root, SNAPSHOT "build/torch-cpu/metadata.json", "{}");
    write_text(f->root, LISTING,
               "{\"format_version\": 1, \"files\": {\"README.md\": {\"size\": 1},"
               "\"build/torch-cpu/__pycache__/x.pyc\": {\"size\": 1}, \"build/torch-cpu/metadata.json\": {\"size\": 2},"
               "\"build/torch-cpu/a.py\": {\"size\": 1}, \"build/torch-cpu/b.py\": {\"size\": 1},"
               "\"build/torch-cpu/c.py\": {\"size\": 1}, \"build/torch-cpu/d.py\": {\"size\": 1},"
               "\"build/torch-cpu-old/e.py\": {\"size\": 1}}}");
    assert_int_equal(check(f, &error), KERNELS_NOT_CACHED);
    assert_contains(error.message, "a.py, build/torch-cpu/b.py, build/torch-cpu/c.py, ...");
    assert_null(strstr(error.message, "d.py"));
    for (const char *name = "abcd"; *name; name++) {
        char path[200];
        snprintf(path, sizeof(path), SNAPSHOT "build/torch-cpu/%c.py", *name);
        write_text(f->root, path, "x");
    }
    assert_ok(check(f, &error), error);
    kernels_error_dispose(&error);
}

static void test_variant_by_metadata(void **state) {
    fixture *f = *state;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(check(f, &error), KERNELS_NOT_CACHED);
    write_text(f->root, SNAPSHOT "build/torch-cpu/x.py", "x");
    write_text(f->root, LISTING, "{\"format_version\": 2, \"files\": {}}"); /* another format: as if absent */
    assert_int_equal(check(f, &error), KERNELS_NOT_CACHED);
    assert_contains(error.message, "metadata.json");
    write_text(f->root, SNAPSHOT "build/torch-cpu/metadata.json",
               "{\"name\": \"demo\", \"id\": \"_d\", \"version\": 1, \"license\": \"MIT\", \"python-depends\": [],"
               "\"kernel-depends\": [], \"backend\": {\"type\": \"cpu\"}}");
    assert_ok(check(f, &error), error);
    kernels_error_dispose(&error);
}

static void test_dangling_link_is_not_there(void **state) {
    fixture *f = *state;
    kernels_error error = KERNELS_ERROR_INIT;
    write_text(f->root, SNAPSHOT "build/torch-cpu/x.py", "x");
    char *path = kernels_path_join(f->root, SNAPSHOT "build/torch-cpu/metadata.json");
    assert_ok(kernels_make_link("../../../../blobs/none", path, &error), error);
    assert_int_equal(check(f, &error), KERNELS_NOT_CACHED);
    kernels_free(path);
    kernels_error_dispose(&error);
}

static void test_damaged_listings(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{\"files\": {}}",
        "{\"format_version\": 1}",
        "{\"format_version\": 1, \"files\": {\"../x\": {\"size\": 1}}}",
        "{\"format_version\": 1, \"files\": {\"x\": {}}}",
        "{\"format_version\": 1, \"files\": {\"x\": {\"size\": 1, \"blob_id\": \"zz\"}}}",
        "{\"format_version\": 1, \"files\": {\"x\": {\"size\": 1, \"xet_hash\": \"zz\"}}}",
        "{\"format_version\": 1, \"files\": {\"x\": {\"size\": 1}, \"x\": {\"size\": 1}}}",
    };
    kernels_tree tree;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(kernels_tree_cache_parse(kernels_view_of(bad[i]), NULL, &tree));
    }
    assert_true(kernels_tree_cache_parse(
        KERNELS_VIEW("{\"format_version\": 1, \"files\": {\"b\": {\"size\": 1, \"blob_id\": \"" COMMIT
                     "\"}, \"a\": {\"size\": 2}}}"),
        NULL, &tree));
    assert_int_equal(tree.count, 2);
    assert_string_equal(tree.entries[0].path, "a");
    assert_string_equal(tree.entries[1].oid, COMMIT);
    kernels_tree_dispose(&tree);
}

/* ---- listings of a Hub ---- */

static kernels_status parse_tree(const char *text, kernels_tree *tree, kernels_error *error) {
    kernels_document document;
    kernels_tree_builder builder;
    assert_ok(kernels_json_parse(kernels_view_of(text), "page", &document, error), *error);
    assert_ok(kernels_tree_builder_init(&builder, error), *error);
    kernels_status status = kernels_tree_builder_add(&builder, document.root, "page", error);
    if (status == KERNELS_OK) {
        status = kernels_tree_builder_finish(&builder, tree, error);
    }
    kernels_tree_builder_dispose(&builder);
    kernels_document_dispose(&document);
    return status;
}

#define FILE_ENTRY(path) "{\"type\": \"file\", \"oid\": \"" COMMIT "\", \"size\": 1, \"path\": \"" path "\"}"

static void test_tree(void **state) {
    (void)state;
    kernels_tree tree;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(
        parse_tree(
            "[" FILE_ENTRY(
                "b/x") ", {\"type\": \"directory\", \"oid\": \"" COMMIT
                       "\", \"size\": 0, \"path\": \"b\"}, {\"type\": \"symlink\", \"path\": \"l\", \"size\": 1},"
                       "{\"type\": \"file\", \"path\": \"a\", \"size\": 5, \"oid\": null, \"lfs\": {\"oid\": \"" COMMIT
                       "0123456789abcdef01234567\", \"size\": 7, \"pointerSize\": 3}}]",
            &tree, &error),
        error);
    assert_int_equal(tree.count, 3);
    assert_string_equal(tree.entries[0].path, "a");
    assert_int_equal(tree.entries[0].size, 7);
    assert_string_equal(tree.entries[0].oid, "");
    assert_int_equal(strlen(tree.entries[0].lfs_sha256), 64);
    assert_true(tree.entries[1].is_directory);
    assert_string_equal(tree.entries[2].path, "b/x");
    kernels_tree_dispose(&tree);
}

static void test_hostile_trees(void **state) {
    (void)state;
    static const char *const pages[] = {
        "[" FILE_ENTRY("../x") "]",
        "[" FILE_ENTRY("/x") "]",
        "[" FILE_ENTRY("a/../x") "]",
        "[" FILE_ENTRY("a\\\\b") "]",
        "[" FILE_ENTRY("a\\u0000b") "]",
        "[" FILE_ENTRY("C:x") "]",
        "[" FILE_ENTRY("") "]",
        "[" FILE_ENTRY("a//b") "]",
        "[" FILE_ENTRY("a") "," FILE_ENTRY("a") "]",
        "[" FILE_ENTRY("a") "," FILE_ENTRY("a-b") "," FILE_ENTRY("a/b") "]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"../../x\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": -1}]",
        "[{\"type\": \"file\", \"path\": \"a\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"lfs\": {\"oid\": \"" COMMIT "\", \"size\": 1}}]",
        "[{\"path\": \"a\", \"size\": 1}]",
        "[1]",
        "{}",
        "null",
    };
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        kernels_tree tree;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = parse_tree(pages[i], &tree, &error);
        assert_true(status == KERNELS_UNSAFE_NAME || status == KERNELS_SCHEMA);
        kernels_error_dispose(&error);
    }
}

/* ---- without a network ---- */

static void test_offline_requests(void **state) {
    fixture *f = *state;
    kernels_refs refs;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_hub_refs(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", false, &refs, &error), KERNELS_OFFLINE);
    assert_contains(error.message, "HF_HUB_OFFLINE");
    char commit[65];
    assert_ok(kernels_hub_resolve_revision(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", COMMIT, commit, &error), error);
    assert_string_equal(commit, COMMIT);
    kernels_tree_entry entry = {.path = "x", .size = 1, .oid = COMMIT};
    const kernels_tree_entry *files[] = {&entry};
    assert_int_equal(kernels_hub_fetch(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", COMMIT, files, 1, NULL, NULL, &error),
                     KERNELS_NOT_CACHED);
    write_text(f->root, SNAPSHOT "x", "1");
    char *snapshot = NULL;
    assert_ok(kernels_hub_fetch(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", COMMIT, files, 1, "v1", &snapshot, &error),
              error);
    kernels_free(snapshot);
    assert_ok(kernels_cache_snapshot(f->hub, KERNELS_REPOSITORY_KERNEL, "a/b", "v1", NULL, &snapshot, &error), error);
    kernels_free(snapshot);
    assert_int_equal(kernels_hub_request_count(f->hub), 0);
    kernels_error_dispose(&error);
}

static void test_refused_names(void **state) {
    fixture *f = *state;
    kernels_tree_entry entries[] = {{.path = "A", .size = 1, .oid = COMMIT},
                                    {.path = "a", .size = 1, .oid = COMMIT},
                                    {.path = "../x", .size = 1, .oid = COMMIT},
                                    {.path = "d", .is_directory = true}};
    const kernels_tree_entry *both[] = {&entries[0], &entries[1]};
    const kernels_tree_entry *outside[] = {&entries[2]};
    const kernels_tree_entry *folder[] = {&entries[3]};
    kernels_repository_type type = KERNELS_REPOSITORY_KERNEL;
    assert_int_equal(kernels_hub_fetch(f->hub, type, "a/b", COMMIT, both, 2, NULL, NULL, NULL), KERNELS_UNSAFE_NAME);
    assert_int_equal(kernels_hub_fetch(f->hub, type, "a/b", COMMIT, outside, 1, NULL, NULL, NULL), KERNELS_UNSAFE_NAME);
    assert_int_equal(kernels_hub_fetch(f->hub, type, "a/b", COMMIT, folder, 1, NULL, NULL, NULL), KERNELS_UNSAFE_NAME);
    assert_int_equal(kernels_hub_fetch(f->hub, type, "a/b", "main", both, 1, NULL, NULL, NULL),
                     KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_hub_fetch(f->hub, type, "a/b", COMMIT, both, 1, "..", NULL, NULL), KERNELS_UNSAFE_NAME);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_write_refs),
        TEST(test_offline_versions),
        TEST(test_snapshot),
        TEST(test_variant_by_listing),
        TEST(test_variant_by_metadata),
        TEST(test_dangling_link_is_not_there),
        TEST(test_damaged_listings),
        TEST(test_tree),
        TEST(test_hostile_trees),
        TEST(test_offline_requests),
        TEST(test_refused_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
