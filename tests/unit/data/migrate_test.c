/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing a build.toml of every older edition to edition 5. */
#include "support/test_support.h"
#include "vector.h"

#include "base/file.h"
#include "data/build_view.h"
#include "data/toml_text.h"
#include "data/torture.h"
#include "kernels/data.h"

#define EACH(row, list)                        \
    for (size_t i = 0; i < (list)->count; i++) \
        for (const kernels_node *row = (list)->as.items[i]; row; row = NULL)

typedef struct outcome {
    kernels_status status;
    kernels_error error;
    unsigned edition;
    char *text; /* NULL: was of edition 5 */
} outcome;

static outcome migrate(kernels_view text, const char *license) {
    outcome result = {0};
    result.status = kernels_build_migrate(text, "build.toml", license, &result.edition, &result.text, &result.error);
    return result;
}

static void outcome_dispose(outcome *result) {
    kernels_error_dispose(&result->error);
    kernels_string_free(result->text);
}

static kernels_view read_file(const char *folder, const char *file) {
    char path[512];
    char *data = NULL;
    size_t size = 0;
    kernels_error error = KERNELS_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_ok(kernels_file_read(test_data(path), KERNELS_BUILD_SIZE_LIMIT, &data, &size, &error), error);
    return (kernels_view){data, size};
}

static void free_view(kernels_view text) { kernels_free((void *)(uintptr_t)text.data); }

/* Parses without a warning, and a second migration has nothing to do. */
static kernels_build parse_migrated(const outcome *result) {
    kernels_build build = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    char *warning = NULL;
    assert_non_null(result->text);
    assert_ok(kernels_build_parse(kernels_view_of(result->text), "migrated", &build, &warning, &error), error);
    assert_null(warning);
    assert_int_equal(build.edition, 5);
    outcome again = migrate(kernels_view_of(result->text), NULL);
    assert_int_equal(again.status, KERNELS_OK);
    assert_int_equal(again.edition, 5);
    assert_null(again.text);
    outcome_dispose(&again);
    return build;
}

/* Every line of the file is still there, in order. */
static void check_lines_kept(kernels_view before, const char *after) {
    const char *place = after;
    kernels_view line;
    while (kernels_view_split(&before, '\n', &line)) {
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", KERNELS_VIEW_ARGS(line));
        place = strstr(place, text);
        if (!place) {
            fail_msg("lost `%s` in\n%s", text, after);
        }
        place += strlen(text);
    }
}

/* ---- data/build_toml ---- */

static void check_case(kernels_document *document, const kernels_node *row) {
    const char *id = vector_text(document, row, "id");
    const kernels_node *want = kernels_node_find(row, "want");
    const char *update = vector_text(document, want, "update_build");
    const char *kind = vector_text(document, want, "error_kind");
    kernels_view text = read_file("data", vector_text(document, row, "file"));
    outcome result = migrate(text, NULL);
    /* Files of editions 1 and 2 need nothing but a licence here; the release refuses them. */
    bool old = kind && strcmp(kind, "legacy-edition") == 0 && strncmp(id, "v3", 2) != 0;
    if (!update || strcmp(update, "error") == 0) {
        assert_int_not_equal(result.status, KERNELS_OK);
        if (old || vector_text(document, want, "update_error_mentions") || strcmp(id, "v3-no-license") == 0) {
            assert_contains(kernels_error_message(&result.error), "license");
        }
    } else if (result.status != KERNELS_OK) {
        fail_msg("%s: %s", id, kernels_error_message(&result.error));
    } else if (strcmp(update, "unchanged") == 0) {
        assert_int_equal(result.edition, 5);
        assert_null(result.text);
    } else {
        kernels_build build = parse_migrated(&result);
        assert_int_equal(result.edition, kernels_node_find(want, "edition")->as.unsigned_value);
        check_parsed(kernels_node_find(want, "parsed"), &build);
        check_lines_kept(text, result.text);
        kernels_build_dispose(&build);
    }
    outcome_dispose(&result);
    free_view(text);
}

