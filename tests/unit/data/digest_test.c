/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of variant folders and comparing them: every vector, and what they do not show. */
#include "support/test_support.h"
#include "vector.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/file.h"
#include "data/torture.h"
#include "kernels/data.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

/* ---- trees ---- */

static char *new_folder(void) {
    char *folder = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_make_temporary_directory(NULL, "digest-test-", &folder, &error), error);
    return folder;
}

static void remove_folder(char *folder) {
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_remove_tree(folder, &error), error);
    kernels_free(folder);
}

static void make_parent(const char *path) {
    char *parent = kernels_path_parent(path);
    kernels_error error = KERNELS_ERROR_INIT;
    assert_non_null(parent);
    assert_ok(kernels_make_directories(parent, &error), error);
    kernels_free(parent);
}

static void make_file(const char *folder, const char *name, kernels_view content) {
    char *path = kernels_path_join(folder, name);
    kernels_error error = KERNELS_ERROR_INIT;
    assert_non_null(path);
    make_parent(path);
    assert_ok(kernels_file_write(path, content, 0, &error), error);
    kernels_free(path);
}

static void make_link(const char *folder, const char *name, const char *target) {
    char *path = kernels_path_join(folder, name);
    assert_non_null(path);
    make_parent(path);
    assert_int_equal(symlink(target, path), 0);
    kernels_free(path);
}

static void make_folder(const char *folder, const char *name) {
    char *path = kernels_path_join(folder, name);
    kernels_error error = KERNELS_ERROR_INIT;
    assert_non_null(path);
    assert_ok(kernels_make_directories(path, &error), error);
    kernels_free(path);
}

static kernels_view content_of(const kernels_node *entry, kernels_buffer *buffer) {
    const kernels_node *base64 = kernels_node_find(entry, "base64"), *repeat = kernels_node_find(entry, "repeat");
    if (base64) {
        assert_true(kernels_decode_base64(buffer, base64->as.text));
    } else if (repeat) {
        uint64_t byte = kernels_node_find(repeat, "byte")->as.unsigned_value;
        for (uint64_t i = 0; i < kernels_node_find(repeat, "count")->as.unsigned_value; i++) {
            kernels_buffer_add_char(buffer, (char)byte);
        }
    } else {
        kernels_buffer_add_view(buffer, kernels_node_find(entry, "text")->as.text);
    }
    return kernels_buffer_view(buffer);
}

static char *path_of(kernels_document *document, const kernels_node *entry) {
    const kernels_node *base64 = kernels_node_find(entry, "path_base64");
    kernels_buffer bytes = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    if (base64) {
        assert_true(kernels_decode_base64(&bytes, base64->as.text));
    } else {
        kernels_buffer_add_view(&bytes, kernels_node_find(entry, "path")->as.text);
    }
    char *path = kernels_arena_copy_text(document->arena, kernels_buffer_view(&bytes));
    kernels_buffer_dispose(&bytes);
    return path;
}

static void make_entry(kernels_document *document, const char *folder, const kernels_node *entry) {
    const char *type = vector_text(document, entry, "type"), *path = path_of(document, entry);
    const char *target = vector_text(document, entry, type ? "target" : "symlink");
    if (target) {
        make_link(folder, path, target);
    } else if (type && strcmp(type, "dir") == 0) {
        make_folder(folder, path);
    } else {
        kernels_buffer buffer = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        make_file(folder, path, content_of(entry, &buffer));
        kernels_buffer_dispose(&buffer);
    }
}

/* ---- hashing ---- */

static void check_files(const char *id, const kernels_node *files, const kernels_variant_digest *digest) {
    for (size_t i = 0; i < digest->count; i++) {
        const kernels_node *want = kernels_node_find(files, digest->files[i].path);
        if (!want || !kernels_view_equal_text(want->as.text, digest->files[i].hash)) {
            fail_msg("%s: %s has the hash %s", id, digest->files[i].path, digest->files[i].hash);
        }
        assert_true(i == 0 || strcmp(digest->files[i - 1].path, digest->files[i].path) < 0);
    }
    assert_int_equal(files->count, digest->count);
}

/* files NULL: an error is wanted */
static void check_hash(const char *id, const char *variant, kernels_digest_algorithm algorithm,
                       const kernels_node *files) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_variant_digest digest = {0};
    kernels_status status = kernels_digest_hash_variant(algorithm, variant, &digest, &error);
    if ((status == KERNELS_OK) != (files != NULL)) {
        fail_msg("%s: %s", id, kernels_error_message(&error));
    }
    if (files) {
        check_files(id, files, &digest);
    }
    kernels_variant_digest_dispose(&digest);
    kernels_error_dispose(&error);
}

