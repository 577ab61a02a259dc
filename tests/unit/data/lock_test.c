/* SPDX-License-Identifier: Apache-2.0 */
/* Lock files of both forms, Nix locks, kernel paths: every vector, making, looking up, memory. */
#include "support/test_support.h"
#include "vector.h"

#include "base/file.h"
#include "base/json_writer.h"
#include "data/torture.h"
#include "kernels/data.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define ENTRY(repo_id, version) \
    "{\"dependency\": {\"repo-id\": \"" repo_id "\", " version "}, \"lock\": {\"commit\": \"" COMMIT "\"}}"

static kernels_lock_kind kind_of(const char *type) {
    return strcmp(type, "NixKernelLocks") == 0 ? KERNELS_LOCK_NIX
           : strcmp(type, "KernelPaths") == 0  ? KERNELS_LOCK_PATHS
                                               : KERNELS_LOCK_KERNELS;
}

/* want NULL: must be refused */
static void check(kernels_view text, kernels_lock_kind kind, const kernels_node *want) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    char *printed = NULL;
    kernels_status status = kernels_locks_parse(text, kind, "locks", &locks, &error);
    if ((status == KERNELS_OK) != (want != NULL)) {
        fail_msg("%.*s: %s", KERNELS_VIEW_ARGS(text), kernels_error_message(&error));
    }
    if (want) {
        assert_ok(kernels_locks_print(&locks, &printed, &error), error);
        assert_true(kernels_view_equal_text(want->as.text, printed));
    } else {
        assert_int_equal(kernels_status_category(status), KERNELS_CATEGORY_DATA);
    }
    kernels_string_free(printed);
    kernels_locks_dispose(&locks);
    kernels_error_dispose(&error);
}

static void test_data_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("data/locks.json");
    EACH(row, document.root) {
        check(kernels_node_find(row, "in")->as.text, kind_of(vector_text(&document, row, "type")),
              kernels_node_find(row, "to_json"));
    }
    print_message("locks: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

/* Objects given as arrays of their fields: the release takes them by accident, we do not. */
static bool is_positional(kernels_view text) {
    return kernels_view_starts_with(text, KERNELS_VIEW("[[")) || kernels_view_starts_with(text, KERNELS_VIEW("[\""));
}

static size_t check_release(const char *file, const char *key, kernels_lock_kind kind) {
    kernels_document document = vector_read(file);
    const kernels_node *cases = kernels_node_find(document.root, key);
    EACH(row, cases) {
        kernels_view text = kernels_node_find(row, "json")->as.text;
        const kernels_node *ok = is_positional(text) ? NULL : kernels_node_find(row, "ok");
        check(text, kind, kernels_node_find(ok, "to_json"));
    }
    size_t count = cases->count;
    kernels_document_dispose(&document);
    return count;
}

static void test_release_vectors(void **state) {
    (void)state;
    size_t count = check_release("release17/kernel_locks_json.json", "KernelLocks.from_json", KERNELS_LOCK_KERNELS);
    count += check_release("release17/kernel_locks_json.json", "NixKernelLocks.from_json", KERNELS_LOCK_NIX);
    count += check_release("release17/kernel_paths_json.json", "KernelPaths.from_json", KERNELS_LOCK_PATHS);
    print_message("locks of the release: %zu cases\n", count);
}

/* loader/lock_json.json has documents, or texts where a document cannot show the case. */
static void test_loader_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/lock_json.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    EACH(row, cases) {
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_json_writer writer;
        const kernels_node *given = kernels_node_find(row, "input_text");
        if (given) {
            kernels_buffer_add_view(&text, given->as.text);
        } else {
            kernels_json_writer_init(&writer, &text, 0, false);
            kernels_json_node(&writer, kernels_node_find(row, "input"));
        }
        check(kernels_buffer_view(&text), KERNELS_LOCK_KERNELS, kernels_node_find(row, "output_text"));
        kernels_buffer_dispose(&text);
    }
    print_message("locks of the loader: %zu cases\n", cases->count);
    kernels_document_dispose(&document);
}

