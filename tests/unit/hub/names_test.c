/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses: loader/cache_paths.json; URLs. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "hub/cache.h"
#include "hub/headers.h"
#include "hub/repo_url.h"
#include "hub/url.h"
#include "vector.h"

static void test_folder_names(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    const kernels_node *cases = kernels_node_find(document.root, "repo_id");
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        kernels_view id = kernels_node_text(kernels_node_find(c, "repo_id"));
        bool valid = vector_true(c, "valid");
        assert_int_equal(kernels_repository_id_check(id, NULL) == KERNELS_OK, valid);
        if (!valid) {
            continue;
        }
        const kernels_node *folder = kernels_node_find(c, "folder");
        const char *text = vector_text(&document, c, "repo_id");
        char *kernel = kernels_cache_folder_name(KERNELS_REPOSITORY_KERNEL, text);
        char *model = kernels_cache_folder_name(KERNELS_REPOSITORY_MODEL, text);
        assert_string_equal(kernel, vector_text(&document, folder, "kernel"));
        assert_string_equal(model, vector_text(&document, folder, "model"));
        kernels_free(kernel);
        kernels_free(model);
    }
    kernels_document_dispose(&document);
}

/* Stricter than the peer: it takes these, we do not. */
static bool only_peer_takes(const char *name) {
    static const char *const names[] = {"a\\b", "./a", "a//b", "a/./b", "a/", ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void test_file_names(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    const kernels_node *cases = kernels_node_find(document.root, "filename");
    for (size_t i = 0; i < cases->count; i++) {
        const char *name = vector_text(&document, cases->as.items[i], "filename");
        bool expected = vector_true(cases->as.items[i], "valid") && !only_peer_takes(name);
        assert_int_equal(kernels_repo_path_unsafe_reason(kernels_view_of(name)) == NULL, expected);
    }
    assert_non_null(kernels_repo_path_unsafe_reason((kernels_view){"a\0b", 3}));
    assert_non_null(kernels_repo_path_unsafe_reason(KERNELS_VIEW("a\nb")));
    char deep[130]; /* 65 components: "a/a/.../a" */
    for (size_t i = 0; i < sizeof(deep) - 1; i++) {
        deep[i] = i % 2 ? '/' : 'a';
    }
    deep[sizeof(deep) - 1] = '\0';
    assert_non_null(kernels_repo_path_unsafe_reason(kernels_view_of(deep)));
    assert_null(kernels_repo_path_unsafe_reason(kernels_view_of(deep + 2)));
    kernels_document_dispose(&document);
}

static void test_etags(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    const kernels_node *cases = kernels_node_find(document.root, "etag");
    for (size_t i = 0; i < cases->count; i++) {
        const char *header = vector_text(&document, cases->as.items[i], "header");
        const char *expected = vector_text(&document, cases->as.items[i], "etag");
        kernels_view got = kernels_etag_normalise(kernels_view_of(header));
        assert_true(kernels_view_equal_text(got, expected ? expected : ""));
    }
    kernels_document_dispose(&document);
}

static void test_file_urls(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    const kernels_node *cases = kernels_node_find(document.root, "resolve_url");
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        const char *type = vector_text(&document, c, "repo_type");
        const char *revision = vector_text(&document, c, "revision");
        if (type && strcmp(type, "dataset") == 0) {
            continue; /* not a type of ours */
        }
        char *url = kernels_repo_file_url(
            "{ENDPOINT}", type && strcmp(type, "kernel") == 0 ? KERNELS_REPOSITORY_KERNEL : KERNELS_REPOSITORY_MODEL,
            vector_text(&document, c, "repo_id"), revision ? revision : "main", vector_text(&document, c, "filename"));
        assert_string_equal(url, vector_text(&document, c, "url"));
        kernels_free(url);
    }
    kernels_document_dispose(&document);
}

static void test_api_urls(void **state) {
    (void)state;
    char *url = kernels_repo_api_url("http://h/p", KERNELS_REPOSITORY_KERNEL, "a/b", "tree", "refs/pr/1");
    assert_string_equal(url, "http://h/p/api/kernels/a/b/tree/refs%2Fpr%2F1");
    kernels_free(url);
    url = kernels_repo_api_url("http://h", KERNELS_REPOSITORY_MODEL, "a/b", NULL, NULL);
    assert_string_equal(url, "http://h/api/models/a/b");
    kernels_free(url);
    url = kernels_repo_lfs_url("http://h", KERNELS_REPOSITORY_KERNEL, "a/b");
    assert_string_equal(url, "http://h/kernels/a/b.git/info/lfs/objects/batch");
    kernels_free(url);
}

static void test_pointers(void **state) {
    (void)state;
    char *target = kernels_cache_pointer_target("build/x/y.py", "ID");
    assert_string_equal(target, "../../../../blobs/ID");
    kernels_free(target);
    target = kernels_cache_pointer_target("a", "ID");
    assert_string_equal(target, "../../blobs/ID");
    kernels_free(target);
}

static void test_token_hosts(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/cache_paths.json");
    const kernels_node *cases = kernels_node_find(document.root, "auth_forwarding");
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        assert_int_equal(kernels_repo_url_same_or_hub("https://huggingface.co", vector_text(&document, c, "from"),
                                                      vector_text(&document, c, "to")),
                         vector_true(c, "same_or_hub"));
    }
    kernels_document_dispose(&document);
    assert_true(kernels_repo_url_may_have_token("http://127.0.0.1:8000/hub", "http://127.0.0.1:8000/x"));
    assert_false(kernels_repo_url_may_have_token("http://127.0.0.1:8000", "http://127.0.0.1:8001/x"));
    assert_false(kernels_repo_url_may_have_token("https://hub.example", "http://hub.example/x"));
    assert_false(kernels_repo_url_may_have_token("https://hub.example", "https://hub.example@evil.example/x"));
    assert_false(kernels_repo_url_may_have_token("https://hub.example", "https://hub.example.evil.example/x"));
}

