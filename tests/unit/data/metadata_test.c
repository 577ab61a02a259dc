/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.json: every vector, making it from a build.toml, changing it, memory. */
#include "support/test_support.h"
#include "vector.h"

#include "base/encode.h"
#include "base/file.h"
#include "data/torture.h"
#include "kernels/data.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

static bool is_text(const kernels_node *row, const char *key, const char *text) {
    const kernels_node *node = kernels_node_find(row, key);
    return kernels_node_is(node, KERNELS_NODE_STRING) ? text && kernels_view_equal_text(node->as.text, text) : !text;
}

/* Prints, parses and prints again: both texts must be the wanted one. */
static void check_print(const kernels_metadata *metadata, kernels_view want) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata again = {0};
    char *text = NULL, *second = NULL;
    assert_ok(kernels_metadata_print(metadata, &text, &error), error);
    if (!kernels_view_equal_text(want, text)) {
        fail_msg("wanted %.*s\ngot %s", KERNELS_VIEW_ARGS(want), text);
    }
    assert_ok(kernels_metadata_parse(kernels_view_of(text), "metadata", &again, &error), error);
    assert_ok(kernels_metadata_print(&again, &second, &error), error);
    assert_string_equal(text, second);
    kernels_metadata_dispose(&again);
    kernels_string_free(text);
    kernels_string_free(second);
}

/* ---- data/metadata_parse.json ---- */

static void check_parse_case(kernels_document *document, const kernels_node *row) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    const char *id = vector_text(document, row, "id");
    kernels_status status =
        kernels_metadata_parse(kernels_node_find(row, "in")->as.text, "metadata.json", &metadata, &error);
    if ((status == KERNELS_OK) != vector_true(row, "ok")) {
        fail_msg("%s: %s", id, kernels_error_message(&error));
    }
    if (status == KERNELS_OK) {
        check_print(&metadata, kernels_node_find(row, "rewritten")->as.text);
    } else {
        assert_int_equal(kernels_status_category(status), KERNELS_CATEGORY_DATA);
        assert_contains(kernels_error_message(&error), "metadata.json");
    }
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