static void check_single(const kernels_node *row, kernels_lock_kind kind) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    char *printed = NULL;
    kernels_view text = kernels_node_find(row, "json")->as.text;
    const kernels_node *ok = is_positional(text) ? NULL : kernels_node_find(row, "ok");
    kernels_status status = kernels_lock_parse(text, kind, "lock", &locks, &error);
    if ((status == KERNELS_OK) != (ok != NULL)) {
        fail_msg("%.*s: %s", KERNELS_VIEW_ARGS(text), kernels_error_message(&error));
    }
    if (ok) {
        assert_ok(kernels_lock_print(&locks.items[0], kind, &printed, &error), error);
        assert_true(kernels_view_equal_text(kernels_node_find(ok, "to_json")->as.text, printed));
    }
    kernels_string_free(printed);
    kernels_locks_dispose(&locks);
    kernels_error_dispose(&error);
}

static void test_single_locks(void **state) {
    (void)state;
    kernels_document document = vector_read("release17/kernel_lock_json.json");
    const kernels_node *plain = kernels_node_find(document.root, "KernelLock.from_json");
    const kernels_node *nix = kernels_node_find(document.root, "NixKernelLock.from_json");
    EACH(row, plain) { check_single(row, KERNELS_LOCK_KERNELS); }
    EACH(row, nix) { check_single(row, KERNELS_LOCK_NIX); }
    print_message("single locks: %zu cases\n", plain->count + nix->count);
    kernels_document_dispose(&document);
}

/* ---- messages ---- */

static void check_message(const char *text, kernels_status status, const char *part) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    assert_int_equal(kernels_locks_parse(kernels_view_of(text), KERNELS_LOCK_KERNELS, "kernels.lock", &locks, &error),
                     status);
    assert_contains(kernels_error_message(&error), part);
    kernels_error_dispose(&error);
}

static void test_messages(void **state) {
    (void)state;
    check_message("[" ENTRY("a/b", "\"version\": 1") ", " ENTRY("a/b", "\"version\": 1") "]", KERNELS_SCHEMA,
                  "duplicate dependency `a/b version 1`");
    check_message("[{\"repo_id\": \"a/b\", \"sha\": \"" COMMIT "\", \"variants\": {}}]", KERNELS_UNSUPPORTED_EDITION,
                  "kernels < 0.17: run `kernels lock` again");
    check_message("[{\"dependency\": {\"repo-id\": \"a\", \"version\": 1}, \"lock\": {\"commit\": \"main\"}}]",
                  KERNELS_SCHEMA, "kernels.lock:1:58: [0].lock.commit: Invalid git object id");
}

/* ---- the older form ---- */

static void test_older(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    const char *text = "[{\"repo_id\": \"z/z\", \"sha\": \"" COMMIT "\", \"variants\": {\"torch-cpu\": {\"hash\": "
                       "\"sha256-00\", \"hash_type\": \"git_lfs_concat\"}}}, {\"repo_id\": \"a/b\", \"sha\": "
                       "\"0123456789ABCDEF0123456789abcdef01234567\", \"variants\": {\"x\": {\"hash\": \"y\"}}}]";
    assert_ok(kernels_locks_parse_any(kernels_view_of(text), "kernels.lock", &locks, &error), error);
    assert_true(locks.older);
    assert_int_equal(locks.count, 2);
    assert_string_equal(locks.items[0].dependency.repo_id, "z/z");
    size_t count = 0;
    const kernels_lock *lock = kernels_locks_find_repository(&locks, KERNELS_VIEW("a/b"), &count);
    assert_non_null(lock);
    assert_int_equal(count, 1);
    assert_string_equal(lock->commit, COMMIT);
    assert_null(kernels_locks_find(&locks, &lock->dependency));
    kernels_locks_dispose(&locks);
    const char *bad =
        "[{\"repo_id\": \"a/b\", \"sha\": \"" COMMIT "\", \"variants\": {\"x\": {\"hash\": \"y\", \"z\": 1}}}]";
    assert_int_equal(kernels_locks_parse_any(kernels_view_of(bad), "kernels.lock", &locks, &error), KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&error), "[0].variants.x.z: unknown key");
    kernels_error_dispose(&error);
}