static void check_tree(kernels_document *document, const kernels_node *row) {
    char *folder = new_folder();
    const char *id = vector_text(document, row, "id");
    const char *algorithm = vector_text(document, row, "algorithm");
    const kernels_node *entries = kernels_node_find(row, "entries");
    EACH(entry, entries) { make_entry(document, folder, entry); }
    char *variant = kernels_path_join(folder, vector_text(document, row, "variant"));
    assert_non_null(variant);
    check_hash(id, variant, strcmp(algorithm, "sha512") == 0 ? KERNELS_DIGEST_SHA512 : KERNELS_DIGEST_SHA256,
               kernels_node_find(row, "files"));
    kernels_free(variant);
    remove_folder(folder);
}

static void test_trees(void **state) {
    (void)state;
    kernels_document document = vector_read("data/digests.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    EACH(row, cases) { check_tree(&document, row); }
    print_message("digests: %zu cases\n", cases->count);
    kernels_document_dispose(&document);
}

static void check_loader_tree(kernels_document *document, const kernels_node *row) {
    char *folder = new_folder(), *variant = kernels_path_join(folder, "v");
    const char *name = vector_text(document, row, "name");
    const kernels_node *entries = kernels_node_find(row, "entries");
    assert_non_null(variant);
    make_folder(variant, "");
    EACH(entry, entries) { make_entry(document, variant, entry); }
    check_hash(name, variant, KERNELS_DIGEST_SHA256, kernels_node_find(row, "sha256"));
    check_hash(name, variant, KERNELS_DIGEST_SHA512, kernels_node_find(row, "sha512"));
    kernels_free(variant);
    remove_folder(folder);
}

static void test_loader_trees(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/digest_hash.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    EACH(row, cases) { check_loader_tree(&document, row); }
    print_message("digests of the loader: %zu cases\n", cases->count);
    kernels_document_dispose(&document);
}

static void make_release_tree(kernels_document *document, const char *folder) {
    const kernels_node *tree = kernels_node_find(document->root, "tree");
    const kernels_node *links = kernels_node_find(document->root, "symlinks");
    for (size_t i = 0; i < tree->count; i++) {
        make_file(folder, kernels_arena_copy_text(document->arena, tree->as.members[i].key),
                  tree->as.members[i].value->as.text);
    }
    for (size_t i = 0; i < links->count; i++) {
        make_link(folder, kernels_arena_copy_text(document->arena, links->as.members[i].key),
                  kernels_arena_copy_text(document->arena, links->as.members[i].value->as.text));
    }
    make_folder(folder, "emptydir");
}

/* One tree, and the cases of release17/digest_hash.json that are not about Python. */
static void test_release_tree(void **state) {
    (void)state;
    char *folder = new_folder(), path[512];
    kernels_document document = vector_read("release17/digest_hash.json");
    const kernels_node *expect = kernels_node_find(document.root, "expect");
    (void)snprintf(path, sizeof path, "%s/v", folder);
    make_release_tree(&document, path);
    check_hash("tree", path, KERNELS_DIGEST_SHA256, kernels_node_find(expect, "sha256"));
    check_hash("tree", path, KERNELS_DIGEST_SHA512, kernels_node_find(expect, "sha512"));
    make_link(folder, "link", "v");
    (void)snprintf(path, sizeof path, "%s/link", folder);
    check_hash("root is a link", path, KERNELS_DIGEST_SHA256, kernels_node_find(expect, "sha256"));
    (void)snprintf(path, sizeof path, "%s/nope", folder);
    check_hash("does not exist", path, KERNELS_DIGEST_SHA256, NULL);
    (void)snprintf(path, sizeof path, "%s/v/_ext.so", folder);
    check_hash("regular file", path, KERNELS_DIGEST_SHA256, NULL);
    print_message("digests of the release: 6 cases\n");
    kernels_document_dispose(&document);
    remove_folder(folder);
}

static void test_special_files(void **state) {
    (void)state;
    char *folder = new_folder(), path[512];
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_variant_digest digest = {0};
    make_file(folder, "a.py", KERNELS_VIEW("a"));
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_ok(kernels_digest_hash_variant(KERNELS_DIGEST_SHA256, folder, &digest, &error), error);
    assert_int_equal(digest.count, 1);
    kernels_variant_digest_dispose(&digest);
    make_file(folder, "x\\y", KERNELS_VIEW("1"));
    make_file(folder, "x/y", KERNELS_VIEW("2"));
    assert_int_equal(kernels_digest_hash_variant(KERNELS_DIGEST_SHA256, folder, &digest, &error), KERNELS_UNSAFE_NAME);
    assert_contains(kernels_error_message(&error), "`x/y`");
    kernels_error_dispose(&error);
    remove_folder(folder);
}

/* More files than threads: whoever hashes a file, the digest is the same. */
static void test_many_files(void **state) {
    (void)state;
    enum { COUNT = 300 };
    char *folder = new_folder(), name[32], text[32];
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_variant_digest digest = {0};
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof name, "d%d/f%03d.py", i % 3, i);
        (void)snprintf(text, sizeof text, "content %d", i);
        make_file(folder, name, kernels_view_of(text));
    }
    assert_ok(kernels_digest_hash_variant(KERNELS_DIGEST_SHA256, folder, &digest, &error), error);
    assert_int_equal(digest.count, COUNT);
    for (size_t i = 0; i < digest.count; i++) {
        const char *path = digest.files[i].path; /* "d0/f012.py" */
        kernels_digest hash;
        kernels_buffer base64 = KERNELS_BUFFER_INIT(100);
        assert_true(i == 0 || strcmp(digest.files[i - 1].path, path) < 0);
        (void)snprintf(text, sizeof text, "content %d", 100 * (path[4] - '0') + 10 * (path[5] - '0') + path[6] - '0');
        assert_ok(kernels_hash_bytes(KERNELS_HASH_SHA256, text, strlen(text), &hash, &error), error);
        kernels_encode_base64(&base64, hash.bytes, hash.size);
        assert_string_equal(kernels_buffer_text(&base64), digest.files[i].hash);
        kernels_buffer_dispose(&base64);
    }
    kernels_variant_digest_dispose(&digest);
    remove_folder(folder);
}

