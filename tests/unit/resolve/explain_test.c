/* SPDX-License-Identifier: Apache-2.0 */
/* Why a variant fits and why one stands before another, in words. The words follow the order that resolving gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "resolve/explain.h"

static const kernels_system machine = {.os = "linux",
                                       .cpu = "x86_64",
                                       .backend = KERNELS_BACKEND_CUDA,
                                       .backend_version = {.parts = {13, 2}, .count = 2},
                                       .torch = {.parts = {2, 15}, .count = 2},
                                       .torch_cxx11_abi = KERNELS_CXX11_ABI_NEW,
                                       .tvm_ffi = {.parts = {0, 1}, .count = 2}};

/* The best first; each with its words, and why it stands before the next. */
static const struct {
    const char *name, *fit, *order;
} cases[] = {
    {"torch-stable-abi211-cu130-x86_64-linux", "stable ABI of torch 2.11 or later, here 2.15; CUDA 13.0, here 13.2",
     "the newest stable ABI of torch comes first"},
    {"torch-stable-abi29-cu132-x86_64-linux", "stable ABI of torch 2.9 or later, here 2.15; CUDA 13.2, here 13.2",
     "the newest version of the backend comes first"},
    {"torch-stable-abi29-cu130-x86_64-linux", "stable ABI of torch 2.9 or later, here 2.15; CUDA 13.0, here 13.2",
     "builds for the stable ABI of torch come first"},
    {"torch215-cu132-x86_64-linux", "built for torch 2.15, as here; CUDA 13.2, here 13.2",
     "builds for torch without a C++ ABI in their name come before those with one"},
    {"torch215-cxx11-cu132-x86_64-linux", "built for torch 2.15 and its C++ ABI, as here; CUDA 13.2, here 13.2",
     "builds for torch come before those for tvm-ffi and those without compiled code"},
    {"tvm-ffi01-cu130-x86_64-linux", "built for tvm-ffi 0.1, as here; CUDA 13.0, here 13.2",
     "builds for tvm-ffi come before those without compiled code"},
    {"torch-cuda", "no compiled code, for backend cuda, as here", "builds for this backend come before universal ones"},
    {"torch-universal", "no compiled code, for every backend", NULL},
};
#define CASE_COUNT (sizeof cases / sizeof cases[0])

static void test_words_follow_the_order(void **state) {
    (void)state;
    const char *names[CASE_COUNT];
    kernels_decisions decisions = {0};
    for (size_t i = 0; i < CASE_COUNT; i++) {
        names[i] = cases[CASE_COUNT - 1 - i].name;
    }
    assert_int_equal(kernels_resolve_variants(&machine, names, CASE_COUNT, NULL, NULL, &decisions, NULL), KERNELS_OK);
    assert_int_equal(decisions.accepted_count, CASE_COUNT);
    for (size_t i = 0; i < CASE_COUNT; i++) {
        kernels_buffer fit = KERNELS_BUFFER_INIT(4096);
        kernels_explain_fit(&machine, &decisions.items[i].variant, &fit);
        assert_string_equal(decisions.items[i].variant.name, cases[i].name);
        assert_string_equal(kernels_buffer_text(&fit), cases[i].fit);
        if (cases[i].order != NULL) {
            assert_string_equal(kernels_explain_order(&decisions.items[i].variant, &decisions.items[i + 1].variant),
                                cases[i].order);
        }
        kernels_buffer_dispose(&fit);
    }
    kernels_decisions_dispose(&decisions);
}

static void test_other_backends(void **state) {
    (void)state;
    kernels_system other = machine;
    kernels_variant variant;
    kernels_buffer fit = KERNELS_BUFFER_INIT(4096);
    other.backend = KERNELS_BACKEND_ROCM;
    other.backend_version = (kernels_version){.parts = {7, 2}, .count = 2};
    assert_int_equal(kernels_variant_parse(KERNELS_VIEW("torch215-rocm72-x86_64-linux"), &variant, NULL), KERNELS_OK);
    kernels_explain_fit(&other, &variant, &fit);
    assert_string_equal(kernels_buffer_text(&fit), "built for torch 2.15, as here; backend rocm72, as here");
    kernels_buffer_dispose(&fit);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_follow_the_order),
                                       cmocka_unit_test(test_other_backends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
