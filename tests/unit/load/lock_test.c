/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies of a project, and what is refused before any question is asked. Locking itself needs a Hub:
 * tests/program/test_kernels_lock.py. */
#include "support/test_support.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/lock.h"

/* A folder with this pyproject.toml; NULL = none. */
static char *project_new(const char *text) {
    char *folder = NULL;
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-lock-", &folder, NULL), KERNELS_OK);
    if (text != NULL) {
        char *path = kernels_path_join(folder, "pyproject.toml");
        assert_int_equal(kernels_file_write(path, kernels_view_of(text), 0, NULL), KERNELS_OK);
        kernels_free(path);
    }
    return folder;
}

static void project_free(char *folder) {
    assert_int_equal(kernels_remove_tree(folder, NULL), KERNELS_OK);
    kernels_free(folder);
}

#define PROJECT                                                                \
    "[project]\nname = \"x\"\n\n[tool.kernels.dependencies]\n\"good/b\" = 2\n" \
    "\"good/a\" = 0\nplain = 9223372036854775807\n"

static void dependencies_in_the_order_of_the_file(void **state) {
    (void)state;
    char *folder = project_new(PROJECT);
    kernels_project_dependencies found = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_project_dependencies_read(folder, &found, &error), error);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.items[0].repo_id, "good/b");
    assert_true(found.items[0].version == 2 && found.items[0].revision == NULL);
    assert_string_equal(found.items[1].repo_id, "good/a");
    assert_true(found.items[1].version == 0);
    assert_string_equal(found.items[2].repo_id, "plain");
    assert_true(found.items[2].version == INT64_MAX);
    kernels_project_dependencies_dispose(&found);
    kernels_project_dependencies_dispose(NULL);
    project_free(folder);
}

static void empty_tables_are_not_missing_ones(void **state) {
    (void)state;
    char *folder = project_new("[tool.kernels]\ndependencies = {}\n");
    kernels_project_dependencies found = {0};
    assert_int_equal(kernels_project_dependencies_read(folder, &found, NULL), KERNELS_OK);
    assert_int_equal(found.count, 0);
    kernels_project_dependencies_dispose(&found);
    project_free(folder);
}

static void projects_that_cannot_be_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kernels_status status;
        const char *part;
    } cases[] = {
        {NULL, KERNELS_FILE_NOT_FOUND, "pyproject.toml"},
        {"[tool", KERNELS_SYNTAX, "pyproject.toml:1:"},
        {"[tool.kernel.dependencies]\n", KERNELS_SCHEMA, "no table [tool.kernels.dependencies]"},
        {"[tool.kernels]\ndependencies = [1]\n", KERNELS_SCHEMA, ":2:16: tool.kernels.dependencies: expected a table"},
        {"[tool.kernels.dependencies]\n\"a/b\" = 1.5\n", KERNELS_SCHEMA, "expected the version of \"a/b\""},
        {"[tool.kernels.dependencies]\n\"a/b\" = 1\n\"a//b\" = 1\n", KERNELS_INVALID_ARGUMENT,
         "\"a//b\" is no repository"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *folder = project_new(cases[i].text);
        kernels_project_dependencies found = {0};
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = kernels_project_dependencies_read(folder, &found, &error);
        assert_contains(kernels_error_message(&error), cases[i].part);
        assert_string_equal(kernels_status_name(status), kernels_status_name(cases[i].status));
        assert_null(found.owner);
        kernels_error_dispose(&error);
        project_free(folder);
    }
}

static void too_many_kernels(void **state) {
    (void)state;
    kernels_buffer text = KERNELS_BUFFER_INIT(1024 * 1024);
    kernels_project_dependencies found = {0};
    kernels_buffer_add_text(&text, "[tool.kernels.dependencies]\n");
    for (size_t i = 0; i <= KERNELS_LOCK_KERNELS_MAX; i++) {
        kernels_buffer_printf(&text, "k%zu = 1\n", i);
    }
    char *folder = project_new(kernels_buffer_text(&text));
    assert_int_equal(kernels_project_dependencies_read(folder, &found, NULL), KERNELS_LIMIT);
    kernels_buffer_dispose(&text);
    project_free(folder);
}

static void nothing_is_asked(void **state) {
    (void)state;
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    const kernels_context_options options = {.offline = true, .system = &system, .endpoint = "http://127.0.0.1:9"};
    const kernels_dependency wanted = {.repo_id = "a/b", .version = 1};
    kernels_context *context = NULL;
    kernels_locks locks = {0};
    char *text = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_context_new(&options, &context, &error), error);
    assert_int_equal(kernels_lock_dependencies(NULL, &wanted, 1, &locks, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_lock_dependencies(context, NULL, 1, &locks, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_lock_dependencies(context, &wanted, 0, &locks, &error), KERNELS_INVALID_ARGUMENT);
    assert_contains(kernels_error_message(&error), "No kernels found to lock");
    assert_int_equal(kernels_lock_dependencies(context, &wanted, 1, &locks, NULL), KERNELS_OFFLINE);
    assert_int_equal(kernels_lock_dependencies_older(context, &wanted, 0, &text, NULL), KERNELS_INVALID_ARGUMENT);
    assert_int_equal(kernels_lock_dependencies_older(context, &wanted, 1, &text, NULL), KERNELS_OFFLINE);
    assert_null(locks.owner);
    assert_null(text);
    kernels_error_dispose(&error);
    kernels_context_free(context);
}

#ifdef KERNELS_FAULTS
static void allocations_fail_one_by_one(void **state) {
    (void)state;
    char *folder = project_new(PROJECT);
    kernels_status status = KERNELS_NO_MEMORY;
    unsigned long n = 0;
    while (status != KERNELS_OK && ++n < 10000) {
        kernels_project_dependencies found = {0};
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        status = kernels_project_dependencies_read(folder, &found, NULL);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        assert_true(status == KERNELS_OK || status == KERNELS_NO_MEMORY);
        kernels_project_dependencies_dispose(&found);
    }
    assert_int_equal(status, KERNELS_OK);
    print_message("%lu allocations failed one by one\n", n - 1);
    assert_true(n > 5);
    project_free(folder);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependencies_in_the_order_of_the_file),
        cmocka_unit_test(empty_tables_are_not_missing_ones),
        cmocka_unit_test(projects_that_cannot_be_read),
        cmocka_unit_test(too_many_kernels),
        cmocka_unit_test(nothing_is_asked),
#ifdef KERNELS_FAULTS
        cmocka_unit_test(allocations_fail_one_by_one),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
