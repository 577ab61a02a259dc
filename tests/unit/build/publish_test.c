/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "build/publish_plan.h"
#include "folder.h"
#include "vector.h"

#define REMOTE_MAX 64

/* Value of an option among the arguments, or NULL. */
static const char *argument(kernels_document *document, const kernels_node *one, const char *name) {
    const kernels_node *words = kernels_node_find(one, "args");
    for (size_t i = 0; i + 1 < words->count; i++) {
        if (kernels_view_equal_text(kernels_node_text(words->as.items[i]), name)) {
            return kernels_arena_copy_text(document->arena, kernels_node_text(words->as.items[i + 1]));
        }
    }
    return NULL;
}

/* The branch that the command would choose (choosing is tested in tests/program). */
static const char *branch_name(kernels_document *document, const kernels_node *one, const kernels_node *expect) {
    const char *given = argument(document, one, "--branch");
    const char *configured = vector_text(document, one, "build_toml_branch");
    if (given || configured) {
        return given ? given : configured;
    }
    const kernels_node *commits = kernels_node_find(expect, "commits");
    return vector_text(document, commits->as.items[commits->count - 1], "branch");
}

static bool has_branch(const kernels_node *one, const char *name) {
    const kernels_node *branches = kernels_node_find(one, "remote_branches");
    for (size_t i = 0; i < branches->count; i++) {
        if (kernels_view_equal_text(kernels_node_text(branches->as.items[i]), name)) {
            return true;
        }
    }
    return false;
}

static size_t remote_files(kernels_document *document, const kernels_node *one, const char *branch,
                           const char **files) {
    const kernels_node *list = kernels_node_find(kernels_node_find(one, "remote_tree"), branch);
    size_t count = list ? list->count : 0;
    assert_true(count <= REMOTE_MAX);
    for (size_t i = 0; i < count; i++) {
        files[i] = kernels_arena_copy_text(document->arena, kernels_node_text(list->as.items[i]));
    }
    return count;
}

static void print_plan(const kernels_publish_plan *plan, const char *folder, kernels_buffer *out) {
    for (size_t i = 0; i < plan->count; i++) {
        for (size_t j = 0; j < plan->branches[i].count; j++) {
            const kernels_operation *operation = &plan->branches[i].operations[j];
            const char *local = operation->local_path ? operation->local_path + strlen(folder) + 1 : "";
            kernels_buffer_printf(out, "%s %s %s %s\n", plan->branches[i].name,
                                  operation->type == KERNELS_OPERATION_ADD ? "add" : "delete", operation->path, local);
        }
    }
}

static void print_expected(kernels_document *document, const kernels_node *expect, kernels_buffer *out) {
    const kernels_node *commits = kernels_node_find(expect, "commits");
    for (size_t i = 0; i < commits->count; i++) {
        const kernels_node *operations = kernels_node_find(commits->as.items[i], "operations");
        for (size_t j = 0; j < operations->count; j++) {
            const kernels_node *row = operations->as.items[j];
            kernels_buffer_printf(out, "%s", vector_text(document, commits->as.items[i], "branch"));
            for (size_t k = 0; k < 3; k++) {
                kernels_view text = k < row->count ? kernels_node_text(row->as.items[k]) : KERNELS_VIEW("");
                kernels_buffer_printf(out, " %.*s", KERNELS_VIEW_ARGS(text));
            }
            kernels_buffer_add_char(out, '\n');
        }
    }
}

static void write_files(kernels_document *document, const kernels_node *one, const char *folder) {
    const kernels_node *files = kernels_node_find(one, "local");
    for (size_t i = 0; i < files->count; i++) {
        const char *name = kernels_arena_copy_text(document->arena, files->as.members[i].key);
        folder_write(folder, name, kernels_node_text(files->as.members[i].value));
    }
}

static void check_case(kernels_document *document, const kernels_node *one) {
    kernels_error error = KERNELS_ERROR_INIT;
    const kernels_node *expect = kernels_node_find(one, "expect");
    char *folder = folder_make();
    write_files(document, one, folder);
    kernels_built built;
    kernels_status status = kernels_built_find(folder, &built, &error);
    if (!expect) {
        assert_true(status == KERNELS_NOT_FOUND || built.count > 1); /* none, or versions that differ */
    }
    if (!status && expect) {
        const char *remote[REMOTE_MAX];
        const char *branch = branch_name(document, one, expect);
        bool is_new = !has_branch(one, branch);
        assert_int_equal(is_new, kernels_node_is(kernels_node_find(expect, "create_branch"), KERNELS_NODE_STRING));
        size_t count = remote_files(document, one, is_new ? "main" : branch, remote);
        kernels_publish_input input = {folder, &built, branch, is_new, remote, count};
        kernels_publish_plan plan;
        kernels_buffer got = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_buffer wanted = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        must(kernels_publish_plan_make(&input, &plan, &error), &error);
        print_plan(&plan, folder, &got);
        print_expected(document, expect, &wanted);
        assert_string_equal(kernels_buffer_text(&got), kernels_buffer_text(&wanted));
        kernels_buffer_dispose(&got);
        kernels_buffer_dispose(&wanted);
        kernels_publish_plan_dispose(&plan);
    }
    if (!status) {
        kernels_built_dispose(&built);
    }
    kernels_error_dispose(&error);
    folder_remove(folder);
}

