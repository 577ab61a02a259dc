/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "kernels/load.h"

static void nothing_given(void **state) {
    (void)state;
    const kernels_load_options options = {.version = 1, .has_version = true};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_context *context = NULL;
    kernels_kernel *kernel = NULL;
    assert_ok(kernels_context_new(NULL, &context, &error), error);
    assert_int_equal(kernels_load(NULL, "a/b", &options, &kernel, &error), KERNELS_INVALID_ARGUMENT);
    kernels_error_dispose(&error);
    assert_int_equal(kernels_load(context, NULL, &options, &kernel, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_load(context, "a/b", &options, NULL, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_load(context, "a/b", NULL, &kernel, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_load_local(NULL, ".", NULL, &kernel, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_load_local(context, NULL, NULL, &kernel, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_load_local(context, ".", NULL, NULL, NULL), KERNELS_INVALID_ARGUMENT);
    assert_null(kernel);
    kernels_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
