/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables and the token look-up, after loader/environment.json and loader/token_lookup.json. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/file.h"
#include "hub/config.h"
#include "hub/token.h"
#include "vector.h"

#define HOME "/home/u"

typedef struct fake_environment {
    kernels_document *document;
    const kernels_node *variables;
    const char *home;
} fake_environment;

/* The variable's value with "{HOME}" replaced. */
static const char *fake_get(void *payload, const char *name) {
    const fake_environment *env = payload;
    if (strcmp(name, "HOME") == 0) {
        return env->home;
    }
    const kernels_node *found = kernels_node_find(env->variables, name);
    if (!kernels_node_is(found, KERNELS_NODE_STRING)) {
        return NULL;
    }
    kernels_view text = found->as.text;
    kernels_view mark = KERNELS_VIEW("{HOME}");
    return kernels_view_starts_with(text, mark)
               ? kernels_arena_printf(env->document->arena, "%s%.*s", env->home,
                                      KERNELS_VIEW_ARGS(kernels_view_slice(text, mark.size, text.size)))
               : kernels_arena_copy_text(env->document->arena, text);
}

static uint64_t number(const kernels_node *node, const char *key) {
    const kernels_node *found = kernels_node_find(node, key);
    assert_true(kernels_node_is(found, KERNELS_NODE_UNSIGNED));
    return found->as.unsigned_value;
}

/* Where the vectors keep an empty value, we treat it as unset. */
static void assert_path(const char *got, const char *expected, const char *instead) {
    assert_string_equal(got, expected[0] ? expected : instead);
}

static void test_environment(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/environment.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    assert_true(cases->count >= 30);
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *c = cases->as.items[i];
        fake_environment env = {&document, kernels_node_find(c, "env"), HOME};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_hub_config config;
        assert_ok(kernels_hub_config_read(fake_get, &env, &config, &error), error);
        assert_path(config.home, vector_text(&document, c, "HF_HOME"), HOME "/.cache/huggingface");
        assert_path(config.hub_cache, vector_text(&document, c, "HF_HUB_CACHE"), HOME "/.cache/huggingface/hub");
        assert_path(config.endpoint, vector_text(&document, c, "ENDPOINT"), "https://huggingface.co");
        assert_string_equal(config.cache, config.hub_cache);
        assert_int_equal(config.offline, vector_true(c, "OFFLINE"));
        assert_int_equal(config.no_telemetry, vector_true(c, "NO_TELEMETRY"));
        assert_int_equal(config.no_symlinks, vector_true(c, "NO_SYMLINKS"));
        assert_int_equal(config.metadata_timeout, number(c, "ETAG_TIMEOUT"));
        assert_int_equal(config.download_timeout, number(c, "DOWNLOAD_TIMEOUT"));
        kernels_hub_config_dispose(&config);
    }
    kernels_document_dispose(&document);
}

typedef struct pair {
    const char *name, *value;
} pair;

static const char *pair_get(void *payload, const char *name) {
    for (const pair *p = payload; p->name; p++) {
        if (strcmp(p->name, name) == 0) {
            return p->value;
        }
    }
    return NULL;
}

