/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins, clients and programs, without a kernel around them. */
#include "support/test_support.h"

#include "runtime/pjrt.h"
#include "runtime/plugin.h"

#define PROGRAM "aot/sample/build/torch-tpu/aot/relu.cpu.0.mlirbc"
#define TWO_RESULTS "aot/sample/build/torch-tpu/aot/sum_and_dot.cpu.0.mlirbc"

typedef struct fixture {
    char *path;
    kernels_pjrt_plugin *plugin;
    kernels_pjrt_client *client;
} fixture;

static char *read_program(const char *name, size_t *size) {
    char *bytes = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_file_read(test_data(name), (size_t)1 << 20, &bytes, size, &error), error);
    return bytes;
}

static void fixture_open(fixture *f) {
    kernels_error error = KERNELS_ERROR_INIT;
    PLUGIN_OR_SKIP(f->path);
    assert_ok(kernels_pjrt_plugin_open(f->path, &f->plugin, &error), error);
    assert_ok(kernels_pjrt_client_new(f->plugin, &f->client, &error), error);
}

static void fixture_close(fixture *f) {
    kernels_pjrt_client_free(f->client);
    kernels_pjrt_plugin_close(f->plugin);
    kernels_free(f->path);
}

static kernels_shape shape_of(const char *text) {
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_shape_parse(kernels_view_of(text), &shape, &error), error);
    return shape;
}

static void test_client_says_what_it_is(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    int major = -1, minor = -1;
    char version[64];
    kernels_pjrt_plugin_version(f.plugin, &major, &minor);
    assert_int_equal(major, 0);
    assert_true(minor > 0);
    assert_string_equal(kernels_pjrt_client_platform(f.client), "cpu");
    assert_string_equal(kernels_pjrt_client_plugin_path(f.client), f.path);
    assert_true(kernels_pjrt_plugin_attribute(f.plugin, "stablehlo_current_version", version));
    assert_contains(version, "1.");
    assert_false(kernels_pjrt_plugin_attribute(f.plugin, "no_such_attribute", version));
    fixture_close(&f);
}

static void test_runs_a_program(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    kernels_error error = KERNELS_ERROR_INIT;
    size_t size = 0;
    char *program = read_program(PROGRAM, &size);
    kernels_pjrt_executable *executable = NULL;
    assert_ok(kernels_pjrt_compile(f.client, (kernels_view){program, size}, "relu", 1, &executable, &error), error);
    kernels_shape shape = shape_of("f32[4,8]");
    float in[32], out[32];
    for (int i = 0; i < 32; i++) {
        in[i] = (float)(i - 16);
    }
    const kernels_pjrt_array input = {&shape, in}, output = {&shape, out};
    assert_ok(kernels_pjrt_execute(executable, &input, 1, &output, 1, &error), error);
    for (int i = 0; i < 32; i++) {
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0.0f));
    }
    kernels_pjrt_executable_free(executable);
    kernels_free(program);
    fixture_close(&f);
}

static void test_client_outlives_its_plugin_record(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_pjrt_plugin_close(f.plugin);
    f.plugin = NULL;
    size_t size = 0;
    char *program = read_program(TWO_RESULTS, &size);
    kernels_pjrt_executable *executable = NULL;
    assert_ok(kernels_pjrt_compile(f.client, (kernels_view){program, size}, "two", 2, &executable, &error), error);
    kernels_pjrt_client_free(f.client); /* the executable keeps it */
    f.client = NULL;
    kernels_shape matrix = shape_of("f32[3,2]"), scalar = shape_of("f32[]");
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 1, 1, 1, 1, 2}, sum[6], dot;
    const kernels_pjrt_array inputs[2] = {{&matrix, x}, {&matrix, y}}, outputs[2] = {{&matrix, sum}, {&scalar, &dot}};
    assert_ok(kernels_pjrt_execute(executable, inputs, 2, outputs, 2, &error), error);
    assert_true(sum[0] == 2 && sum[5] == 8);
    assert_true(dot == 27);
    kernels_pjrt_executable_free(executable);
    kernels_free(program);
    fixture_close(&f);
}

