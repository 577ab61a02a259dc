/* SPDX-License-Identifier: Apache-2.0 */
/* Backends, names, ids, versions, variant names, git URLs, dependencies. */
#include "support/test_support.h"
#include "vector.h"

#include "kernels/data.h"

static kernels_view input_of(const kernels_node *row, const char *key) {
    const kernels_node *node = kernels_node_find(row, key);
    assert_true(kernels_node_is(node, KERNELS_NODE_STRING));
    return node->as.text;
}

static bool is_text(const kernels_node *row, const char *key, const char *text) {
    const kernels_node *node = kernels_node_find(row, key);
    return kernels_node_is(node, KERNELS_NODE_STRING) && kernels_view_equal_text(node->as.text, text);
}

static const kernels_node *list_of(const kernels_document *document, const char *key) {
    const kernels_node *list = key ? kernels_node_find(document->root, key) : document->root;
    assert_true(kernels_node_is(list, KERNELS_NODE_ARRAY));
    assert_true(list->count > 0);
    return list;
}

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

static void report(const char *name, size_t count) { print_message("%s: %zu cases\n", name, count); }

/* ---- backends ---- */

static void check_backend_row(const kernels_node *row, const char *in_key, const char *want_key, bool attribute) {
    kernels_view text = input_of(row, in_key);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_backend backend = KERNELS_BACKEND_CPU;
    kernels_status status = kernels_backend_parse_any_case(text, &backend, &error);
    const kernels_node *want = kernels_node_find(row, want_key);
    if (kernels_node_is(want, KERNELS_NODE_STRING)) {
        char name[64];
        (void)snprintf(name, sizeof name, attribute ? "Backend.%s" : "%s",
                       attribute ? kernels_backend_attribute(backend) : kernels_backend_name(backend));
        assert_int_equal(status, KERNELS_OK);
        assert_true(kernels_view_equal_text(want->as.text, name));
    } else {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        assert_contains(kernels_error_message(&error), "expected one of cann, cpu");
    }
    kernels_error_dispose(&error);
}