static void test_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("builder/upload_operations.json");
    for (size_t i = 0; i < document.root->count; i++) {
        check_case(&document, document.root->as.items[i]);
    }
    print_message("%zu uploads\n", document.root->count);
    kernels_document_dispose(&document);
}

static const char metadata[] = "{\"name\":\"ab\",\"id\":\"_x\",\"version\":1,\"license\":\"MIT\",\"python-depends\":[],"
                               "\"backend\":{\"type\":\"cpu\"}}";

static void link_in(const char *folder, const char *name, const char *target) {
    char *path = kernels_path_join(folder, name);
    assert_int_equal(symlink(target, path), 0);
    kernels_free(path);
}

static kernels_status plan_of(const char *folder, kernels_publish_plan *plan, kernels_error *error) {
    kernels_built built;
    must(kernels_built_find(folder, &built, error), error);
    kernels_publish_input input = {folder, &built, "v1", false, NULL, 0};
    kernels_status status = kernels_publish_plan_make(&input, plan, error);
    kernels_built_dispose(&built);
    return status;
}

static void test_links(void **state) {
    (void)state;
    static const char *const refused[] = {"/etc/hostname", "../outside.py", "nothing", "sub", "../torch-cpu-2/x.py"};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_publish_plan plan;
    char *folder = folder_make();
    folder_write_text(folder, "build/torch-cpu/metadata.json", metadata);
    folder_write_text(folder, "build/torch-cpu/sub/a.py", "a");
    folder_write_text(folder, "build/torch-cpu-2/x.py", "x");
    folder_write_text(folder, "build/outside.py", "o");
    link_in(folder, "build/torch-cpu/inside.py", "sub/a.py");
    must(plan_of(folder, &plan, &error), &error);
    assert_int_equal(kernels_publish_plan_operations(&plan), 3);
    kernels_publish_plan_dispose(&plan);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char *path = kernels_path_join(folder, "build/torch-cpu/bad.py");
        link_in(folder, "build/torch-cpu/bad.py", refused[i]);
        assert_int_equal(plan_of(folder, &plan, &error), KERNELS_UNSAFE_NAME);
        assert_non_null(strstr(kernels_error_message(&error), "bad.py"));
        must(kernels_remove_file(path, &error), &error);
        kernels_free(path);
    }
    folder_write_text(folder, "build/torch-cpu/a\nb.py", "x");
    assert_int_equal(plan_of(folder, &plan, &error), KERNELS_UNSAFE_NAME);
    kernels_error_dispose(&error);
    folder_remove(folder);
}

static void test_unchanged(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_publish_plan plan;
    char *folder = folder_make();
    folder_write_text(folder, "build/torch-cpu/metadata.json", metadata);
    folder_write_text(folder, "build/torch-cpu/a.py", "hello\n");
    folder_write_text(folder, "build/torch-cpu/b.bin", "hello\n");
    folder_write_text(folder, "build/torch-cpu/c.py", "other\n");
    must(plan_of(folder, &plan, &error), &error);
    const kernels_tree_entry entries[] = {
        {.path = "build/torch-cpu/a.py", .size = 6, .oid = "ce013625030ba8dba906f756967f9e9ca394464a"},
        {.path = "build/torch-cpu/b.bin",
         .size = 6,
         .oid = "0000000000000000000000000000000000000000",
         .lfs_sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},
        {.path = "build/torch-cpu/c.py", .size = 6, .oid = "ce013625030ba8dba906f756967f9e9ca394464a"},
    };
    const kernels_tree tree = {.entries = entries, .count = 3};
    must(kernels_publish_plan_drop_unchanged(&plan, "v1", &tree, &error), &error);
    assert_int_equal(plan.branches[0].count, 2);
    assert_int_equal(plan.branches[0].unchanged, 2);
    assert_string_equal(plan.branches[0].operations[0].path, "build/torch-cpu/c.py");
    assert_string_equal(plan.branches[0].operations[1].path, "build/torch-cpu/metadata.json");
    kernels_publish_plan_dispose(&plan);
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