/* What a plugin is given must not be able to crash it, and what it says must come back. */
static void test_refuses_broken_programs(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    size_t size = 0;
    char *program = read_program(PROGRAM, &size);
    kernels_pjrt_executable *executable = NULL;
    for (size_t cut = 1; cut < size; cut += 37) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status =
            kernels_pjrt_compile(f.client, (kernels_view){program, size - cut}, "cut.mlirbc", 1, &executable, &error);
        assert_true(status == KERNELS_COMPILE || status == KERNELS_SYNTAX);
        assert_contains(kernels_error_message(&error), "cut.mlirbc");
        kernels_error_dispose(&error);
    }
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_pjrt_compile(f.client, KERNELS_VIEW("module {}"), "text", 1, &executable, &error),
                     KERNELS_SYNTAX);
    assert_int_equal(kernels_pjrt_compile(f.client, (kernels_view){program, size}, "relu", 2, &executable, &error),
                     KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&error), "has 1 results, the manifest says 2");
    assert_null(executable);
    kernels_error_dispose(&error);
    kernels_free(program);
    fixture_close(&f);
}

static void test_refuses_wrong_operands(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    kernels_error error = KERNELS_ERROR_INIT;
    size_t size = 0;
    char *program = read_program(PROGRAM, &size);
    kernels_pjrt_executable *executable = NULL;
    assert_ok(kernels_pjrt_compile(f.client, (kernels_view){program, size}, "relu", 1, &executable, &error), error);
    kernels_shape shape = shape_of("f32[4,8]"), larger = shape_of("f32[4,9]");
    float in[36] = {0}, out[36] = {0};
    const kernels_pjrt_array input = {&shape, in}, output = {&shape, out}, wrong_in = {&larger, in},
                             wrong_out = {&larger, out};
    assert_int_equal(kernels_pjrt_execute(executable, &input, 1, &output, 0, &error), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_pjrt_execute(executable, &input, 0, &output, 1, &error), KERNELS_PLUGIN);
    assert_int_equal(kernels_pjrt_execute(executable, &wrong_in, 1, &output, 1, &error), KERNELS_PLUGIN);
    assert_int_equal(kernels_pjrt_execute(executable, &input, 1, &wrong_out, 1, &error), KERNELS_SCHEMA);
    assert_contains(kernels_error_message(&error), "128 bytes, the manifest says 144");
    assert_ok(kernels_pjrt_execute(executable, &input, 1, &output, 1, &error), error); /* still usable */
    kernels_error_dispose(&error);
    kernels_pjrt_executable_free(executable);
    kernels_free(program);
    fixture_close(&f);
}

static void test_cpu_plugin_has_no_tpu_topology(void **state) {
    (void)state;
    fixture f = {0};
    fixture_open(&f);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_pjrt_stats stats;
    size_t size = 0;
    char *program = read_program(PROGRAM, &size);
    kernels_status status =
        kernels_pjrt_compile_for_topology(f.plugin, "v5e:1x1", (kernels_view){program, size}, &stats, &error);
    assert_true(status == KERNELS_PLUGIN || status == KERNELS_NOT_FOUND || status == KERNELS_TOO_OLD);
    assert_non_null(error.message);
    kernels_error_dispose(&error);
    kernels_free(program);
    fixture_close(&f);
}

static void test_open_refuses_what_is_no_plugin(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_pjrt_plugin *plugin = NULL;
    assert_int_equal(kernels_pjrt_plugin_open("", &plugin, &error), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_pjrt_plugin_open(test_data("no-such-plugin.so"), &plugin, &error), KERNELS_PLUGIN);
    assert_contains(kernels_error_message(&error), "no-such-plugin.so");
    assert_int_equal(kernels_pjrt_plugin_open(test_data(PROGRAM), &plugin, &error), KERNELS_PLUGIN);
    /* a shared object that every process has, but no plugin */
    assert_int_equal(kernels_pjrt_plugin_open("libc.so.6", &plugin, &error), KERNELS_PLUGIN);
    assert_contains(kernels_error_message(&error), "GetPjrtApi");
    assert_string_equal(error.subject, "libc.so.6");
    assert_null(plugin);
    kernels_error_dispose(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_says_what_it_is),
        cmocka_unit_test(test_runs_a_program),
        cmocka_unit_test(test_client_outlives_its_plugin_record),
        cmocka_unit_test(test_refuses_broken_programs),
        cmocka_unit_test(test_refuses_wrong_operands),
        cmocka_unit_test(test_cpu_plugin_has_no_tpu_topology),
        cmocka_unit_test(test_open_refuses_what_is_no_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