static void test_revisions(void **state) {
    (void)state;
    static const char *const good[] = {"main", "v1", "refs/pr/1", "feature/x", "a b"};
    static const char *const bad[] = {"", "..", "a/../b", "a..b", "/a", "a\nb", "a//b", "."};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(kernels_revision_check(good[i], NULL), KERNELS_OK);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(kernels_revision_check(bad[i], NULL), KERNELS_UNSAFE_NAME);
    }
    assert_true(kernels_object_name_is_valid(KERNELS_VIEW("0123456789abcdef0123456789abcdef01234567")));
    assert_false(kernels_object_name_is_valid(KERNELS_VIEW("0123456789ABCDEF0123456789abcdef01234567")));
    assert_false(kernels_object_name_is_valid(KERNELS_VIEW("0123456789abcdef")));
}

static void test_url_parts(void **state) {
    (void)state;
    kernels_url url;
    assert_int_equal(kernels_url_parse(KERNELS_VIEW("HTTPS://Host.x:8443/a/b?c=d#e"), &url, NULL), KERNELS_OK);
    assert_true(url.secure);
    assert_int_equal(url.port, 8443);
    assert_true(kernels_view_equal_text(url.host, "Host.x"));
    assert_true(kernels_view_equal_text(url.path, "/a/b"));
    assert_true(kernels_view_equal_text(url.query, "c=d"));
    assert_int_equal(kernels_url_parse(KERNELS_VIEW("http://[::1]:8/"), &url, NULL), KERNELS_OK);
    assert_int_equal(url.port, 8);
    assert_int_equal(kernels_url_parse(KERNELS_VIEW("http://[::1]"), &url, NULL), KERNELS_OK);
    assert_int_equal(url.port, 80);
    static const char *const bad[] = {"",           "http:/h",       "http://h\\@e/",  "http://a@b/",   "http://h:0/",
                                      "http://h:x", "http://h /",    "http://h/\r\nX", "file:///etc",   "http://:80/",
                                      "http://[/",  "http://[x y]/", "http://h:-1/",   "http://h%00/x", "//h/x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(kernels_url_parse(kernels_view_of(bad[i]), &url, NULL), KERNELS_INVALID_ARGUMENT);
    }
}

static void test_url_references(void **state) {
    (void)state;
    static const struct {
        const char *reference, *url;
    } cases[] = {
        {"/x?y=1", "http://h:1/x?y=1"},
        {"x", "http://h:1/a/x"},
        {"?q", "http://h:1/a/b?q"},
        {"//o/x", "http://o/x"},
        {"https://o:2/x#frag", "https://o:2/x"},
        {"  /x  ", "http://h:1/x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *url = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_ok(kernels_url_resolve("http://h:1/a/b?c", kernels_view_of(cases[i].reference), &url, &error), error);
        assert_string_equal(url, cases[i].url);
        kernels_free(url);
    }
    char *url = NULL;
    assert_int_equal(kernels_url_resolve("http://h", KERNELS_VIEW("file:///x"), &url, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_url_resolve("http://h", KERNELS_VIEW("//a@b/"), &url, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_url_resolve("http://h", KERNELS_VIEW("#x"), &url, NULL), KERNELS_HTTP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_names),   cmocka_unit_test(test_file_names), cmocka_unit_test(test_etags),
        cmocka_unit_test(test_file_urls),      cmocka_unit_test(test_api_urls),   cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_token_hosts),    cmocka_unit_test(test_revisions),  cmocka_unit_test(test_url_parts),
        cmocka_unit_test(test_url_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
