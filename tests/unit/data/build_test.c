/* SPDX-License-Identifier: Apache-2.0 */
/* build.toml: every vector, positions, editions, memory. */
#include "support/test_support.h"
#include "vector.h"

#include "base/file.h"
#include "data/build_view.h"
#include "data/torture.h"
#include "kernels/data.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

typedef struct outcome {
    kernels_status status;
    kernels_error error;
    kernels_build build;
    char *warning;
} outcome;

static void outcome_dispose(outcome *result) {
    kernels_error_dispose(&result->error);
    kernels_build_dispose(&result->build);
    kernels_string_free(result->warning);
}

static outcome parse(kernels_view text) {
    outcome result = {0};
    result.status = kernels_build_parse(text, "build.toml", &result.build, &result.warning, &result.error);
    return result;
}

static outcome parse_file(const char *folder, const char *file) {
    char path[512];
    char *data = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_file_read(test_data(path), KERNELS_BUILD_SIZE_LIMIT, &data, &size, &error), error);
    outcome result = parse((kernels_view){data, size});
    kernels_free(data);
    return result;
}

/* ---- error kinds ---- */

/* What our status and message amount to in the words of the vectors. */
static const char *kind_of(const outcome *result) {
    const char *message = kernels_error_message(&result->error);
    static const char *const signs[][2] = {
        {"unknown key", "unknown-key"},
        {"missing key", "missing-key"},
        {"no framework section", "no-framework"},
        {"second framework section", "two-frameworks"},
        {"found a ", "wrong-type"},
        {"found an ", "wrong-type"},
        {"expected one of", "unknown-variant"},
        {"found `", "bad-value"},
        {"git URL", "bad-value"},
    };
    switch (result->status) {
    case KERNELS_SYNTAX:
        return "toml-syntax";
    case KERNELS_NOT_UTF8:
        return "not-utf8";
    case KERNELS_UNSUPPORTED_EDITION:
        return strstr(message, "update-build") ? "legacy-edition" : "unsupported-edition";
    default:
        break;
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strstr(message, signs[i][0])) {
            return strstr(message, "git URL") ? "bad-value" : signs[i][1];
        }
    }
    return "none";
}

/* "line 8" of the vectors is ":8:" in our messages. */
static bool mentions(const char *message, const char *text) {
    char line[32];
    if (strncmp(text, "line ", 5) == 0) {
        (void)snprintf(line, sizeof line, ":%s:", text + 5);
        return strstr(message, line) != NULL;
    }
    return strstr(message, text) != NULL;
}

static void check_error(kernels_document *document, const char *id, const kernels_node *want, const outcome *result) {
    const char *message = kernels_error_message(&result->error);
    const char *kind = vector_text(document, want, "error_kind");
    if (result->status == KERNELS_OK || (kind && strcmp(kind, kind_of(result)) != 0)) {
        fail_msg("%s: wanted %s, got %s: %s", id, kind, kind_of(result), message);
    }
    const kernels_node *texts = kernels_node_find(want, "error_mentions");
    for (size_t i = 0; texts && i < texts->count; i++) {
        char *text = kernels_arena_copy_text(document->arena, texts->as.items[i]->as.text);
        if (!mentions(message, text)) {
            fail_msg("%s: no `%s` in: %s", id, text, message);
        }
    }
    if (strncmp(message, "build.toml:", 11) != 0) {
        fail_msg("%s: no file in: %s", id, message);
    }
}

/* ---- vectors ---- */

/* Accepted by the snapshot, refused since versions have a fixed width. */
static bool is_superseded(const char *id) {
    return strcmp(id, "v5-version-one-part") == 0 || strcmp(id, "v5-version-three-parts") == 0;
}