static void test_parse(void **state) {
    (void)state;
    kernels_document document = vector_read("data/metadata_parse.json");
    EACH(row, document.root) { check_parse_case(&document, row); }
    print_message("metadata documents: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

/* ---- release17/metadata.json ---- */

static void check_url(const kernels_node *ok, const char *key, const char *url) {
    char *normal = NULL;
    if (url) {
        assert_int_equal(kernels_git_url_normalize(kernels_view_of(url), &normal, NULL), KERNELS_OK);
    }
    assert_true(is_text(ok, key, normal));
    kernels_string_free(normal);
}

static void check_texts(const kernels_node *want, kernels_strings texts, bool given) {
    assert_int_equal(kernels_node_is(want, KERNELS_NODE_ARRAY), given);
    for (size_t i = 0; given && i < want->count; i++) {
        assert_true(kernels_view_equal_text(want->as.items[i]->as.text, texts.items[i]));
    }
    assert_int_equal(given ? want->count : 0, texts.count);
}

static void check_depends(const kernels_node *want, const kernels_metadata *metadata) {
    assert_int_equal(want->count, metadata->kernel_depends_count);
    for (size_t i = 0; i < want->count; i++) {
        char text[512];
        const kernels_dependency *got = &metadata->kernel_depends[i];
        int used = snprintf(text, sizeof text, "KernelDependency(repo_id=\"%s\", version=KernelVersion.", got->repo_id);
        if (got->revision) {
            (void)snprintf(text + used, sizeof text - (size_t)used, "Revision(revision=\"%s\"))", got->revision);
        } else {
            (void)snprintf(text + used, sizeof text - (size_t)used, "Version(version=%llu))",
                           (unsigned long long)got->version);
        }
        assert_true(kernels_view_equal_text(want->as.items[i]->as.text, text));
    }
}

static void check_digest(const kernels_node *want, const kernels_metadata *metadata) {
    assert_int_equal(kernels_node_is(want, KERNELS_NODE_OBJECT), metadata->has_digest);
    if (!metadata->has_digest) {
        return;
    }
    assert_true(is_text(want, "algorithm", metadata->digest.algorithm == KERNELS_DIGEST_SHA512 ? "sha512" : "sha256"));
    const kernels_node *files = kernels_node_find(want, "files");
    assert_int_equal(files->count, metadata->digest.count);
    for (size_t i = 0; i < metadata->digest.count; i++) {
        assert_true(is_text(files, metadata->digest.files[i].path, metadata->digest.files[i].hash));
    }
}

static void check_git(const kernels_node *want, const kernels_git_status *git) {
    assert_int_equal(kernels_node_is(want, KERNELS_NODE_OBJECT), git->commit != NULL);
    assert_true(is_text(want, "commit", git->commit));
    assert_int_equal(vector_true(want, "dirty"), git->dirty);
}

static void check_provenance(const kernels_node *want, const kernels_provenance *provenance) {
    assert_true(is_text(want, "builder_version", provenance->builder_version));
    check_git(kernels_node_find(want, "builder_git"), &provenance->builder);
    check_git(kernels_node_find(want, "kernel"), &provenance->kernel);
}

static void check_fields(const kernels_node *ok, const kernels_metadata *metadata) {
    char minver[KERNELS_VERSION_TEXT_SIZE];
    kernels_version_print(&metadata->minver, minver);
    assert_true(is_text(ok, "name", metadata->name));
    assert_true(is_text(ok, "id", metadata->id));
    assert_int_equal(kernels_node_find(ok, "version")->as.unsigned_value, metadata->version);
    assert_true(is_text(ok, "kernels_minver", metadata->minver.count ? minver : NULL));
    assert_true(is_text(ok, "license", metadata->license));
    check_url(ok, "upstream", metadata->upstream);
    check_url(ok, "source", metadata->source);
    check_texts(kernels_node_find(ok, "python_depends"), metadata->python_depends, true);
    check_depends(kernels_node_find(ok, "kernel_depends"), metadata);
    assert_true(is_text(ok, "backend_type", kernels_backend_name(metadata->backend)));
    check_texts(kernels_node_find(ok, "archs"), metadata->archs, metadata->has_archs);
    check_digest(kernels_node_find(ok, "digest"), metadata);
    check_provenance(kernels_node_find(ok, "provenance"), &metadata->provenance);
}

static void check_release_case(const kernels_node *row) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    kernels_view text = kernels_node_find(row, "json")->as.text;
    const kernels_node *ok = kernels_node_find(row, "ok");
    kernels_status status = kernels_metadata_parse(text, "metadata", &metadata, &error);
    if ((status == KERNELS_OK) != (ok != NULL)) {
        fail_msg("%.*s: %s", KERNELS_VIEW_ARGS(text), kernels_error_message(&error));
    }
    if (ok) {
        check_fields(ok, &metadata);
    }
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

/* A NUL inside a string is the one thing that the release reads and we refuse. */
static void check_raw_case(kernels_document *document, const kernels_node *row) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    kernels_buffer bytes = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    const char *name = vector_text(document, row, "name");
    bool want = kernels_node_find(row, "ok") && strcmp(name, "nul escape in id") != 0;
    assert_true(kernels_decode_base64(&bytes, kernels_node_find(row, "input_b64")->as.text));
    kernels_status status = kernels_metadata_parse(kernels_buffer_view(&bytes), "metadata", &metadata, &error);
    if ((status == KERNELS_OK) != want) {
        fail_msg("%s: %s", name, kernels_error_message(&error));
    }
    kernels_buffer_dispose(&bytes);
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

static void test_release(void **state) {
    (void)state;
    kernels_document document = vector_read("release17/metadata.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    const kernels_node *raw = kernels_node_find(document.root, "raw");
    EACH(row, cases) { check_release_case(row); }
    EACH(row, raw) { check_raw_case(&document, row); }
    print_message("metadata of the release: %zu cases\n", cases->count + raw->count);
    kernels_document_dispose(&document);
}

/* ---- data/metadata_from_build.json ---- */

static kernels_build read_build(const char *name) {
    char path[256];
    char *data = NULL, *warning = NULL;
    size_t size = 0;
    kernels_build build = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    (void)snprintf(path, sizeof path, "data/build_toml/%s.toml", name);
    assert_ok(kernels_file_read(test_data(path), KERNELS_BUILD_SIZE_LIMIT, &data, &size, &error), error);
    assert_ok(kernels_build_parse((kernels_view){data, size}, path, &build, &warning, &error), error);
    kernels_free(data);
    kernels_string_free(warning);
    return build;
}

static void check_build_case(kernels_document *document, const kernels_node *row) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    kernels_backend backend = KERNELS_BACKEND_CPU;
    const char *name = vector_text(document, row, "case");
    if (strcmp(name, "v5-tpu-python-depends-any") == 0 && is_text(row, "backend", "tpu")) {
        return; /* the release knows no names for TPU, ours does: test_tpu_depends */
    }
    const kernels_node *want = kernels_node_find(row, "want");
    want = want ? want : kernels_node_find(row, "release_0_17_2");
    kernels_build build = read_build(name);
    assert_ok(kernels_backend_parse(kernels_node_find(row, "backend")->as.text, &backend, &error), error);
    kernels_status status =
        kernels_build_metadata(&build, backend, vector_text(document, row, "unique_id"), NULL, &metadata, &error);
    kernels_build_dispose(&build);
    if ((status == KERNELS_OK) != (want != NULL)) {
        fail_msg("%s on %s: %s", name, kernels_backend_name(backend), kernels_error_message(&error));
    }
    if (want) {
        check_print(&metadata, want->as.text);
    } else {
        assert_int_equal(status, KERNELS_SCHEMA);
        assert_contains(kernels_error_message(&error), "unknown dependency `");
    }
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

static void test_from_build(void **state) {
    (void)state;
    kernels_document document = vector_read("data/metadata_from_build.json");
    EACH(row, document.root) { check_build_case(&document, row); }
    print_message("metadata from build.toml: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

#define BUILD(tpu_depends)                                                                                 \
    "[general]\nname = \"my-kernel\"\nversion = 2\nedition = 5\nlicense = \"MIT\"\nbackends = [\"cpu\"]\n" \
    "[general.tpu]\npython-depends = [" tpu_depends "]\n[torch-noarch]\ncuda_capabilities = [\"9.0\"]\n"

static kernels_status make(const char *toml, kernels_backend backend, const kernels_provenance *provenance,
                           kernels_metadata *metadata, kernels_error *error) {
    kernels_build build = {0};
    kernels_status status = kernels_build_parse(kernels_view_of(toml), "build.toml", &build, NULL, error);
    if (status == KERNELS_OK) {
        status = kernels_build_metadata(&build, backend, "abc", provenance, metadata, error);
    }
    kernels_build_dispose(&build);
    return status;
}

static void test_tpu_depends(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    assert_int_equal(make(BUILD("\"jaxx\""), KERNELS_BACKEND_TPU, NULL, &metadata, &error), KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&error), "general.tpu");
    assert_contains(kernels_error_message(&error), "`jaxx`");
    assert_ok(make(BUILD("\"jax\", \"torch-tpu\""), KERNELS_BACKEND_TPU, NULL, &metadata, &error), error);
    assert_int_equal(metadata.python_depends.count, 2);
    assert_string_equal(metadata.python_depends.items[0], "jax");
    assert_false(metadata.has_archs);
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

static void test_provenance(void **state) {
    (void)state;
    const kernels_provenance provenance = {
        .builder_version = "0.1.0",
        .builder = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
        .kernel = {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", true},
    };
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    assert_ok(make(BUILD(""), KERNELS_BACKEND_CUDA, &provenance, &metadata, &error), error);
    check_print(&metadata, KERNELS_VIEW("{\n  \"name\": \"my-kernel\",\n  \"id\": \"_my_kernel_cuda_abc\",\n"
                                        "  \"version\": 2,\n  \"kernels-minver\": \"0.14.0\",\n"
                                        "  \"license\": \"MIT\",\n  \"python-depends\": [],\n"
                                        "  \"kernel-depends\": [],\n  \"backend\": {\n    \"type\": \"cuda\",\n"
                                        "    \"archs\": [\n      \"9.0\"\n    ]\n  },\n  \"provenance\": {\n"
                                        "    \"kernel-builder\": {\n      \"version\": \"0.1.0\",\n"
                                        "      \"commit\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\n"
                                        "      \"dirty\": false\n    },\n    \"kernel\": {\n"
                                        "      \"commit\": \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n"
                                        "      \"dirty\": true\n    }\n  }\n}"));
    kernels_metadata_dispose(&metadata);
    kernels_error_dispose(&error);
}

/* ---- changes ---- */

static void test_set_archs(void **state) {
    (void)state;
    static const char *const texts[] = {"9.0", "", "10.0", "9.0"};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    assert_ok(make(BUILD(""), KERNELS_BACKEND_ROCM, NULL, &metadata, &error), error);
    assert_ok(kernels_metadata_set_archs(&metadata, (kernels_strings){texts, 4}, &error), error);
    assert_true(metadata.has_archs);
    assert_int_equal(metadata.archs.count, 2);
    assert_string_equal(metadata.archs.items[0], "10.0");
    assert_string_equal(metadata.archs.items[1], "9.0");
    assert_ok(kernels_metadata_set_archs(&metadata, (kernels_strings){NULL, 0}, &error), error);
    assert_int_equal(metadata.archs.count, 0);
    kernels_metadata_dispose(&metadata);
}

static void test_set_digest(void **state) {
    (void)state;
    const kernels_file_digest files[] = {{"a.py", "AAAA"}, {"b.py", "BBBB"}};
    const kernels_variant_digest digest = {KERNELS_DIGEST_SHA256, files, 2, NULL};
    const kernels_variant_digest empty = {KERNELS_DIGEST_SHA512, NULL, 0, NULL};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    char *text = NULL;
    assert_ok(make(BUILD(""), KERNELS_BACKEND_TPU, NULL, &metadata, &error), error);
    assert_ok(kernels_metadata_set_digest(&metadata, &digest, &error), error);
    assert_ok(kernels_metadata_print(&metadata, &text, &error), error);
    assert_contains(text, "\"digest\": {\n    \"algorithm\": \"sha256\",\n    \"files\": {\n      \"a.py\": \"AAAA\"");
    kernels_string_free(text);
    assert_ok(kernels_metadata_set_digest(&metadata, &empty, &error), error);
    assert_ok(kernels_metadata_print(&metadata, &text, &error), error);
    assert_contains(text, "\"algorithm\": \"sha512\",\n    \"files\": {}");
    kernels_string_free(text);
    kernels_metadata_dispose(&metadata);
}

/* ---- messages and files ---- */

static void test_messages(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    const char *text = "{\n \"name\": \"ab\", \"id\": \"x\", \"version\": 1, \"license\": \"\",\n"
                       " \"python-depends\": [], \"backend\": {\"type\": \"GPU\"}}";
    assert_int_equal(kernels_metadata_parse(kernels_view_of(text), "m.json", &metadata, &error), KERNELS_SCHEMA);
    assert_string_equal(kernels_error_message(&error), "m.json:3:36: backend.type: expected one of cann, cpu, cuda, "
                                                       "metal, neuron, rocm, tpu, xpu, found `GPU`");
    kernels_error_dispose(&error);
}

static void test_read(void **state) {
    (void)state;
    char *folder = NULL, path[512];
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_metadata metadata = {0};
    assert_ok(kernels_make_temporary_directory(NULL, "metadata-test-", &folder, &error), error);
    (void)snprintf(path, sizeof path, "%s/metadata.json", folder);
    assert_int_equal(kernels_metadata_read(path, &metadata, &error), KERNELS_FILE_NOT_FOUND);
    assert_string_equal(error.subject, path);
    assert_int_equal(kernels_metadata_read(folder, &metadata, &error) == KERNELS_OK, false);
    assert_ok(kernels_file_write(path, KERNELS_VIEW("{\"name\": 1}"), 0, &error), error);
    assert_int_equal(kernels_metadata_read(path, &metadata, &error), KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&error), path);
    assert_string_equal(error.subject, path);
    assert_ok(kernels_remove_tree(folder, &error), error);
    kernels_free(folder);
    kernels_error_dispose(&error);
}

/* ---- memory ---- */

static kernels_status parse_and_print(void *payload, kernels_error *error) {
    const kernels_view *text = payload;
    kernels_metadata metadata = {0};
    char *printed = NULL;
    kernels_status status = kernels_metadata_parse(*text, "metadata", &metadata, error);
    if (status == KERNELS_OK) {
        status = kernels_metadata_print(&metadata, &printed, error);
    }
    kernels_string_free(printed);
    kernels_metadata_dispose(&metadata);
    return status;
}

static kernels_status make_and_change(void *payload, kernels_error *error) {
    const kernels_build *build = payload;
    const kernels_provenance provenance = {.builder_version = "1"};
    const kernels_file_digest file = {"a.py", "AAAA"};
    const kernels_variant_digest digest = {KERNELS_DIGEST_SHA256, &file, 1, NULL};
    kernels_metadata metadata = {0};
    kernels_status status = kernels_build_metadata(build, KERNELS_BACKEND_CUDA, "abc", &provenance, &metadata, error);
    if (status == KERNELS_OK) {
        status = kernels_metadata_set_digest(&metadata, &digest, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_metadata_set_archs(&metadata, metadata.python_depends, error);
    }
    kernels_metadata_dispose(&metadata);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    kernels_document document = vector_read("data/metadata_parse.json");
    EACH(row, document.root) {
        const char *id = vector_text(&document, row, "id");
        if (strcmp(id, "full") == 0) {
            kernels_view text = kernels_node_find(row, "in")->as.text;
            print_message("parsing: %lu allocations failed in turn\n", torture(parse_and_print, &text));
        }
    }
    kernels_document_dispose(&document);
    kernels_build build = read_build("v5-full-general");
    print_message("making: %lu allocations failed in turn\n", torture(make_and_change, &build));
    kernels_build_dispose(&build);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),       cmocka_unit_test(test_release),    cmocka_unit_test(test_from_build),
        cmocka_unit_test(test_tpu_depends), cmocka_unit_test(test_provenance), cmocka_unit_test(test_set_archs),
        cmocka_unit_test(test_set_digest),  cmocka_unit_test(test_messages),   cmocka_unit_test(test_read),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