static kernels_status hash_once(void *payload, kernels_error *error) {
    kernels_variant_digest digest = {0};
    kernels_status status = kernels_digest_hash_variant(KERNELS_DIGEST_SHA256, payload, &digest, error);
    kernels_variant_digest_dispose(&digest);
    return status;
}

/* ---- comparing ---- */

/* {"algorithm": ..., "files": {...}} */
static kernels_variant_digest digest_of(kernels_document *document, const char *algorithm, const kernels_node *files) {
    kernels_metadata metadata = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_variant_digest digest = {0};
    kernels_buffer_printf(&text,
                          "{\"name\": \"ab\", \"id\": \"\", \"version\": 1, \"license\": \"\", \"python-depends\": [], "
                          "\"backend\": {\"type\": \"cpu\"}, \"digest\": {\"algorithm\": \"%s\", \"files\": {",
                          algorithm);
    for (size_t i = 0; i < files->count; i++) {
        kernels_buffer_printf(&text, "%s\"%.*s\": \"%.*s\"", i ? ", " : "", KERNELS_VIEW_ARGS(files->as.members[i].key),
                              KERNELS_VIEW_ARGS(files->as.members[i].value->as.text));
    }
    kernels_buffer_add_text(&text, "}}}");
    assert_ok(kernels_metadata_parse(kernels_buffer_view(&text), "digest", &metadata, &error), error);
    kernels_buffer_dispose(&text);
    digest = metadata.digest;
    digest.owner = metadata.owner; /* the caller disposes the digest, and all of the metadata with it */
    (void)document;
    return digest;
}

static void check_violation(const kernels_node *row, const kernels_violation *got) {
    static const char *const kinds[] = {"MissingFile", "UnknownFile", "HashMismatch", "AlgorithmMismatch"};
    const kernels_node *kind = kernels_node_find(row, "kind"), *path = kernels_node_find(row, "path");
    assert_true(!kind || kernels_view_equal_text(kind->as.text, kinds[got->type]));
    assert_true(!path || kernels_view_equal_text(path->as.text, got->path));
}

