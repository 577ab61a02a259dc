/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "build/tpu_compare.h"

static kernels_tpu_difference compare(const char *text, const void *got, const void *want, double rtol, double atol) {
    kernels_shape shape;
    kernels_tpu_difference difference;
    assert_int_equal(kernels_shape_parse(kernels_view_of(text), &shape, NULL), KERNELS_OK);
    kernels_tpu_compare(&shape, got, want, rtol, atol, &difference);
    return difference;
}

static void test_tolerance(void **state) {
    const float want[4] = {1.0f, -2.0f, 0.0f, 100.0f};
    const float near[4] = {1.05f, -2.0f, 0.05f, 105.0f};
    (void)state;
    assert_int_equal(compare("f32[4]", want, want, 0, 0).wrong_count, 0);
    assert_int_equal(compare("f32[2,2]", near, want, 0.05, 0.06).wrong_count, 0);
    kernels_tpu_difference difference = compare("f32[4]", near, want, 0, 0.06);
    assert_int_equal(difference.element_count, 4);
    assert_int_equal(difference.wrong_count, 1);
    assert_int_equal(difference.first_wrong, 3);
    assert_float_equal(difference.first_got, 105, 0);
    assert_float_equal(difference.first_want, 100, 0);
    assert_float_equal(difference.largest, 5, 0);
}

static void test_nan_and_infinity(void **state) {
    const double nan[1] = {(double)NAN}, one[1] = {1}, infinite[1] = {(double)INFINITY},
                 negative[1] = {-(double)INFINITY};
    (void)state;
    assert_int_equal(compare("f64[1]", nan, nan, 1, 1).wrong_count, 1);
    assert_int_equal(compare("f64[1]", nan, one, 1, 1).wrong_count, 1);
    assert_true(isnan(compare("f64[1]", nan, one, 1, 1).largest));
    assert_int_equal(compare("f64[1]", infinite, infinite, 0, 0).wrong_count, 0);
    assert_int_equal(compare("f64[1]", infinite, negative, 1, 1).wrong_count, 1);
    assert_int_equal(compare("f64[1]", one, infinite, 1, 1).wrong_count, 1);
}

static void test_half_types(void **state) {
    const uint16_t half[6] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x0400};
    const uint16_t brain[2] = {0x3f80, 0xc000};
    const double values[6] = {1, -2, 0x1p-24, 65504, (double)INFINITY, 0x1p-14};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        uint16_t other = (uint16_t)(half[i] ^ 0x8000);
        assert_float_equal(compare("f16[]", &half[i], &other, 0, 0).first_got, values[i], 0);
        assert_float_equal(compare("f16[]", &half[i], &other, 0, 0).first_want, -values[i], 0);
    }
    assert_float_equal(compare("bf16[1]", brain, &brain[1], 0, 0).first_got, 1, 0);
    assert_float_equal(compare("bf16[1]", brain, &brain[1], 0, 0).largest, 3, 0);
}

static void test_integers(void **state) {
    const uint64_t large[2] = {UINT64_MAX, UINT64_MAX - 1};
    const int64_t small[2] = {INT64_MIN, -1};
    const int8_t bytes[2] = {-128, 127};
    const uint8_t flags[2] = {1, 0};
    (void)state;
    assert_int_equal(compare("u64[1]", &large[0], &large[1], 0, 0).wrong_count, 1);
    assert_float_equal(compare("u64[1]", &large[0], &large[1], 0, 0).largest, 1, 0);
    assert_float_equal(compare("s64[1]", &small[0], &small[1], 0, 0).first_got, -0x1p63, 0);
    assert_float_equal(compare("s8[1]", &bytes[0], &bytes[1], 0, 0).largest, 255, 0);
    assert_int_equal(compare("s8[2]", bytes, bytes, 0, 0).wrong_count, 0);
    assert_int_equal(compare("pred[1]", &flags[0], &flags[1], 0, 0).wrong_count, 1);
    assert_int_equal(compare("f32[0]", NULL, NULL, 0, 0).element_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_nan_and_infinity),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
