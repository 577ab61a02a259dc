/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "build/aot_config.h"

#define SOURCE "source = \"torch-ext/relu_tpu/pallas_kernels.py:relu\"\n"
#define SHAPES "arguments = [\"x\"]\nspecialisations = [[\"f32[256,1024]\"], [\"bf16[16,16]\"]]\n"
#define MINIMAL "format = 1\n[[function]]\nname = \"relu\"\n" SOURCE SHAPES

static void test_defaults(void **state) {
    kernels_aot_config config;
    (void)state;
    assert_int_equal(kernels_aot_config_parse(KERNELS_VIEW(MINIMAL), "aot.toml", &config, NULL), KERNELS_OK);
    assert_int_equal(config.count, 1);
    const kernels_aot_function *relu = &config.functions[0];
    assert_string_equal(relu->name, "relu");
    assert_string_equal(relu->source.file, "torch-ext/relu_tpu/pallas_kernels.py");
    assert_string_equal(relu->source.attribute, "relu");
    assert_null(relu->reference.file);
    assert_int_equal(relu->arguments.count, 1);
    assert_int_equal(relu->specialisation_count, 2);
    assert_int_equal(relu->inputs[1].dimensions[0], 16);
    assert_int_equal(relu->inputs[1].dtype.code, kDLBfloat);
    static const char *const generations[] = {"v4", "v5e", "v5p", "v6e", "tpu7x"};
    assert_int_equal(relu->generations.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(relu->generations.items[i], generations[i]);
    }
    assert_true(relu->for_tpu && relu->for_cpu);
    assert_float_equal(relu->rtol, 1e-5, 1e-12);
    assert_float_equal(relu->atol, 1e-6, 1e-12);
    assert_ptr_equal(kernels_aot_config_find(&config, "relu"), relu);
    assert_null(kernels_aot_config_find(&config, "gelu"));
    kernels_aot_config_dispose(&config);
}

static void test_everything_given(void **state) {
    static const char text[] =
        MINIMAL "reference = \"a/b.py:relu_ref\"\ngenerations = [\"v2\", \"tpu7x\"]\n"
                "tolerance = { rtol = 0.5, atol = 2 }\nplatforms = [\"tpu\"]\n"
                "[[function]]\nname = \"_f2\"\nsource = \"x.py:_f\"\narguments = [\"a\", \"b\"]\n"
                "specialisations = [[\"s32[]\", \"pred[1]\"]]\n";
    kernels_aot_config config;
    (void)state;
    assert_int_equal(kernels_aot_config_parse(kernels_view_of(text), "aot.toml", &config, NULL), KERNELS_OK);
    assert_int_equal(config.count, 2);
    assert_string_equal(config.functions[0].reference.attribute, "relu_ref");
    assert_int_equal(config.functions[0].generations.count, 2);
    assert_float_equal(config.functions[0].rtol, 0.5, 0);
    assert_float_equal(config.functions[0].atol, 2, 0);
    assert_false(config.functions[0].for_cpu);
    assert_int_equal(config.functions[1].inputs[0].rank, 0);
    assert_int_equal(config.functions[1].inputs[1].dtype.code, kDLBool);
    kernels_aot_config_dispose(&config);
}

