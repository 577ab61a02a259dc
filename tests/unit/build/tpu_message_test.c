/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "build/tpu_message.h"

/* Messages of libtpu 0.0.52, shortened at "...". */
static void test_allocations(void **state) {
    static const struct {
        const char *message;
        uint64_t wanted, available;
        const char *space;
    } cases[] = {
        {"Allocation (size=1073741824) would exceed memory (size=134217728) :: #allocation3 [shape = "
         "'u8[67108864]{0}', space=vmem, size = 0x4000000, scoped, tag = 'input window ...'] :: rmsnorm.1",
         1073741824, 134217728, "vmem"},
        {"compile for v4:2x2x1: Allocation (size=5) would exceed memory (size=4)", 5, 4, ""},
        {"XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used 128.00M of 63.94M vmem. "
         "Exceeded vmem capacity by 64.07M.\n\nProgram vmem requirement 128.00M:\n    scoped          128.00M",
         134217728, 67045949, "vmem"},
        {"Ran out of memory in memory space vmem. Used 128.00M of 128.00M vmem. Exceeded vmem capacity by 4.0K.",
         134217728 + 4096, 134217728, "vmem"},
        {"Ran out of memory in memory space hbm. Used 2.5G of 512B hbm. Exceeded hbm capacity by 2.5G.", 2684354560,
         512, "hbm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_tpu_allocation allocation;
        assert_true(kernels_tpu_message_allocation(kernels_view_of(cases[i].message), &allocation));
        assert_int_equal(allocation.wanted, cases[i].wanted);
        assert_int_equal(allocation.available, cases[i].available);
        assert_string_equal(allocation.space, cases[i].space);
    }
}

static void test_other_messages(void **state) {
    static const char *const messages[] = {
        "",
        "unsupported Mosaic version, expected <= 7 but got 8",
        "Allocation (size=) would exceed memory (size=1)",
        "Allocation (size=1) would exceed",
        "Allocation (size=99999999999999999999) would exceed memory (size=1)",
        "Ran out of memory in memory space ",
        "Ran out of memory in memory space vmem. Used M of 1M",
        "Ran out of memory in memory space vmem. Used 1M of ",
        "Ran out of memory in memory space vmem. Used 99999999999999999M of 1M",
        "Ran out of memory in memory space vmem. Used 99999999999999T of 1M",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        kernels_tpu_allocation allocation = {.wanted = 7};
        assert_false(kernels_tpu_message_allocation(kernels_view_of(messages[i]), &allocation));
        assert_int_equal(allocation.wanted, 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_other_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