static void test_cases(void **state) {
    (void)state;
    kernels_document document = vector_read("data/build_toml/cases.json");
    EACH(row, document.root) { check_case(&document, row); }
    print_message("update-build: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

/* ---- data/build_toml_old ---- */

static void check_old_backends(const kernels_node *want, const kernels_build *build) {
    /* A universal kernel is one for every backend but TPU; the release that read it knew no CANN either. */
    size_t skip = want->count == 6 ? 1 : 0;
    assert_int_equal(build->backend_count, want->count + skip);
    assert_true(!skip || build->backends[0] == KERNELS_BACKEND_CANN);
    for (size_t i = 0; i < want->count; i++) {
        assert_true(
            kernels_view_equal_text(want->as.items[i]->as.text, kernels_backend_name(build->backends[i + skip])));
    }
}

static void check_old_form(const kernels_node *want, const kernels_build *build) {
    const kernels_node *general = kernels_node_find(want, "general");
    const kernels_node *kernels = kernels_node_find(want, "kernel");
    check_text(general, "name", build->name);
    check_text(kernels_node_find(general, "hub"), "repo-id", build->hub_repo_id);
    check_text(kernels_node_find(general, "hub"), "branch", build->hub_branch);
    check_old_backends(kernels_node_find(general, "backends"), build);
    check_framework(want, build);
    assert_int_equal(build->kernel_count, kernels->count);
    for (size_t i = 0; i < build->kernel_count; i++) {
        check_kernel(kernels, &build->kernels[i]);
    }
}

static void check_old_case(kernels_document *document, const kernels_node *row) {
    const char *id = vector_text(document, row, "id");
    const kernels_node *release = kernels_node_find(row, "release_0_13_0");
    const kernels_node *want = kernels_node_find(release, "as_edition_3");
    kernels_view text = read_file("data", vector_text(document, row, "file"));
    outcome result = migrate(text, "MIT");
    if ((result.status == KERNELS_OK) != (want != NULL)) {
        fail_msg("%s: %s", id, kernels_error_message(&result.error));
    }
    if (want) {
        kernels_build build = parse_migrated(&result);
        assert_string_equal(build.license, "MIT");
        if (strcmp(id, "v1-metal") != 0) {
            check_old_form(want, &build);
        }
        kernels_build_dispose(&build);
    }
    outcome_dispose(&result);
    free_view(text);
}

static void test_old_cases(void **state) {
    (void)state;
    kernels_document document = vector_read("data/build_toml_old/cases.json");
    EACH(row, document.root) { check_old_case(&document, row); }
    print_message("update-build of editions 1 and 2: %zu cases\n", document.root->count);
    kernels_document_dispose(&document);
}

static kernels_build migrate_old_file(const char *file) {
    kernels_view text = read_file("data/build_toml_old", file);
    outcome result = migrate(text, "MIT");
    assert_ok(result.status, result.error);
    kernels_build build = parse_migrated(&result);
    outcome_dispose(&result);
    free_view(text);
    return build;
}

/* Where the older releases lost something. */
static void test_old_faults(void **state) {
    (void)state;
    char minver[KERNELS_VERSION_TEXT_SIZE];
    kernels_build build = migrate_old_file("v2-all-keys.toml");
    const kernels_build_backend *cuda = &build.per_backend[KERNELS_BACKEND_CUDA];
    kernels_version_print(&cuda->minver, minver);
    assert_string_equal(minver, "12.0");
    assert_int_equal(build.python_depends.count, 1);
    assert_string_equal(build.python_depends.items[0], "einops");
    assert_int_equal(cuda->python_depends.count, 1);
    assert_string_equal(cuda->python_depends.items[0], "nvidia-cutlass-dsl");
    kernels_build_dispose(&build);
    build = migrate_old_file("v1-metal.toml");
    assert_int_equal(build.kernels[0].backend, KERNELS_BACKEND_METAL);
    assert_int_equal(build.backends[0], KERNELS_BACKEND_METAL);
    kernels_build_dispose(&build);
    kernels_view text = read_file("data/build_toml_old", "v1-hipify-name-clash.toml");
    outcome result = migrate(text, "MIT");
    assert_int_equal(result.status, KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&result.error), "`a_rocm` is taken");
    outcome_dispose(&result);
    free_view(text);
}

/* ---- layout ---- */

static void check_text_of(const char *before, const char *license, const char *after) {
    outcome result = migrate(kernels_view_of(before), license);
    assert_ok(result.status, result.error);
    assert_string_equal(result.text, after);
    kernels_build build = parse_migrated(&result);
    kernels_build_dispose(&build);
    outcome_dispose(&result);
}

static void test_layout(void **state) {
    (void)state;
    check_text_of("# top\n[general] # first\n  name='ab' # n\n  version =  1   # v\n  backends = [ \"cuda\", # c\n  ]\n"
                  "  license = \"MIT\"\n\n# second\n[torch]\n",
                  NULL,
                  "# top\n[general] # first\n  name='ab' # n\n  version =  1   # v\n  edition = 5\n  backends = [ "
                  "\"cuda\", # c\n  ]\n  license = \"MIT\"\n\n# second\n[torch]\n");
    check_text_of("general = { name = \"ab\", backends = [] } # c", "a\"b",
                  "general = { name = \"ab\", version = 1, edition = 5, license = 'a\"b', backends = [] } # c\n\n"
                  "[torch-noarch]\n");
    check_text_of("general.name = \"ab\"\ngeneral . version = 2\ngeneral.backends = []\ngeneral.license = \"\"\n"
                  "torch-noarch = { \"cuda-capabilities\" = [], rocm_archs = [] }\n",
                  NULL,
                  "general.name = \"ab\"\ngeneral . version = 2\ngeneral . edition = 5\ngeneral.backends = []\n"
                  "general.license = \"\"\ntorch-noarch = { cuda_capabilities = [], rocm_archs = [] }\n");
    check_text_of("\xef\xbb\xbf[general]\r\nname = \"ab\"\r\nbackends = []\r\n", "MIT",
                  "\xef\xbb\xbf[general]\r\nname = \"ab\"\r\nversion = 1\r\nedition = 5\r\nlicense = \"MIT\"\r\n"
                  "backends = []\r\n\r\n[torch-noarch]\r\n");
}

#define V4 "[general]\nname = \"ab\"\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cuda\"]\n"
#define V5 "[general]\nname = \"ab\"\nversion = 1\nedition = 5\nlicense = \"MIT\"\nbackends = [\"cuda\"]\n"

static void test_versions(void **state) {
    (void)state;
    check_text_of(V4 "[general.cuda]\nminver = '12' # é\nmaxver=\"12.8.0.0\"\n[torch]\nstable-abi = \"2.11\"\n"
                     "[kernel.\"x y\"]\nbackend = \"cuda\"\ndepends = []\nsrc = []\ncuda-minver = \"\"\"13\"\"\"\n",
                  NULL,
                  V5 "[general.cuda]\nminver = \"12.0\" # é\nmaxver=\"12.8\"\n[torch]\nstable-abi = \"2.11\"\n"
                     "[kernel.\"x y\"]\nbackend = \"cuda\"\ndepends = []\nsrc = []\ncuda-minver = \"13.0\"\n");
    outcome result = migrate(KERNELS_VIEW(V4 "[torch]\nminver = \"2.9.1\"\n"), NULL);
    assert_int_equal(result.status, KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&result.error), "build.toml:7:10: torch.minver");
    assert_contains(kernels_error_message(&result.error), "`2.9.1`");
    outcome_dispose(&result);
}