static void test_kernels_cache_moves_the_cache(void **state) {
    (void)state;
    pair variables[] = {{"HOME", HOME}, {"KERNELS_CACHE", "~/k"}, {"HF_HUB_CACHE", "/c"}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_string_equal(config.cache, HOME "/k");
    assert_string_equal(config.hub_cache, "/c");
    kernels_hub_config_dispose(&config);
    variables[1].value = "";
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_string_equal(config.cache, "/c");
    kernels_hub_config_dispose(&config);
}

static void test_home_unset(void **state) {
    (void)state;
    pair variables[] = {{NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_true(config.home[0] == '/');
    kernels_hub_config_dispose(&config);
}

static void test_variables_in_paths(void **state) {
    (void)state;
    pair variables[] = {{"HOME", HOME}, {"A", "a"}, {"HF_HOME", "/x/${A}/$A$B/${/$"}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_string_equal(config.home, "/x/a/a$B/${/$");
    kernels_hub_config_dispose(&config);
}

static void test_unusable_endpoint(void **state) {
    (void)state;
    static const char *const endpoints[] = {"huggingface.co",    "ftp://host", "http://user@host", "http://host/a b",
                                            "http://host:99999", "http://",    "http://host?x=1"};
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        pair variables[] = {{"HOME", HOME}, {"HF_ENDPOINT", endpoints[i]}, {NULL, NULL}};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_hub_config config;
        assert_int_equal(kernels_hub_config_read(pair_get, variables, &config, &error), KERNELS_INVALID_ARGUMENT);
        assert_contains(kernels_error_message(&error), "HF_ENDPOINT");
        kernels_error_dispose(&error);
    }
}

static void test_proxy(void **state) {
    (void)state;
    pair variables[] = {{"HOME", HOME}, {"HTTP_PROXY", "http://p:1"}, {"", ""}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_string_equal(config.http_proxy, "http://p:1");
    kernels_hub_config_dispose(&config);
    variables[2] = (pair){"REQUEST_METHOD", "GET"}; /* a CGI program: the variable comes from a request */
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_null(config.http_proxy);
    kernels_hub_config_dispose(&config);
}

/* ---- tokens ---- */

static void write_files(kernels_document *document, const char *home, const kernels_node *files) {
    for (size_t i = 0; i < files->count; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        const kernels_member *member = &files->as.members[i];
        char *path = kernels_arena_printf(document->arena, "%s/%.*s", home, KERNELS_VIEW_ARGS(member->key));
        char *parent = kernels_path_parent(path);
        assert_ok(kernels_make_directories(parent, &error), error);
        assert_ok(kernels_file_write(path, kernels_node_text(member->value), 0600, &error), error);
        kernels_free(parent);
    }
}

/* The token argument of the case: a rule, or an explicit text (which needs no look-up). */
static const char *read_argument(kernels_document *document, const kernels_node *c, kernels_token_rule *rule) {
    const char *argument = vector_text(document, c, "token_argument");
    *rule = strcmp(argument, "False") == 0  ? KERNELS_TOKEN_NONE
            : strcmp(argument, "True") == 0 ? KERNELS_TOKEN_REQUIRED
                                            : KERNELS_TOKEN_IF_FOUND;
    return argument[0] == '\'' ? argument : NULL;
}

static void check_token_case(kernels_document *document, const kernels_node *c, const char *home) {
    kernels_error error = KERNELS_ERROR_INIT;
    fake_environment env = {document, kernels_node_find(c, "env"), home};
    kernels_token_rule rule;
    const char *expected = vector_text(document, c, "authorization");
    const char *explicit_token = read_argument(document, c, &rule);
    if (explicit_token) {
        return; /* handed on as it is by kernels_hub_new */
    }
    write_files(document, home, kernels_node_find(c, "files"));
    kernels_hub_config config;
    assert_ok(kernels_hub_config_read(fake_get, &env, &config, &error), error);
    char *token = NULL;
    kernels_status status = kernels_token_find(&config, fake_get, &env, rule, &token, &error);
    if (kernels_node_find(c, "error")) {
        assert_int_equal(status, KERNELS_TOKEN_NOT_FOUND);
        kernels_error_dispose(&error);
    } else {
        assert_ok(status, error);
        const char *path = vector_text(document, c, "token_path");
        assert_contains(config.token_path, strchr(path, '/'));
        if (expected) {
            assert_non_null(token);
            assert_string_equal(token, expected + strlen("Bearer "));
        } else {
            assert_null(token);
        }
    }
    kernels_token_free(token);
    kernels_hub_config_dispose(&config);
}

static void test_tokens(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/token_lookup.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    assert_true(cases->count >= 18);
    for (size_t i = 0; i < cases->count; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        char *home = NULL;
        assert_ok(kernels_make_temporary_directory(NULL, "token", &home, &error), error);
        check_token_case(&document, cases->as.items[i], home);
        assert_ok(kernels_remove_tree(home, &error), error);
        kernels_free(home);
    }
    kernels_document_dispose(&document);
}

static void test_token_that_cannot_be_sent(void **state) {
    (void)state;
    pair variables[] = {{"HOME", HOME}, {"HF_TOKEN", "hf_\x01secret"}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    char *token = NULL;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_int_equal(kernels_token_find(&config, pair_get, variables, KERNELS_TOKEN_IF_FOUND, &token, &error),
                     KERNELS_INVALID_ARGUMENT);
    assert_null(strstr(kernels_error_message(&error), "secret"));
    assert_null(token);
    kernels_error_dispose(&error);
    kernels_hub_config_dispose(&config);
}

static void test_identity_exchange_is_refused(void **state) {
    (void)state;
    pair variables[] = {{"HOME", HOME}, {"HF_OIDC_RESOURCE", "x"}, {"HF_TOKEN", "t"}, {NULL, NULL}};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_hub_config config;
    char *token = NULL;
    assert_ok(kernels_hub_config_read(pair_get, variables, &config, &error), error);
    assert_int_equal(kernels_token_find(&config, pair_get, variables, KERNELS_TOKEN_IF_FOUND, &token, &error),
                     KERNELS_UNSUPPORTED);
    assert_contains(kernels_error_message(&error), "HF_OIDC_RESOURCE");
    kernels_error_dispose(&error);
    kernels_hub_config_dispose(&config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_kernels_cache_moves_the_cache),
        cmocka_unit_test(test_home_unset),
        cmocka_unit_test(test_variables_in_paths),
        cmocka_unit_test(test_unusable_endpoint),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_token_that_cannot_be_sent),
        cmocka_unit_test(test_identity_exchange_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
