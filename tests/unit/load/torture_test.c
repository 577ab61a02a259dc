/* SPDX-License-Identifier: Apache-2.0 */
/* Loading while the n-th allocation fails, for every n: the answer is NO_MEMORY, nothing leaks, and afterwards the same
 * context loads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/load.h"

#ifdef KERNELS_FAULTS

#define ALLOCATIONS_MAX 100000

static const char metadata[] =
    "{\"name\": \"near\", \"id\": \"_near_cpu_abc1234\", \"version\": 1, \"license\": \"MIT\","
    " \"python-depends\": [], \"backend\": {\"type\": \"cpu\"},"
    " \"digest\": {\"algorithm\": \"sha256\", \"files\": {\"__init__.py\":"
    " \"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"}}}";

static void write_file(const char *root, const char *path, const char *content) {
    char *full = kernels_path_join(root, path);
    char *parent = kernels_path_parent(full);
    assert_int_equal(kernels_make_directories(parent, NULL), KERNELS_OK);
    assert_int_equal(kernels_file_write(full, kernels_view_of(content), 0, NULL), KERNELS_OK);
    kernels_free(full);
    kernels_free(parent);
}

static void check_failure(kernels_status status, const kernels_error *error, unsigned long n) {
    if (status != KERNELS_NO_MEMORY) {
        fail_msg("allocation %lu: expected NO_MEMORY, got %s: %s", n, kernels_status_name(status),
                 kernels_error_message(error));
    }
}

static void test_load_local(void **state) {
    (void)state;
    char *root = NULL;
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-torture-", &root, NULL), KERNELS_OK);
    write_file(root, "build/torch-cpu/metadata.json", metadata);
    write_file(root, "build/torch-cpu/__init__.py", "");
    write_file(root, "build/torch-tpu/aot/f.cpu.0.mlirbc", "");
    const kernels_context_options options = {.cache_directory = root, .offline = true, .system = &system};
    const kernels_load_options load_options = {.for_python = true};
    kernels_context *context = NULL;
    assert_int_equal(kernels_context_new(&options, &context, NULL), KERNELS_OK);
    unsigned long n = 0;
    kernels_status status = KERNELS_NO_MEMORY;
    while (status != KERNELS_OK && ++n < ALLOCATIONS_MAX) {
        kernels_kernel *kernel = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        status = kernels_load_local(context, root, &load_options, &kernel, &error);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (status == KERNELS_OK) {
            assert_true(kernels_kernel_is_verified(kernel));
            assert_string_equal(kernels_kernel_variant(kernel), "torch-cpu");
        } else {
            check_failure(status, &error, n);
            assert_null(kernel);
        }
        kernels_kernel_free(kernel);
        kernels_error_dispose(&error);
    }
    assert_int_equal(status, KERNELS_OK);
    print_message("%lu allocations failed one by one\n", n - 1);
    assert_true(n > 20);
    kernels_context_free(context);
    assert_int_equal(kernels_remove_tree(root, NULL), KERNELS_OK);
    kernels_free(root);
}

static void test_resolve(void **state) {
    (void)state;
    const char *names[] = {"torch-cpu", "torch-tpu", "torch213-cpu-x86_64-linux", "junk"};
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    kernels_status status = KERNELS_NO_MEMORY;
    unsigned long n = 0;
    while (status != KERNELS_OK && ++n < ALLOCATIONS_MAX) {
        kernels_decisions decisions = {0};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        status = kernels_resolve_variants(&system, names, 4, NULL, NULL, &decisions, &error);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (status != KERNELS_OK) {
            check_failure(status, &error, n);
        }
        kernels_decisions_dispose(&decisions);
        kernels_error_dispose(&error);
    }
    assert_true(n > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load_local), cmocka_unit_test(test_resolve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* no fault points in this build */

#endif