static void test_refused(void **state) {
    (void)state;
    outcome result = migrate(KERNELS_VIEW(V4 "[torch]\ntypo-key = 1\n"), NULL);
    assert_int_equal(result.status, KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&result.error), "typo-key");
    outcome_dispose(&result);
    result = migrate(KERNELS_VIEW("[general]\nedition = 6\n"), NULL);
    assert_int_equal(result.status, KERNELS_UNSUPPORTED_EDITION);
    outcome_dispose(&result);
    /* An inline table cannot get a header of its own: an error, never a broken file. */
    result = migrate(KERNELS_VIEW("general = { name = \"ab\", cuda-minver = \"12.4\" }\n[torch]\n"), "MIT");
    assert_int_not_equal(result.status, KERNELS_OK);
    assert_contains(kernels_error_message(&result.error), "by hand");
    outcome_dispose(&result);
}

/* ---- strings ---- */

static void test_strings(void **state) {
    (void)state;
    kernels_document vectors = vector_read("data/toml_string_style.json");
    EACH(row, vectors.root) {
        kernels_document document = {0};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_view want = kernels_node_find(row, "string")->as.text;
        kernels_toml_add_key(&text, want);
        kernels_buffer_add_text(&text, " = ");
        kernels_toml_add_string(&text, want);
        assert_ok(kernels_toml_parse(kernels_buffer_view(&text), "text", &document, &error), error);
        assert_true(kernels_view_equal(document.root->as.members[0].value->as.text, want));
        assert_true(kernels_view_equal(document.root->as.members[0].key, want));
        kernels_buffer_dispose(&text);
        kernels_document_dispose(&document);
    }
    print_message("TOML strings: %zu cases\n", vectors.root->count);
    kernels_document_dispose(&vectors);
}

/* ---- memory ---- */

static kernels_status migrate_once(void *payload, kernels_error *error) {
    const kernels_view *text = payload;
    unsigned edition = 0;
    char *migrated = NULL;
    kernels_status status = kernels_build_migrate(*text, "build.toml", "MIT", &edition, &migrated, error);
    kernels_string_free(migrated);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    static const char *const files[] = {"v1-hipify.toml", "v2-all-keys.toml"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        kernels_view text = read_file("data/build_toml_old", files[i]);
        print_message("%s: %lu allocations failed in turn\n", files[i], torture(migrate_once, &text));
        free_view(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_old_cases), cmocka_unit_test(test_old_faults),
        cmocka_unit_test(test_layout),  cmocka_unit_test(test_versions),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_strings), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