static size_t read_tree(kernels_document *document, const kernels_node *tree, kernels_older_file *files) {
    size_t used = 0;
    EACH(row, tree) {
        const char *large = vector_text(document, row, "lfs_sha256");
        const kernels_node *lfs = kernels_node_find(row, "lfs");
        const char *blob = vector_text(document, row, kernels_node_find(row, "oid") ? "oid" : "blob_id");
        large = kernels_node_is(lfs, KERNELS_NODE_OBJECT) ? vector_text(document, lfs, "oid") : large;
        files[used++] = (kernels_older_file){vector_text(document, row, "path"), large ? large : blob};
    }
    return used;
}

static void test_older_text(void **state) {
    (void)state;
    kernels_document document = vector_read("data/legacy_kernels_lock.json");
    EACH(row, document.root) {
        kernels_older_file files[64];
        kernels_older_lock lock = {0};
        kernels_error error = KERNELS_ERROR_INIT;
        char *text = NULL;
        size_t count = read_tree(&document, kernels_node_find(row, "tree"), files);
        assert_ok(kernels_older_lock_make(vector_text(&document, row, "repo_id"), vector_text(&document, row, "commit"),
                                          files, count, &lock, &error),
                  error);
        assert_ok(kernels_older_locks_print(&lock, 1, &text, &error), error);
        assert_string_equal(text, vector_text(&document, row, "kernels_lock"));
        kernels_string_free(text);
        kernels_older_lock_dispose(&lock);
    }
    print_message("older lock files: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

static void test_older_hashes(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/lock_v1_hash.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    EACH(row, cases) {
        kernels_older_file files[64];
        kernels_older_lock lock = {0};
        kernels_error error = KERNELS_ERROR_INIT;
        size_t count = read_tree(&document, kernels_node_find(row, "tree"), files);
        const kernels_node *want = kernels_node_find(row, "variants");
        assert_ok(kernels_older_lock_make("a/b", COMMIT, files, count, &lock, &error), error);
        assert_int_equal(lock.variant_count, want->count);
        for (size_t v = 0; v < lock.variant_count; v++) {
            const kernels_node *variant = kernels_node_find(want, lock.variants[v].name);
            assert_true(kernels_view_equal_text(kernels_node_find(variant, "hash")->as.text, lock.variants[v].hash));
        }
        kernels_older_lock_dispose(&lock);
    }
    print_message("hashes of older lock files: %zu cases\n", cases->count);
    kernels_document_dispose(&document);
}

/* ---- making and looking up ---- */

static void test_make(void **state) {
    (void)state;
    const char upper[] = "0123456789ABCDEF0123456789ABCDEF01234567";
    const kernels_lock items[] = {
        {.dependency = {"b/b", NULL, 1}, .commit = upper},  {.dependency = {"a/a", NULL, 10}, .commit = COMMIT},
        {.dependency = {"a/a", NULL, 9}, .commit = COMMIT}, {.dependency = {"a/a", "z", 0}, .commit = COMMIT},
        {.dependency = {"b/b", NULL, 1}, .commit = COMMIT}, {.dependency = {"b/b", NULL, 2}, .commit = "main"},
    };
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    size_t count = 0;
    assert_ok(kernels_locks_make(KERNELS_LOCK_KERNELS, items, 4, &locks, &error), error);
    assert_int_equal(locks.items[0].dependency.version, 9);
    assert_int_equal(locks.items[1].dependency.version, 10);
    assert_string_equal(locks.items[2].dependency.revision, "z");
    assert_string_equal(locks.items[3].commit, COMMIT);
    assert_ptr_equal(kernels_locks_find(&locks, &items[1].dependency), &locks.items[1]);
    assert_null(kernels_locks_find(&locks, &items[5].dependency));
    assert_ptr_equal(kernels_locks_find_repository(&locks, KERNELS_VIEW("a/a"), &count), &locks.items[0]);
    assert_int_equal(count, 3);
    assert_null(kernels_locks_find_repository(&locks, KERNELS_VIEW("c/c"), NULL));
    kernels_locks_dispose(&locks);
    assert_int_equal(kernels_locks_make(KERNELS_LOCK_KERNELS, items, 5, &locks, &error), KERNELS_INVALID_ARGUMENT);
    assert_contains(kernels_error_message(&error), "duplicate dependency");
    assert_int_equal(kernels_locks_make(KERNELS_LOCK_KERNELS, &items[5], 1, &locks, &error), KERNELS_INVALID_ARGUMENT);
    assert_contains(kernels_error_message(&error), "Invalid git object id");
    kernels_error_dispose(&error);
}

static void test_read(void **state) {
    (void)state;
    char *folder = NULL, path[512];
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_locks locks = {0};
    assert_ok(kernels_make_temporary_directory(NULL, "lock-test-", &folder, &error), error);
    (void)snprintf(path, sizeof path, "%s/kernels.lock", folder);
    assert_int_equal(kernels_locks_read(path, &locks, &error), KERNELS_FILE_NOT_FOUND);
    assert_ok(kernels_file_write(path, KERNELS_VIEW("[" ENTRY("a/b", "\"version\": 1") "]"), 0, &error), error);
    assert_ok(kernels_locks_read(path, &locks, &error), error);
    assert_false(locks.older);
    assert_int_equal(locks.count, 1);
    kernels_locks_dispose(&locks);
    assert_ok(kernels_remove_tree(folder, &error), error);
    kernels_free(folder);
    kernels_error_dispose(&error);
}

/* ---- memory ---- */

static kernels_status parse_and_print(void *payload, kernels_error *error) {
    kernels_locks locks = {0}, copy = {0};
    char *text = NULL;
    kernels_status status = kernels_locks_parse_any(kernels_view_of(payload), "locks", &locks, error);
    if (status == KERNELS_OK) {
        status = kernels_locks_make(KERNELS_LOCK_KERNELS, locks.items, locks.count, &copy, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_locks_print(&copy, &text, error);
    }
    kernels_string_free(text);
    kernels_locks_dispose(&locks);
    kernels_locks_dispose(&copy);
    return status;
}

static kernels_status make_older(void *payload, kernels_error *error) {
    (void)payload;
    const kernels_older_file files[] = {{"build/torch-cpu/a", COMMIT}, {"build/torch-tpu/b", COMMIT}};
    kernels_older_lock lock = {0};
    char *text = NULL;
    kernels_status status = kernels_older_lock_make("a/b", COMMIT, files, 2, &lock, error);
    if (status == KERNELS_OK) {
        status = kernels_older_locks_print(&lock, 1, &text, error);
    }
    kernels_string_free(text);
    kernels_older_lock_dispose(&lock);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    char text[] = "[" ENTRY("b/b", "\"version\": 1") ", " ENTRY("a/b", "\"revision\": \"main\"") "]";
    print_message("locks: %lu allocations failed in turn\n", torture(parse_and_print, text));
    print_message("older locks: %lu allocations failed in turn\n", torture(make_older, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_vectors),   cmocka_unit_test(test_release_vectors),
        cmocka_unit_test(test_loader_vectors), cmocka_unit_test(test_single_locks),
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_older),
        cmocka_unit_test(test_older_text),     cmocka_unit_test(test_older_hashes),
        cmocka_unit_test(test_make),           cmocka_unit_test(test_read),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
