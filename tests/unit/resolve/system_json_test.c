/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a machine, to JSON and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "resolve/system_json.h"

static char *print(const kernels_system *system) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, true);
    kernels_system_write(&writer, system);
    return kernels_buffer_take(&out);
}

static kernels_system parse(const char *text) {
    kernels_system system;
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_system_parse(kernels_view_of(text), "m.json", &system, &error) != KERNELS_OK) {
        fail_msg("%s", kernels_error_message(&error));
    }
    return system;
}

static void test_values_and_origins(void **state) {
    (void)state;
    kernels_system system = parse("{\"os\": {\"value\": \"linux\", \"from\": \"uname\"}, \"cpu\": \"x86_64\", "
                                  "\"backend\": \"cuda\", \"backend_version\": \"13.2\", \"torch\": \"2.15.0+cu132\", "
                                  "\"torch_cxx11_abi\": true, \"tvm_ffi\": \"0.1.15\", \"alternative\": \"tpu\", "
                                  "\"free_threaded\": true, \"glibc\": {\"value\": null}}");
    assert_string_equal(system.os, "linux");
    assert_string_equal(system.cpu, "x86_64");
    assert_string_equal(system.origins[KERNELS_FACT_PLATFORM], "uname");
    char text[64];
    kernels_system_backend_text(&system, text);
    assert_string_equal(text, "cu132");
    assert_string_equal(system.backend_reason, "given");
    assert_int_equal(system.torch.parts[0], 2);
    assert_int_equal(system.torch.parts[1], 15);
    assert_int_equal(system.torch_cxx11_abi, KERNELS_CXX11_ABI_NEW);
    assert_int_equal(system.tvm_ffi.parts[1], 1);
    assert_true(system.has_alternative && system.alternative == KERNELS_BACKEND_TPU);
    assert_true(system.free_threaded);
    assert_string_equal(system.glibc, "");
}

static void test_least(void **state) {
    (void)state;
    kernels_system system = parse("{\"os\": \"linux\", \"cpu\": \"aarch64\", \"backend\": {\"value\": \"tpu\", "
                                  "\"from\": \"said so\"}}");
    assert_int_equal(system.backend, KERNELS_BACKEND_TPU);
    assert_string_equal(system.backend_reason, "said so");
    assert_int_equal(system.torch_cxx11_abi, KERNELS_CXX11_ABI_NONE);
    assert_int_equal(system.torch.count, 0);
    assert_false(system.has_alternative);
}

static void test_round_trip(void **state) {
    (void)state;
    kernels_system system;
    assert_int_equal(kernels_system_detect(NULL, &system, NULL), KERNELS_OK);
    char *first = print(&system);
    kernels_system again = parse(first);
    char *second = print(&again);
    assert_string_equal(first, second);
    assert_string_equal(again.os, system.os);
    assert_string_equal(again.backend_reason, system.backend_reason);
    assert_non_null(strstr(first, "\"from\": \"uname\""));
    kernels_free(first);
    kernels_free(second);
}

static void test_wrapped(void **state) {
    (void)state;
    kernels_system system = parse("{\"kernels\": \"0.17.2\", \"plugins\": [], \"system\": {\"os\": \"linux\", "
                                  "\"cpu\": \"x86_64\", \"backend\": \"cpu\"}}");
    assert_string_equal(system.os, "linux");
}

static void expect_error(const char *text, const char *part) {
    kernels_system system;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_not_equal(kernels_system_parse(kernels_view_of(text), "m.json", &system, &error), KERNELS_OK);
    if (strstr(kernels_error_message(&error), part) == NULL) {
        fail_msg("expected \"%s\" in \"%s\"", part, kernels_error_message(&error));
    }
    kernels_error_dispose(&error);
}

#define LEAST "{\"os\": \"linux\", \"cpu\": \"x86_64\", \"backend\": \"cpu\", "

static void test_errors(void **state) {
    (void)state;
    expect_error("[]", "m.json:1:1: expected the description of a machine, found a list");
    expect_error("{\"os\": \"linux\"}", "cpu: missing: expected the name of a CPU architecture");
    expect_error("{\"os\": \"\", \"cpu\": \"x\", \"backend\": \"cpu\"}", "os: missing");
    expect_error("{\"os\": \"linux\", \"cpu\": \"x\", \"backend\": \"npu\"}",
                 "m.json:1:29: backend: expected one of cann, cpu, cuda, metal, neuron, rocm, tpu, xpu, found `npu`");
    expect_error(LEAST "\"torhc\": \"2.15\"}", "m.json:1:52: torhc: unknown key: expected one of os, cpu, macos");
    expect_error(LEAST "\"os\": \"darwin\"}", "os: the key stands twice");
    expect_error(LEAST "\"torch\": 2.15}", "torch: expected a version, found a number");
    expect_error(LEAST "\"torch\": \"new\"}", "torch: expected a version such as 2.15.0+cu132, found `new`");
    expect_error(LEAST "\"backend_version\": \"13.x\"}", "backend_version: expected a version, found `13.x`");
    expect_error(LEAST "\"free_threaded\": \"no\"}", "free_threaded: expected true or false, found a string");
    expect_error(LEAST "\"glibc\": {\"from\": \"x\"}}", "glibc: expected {\"value\": ..., \"from\": ...}");
    expect_error(LEAST "\"glibc\": {\"value\": \"2.36\", \"form\": \"x\"}}", "glibc: expected {\"value\"");
    expect_error(LEAST "\"glibc\": {\"value\": \"2.36\", \"from\": 1}}",
                 "glibc.from: expected a text, found an integer");
    expect_error(LEAST "\"needs_torch\": {\"value\": true, \"from\": \"x\"}}", "needs_torch.from: unknown key");
    expect_error(LEAST "\"tpu_generation\": \"a name that is longer than any\"}",
                 "expected at most 15 bytes, found 30");
    expect_error(LEAST "\"glibc\": \"2\\u0000\"}", "glibc: ");
    expect_error("{", "m.json:1:");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_origins),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
