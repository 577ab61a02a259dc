/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and string types of mangled names. */
#include "support/test_support.h"

#include "abi/mangled.h"
#include "base/view.h"

static void test_scopes(void **state) {
    static const struct {
        const char *name, *first, *second;
        bool is_torch;
    } rows[] = {
        {"_ZNK2at6Tensor8data_ptrIfEEPT_v", "at", "Tensor", true},
        {"_ZTVN3c105ErrorE", "c10", "Error", true},
        {"_ZTIN3c105ErrorE", "c10", "Error", true},
        {"_ZThn8_N5torch8autograd1fEv", "torch", "autograd", true},
        {"_ZTv0_n24_N5torch8autograd1fEv", "torch", "autograd", true},
        {"_ZTch0_h8_N2at1fEv", "at", "f", true},
        {"_ZGVZN2at1fEvE1x", "at", "f", true},
        {"_ZN5torch6stable6TensorD1Ev", "torch", "stable", false},
        {"_ZN5torch9stableish3badEv", "torch", "stableish", true},
        {"_ZN3tvm3ffi6ObjectC1Ev", "tvm", "ffi", false},
        {"_ZSt3maxIN2at6TensorEERKT_S4_S4_", "", "", false},
        {"_ZNSt6vectorIN2at6TensorESaIS1_EED1Ev", "", "", false},
        {"_Z6THPishRKN2at6TensorE", "", "", false},
        {"_ZN99at", "", "", false},
        {"_ZN2at99xE", "", "", false},
        {"_ZN99999999999999999999999999at", "", "", false},
        {"?numel@Tensor@at@@QEBA_JXZ", "at", "Tensor", true},
        {"?f@stable@torch@@YAXXZ", "torch", "stable", false},
        {"?f@@YAXXZ", "", "", false},
        {"PyInit_at", "", "", false},
        {"", "", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kernels_abi_scope scope = kernels_abi_scope_of(kernels_view_of(rows[i].name));
        bool is_same = kernels_view_equal_text(scope.first, rows[i].first) &&
                       kernels_view_equal_text(scope.second, rows[i].second);
        if (!is_same || kernels_abi_scope_is_torch(&scope) != rows[i].is_torch) {
            fail_msg("%s: %.*s::%.*s", rows[i].name, KERNELS_VIEW_ARGS(scope.first), KERNELS_VIEW_ARGS(scope.second));
        }
    }
}

static void test_strings(void **state) {
    static const struct {
        const char *name;
        kernels_abi_strings strings;
    } rows[] = {
        {"_ZN3c104warnERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", KERNELS_ABI_NEW_STRING},
        {"_ZN3c104nameB5cxx11Ev", KERNELS_ABI_NEW_STRING},
        {"_ZN3c104warnERKSs", KERNELS_ABI_OLD_STRING},
        {"_ZN3c105xSsxxEi", KERNELS_ABI_NO_STRING}, /* inside an identifier */
        {"_ZN3c104warnEPKc", KERNELS_ABI_NO_STRING},
        {"warnSs", KERNELS_ABI_NO_STRING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(kernels_abi_strings_of(kernels_view_of(rows[i].name)), rows[i].strings);
    }
}

static void test_demangle(void **state) {
    char text[KERNELS_ABI_DEMANGLED_SIZE];
    (void)state;
    kernels_abi_demangle(KERNELS_VIEW("_ZNK2at6Tensor8data_ptrIfEEPT_v"), text);
    assert_string_equal(text, "float* at::Tensor::data_ptr<float>() const");
    kernels_abi_demangle(KERNELS_VIEW("_Z"), text);
    assert_string_equal(text, "_Z");
    kernels_abi_demangle(KERNELS_VIEW("plain"), text);
    assert_string_equal(text, "plain");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_demangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
