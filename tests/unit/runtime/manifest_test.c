/* SPDX-License-Identifier: Apache-2.0 */
/* aot/manifest.json: what is read, what is refused and where the error points to. */
#include "support/test_support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/manifest.h"

#define SHA "\"5b0152fb92dcedcfd13d5985767f5025d010cd9163cd4f64f1b047227e08a164\""
#define SPECIALISATION(file)                                                                       \
    "{\"platform\": \"cpu\", \"inputs\": [\"f32[4]\"], \"outputs\": [\"f32[4]\"], \"file\": " file \
    ", \"sha256\": " SHA ", \"stablehlo\": \"1.15.0\"}"
#define FUNCTION(name, specialisations)                                                                               \
    "{\"name\": " name ", \"arguments\": [\"x\"], \"generations\": [\"v5e\"], \"specialisations\": [" specialisations \
    "]}"
#define MANIFEST(functions) "{\"format\": 1, \"functions\": [" functions "]}"
#define GOOD MANIFEST(FUNCTION("\"relu\"", SPECIALISATION("\"relu.cpu.0.mlirbc\"")))

static kernels_status parse(const char *text, kernels_signatures *functions, kernels_error *error) {
    return kernels_manifest_parse(kernels_view_of(text), "manifest.json", functions, error);
}

static void expect_refused(const char *text, kernels_status status, const char *part) {
    kernels_signatures functions = {.count = 77};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status got = parse(text, &functions, &error);
    if (got != status) {
        fail_msg("%s gave %s: %s", text, kernels_status_name(got), kernels_error_message(&error));
    }
    assert_contains(kernels_error_message(&error), part);
    assert_int_equal(functions.count, 77);
    kernels_error_dispose(&error);
}

static void test_reads_the_sample(void **state) {
    (void)state;
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_manifest_read(test_data("aot/sample/build/torch-tpu"), &functions, &error), error);
    assert_int_equal(functions.count, 3);
    assert_string_equal(functions.jax, "0.10.2");
    assert_string_equal(functions.builder, "0.1.0");
    assert_null(functions.libtpu);
    const kernels_signature *relu = &functions.items[0];
    assert_string_equal(relu->name, "relu");
    assert_int_equal(relu->argument_count, 1);
    assert_string_equal(relu->arguments[0], "x");
    assert_int_equal(relu->generation_count, 2);
    assert_string_equal(relu->generations[1], "v6e");
    assert_true(relu->rtol == 1e-5 && relu->atol == 1e-6);
    assert_int_equal(relu->specialisation_count, 8);
    const kernels_specialisation *first = &relu->specialisations[0];
    assert_string_equal(first->platform, "tpu");
    assert_string_equal(first->file, "relu.tpu.0.mlirbc");
    assert_int_equal(first->inputs[0].dimensions[1], 8);
    assert_non_null(first->stablehlo);
    assert_null(first->mosaic);
    assert_int_equal(functions.items[1].specialisations[0].output_count, 2);
    kernels_signatures_dispose(&functions);
    kernels_signatures_dispose(&functions); /* harmless */
}

static void test_reads_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"1e-05", 1e-5},
        {"1e-6", 1e-6},
        {"0.001", 0.001},
        {"2.5E+2", 250},
        {"1.25", 1.25},
        {"0.0", 0},
        {"0.00000000000000000000000000001", 1e-29},
        {"1e-400", 0},
        {"123456789.5", 123456789.5},
        {"1e22", 1e22},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        kernels_signatures functions;
        kernels_error error = KERNELS_ERROR_INIT;
        (void)snprintf(text, sizeof(text),
                       "{\"format\": 1, \"functions\": [{\"name\": \"f\", \"arguments\": [], \"generations\": [], "
                       "\"tolerance\": {\"rtol\": %s}, \"specialisations\": []}]}",
                       cases[i].text);
        assert_ok(parse(text, &functions, &error), error);
        double off = functions.items[0].rtol - cases[i].value; /* powers beyond 1e22 are not exact */
        if (off > 1e-15 * cases[i].value || -off > 1e-15 * cases[i].value) {
            fail_msg("%s read as %.17g", cases[i].text, functions.items[0].rtol);
        }
        assert_true(functions.items[0].atol == 1e-6);
        kernels_signatures_dispose(&functions);
    }
    expect_refused("{\"format\": 1, \"functions\": [{\"name\": \"f\", \"arguments\": [], \"generations\": [], "
                   "\"tolerance\": {\"atol\": -1.5}, \"specialisations\": []}]}",
                   KERNELS_SCHEMA, "atol: expected a number >= 0");
    expect_refused("{\"format\": 1, \"functions\": [{\"name\": \"f\", \"arguments\": [], \"generations\": [], "
                   "\"tolerance\": {\"atol\": 1e400}, \"specialisations\": []}]}",
                   KERNELS_SCHEMA, "atol: expected a finite number");
}

static void test_ignores_unknown_keys(void **state) {
    (void)state;
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(parse("{\"future\": {\"a\": [1, 2.5, null]}, \"format\": 1, \"functions\": [], \"exporter\": "
                    "{\"torch\": 3}}",
                    &functions, &error),
              error);
    assert_int_equal(functions.count, 0);
    kernels_signatures_dispose(&functions);
    assert_ok(parse(GOOD, &functions, &error), error);
    kernels_signatures_dispose(&functions);
}

