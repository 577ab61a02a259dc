/* SPDX-License-Identifier: Apache-2.0 */
/* Shape texts and element types. */
#include "support/test_support.h"

#include "base/memory.h"
#include "base/view.h"
#include "kernels/runtime.h"

static void test_reads_and_writes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int rank;
        unsigned long long bytes;
    } cases[] = {
        {"f32[256,1024]", 2, 1048576},
        {"s32[]", 0, 4},
        {"pred[5]", 1, 5},
        {"bf16[1,2,3]", 3, 12},
        {"f64[0,8]", 2, 0},
        {"u8[70368744177664]", 1, 70368744177664ULL},
        {"f16[3]", 1, 6},
        {"s8[2]", 1, 2},
        {"s16[2]", 1, 4},
        {"s64[2]", 1, 16},
        {"u16[2]", 1, 4},
        {"u32[2]", 1, 8},
        {"u64[2]", 1, 16},
        {"f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", 16, 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_shape shape;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_ok(kernels_shape_parse(kernels_view_of(cases[i].text), &shape, &error), error);
        assert_int_equal(shape.rank, cases[i].rank);
        assert_int_equal(kernels_shape_bytes(&shape), cases[i].bytes);
        char *text = kernels_shape_print(&shape);
        assert_string_equal(text, cases[i].text);
        kernels_string_free(text);
    }
}

static void test_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "f32",
        "f32[",
        "f32]",
        "[]",
        "[4]",
        "f32[4",
        "f32[4,]",
        "f32[,4]",
        "f32[4,,4]",
        "f32[ 4]",
        "f32[4, 4]",
        "f32[-1]",
        "f32[+1]",
        "f32[04]",
        "f32[00]",
        "f32[4]x",
        "f32[4][4]",
        "f32[0x4]",
        "F32[4]",
        "float32[4]",
        "f8[4]",
        "c64[4]",
        "f32[?]",
        "f32[70368744177665]",
        "f32[18446744073709551616]",
        "f32[8388608,8388608]",
        "f32[0,8388608,8388608]",
        "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kernels_shape shape = {.rank = 77};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = kernels_shape_parse(kernels_view_of(texts[i]), &shape, &error);
        if (status != KERNELS_SYNTAX && status != KERNELS_LIMIT) {
            fail_msg("`%s` gave %s", texts[i], kernels_status_name(status));
        }
        assert_int_equal(shape.rank, 77);
        assert_contains(kernels_error_message(&error), "is no shape");
        kernels_error_dispose(&error);
    }
}

static void test_a_view_is_enough(void **state) {
    (void)state;
    kernels_shape shape;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_shape_parse((kernels_view){"f32[4,8]:random", 8}, &shape, &error), error);
    assert_int_equal(shape.dimensions[1], 8);
    assert_int_equal(kernels_shape_parse((kernels_view){NULL, 0}, &shape, NULL), KERNELS_SYNTAX);
}

static void test_equality(void **state) {
    (void)state;
    kernels_shape a, b, c, d;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_shape_parse(KERNELS_VIEW("f32[4,8]"), &a, &error), error);
    assert_ok(kernels_shape_parse(KERNELS_VIEW("f32[4,8]"), &b, &error), error);
    assert_ok(kernels_shape_parse(KERNELS_VIEW("s32[4,8]"), &c, &error), error);
    assert_ok(kernels_shape_parse(KERNELS_VIEW("f32[4]"), &d, &error), error);
    b.dimensions[5] = 9; /* beyond the rank: means nothing */
    assert_true(kernels_shape_equal(&a, &b));
    assert_false(kernels_shape_equal(&a, &c));
    assert_false(kernels_shape_equal(&a, &d));
    b.dimensions[1] = 9;
    assert_false(kernels_shape_equal(&a, &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_and_writes),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_a_view_is_enough),
        cmocka_unit_test(test_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