/* Each breaks one rule; the message must say where and what. */
static void test_errors(void **state) {
    static const struct {
        const char *text, *message;
        kernels_status status;
    } cases[] = {
        {"", "format: missing", KERNELS_SCHEMA},
        {"format = 1\n", "function: missing", KERNELS_SCHEMA},
        {"format = 2\nfunction = []\n", "a.toml:1:10: format", KERNELS_UNSUPPORTED_EDITION},
        {"format = \"1\"\n", "a.toml:1:10: format: expected the number 1, found string", KERNELS_SCHEMA},
        {"format = 1\nfunction = []\n", "function: expected 1 to", KERNELS_SCHEMA},
        {"format = 1\nfunction = [3]\n", "function: expected tables", KERNELS_SCHEMA},
        {"format = 1\nformats = 1\n", "a.toml:2:1: top level: unknown key \"formats\"", KERNELS_SCHEMA},
        {"format = \n", "a.toml:1:", KERNELS_SYNTAX},
        {MINIMAL "tolerances = 1\n", "a.toml:7:1: function: unknown key \"tolerances\"", KERNELS_SCHEMA},
        {MINIMAL "tolerance = { rtol = 1, ptol = 2 }\n", "tolerance: unknown key \"ptol\"", KERNELS_SCHEMA},
        {MINIMAL "tolerance = { rtol = -1e-5 }\n", "tolerance.rtol: expected a finite number", KERNELS_SCHEMA},
        {MINIMAL "tolerance = { atol = inf }\n", "tolerance.atol", KERNELS_SCHEMA},
        {MINIMAL "tolerance = 1\n", "tolerance: expected a table", KERNELS_SCHEMA},
        {MINIMAL "generations = [\"v9\"]\n", "unknown TPU generation \"v9\"; known: v2", KERNELS_SCHEMA},
        {MINIMAL "generations = [\"v4\", \"v4\"]\n", "the same name stands twice", KERNELS_SCHEMA},
        {MINIMAL "generations = []\n", "generations: expected 1 to", KERNELS_SCHEMA},
        {MINIMAL "platforms = [\"gpu\"]\n", "platforms: expected \"tpu\" or \"cpu\"", KERNELS_SCHEMA},
        {MINIMAL "platforms = \"tpu\"\n", "platforms: expected a list, found string", KERNELS_SCHEMA},
        {MINIMAL "reference = \"a.py\"\n", "reference: expected FILE:ATTRIBUTE", KERNELS_SCHEMA},
        {MINIMAL "reference = \"../a.py:f\"\n", "reference: FILE must be inside the project", KERNELS_UNSAFE_NAME},
        {MINIMAL "reference = \"/a.py:f\"\n", "inside the project", KERNELS_UNSAFE_NAME},
        {MINIMAL "reference = \"a.py:f.g\"\n", "ATTRIBUTE is not the name", KERNELS_SCHEMA},
        {MINIMAL "[[function]]\nname = \"relu\"\n" SOURCE SHAPES, "two functions are called \"relu\"", KERNELS_SCHEMA},
        {"format = 1\n[[function]]\nname = \"1x\"\n" SOURCE SHAPES, "a.toml:3:8: name: expected letters",
         KERNELS_SCHEMA},
        {"format = 1\n[[function]]\nname = \"../x\"\n" SOURCE SHAPES, "name: expected letters", KERNELS_SCHEMA},
        {"format = 1\n[[function]]\n" SOURCE SHAPES, "name: missing", KERNELS_SCHEMA},
        {"format = 1\n[[function]]\nname = \"f\"\n" SOURCE "arguments = [\"x\"]\nspecialisations = [[\"f32[\"]]\n",
         "a.toml:6:21: specialisations: \"f32[\" is no shape text", KERNELS_SYNTAX},
        {"format = 1\n[[function]]\nname = \"f\"\n" SOURCE
         "arguments = [\"x\"]\nspecialisations = [[\"f32[1]\", \"f32[1]\"]]\n",
         "specialisations: expected a list of 1 shape texts", KERNELS_SCHEMA},
        {"format = 1\n[[function]]\nname = \"f\"\n" SOURCE
         "arguments = [\"x\"]\nspecialisations = [[\"f32[1]\"], [\"f32[1]\"]]\n",
         "the same shapes stand twice", KERNELS_SCHEMA},
        {"format = 1\n[[function]]\nname = \"f\"\n" SOURCE "arguments = [\"x\", \"x\"]\nspecialisations = []\n",
         "arguments: the same name stands twice", KERNELS_SCHEMA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_aot_config config;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = kernels_aot_config_parse(kernels_view_of(cases[i].text), "a.toml", &config, &error);
        if (status != cases[i].status || strstr(kernels_error_message(&error), cases[i].message) == NULL) {
            fail_msg("case %zu: got %s \"%s\", wanted \"%s\"", i, kernels_status_name(status),
                     kernels_error_message(&error), cases[i].message);
        }
        kernels_error_dispose(&error);
    }
}

static void test_topologies(void **state) {
    (void)state;
    assert_string_equal(kernels_tpu_topology("v5e"), "v5e:1x1");
    assert_string_equal(kernels_tpu_topology("tpu7x"), "tpu7x:2x2x1");
    assert_string_equal(kernels_tpu_topology("v2"), "v2:2x2");
    assert_null(kernels_tpu_topology("v7x"));
    assert_null(kernels_tpu_topology(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything_given),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_topologies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
