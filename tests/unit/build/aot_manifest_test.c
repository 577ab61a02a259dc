/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "build/aot_manifest.h"
#include "build/folder.h"
#include "runtime/manifest.h"

static const char config_text[] =
    "format = 1\n[[function]]\nname = \"f\"\nsource = \"k.py:f\"\narguments = [\"x\", \"y\"]\n"
    "specialisations = [[\"f32[2,3]\", \"s32[]\"], [\"bf16[4]\", \"pred[1]\"]]\ngenerations = [\"v5e\"]\n";

#define TPU_FACT                                                                                \
    "{\"platform\":\"tpu\",\"index\":0,\"outputs\":[\"f32[2,3]\"],\"file\":\"f.tpu.0.mlirbc\"," \
    "\"stablehlo\":\"1.15.0\",\"mosaic\":\"11\"}"
#define CPU_FACT                                                                                         \
    "{\"platform\":\"cpu\",\"index\":1,\"outputs\":[\"bf16[4]\",\"f32[]\"],\"file\":\"f.cpu.1.mlirbc\"," \
    "\"stablehlo\":\"1.15.0\"}"
#define RESULT(facts, skipped)                                                                              \
    "{\"jax\":\"0.10.2\",\"jaxlib\":\"0.10.2\",\"libtpu\":\"\",\"functions\":[{\"specialisations\":[" facts \
    "],\"skipped\":[" skipped "]}]}"

/* SHA-256 of "abc" and of nothing. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char expected_text[] =
    "{\n  \"format\": 1,\n  \"exporter\": {\n    \"kernel-builder\": \"%s\",\n    \"jax\": \"0.10.2\",\n"
    "    \"jaxlib\": \"0.10.2\",\n    \"libtpu\": null\n  },\n  \"functions\": [\n    {\n      \"name\": \"f\",\n"
    "      \"arguments\": [\n        \"x\",\n        \"y\"\n      ],\n      \"generations\": [\n        \"v5e\"\n      "
    "],\n"
    "      \"tolerance\": {\n        \"rtol\": 1e-05,\n        \"atol\": 1e-06\n      },\n"
    "      \"specialisations\": [\n        {\n          \"platform\": \"tpu\",\n          \"inputs\": [\n"
    "            \"f32[2,3]\",\n            \"s32[]\"\n          ],\n          \"outputs\": [\n            "
    "\"f32[2,3]\"\n"
    "          ],\n          \"file\": \"f.tpu.0.mlirbc\",\n          \"sha256\": \"" ABC "\",\n"
    "          \"stablehlo\": \"1.15.0\",\n          \"mosaic\": \"11\"\n        },\n        {\n"
    "          \"platform\": \"cpu\",\n          \"inputs\": [\n            \"bf16[4]\",\n            \"pred[1]\"\n"
    "          ],\n          \"outputs\": [\n            \"bf16[4]\",\n            \"f32[]\"\n          ],\n"
    "          \"file\": \"f.cpu.1.mlirbc\",\n          \"sha256\": \"" EMPTY "\",\n"
    "          \"stablehlo\": \"1.15.0\"\n        }\n      ],\n      \"skipped\": [\n        {\n"
    "          \"platform\": \"cpu\",\n          \"index\": 0,\n          \"reason\": \"no \\\"prng\\\"\"\n        }\n"
    "      ]\n    }\n  ]\n}";

static kernels_status write(const char *result_text, kernels_buffer *text, kernels_error *error) {
    kernels_aot_config config;
    kernels_document result;
    char *folder = folder_make();
    folder_write_text(folder, "f.tpu.0.mlirbc", "abc");
    folder_write_text(folder, "f.cpu.1.mlirbc", "");
    assert_int_equal(kernels_aot_config_parse(kernels_view_of(config_text), "aot.toml", &config, NULL), KERNELS_OK);
    assert_int_equal(kernels_json_parse(kernels_view_of(result_text), "result", &result, NULL), KERNELS_OK);
    kernels_status status = kernels_aot_manifest_write(&config, result.root, folder, text, error);
    kernels_document_dispose(&result);
    kernels_aot_config_dispose(&config);
    folder_remove(folder);
    return status;
}

static void test_text(void **state) {
    kernels_buffer text = KERNELS_BUFFER_INIT(65536), expected = KERNELS_BUFFER_INIT(65536);
    kernels_error error = KERNELS_ERROR_INIT;
    (void)state;
    const char *result =
        RESULT(TPU_FACT "," CPU_FACT, "{\"platform\":\"cpu\",\"index\":0,\"reason\":\"no \\\"prng\\\"\"}");
    must(write(result, &text, &error), &error);
    const char *rest = strstr(expected_text, "%s");
    kernels_buffer_add(&expected, expected_text, (size_t)(rest - expected_text));
    kernels_buffer_add_text(&expected, kernels_library_version());
    kernels_buffer_add_text(&expected, rest + 2);
    assert_string_equal(kernels_buffer_text(&text), kernels_buffer_text(&expected));
    kernels_buffer_dispose(&expected);
    kernels_buffer_dispose(&text);
}

static void test_runtime_reads_it(void **state) {
    kernels_buffer text = KERNELS_BUFFER_INIT(65536);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_signatures functions;
    (void)state;
    must(write(RESULT(TPU_FACT "," CPU_FACT, ""), &text, &error), &error);
    assert_null(strstr(kernels_buffer_text(&text), "skipped"));
    must(kernels_manifest_parse(kernels_buffer_view(&text), "manifest.json", &functions, &error), &error);
    assert_int_equal(functions.count, 1);
    assert_string_equal(functions.items[0].name, "f");
    assert_float_equal(functions.items[0].rtol, 1e-5, 1e-12);
    assert_int_equal(functions.items[0].specialisation_count, 2);
    assert_string_equal(functions.items[0].specialisations[0].mosaic, "11");
    assert_int_equal(functions.items[0].specialisations[1].output_count, 2);
    kernels_signatures_dispose(&functions);
    kernels_buffer_dispose(&text);
}

static void test_results_that_cannot_be(void **state) {
    static const char *const results[] = {
        "{}",
        "{\"functions\":[]}",
        RESULT("{\"platform\":\"tpu\",\"index\":2,\"outputs\":[],\"file\":\"f.tpu.0.mlirbc\",\"stablehlo\":\"1\"}", ""),
        RESULT("{\"platform\":\"tpu\",\"index\":0,\"outputs\":[\"f99[]\"],\"file\":\"f.tpu.0.mlirbc\",\"stablehlo\":"
               "\"1\"}",
               ""),
        RESULT("{\"platform\":\"tpu\",\"index\":0,\"outputs\":[],\"file\":\"../f\",\"stablehlo\":\"1\"}", ""),
        RESULT("{\"platform\":\"tpu\",\"index\":0,\"outputs\":[],\"file\":\"missing\",\"stablehlo\":\"1\"}", ""),
        RESULT("{\"platform\":\"tpu\",\"index\":0,\"outputs\":[],\"file\":\"f.tpu.0.mlirbc\"}", ""),
        RESULT("", "{\"platform\":\"cpu\",\"index\":0}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        kernels_buffer text = KERNELS_BUFFER_INIT(65536);
        kernels_error error = KERNELS_ERROR_INIT;
        if (write(results[i], &text, &error) == KERNELS_OK) {
            fail_msg("case %zu was accepted", i);
        }
        kernels_error_dispose(&error);
        kernels_buffer_dispose(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_runtime_reads_it),
        cmocka_unit_test(test_results_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