static void test_refuses(void **state) {
    (void)state;
    expect_refused("", KERNELS_SYNTAX, "manifest.json");
    expect_refused("[]", KERNELS_SCHEMA, "manifest: expected an object, found ");
    expect_refused("{}", KERNELS_SCHEMA, "format: expected the number of a manifest format, found nothing");
    expect_refused("{\"format\": 2, \"functions\": []}", KERNELS_UNSUPPORTED_EDITION, "format 2, expected 1");
    expect_refused("{\"format\": \"1\", \"functions\": []}", KERNELS_SCHEMA, "manifest.json:1:12: format: ");
    expect_refused("{\"format\": 1}", KERNELS_SCHEMA, "functions: expected a list, found nothing");
    expect_refused("{\"format\": 1, \"functions\": [3]}", KERNELS_SCHEMA, "functions: expected a list of objects");
    expect_refused("{\"format\": 1, \"exporter\": 3, \"functions\": []}", KERNELS_SCHEMA, "exporter");
    expect_refused("{\"format\": 1, \"exporter\": {\"jax\": \"1\\n2\"}, \"functions\": []}", KERNELS_SCHEMA,
                   "jax: expected a version");
    expect_refused(MANIFEST(FUNCTION("\"re lu\"", "")), KERNELS_SCHEMA, "name: expected a name of letters");
    expect_refused(MANIFEST(FUNCTION("\"1x\"", "")), KERNELS_SCHEMA, "found \"1x\"");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "") ", " FUNCTION("\"f\"", "")), KERNELS_SCHEMA, "f stands here twice");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "7")), KERNELS_SCHEMA, "specialisations: expected a list of objects");
    expect_refused(MANIFEST(FUNCTION("\"f\"", SPECIALISATION("\"../evil.mlirbc\""))), KERNELS_SCHEMA,
                   "file: expected the name of a file inside aot/");
    expect_refused(MANIFEST(FUNCTION("\"f\"", SPECIALISATION("\"a/b.mlirbc\""))), KERNELS_SCHEMA, "file");
    expect_refused(MANIFEST(FUNCTION("\"f\"", SPECIALISATION("\"..\""))), KERNELS_SCHEMA, "file");
    expect_refused(MANIFEST(FUNCTION("\"f\"", SPECIALISATION("\"\""))), KERNELS_SCHEMA, "file");
    expect_refused(MANIFEST(FUNCTION("\"f\"", SPECIALISATION("5"))), KERNELS_SCHEMA, "file");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "{\"platform\": \"c p u\"}")), KERNELS_SCHEMA, "platform");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "{\"platform\": \"cpu\", \"inputs\": [\"f99[4]\"]}")), KERNELS_SCHEMA,
                   "inputs: \"f99[4]\" is no shape");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "{\"platform\": \"cpu\", \"inputs\": [4]}")), KERNELS_SCHEMA,
                   "inputs: expected a list of shapes");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "{\"platform\": \"cpu\", \"inputs\": [], \"outputs\": [], \"file\": "
                                              "\"a\", \"sha256\": " SHA "}")),
                   KERNELS_SCHEMA, "inputs: 0 shapes for the 1 arguments of f");
    expect_refused(MANIFEST(FUNCTION("\"f\"", "{\"platform\": \"cpu\", \"inputs\": [\"s8[]\"], \"outputs\": [], "
                                              "\"file\": \"a\", \"sha256\": \"12\"}")),
                   KERNELS_SCHEMA, "sha256: expected 64 hex digits");
}

static void test_bounds(void **state) {
    (void)state;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_MANIFEST_SIZE_LIMIT + 1024);
    kernels_buffer_add_text(&text, "{\"format\": 1, \"functions\": [0");
    for (size_t i = 0; i < KERNELS_MANIFEST_FUNCTIONS_MAX; i++) {
        kernels_buffer_add_text(&text, ",0");
    }
    kernels_buffer_add_text(&text, "]}");
    expect_refused(text.data, KERNELS_LIMIT, "functions: 1025 elements, more than the limit of 1024");
    kernels_buffer_reset(&text);
    while (text.size <= KERNELS_MANIFEST_SIZE_LIMIT) {
        kernels_buffer_add_text(&text, "                                ");
    }
    expect_refused(text.data, KERNELS_LIMIT, "more than 1048576 bytes");
    kernels_buffer_dispose(&text);
}

static void test_programs_are_checked(void **state) {
    (void)state;
    char folder[1024];
    (void)snprintf(folder, sizeof(folder), "%s", test_data("aot/sample/build/torch-tpu"));
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_manifest_read(folder, &functions, &error), error);
    kernels_specialisation item = functions.items[0].specialisations[0];
    char *program = NULL;
    size_t size = 0;
    assert_ok(kernels_manifest_read_program(folder, &item, &program, &size, &error), error);
    assert_memory_equal(program, "ML\xefR", 4);
    kernels_free(program);
    program = NULL;
    item.sha256 = functions.items[0].specialisations[1].sha256;
    assert_int_equal(kernels_manifest_read_program(folder, &item, &program, &size, &error), KERNELS_INTEGRITY);
    assert_contains(kernels_error_message(&error), "aot/relu.tpu.0.mlirbc does not match aot/manifest.json");
    assert_contains(error.subject, "relu.tpu.0.mlirbc");
    item.file = "missing.mlirbc";
    assert_int_equal(kernels_manifest_read_program(folder, &item, &program, &size, &error), KERNELS_FILE_NOT_FOUND);
    assert_null(program);
    kernels_error_dispose(&error);
    kernels_signatures_dispose(&functions);
}

static void test_a_variant_without_aot(void **state) {
    (void)state;
    kernels_signatures functions;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_manifest_read(test_data("aot"), &functions, &error), KERNELS_UNSUPPORTED);
    assert_contains(kernels_error_message(&error), "no exported functions");
    kernels_error_dispose(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_the_sample),
        cmocka_unit_test(test_reads_numbers),
        cmocka_unit_test(test_ignores_unknown_keys),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_programs_are_checked),
        cmocka_unit_test(test_a_variant_without_aot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