static void check_case(kernels_document *document, const kernels_node *row) {
    const char *id = vector_text(document, row, "id");
    const kernels_node *want = kernels_node_find(row, "want");
    outcome result = parse_file("data", vector_text(document, row, "file"));
    const char *open = vector_text(document, want, "open");
    if (is_superseded(id)) {
        assert_string_equal(kind_of(&result), "bad-value");
        assert_contains(kernels_error_message(&result.error), "ver: expected a version of 2 parts");
    } else if (open && strcmp(open, "ok") == 0) {
        if (result.status != KERNELS_OK) {
            fail_msg("%s: %s", id, kernels_error_message(&result.error));
        }
        assert_int_equal(result.build.edition, kernels_node_find(want, "edition")->as.unsigned_value);
        assert_int_equal(result.warning != NULL, vector_true(want, "open_warns_legacy_v4"));
        check_parsed(kernels_node_find(want, "parsed"), &result.build);
    } else {
        check_error(document, id, want, &result);
    }
    if (result.warning) {
        assert_contains(result.warning, "update-build");
    }
    outcome_dispose(&result);
}

static void test_cases(void **state) {
    (void)state;
    kernels_document document = vector_read("data/build_toml/cases.json");
    EACH(row, document.root) { check_case(&document, row); }
    print_message("build.toml: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

static void test_old_cases(void **state) {
    (void)state;
    kernels_document document = vector_read("data/build_toml_old/cases.json");
    EACH(row, document.root) {
        outcome result = parse_file("data", vector_text(&document, row, "file"));
        /* Also those that no release could read are old files; of edition 3 some are of edition 4 too. */
        bool is_3 = strncmp(vector_text(&document, row, "id"), "v3-", 3) == 0;
        if (!is_3 || result.status != KERNELS_OK) {
            assert_string_equal(kind_of(&result), "legacy-edition");
        }
        outcome_dispose(&result);
    }
    print_message("build.toml of editions 1 to 3: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

static void check_release_depends(const kernels_node *ok, const kernels_build *build) {
    char text[512];
    const kernels_node *table = kernels_node_find(ok, "kernel_depends");
    for (unsigned b = 0; b < KERNELS_BACKEND_COUNT; b++) {
        const kernels_node *want = kernels_node_find(table, kernels_backend_name((kernels_backend)b));
        assert_int_equal(kernels_build_kernel_depends_count(build, (kernels_backend)b), want->count);
        for (size_t i = 0; i < want->count; i++) {
            const kernels_dependency *got = kernels_build_kernel_depends_at(build, (kernels_backend)b, i);
            if (got->revision) {
                (void)snprintf(text, sizeof text,
                               "KernelDependency(repo_id=\"%s\", version=KernelVersion.Revision(revision=\"%s\"))",
                               got->repo_id, got->revision);
            } else {
                (void)snprintf(text, sizeof text,
                               "KernelDependency(repo_id=\"%s\", version=KernelVersion.Version(version=%llu))",
                               got->repo_id, (unsigned long long)got->version);
            }
            assert_true(kernels_view_equal_text(want->as.items[i]->as.text, text));
        }
    }
}

static void test_release_cases(void **state) {
    (void)state;
    kernels_document document = vector_read("release17/build_toml.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    EACH(row, cases) {
        const kernels_node *toml = kernels_node_find(row, "toml"), *ok = kernels_node_find(row, "ok");
        outcome result = parse(toml->as.text);
        /* We take the documented spelling too. */
        bool dashed = kernels_view_contains(toml->as.text, KERNELS_VIEW("cuda-capabilities"));
        if ((result.status == KERNELS_OK) != (ok != NULL || dashed)) {
            fail_msg("%.*s: %s", KERNELS_VIEW_ARGS(toml->as.text), kernels_error_message(&result.error));
        }
        if (ok) {
            check_release_depends(ok, &result.build);
        }
        outcome_dispose(&result);
    }
    print_message("build.toml of the release: %zu cases\n", cases->count);
    kernels_document_dispose(&document);
}

#define HEAD "[general]\nname = \"my-kernel\"\nversion = 1\nedition = 5\nlicense = \"MIT\"\nbackends = [\"cuda\"]\n"

static void test_version_widths(void **state) {
    (void)state;
    static const char *const templates[][2] = {
        {"general.cuda.minver", HEAD "[general.cuda]\nminver = \"%.*s\"\n[torch]\n"},
        {"general.cuda.maxver", HEAD "[general.cuda]\nmaxver = \"%.*s\"\n[torch]\n"},
        {"torch.minver", HEAD "[torch]\nminver = \"%.*s\"\n"},
        {"torch.maxver", HEAD "[torch]\nmaxver = \"%.*s\"\n"},
        {"torch.stable-abi", HEAD "[torch]\nstable-abi = \"%.*s\"\n"},
        {"torch.stable-abi.cuda", HEAD "[torch]\nstable-abi = { cuda = \"%.*s\" }\n"},
        {"kernel.x.cuda-minver",
         HEAD "[torch]\n[kernel.x]\nbackend = \"cuda\"\ndepends = []\nsrc = []\ncuda-minver = \"%.*s\"\n"},
    };
    kernels_document document = vector_read("release17/build_versions.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    size_t count = 0;
    EACH(row, cases) {
        for (size_t t = 0; t < sizeof templates / sizeof templates[0]; t++, count++) {
            char text[512];
            kernels_view input = kernels_node_find(row, "input")->as.text;
            const kernels_node *want = kernels_node_find(row, templates[t][0]);
            assert_non_null(want);
            (void)snprintf(text, sizeof text, templates[t][1], KERNELS_VIEW_ARGS(input));
            outcome result = parse(kernels_view_of(text));
            assert_int_equal(result.status == KERNELS_OK, kernels_view_equal_text(want->as.text, "ok"));
            if (result.status != KERNELS_OK) {
                assert_contains(kernels_error_message(&result.error), templates[t][0]);
            }
            outcome_dispose(&result);
        }
    }
    print_message("version widths: %zu cases\n", count);
    kernels_document_dispose(&document);
}

/* ---- messages ---- */

static void check_message(const char *text, const char *message) {
    outcome result = parse(kernels_view_of(text));
    assert_int_not_equal(result.status, KERNELS_OK);
    assert_string_equal(kernels_error_message(&result.error), message);
    outcome_dispose(&result);
}

static void test_messages(void **state) {
    (void)state;
    check_message(
        HEAD "[torch-noarch]\nsrc = []\n",
        "build.toml:8:1: torch-noarch.src: unknown key: expected one of pyext, cuda_capabilities, rocm_archs");
    check_message(HEAD "[general.tpu]\nkernel-depends = []\n[torch-noarch]\n",
                  "build.toml:8:1: general.tpu.kernel-depends: unknown key: expected `kernel-depends` of a TPU kernel "
                  "in [general]");
    check_message("[general]\nname = \"my-kernel\"\nversion = 1\nedition = 5\nbackends = [\"gpu\"]\n[torch]\n",
                  "build.toml:5:13: general.backends[0]: expected one of cann, cpu, cuda, metal, neuron, rocm, tpu, "
                  "xpu, found `gpu`");
    check_message(HEAD "[torch]\n[kernel.\"a b\"]\nbackend = \"cuda\"\ndepends = []\nsrc = [1]\n",
                  "build.toml:11:8: kernel.\"a b\".src[0]: expected a string, found an integer");
    check_message(HEAD "[torch-noarch]\nrocm_archs = []\nrocm-archs = []\n",
                  "build.toml:9:1: torch-noarch.rocm-archs: given twice: expected `rocm_archs` only once");
    check_message("[general]\nedition = 6\n", "build.toml:2:1: general.edition: unsupported edition 6: expected 5; a "
                                              "newer kernel-builder may know it");
}

static void test_noarch_spellings(void **state) {
    (void)state;
    outcome a = parse(KERNELS_VIEW(HEAD "[torch-noarch]\ncuda_capabilities = [\"9.0\"]\nrocm_archs = [\"gfx90a\"]\n"));
    outcome b = parse(KERNELS_VIEW(HEAD "[torch-noarch]\ncuda-capabilities = [\"9.0\"]\nrocm-archs = [\"gfx90a\"]\n"));
    assert_ok(a.status, a.error);
    assert_ok(b.status, b.error);
    assert_string_equal(a.build.cuda_capabilities.items[0], b.build.cuda_capabilities.items[0]);
    assert_string_equal(a.build.rocm_archs.items[0], b.build.rocm_archs.items[0]);
    outcome_dispose(&a);
    outcome_dispose(&b);
}

static void test_bounds(void **state) {
    (void)state;
    char *big = kernels_malloc(KERNELS_BUILD_SIZE_LIMIT + 1);
    assert_non_null(big);
    memset(big, '\n', KERNELS_BUILD_SIZE_LIMIT + 1);
    outcome result = parse((kernels_view){big, KERNELS_BUILD_SIZE_LIMIT + 1});
    assert_int_equal(result.status, KERNELS_LIMIT);
    outcome_dispose(&result);
    memset(big, '[', 5000);
    big[0] = 'a';
    big[1] = '=';
    result = parse((kernels_view){big, 5000});
    assert_int_not_equal(result.status, KERNELS_OK);
    outcome_dispose(&result);
    kernels_free(big);
}

/* ---- reading from a folder ---- */

static void test_read(void **state) {
    (void)state;
    char *folder = NULL, path[512];
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_build build = {0};
    assert_ok(kernels_make_temporary_directory(NULL, "build-test-", &folder, &error), error);
    assert_int_equal(kernels_build_read(folder, &build, NULL, &error), KERNELS_FILE_NOT_FOUND);
    (void)snprintf(path, sizeof path, "%s/build.toml", folder);
    assert_string_equal(error.subject, path);
    assert_ok(kernels_file_write(path, KERNELS_VIEW(HEAD "[torch]\n"), 0, &error), error);
    assert_ok(kernels_build_read(folder, &build, NULL, &error), error);
    assert_string_equal(build.name, "my-kernel");
    kernels_build_dispose(&build);
    assert_ok(kernels_file_write(path, KERNELS_VIEW("[general\n"), 0, &error), error);
    assert_int_equal(kernels_build_read(folder, &build, NULL, &error), KERNELS_SYNTAX);
    assert_contains(kernels_error_message(&error), path);
    assert_ok(kernels_remove_tree(folder, &error), error);
    kernels_free(folder);
    kernels_error_dispose(&error);
}

/* ---- memory ---- */

static kernels_status parse_once(void *payload, kernels_error *error) {
    const kernels_view *text = payload;
    kernels_build build = {0};
    char *warning = NULL;
    kernels_status status = kernels_build_parse(*text, "build.toml", &build, &warning, error);
    kernels_build_dispose(&build);
    kernels_string_free(warning);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const files[] = {"v5-full-general", "v5-all-kernel-kinds", "v4-full"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[128];
        char *data = NULL;
        size_t size = 0;
        (void)snprintf(name, sizeof name, "data/build_toml/%s.toml", files[i]);
        kernels_error error = KERNELS_ERROR_INIT;
        assert_ok(kernels_file_read(test_data(name), KERNELS_BUILD_SIZE_LIMIT, &data, &size, &error), error);
        kernels_view text = {data, size};
        print_message("%s: %lu allocations failed in turn\n", files[i], torture(parse_once, &text));
        kernels_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),         cmocka_unit_test(test_old_cases),
        cmocka_unit_test(test_release_cases), cmocka_unit_test(test_version_widths),
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_noarch_spellings),
        cmocka_unit_test(test_bounds),        cmocka_unit_test(test_read),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