/* want: one text a violation, or objects with kind, path and text */
static void check_validation(kernels_variant_digest *expected, kernels_variant_digest *got, const kernels_node *want) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_violations violations = {0};
    kernels_buffer message = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_status status = kernels_digest_validate(expected, got, &violations, &error);
    assert_int_equal(status, want->count ? KERNELS_INTEGRITY : KERNELS_OK);
    assert_int_equal(kernels_digest_validate(expected, got, NULL, NULL), status);
    assert_int_equal(violations.count, want->count);
    kernels_buffer_add_text(&message, "kernel does not match the expected digest:");
    for (size_t i = 0; i < want->count; i++) {
        const kernels_node *row = want->as.items[i];
        const kernels_node *text = row;
        if (row->type == KERNELS_NODE_OBJECT) {
            check_violation(row, &violations.items[i]);
            text = kernels_node_find(row, "text") ? kernels_node_find(row, "text") : kernels_node_find(row, "str");
        }
        kernels_buffer_printf(&message, "\n%.*s", KERNELS_VIEW_ARGS(text->as.text));
    }
    if (status != KERNELS_OK) {
        assert_string_equal(kernels_error_message(&error), kernels_buffer_text(&message));
    }
    kernels_buffer_dispose(&message);
    kernels_violations_dispose(&violations);
    kernels_error_dispose(&error);
}

static void check_objects(kernels_document *document, const kernels_node *row, const char *got_key) {
    const kernels_node *expected = kernels_node_find(row, "expected"), *got = kernels_node_find(row, got_key);
    kernels_variant_digest left =
        digest_of(document, vector_text(document, expected, "algorithm"), kernels_node_find(expected, "files"));
    kernels_variant_digest right =
        digest_of(document, vector_text(document, got, "algorithm"), kernels_node_find(got, "files"));
    check_validation(&left, &right, kernels_node_find(row, "violations"));
    kernels_variant_digest_dispose(&left);
    kernels_variant_digest_dispose(&right);
}

static kernels_variant_digest pair_digest(kernels_document *document, const kernels_node *pair) {
    return digest_of(document, kernels_arena_copy_text(document->arena, pair->as.items[0]->as.text), pair->as.items[1]);
}

static void test_validate(void **state) {
    (void)state;
    kernels_document a = vector_read("data/digest_validate.json");
    kernels_document b = vector_read("loader/digest_validate.json");
    kernels_document c = vector_read("release17/digest_validate.json");
    const kernels_node *b_cases = kernels_node_find(b.root, "cases"), *c_cases = kernels_node_find(c.root, "cases");
    EACH(row, a.root) { check_objects(&a, row, "got"); }
    EACH(row, b_cases) { check_objects(&b, row, "actual"); }
    EACH(row, c_cases) {
        kernels_variant_digest left = pair_digest(&c, kernels_node_find(row, "expected"));
        kernels_variant_digest right = pair_digest(&c, kernels_node_find(row, "got"));
        check_validation(&left, &right, kernels_node_find(row, "violations"));
        kernels_variant_digest_dispose(&left);
        kernels_variant_digest_dispose(&right);
    }
    print_message("digest comparisons: %zu cases\n", a.root->count + b_cases->count + c_cases->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&b);
    kernels_document_dispose(&c);
}

static kernels_status validate_once(void *payload, kernels_error *error) {
    const kernels_variant_digest *digests = payload;
    kernels_violations violations = {0};
    kernels_status status = kernels_digest_validate(&digests[0], &digests[1], &violations, error);
    kernels_violations_dispose(&violations);
    return status == KERNELS_INTEGRITY ? KERNELS_OK : status;
}

static void test_no_memory(void **state) {
    (void)state;
    char *folder = new_folder();
    const kernels_file_digest files[] = {{"a", "1"}, {"b", "2"}};
    const kernels_variant_digest digests[] = {{KERNELS_DIGEST_SHA256, files, 2, NULL},
                                              {KERNELS_DIGEST_SHA512, files, 1, NULL}};
    make_file(folder, "sub/a.py", KERNELS_VIEW("a"));
    for (char i = 0; i < 20; i++) {
        make_file(folder, (char[]){'b', (char)('a' + i), '\0'}, KERNELS_VIEW("b"));
    }
    print_message("hashing: %lu allocations failed in turn\n", torture(hash_once, folder));
    print_message("comparing: %lu allocations failed in turn\n", torture(validate_once, (void *)(uintptr_t)digests));
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),         cmocka_unit_test(test_loader_trees), cmocka_unit_test(test_release_tree),
        cmocka_unit_test(test_special_files), cmocka_unit_test(test_many_files),   cmocka_unit_test(test_validate),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