static void test_backends(void **state) {
    (void)state;
    kernels_document a = vector_read("data/backend_from_str.json");
    kernels_document b = vector_read("release17/backend.json");
    EACH(row, list_of(&a, "cases")) { check_backend_row(row, "in", "backend", false); }
    EACH(row, list_of(&b, "cases")) { check_backend_row(row, "input", "ok", true); }
    EACH(row, list_of(&a, "order")) {
        assert_true(kernels_view_equal_text(row->as.text, kernels_backend_name((kernels_backend)i)));
    }
    report("backends", list_of(&a, "cases")->count + list_of(&b, "cases")->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&b);
    kernels_backend backend = KERNELS_BACKEND_CPU;
    assert_int_equal(kernels_backend_parse(KERNELS_VIEW("CUDA"), &backend, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(backend, KERNELS_BACKEND_CPU);
    assert_string_equal(kernels_backend_noarch_variant(KERNELS_BACKEND_CANN), "torch-npu");
    assert_string_equal(kernels_backend_noarch_variant(KERNELS_BACKEND_TPU), "torch-tpu");
}

/* ---- names ---- */

static void check_python_name(kernels_view name, const kernels_node *want) {
    char *python = kernels_name_to_python(name);
    assert_non_null(python);
    assert_true(kernels_view_equal_text(want->as.text, python));
    kernels_string_free(python);
}

static void test_names(void **state) {
    (void)state;
    kernels_document a = vector_read("data/names.json");
    kernels_document b = vector_read("release17/kernel_name.json");
    EACH(row, list_of(&a, NULL)) {
        bool valid = kernels_name_is_valid(input_of(row, "in"));
        assert_int_equal(valid, vector_true(row, "valid"));
        if (valid) {
            check_python_name(input_of(row, "in"), kernels_node_find(row, "python_name"));
        }
    }
    EACH(row, list_of(&b, "cases")) {
        const kernels_node *ok = kernels_node_find(row, "ok");
        assert_int_equal(kernels_name_is_valid(input_of(row, "input")), ok != NULL);
        if (ok) {
            check_python_name(input_of(row, "input"), kernels_node_find(ok, "python_name"));
        }
    }
    report("kernel names", a.root->count + list_of(&b, "cases")->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&b);
}

static void test_repository_ids(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    EACH(row, list_of(&document, "repo_id")) {
        kernels_status status = kernels_repository_id_check(input_of(row, "repo_id"), NULL);
        if ((status == KERNELS_OK) != vector_true(row, "valid")) {
            fail_msg("wrong verdict on %.*s", KERNELS_VIEW_ARGS(input_of(row, "repo_id")));
        }
    }
    report("repository ids", list_of(&document, "repo_id")->count);
    kernels_document_dispose(&document);
}

static void check_object_id(kernels_view text, const kernels_node *want) {
    char *id = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_object_id_parse(text, &id, &error);
    assert_int_equal(status == KERNELS_OK, kernels_node_is(want, KERNELS_NODE_STRING));
    assert_int_equal(kernels_object_id_is_valid(text), status == KERNELS_OK);
    if (status == KERNELS_OK) {
        assert_true(kernels_view_equal_text(want->as.text, id));
    } else {
        assert_contains(kernels_error_message(&error), "Invalid git object id");
    }
    kernels_string_free(id);
    kernels_error_dispose(&error);
}

static void test_object_ids(void **state) {
    (void)state;
    kernels_document a = vector_read("data/oids.json");
    kernels_document b = vector_read("release17/oid.json");
    EACH(row, list_of(&a, NULL)) { check_object_id(input_of(row, "in"), kernels_node_find(row, "oid")); }
    EACH(row, list_of(&b, "cases")) { check_object_id(input_of(row, "input"), kernels_node_find(row, "ok")); }
    report("object ids", a.root->count + list_of(&b, "cases")->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&b);
}

static void test_unique_ids(void **state) {
    (void)state;
    char *id = kernels_kernel_id(KERNELS_VIEW("soft-max"), KERNELS_BACKEND_TPU, "1f2e3d4");
    assert_string_equal(id, "_soft_max_tpu_1f2e3d4");
    kernels_string_free(id);
    char a[KERNELS_UNIQUE_ID_SIZE], b[KERNELS_UNIQUE_ID_SIZE];
    assert_int_equal(kernels_unique_id_random(a, NULL), KERNELS_OK);
    assert_int_equal(kernels_unique_id_random(b, NULL), KERNELS_OK);
    assert_int_equal(strlen(a), 13);
    assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 13);
    assert_string_not_equal(a, b);
}

/* ---- versions ---- */

static void check_version(kernels_view text, const kernels_node *want) {
    kernels_version version = {0};
    char printed[KERNELS_VERSION_TEXT_SIZE];
    kernels_status status = kernels_version_parse(text, &version, NULL);
    if (!want) {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        return;
    }
    assert_int_equal(status, KERNELS_OK);
    kernels_version_print(&version, printed);
    assert_true(kernels_view_equal_text(want->as.text, printed));
}

static int compare_versions(kernels_view a, kernels_view b) {
    kernels_version left, right;
    assert_int_equal(kernels_version_parse(a, &left, NULL), KERNELS_OK);
    assert_int_equal(kernels_version_parse(b, &right, NULL), KERNELS_OK);
    assert_int_equal(kernels_version_compare(&left, &right), -kernels_version_compare(&right, &left));
    return kernels_version_compare(&left, &right);
}

/* rows of two texts and how they compare */
static void check_version_order(const kernels_node *rows) {
    EACH(row, rows) {
        const kernels_node *want = kernels_node_find(row, "cmp");
        int sign = want->type == KERNELS_NODE_NEGATIVE ? -1 : (int)want->as.unsigned_value;
        assert_int_equal(compare_versions(input_of(row, "a"), input_of(row, "b")), sign);
    }
}

static void test_versions(void **state) {
    (void)state;
    kernels_document a = vector_read("data/versions.json");
    kernels_document b = vector_read("release17/version.json");
    kernels_document c = vector_read("abi/versions.json");
    EACH(row, list_of(&a, "parse")) { check_version(input_of(row, "in"), kernels_node_find(row, "str")); }
    EACH(row, list_of(&b, "cases")) {
        check_version(input_of(row, "input"), kernels_node_find(kernels_node_find(row, "ok"), "str"));
    }
    check_version_order(list_of(&a, "compare"));
    check_version_order(list_of(&c, "order"));
    EACH(row, list_of(&b, "compare")) {
        int sign = compare_versions(input_of(row, "a"), input_of(row, "b"));
        assert_int_equal(sign == 0, vector_true(row, "eq"));
        assert_int_equal(sign < 0, vector_true(row, "lt"));
        assert_int_equal(sign > 0, vector_true(row, "gt"));
    }
    report("versions", list_of(&a, "parse")->count + list_of(&b, "cases")->count + list_of(&a, "compare")->count +
                           list_of(&b, "compare")->count + list_of(&c, "order")->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&c);
    kernels_document_dispose(&b);
    kernels_version version;
    assert_int_equal(kernels_version_parse(KERNELS_VIEW("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17"), &version, NULL),
                     KERNELS_LIMIT);
}

/* ---- variant names ---- */

static const char *const framework_names[] = {"torch", "torch-stable-abi", "tvm-ffi", "torch"};

static void check_framework(const kernels_node *want, const kernels_variant *variant) {
    char version[64];
    assert_true(is_text(want, "framework", framework_names[variant->framework]));
    if (kernels_node_find(want, "framework_version")) {
        (void)snprintf(version, sizeof version, "%llu.%llu", (unsigned long long)variant->framework_major,
                       (unsigned long long)variant->framework_minor);
        assert_true(is_text(want, "framework_version", version));
    }
    const kernels_node *abi = kernels_node_find(want, "cxx11_abi");
    kernels_cxx11_abi wanted = !kernels_node_is(abi, KERNELS_NODE_BOOLEAN) ? KERNELS_CXX11_ABI_NONE
                               : abi->as.boolean                           ? KERNELS_CXX11_ABI_NEW
                                                                           : KERNELS_CXX11_ABI_OLD;
    assert_int_equal(variant->cxx11_abi, wanted);
}

static void check_round_trip(kernels_view name, const kernels_variant *variant, bool round_trips) {
    char printed[KERNELS_VARIANT_NAME_MAX + 1];
    kernels_variant again;
    kernels_variant_print(variant, printed);
    assert_true(kernels_view_equal_text(name, variant->name));
    assert_int_equal(kernels_view_equal_text(name, printed), round_trips);
    assert_int_equal(kernels_variant_parse(kernels_view_of(printed), &again, NULL), KERNELS_OK);
    assert_true(kernels_variant_equal(variant, &again));
}

/* Rows of loader/variant_parse.json. */
static void check_loader_variant(const kernels_node *row) {
    kernels_variant variant;
    kernels_view name = input_of(row, "input");
    kernels_status status = kernels_variant_parse(name, &variant, NULL);
    const kernels_node *ok = kernels_node_find(row, "ok");
    if (!ok) {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        return;
    }
    assert_int_equal(status, KERNELS_OK);
    char printed[KERNELS_VARIANT_NAME_MAX + 1], backend[64];
    kernels_variant_print(&variant, printed);
    kernels_variant_print_backend(&variant, backend);
    assert_true(is_text(ok, "variant_str", printed));
    check_framework(ok, &variant);
    check_round_trip(name, &variant, vector_true(row, "roundtrip"));
    if (is_text(ok, "kind", "noarch")) {
        assert_int_equal(variant.framework, KERNELS_FRAMEWORK_TORCH_NOARCH);
        assert_true(is_text(ok, "backend_name", variant.noarch_name));
    } else {
        assert_true(is_text(ok, "backend", backend));
        assert_true(is_text(ok, "backend_name", kernels_backend_name(variant.backend)));
        assert_true(is_text(ok, "cpu", variant.cpu));
        assert_true(is_text(ok, "os", variant.os));
    }
}

/* Rows of data/variants.json. */
static void check_data_variant(const kernels_node *row) {
    kernels_variant variant;
    kernels_view name = input_of(row, "in");
    kernels_status status = kernels_variant_parse(name, &variant, NULL);
    if (kernels_node_find(row, "error") || kernels_node_find(row, "want")) {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        return;
    }
    assert_int_equal(status, KERNELS_OK);
    char printed[KERNELS_VARIANT_NAME_MAX + 1], version[64];
    kernels_variant_print(&variant, printed);
    assert_true(is_text(row, "printed", printed));
    check_framework(row, &variant);
    check_round_trip(name, &variant, vector_true(row, "round_trips"));
    if (is_text(row, "kind", "noarch")) {
        assert_true(is_text(row, "backend", variant.noarch_name));
        return;
    }
    (void)snprintf(version, sizeof version, "%llu.%llu", (unsigned long long)variant.backend_major,
                   (unsigned long long)variant.backend_minor);
    assert_true(is_text(row, "backend", kernels_backend_name(variant.backend)));
    assert_int_equal(kernels_node_find(row, "backend_version") != NULL, variant.backend_has_version);
    assert_true(!variant.backend_has_version || is_text(row, "backend_version", version));
    assert_true(is_text(row, "platform", variant.cpu));
    assert_true(is_text(row, "os", variant.os));
}

static void test_variants(void **state) {
    (void)state;
    kernels_document a = vector_read("loader/variant_parse.json");
    kernels_document b = vector_read("data/variants.json");
    EACH(row, list_of(&a, "cases")) { check_loader_variant(row); }
    EACH(row, list_of(&b, NULL)) { check_data_variant(row); }
    report("variant names", list_of(&a, "cases")->count + b.root->count);
    kernels_document_dispose(&a);
    kernels_document_dispose(&b);
}

/* Rows of loader/backend_parse.json: the backend part of a name. */
static void check_backend_part(const kernels_node *row) {
    char name[512], text[64], version[64];
    kernels_variant variant;
    const kernels_node *ok = kernels_node_find(row, "ok");
    (void)snprintf(name, sizeof name, "tvm-ffi01-%.*s-x86_64-linux", KERNELS_VIEW_ARGS(input_of(row, "input")));
    kernels_status status = kernels_variant_parse(kernels_view_of(name), &variant, NULL);
    assert_int_equal(status, ok ? KERNELS_OK : KERNELS_INVALID_ARGUMENT);
    if (!ok) {
        return;
    }
    kernels_variant_print_backend(&variant, text);
    (void)snprintf(version, sizeof version, "%llu.%llu", (unsigned long long)variant.backend_major,
                   (unsigned long long)variant.backend_minor);
    assert_true(is_text(ok, "variant_str", text));
    assert_true(is_text(ok, "name", kernels_backend_name(variant.backend)));
    assert_int_equal(kernels_node_is(kernels_node_find(ok, "version"), KERNELS_NODE_STRING),
                     variant.backend_has_version);
    assert_true(!variant.backend_has_version || is_text(ok, "version", version));
}

static void test_backend_parts(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/backend_parse.json");
    EACH(row, list_of(&document, "cases")) { check_backend_part(row); }
    report("backend parts", list_of(&document, "cases")->count);
    kernels_document_dispose(&document);
}

static void test_variant_bounds(void **state) {
    (void)state;
    char name[300];
    kernels_variant variant;
    memset(name, 'x', sizeof name);
    memcpy(name, "torch-", 6);
    assert_int_equal(kernels_variant_parse((kernels_view){name, 255}, &variant, NULL), KERNELS_OK);
    assert_int_equal(strlen(variant.noarch_name), 249);
    assert_int_equal(kernels_variant_parse((kernels_view){name, 256}, &variant, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_variant_parse((kernels_view){"torch-a\0b", 9}, &variant, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(
        kernels_variant_parse(KERNELS_VIEW("torch299999999999999999999999-cpu-x86_64-linux"), &variant, NULL),
        KERNELS_INVALID_ARGUMENT);
}

/* ---- git URLs ---- */

static void check_git_url(const kernels_node *row) {
    char *normal = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_view text = input_of(row, "in");
    kernels_status status = kernels_git_url_normalize(text, &normal, &error);
    assert_int_equal(kernels_git_url_check(text, NULL), status);
    if (kernels_node_find(row, "error")) {
        assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
        assert_contains(kernels_error_message(&error), "expected");
    } else if (!vector_true(row, "optional")) {
        assert_ok(status, error);
    }
    /* Without IDNA a foreign host keeps its letters. */
    bool ascii_host = !kernels_view_contains(text, KERNELS_VIEW("\xc3\xbc"));
    if (status == KERNELS_OK && ascii_host && !is_text(row, "url", normal)) {
        fail_msg("%.*s became %s", KERNELS_VIEW_ARGS(text), normal);
    }
    kernels_string_free(normal);
    kernels_error_dispose(&error);
}

static void test_git_urls(void **state) {
    (void)state;
    kernels_document document = vector_read("data/git_urls.json");
    EACH(row, list_of(&document, NULL)) { check_git_url(row); }
    report("git URLs", document.root->count);
    kernels_document_dispose(&document);
}

static void test_git_url_messages(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_git_url_check(KERNELS_VIEW("FTP://h/x"), &error), KERNELS_INVALID_ARGUMENT);
    assert_contains(kernels_error_message(&error), "unsupported scheme `FTP`");
    assert_contains(kernels_error_message(&error), "git+http");
    assert_int_equal(kernels_git_url_check(KERNELS_VIEW("a b"), &error), KERNELS_INVALID_ARGUMENT);
    assert_contains(kernels_error_message(&error), "`a b`");
    kernels_error_dispose(&error);
}

/* ---- dependencies ---- */

static void test_dependency_order(void **state) {
    (void)state;
    static const kernels_dependency sorted[] = {
        {"B/b", NULL, 1}, {"a/a", NULL, 9}, {"a/a", NULL, 10}, {"a/a", "10", 0}, {"a/a", "9", 0}, {"b/b", NULL, 1},
    };
    const size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = kernels_dependency_compare(&sorted[i], &sorted[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void test_python_dependencies(void **state) {
    (void)state;
    const kernels_python_dependency *found = kernels_python_dependency_general(KERNELS_VIEW("tvm-ffi"));
    assert_non_null(found);
    assert_string_equal(found->packages[0].package, "apache-tvm-ffi");
    assert_string_equal(found->packages[0].import, "tvm_ffi");
    found = kernels_python_dependency_backend(KERNELS_VIEW("onednn"), KERNELS_BACKEND_XPU);
    assert_non_null(found);
    assert_null(found->packages[0].import);
    assert_non_null(kernels_python_dependency_backend(KERNELS_VIEW("jax"), KERNELS_BACKEND_TPU));
    assert_non_null(kernels_python_dependency_backend(KERNELS_VIEW("torch-tpu"), KERNELS_BACKEND_TPU));
    assert_null(kernels_python_dependency_backend(KERNELS_VIEW("jax"), KERNELS_BACKEND_CUDA));
    assert_null(kernels_python_dependency_backend(KERNELS_VIEW("einops"), KERNELS_BACKEND_CANN));
    assert_null(kernels_python_dependency_general(KERNELS_VIEW("nki")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_repository_ids),
        cmocka_unit_test(test_object_ids),
        cmocka_unit_test(test_unique_ids),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_backend_parts),
        cmocka_unit_test(test_variant_bounds),
        cmocka_unit_test(test_git_urls),
        cmocka_unit_test(test_git_url_messages),
        cmocka_unit_test(test_dependency_order),
        cmocka_unit_test(test_python_dependencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
