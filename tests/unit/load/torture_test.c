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

/* What of the cache cannot be read counts as absent. */
static void check_failure(kernels_status status, const kernels_error *error, unsigned long n) {
    if (status != KERNELS_NO_MEMORY && status != KERNELS_NOT_CACHED) {
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

/* ---- the steps, from a cache ---- */

#define COMMIT "1111111111111111111111111111111111111111"
/* More than any step makes. */
#define STEP_ALLOCATIONS 300
#define LATER "2222222222222222222222222222222222222222"

static const char listing[] = "{\"format_version\": 1, \"files\": {\"kernel-status.toml\": {\"size\": 1},"
                              " \"build/torch-cpu/__init__.py\": {\"size\": 0,"
                              " \"blob_id\": \"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\"}}}";

static void warn(void *payload, const char *category, const char *message) {
    (void)category;
    (void)message;
    (*(size_t *)payload)++;
}

static kernels_status run_find(kernels_context *context, kernels_error *error) {
    const kernels_load_options options = {.version = 1, .for_python = true};
    kernels_found *found = NULL;
    kernels_status status = kernels_find(context, "good/near", &options, &found, error);
    kernels_found_free(found);
    return status;
}

static kernels_status run_no_variant(kernels_context *context, kernels_error *error) {
    const kernels_load_options options = {.version = 2, .for_python = true};
    kernels_found *found = NULL;
    kernels_status status = kernels_find(context, "good/near", &options, &found, error);
    if (status == KERNELS_NO_VARIANT) {
        return KERNELS_OK;
    }
    assert_null(found);
    return status;
}

static kernels_status run_install(kernels_context *context, kernels_error *error) {
    char *path = NULL;
    kernels_status status = kernels_install(context, "good/near", COMMIT, "torch-cpu", "v1", NULL, &path, error);
    assert_true((path == NULL) == (status != KERNELS_OK));
    kernels_string_free(path);
    return status;
}

static kernels_status run_install_all(kernels_context *context, kernels_error *error) {
    char *path = NULL;
    kernels_status status = kernels_install_all(context, "good/near", COMMIT, NULL, NULL, &path, error);
    assert_true((path == NULL) == (status != KERNELS_OK));
    kernels_string_free(path);
    return status;
}

static kernels_status run_names(kernels_context *context, kernels_error *error) {
    kernels_names names = {0};
    kernels_version_branch *versions = NULL;
    size_t count = 0;
    kernels_status status = kernels_list_variants(context, "good/near", COMMIT, false, &names, error);
    if (status == KERNELS_OK) {
        status = kernels_list_versions(context, "good/near", false, &versions, &count, error);
    }
    kernels_names_dispose(&names);
    kernels_string_free((char *)versions);
    return status;
}

static kernels_status run_load_by_lock(kernels_context *context, kernels_error *error) {
    const kernels_lock items[] = {{.dependency = {.repo_id = "good/near", .version = 1}, .commit = COMMIT},
                                  {.dependency = {.repo_id = "good/near", .revision = "main"}, .commit = COMMIT}};
    kernels_locks locks = {0};
    kernels_kernel *kernel = NULL;
    kernels_status status = kernels_locks_make(KERNELS_LOCK_KERNELS, items, 2, &locks, error);
    if (status != KERNELS_OK) {
        return status;
    }
    const kernels_load_options options = {.locks = &locks, .for_python = true};
    status = kernels_load(context, "good/near", &options, &kernel, error);
    assert_true((kernel == NULL) == (status != KERNELS_OK));
    kernels_kernel_free(kernel);
    kernels_locks_dispose(&locks);
    return status;
}

/* Some allocations may fail without harm, those of warnings for example: success is no sign that the end is reached.
 * Each n in a context of its own, which after the failure does what it did not do under it. */
static void torture(const char *cache, const char *name,
                    kernels_status (*run)(kernels_context *context, kernels_error *error)) {
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    size_t warnings = 0;
    const kernels_context_options options = {
        .cache_directory = cache, .offline = true, .system = &system, .warning = warn, .payload = &warnings};
    unsigned long failures = 0;
    for (unsigned long n = 1; n <= STEP_ALLOCATIONS; n++) {
        kernels_context *context = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_int_equal(kernels_context_new(&options, &context, NULL), KERNELS_OK);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        kernels_status status = run(context, &error);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (status != KERNELS_OK) {
            check_failure(status, &error, n);
            assert_int_equal(run(context, NULL), KERNELS_OK);
            failures++;
        }
        kernels_error_dispose(&error);
        kernels_context_free(context);
    }
    print_message("%s: %lu of the allocations failed it\n", name, failures);
    assert_true(failures > 10 && failures < STEP_ALLOCATIONS / 2);
}

static void test_steps(void **state) {
    (void)state;
    char *root = NULL;
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-torture-", &root, NULL), KERNELS_OK);
    write_file(root, "kernels--good--near/snapshots/" COMMIT "/build/torch-cpu/metadata.json", metadata);
    write_file(root, "kernels--good--near/snapshots/" COMMIT "/build/torch-cpu/__init__.py", "");
    write_file(root, "kernels--good--near/snapshots/" LATER "/build/torch-metal/metadata.json", metadata);
    write_file(root, "kernels--good--near/trees/" COMMIT ".json", listing);
    write_file(root, "kernels--good--near/refs/v1", COMMIT);
    write_file(root, "kernels--good--near/refs/v2", LATER);
    torture(root, "find", run_find);
    torture(root, "no variant", run_no_variant);
    torture(root, "install", run_install);
    torture(root, "install_all", run_install_all);
    torture(root, "names", run_names);
    torture(root, "load by lock", run_load_by_lock);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load_local), cmocka_unit_test(test_steps),
                                       cmocka_unit_test(test_resolve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* no fault points in this build */

#endif
