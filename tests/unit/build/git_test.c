/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <git2.h>

#include "build/git.h"
#include "build/identity.h"
#include "folder.h"
#include "vector.h"

#define COMMIT_TIME 1700000000

static void write_all(kernels_document *document, const char *folder, const kernels_node *files) {
    for (size_t i = 0; i < files->count; i++) {
        char *name = kernels_arena_copy_text(document->arena, files->as.members[i].key);
        folder_write(folder, name, kernels_node_text(files->as.members[i].value));
    }
}

/* `git add <name>`; "*" = all. */
static void stage(git_repository *repository, const char *name) {
    git_index *index = NULL;
    char *pattern = kernels_strdup(name);
    git_strarray patterns = {&pattern, 1};
    assert_int_equal(git_repository_index(&index, repository), 0);
    assert_int_equal(git_index_add_all(index, &patterns, GIT_INDEX_ADD_DEFAULT, NULL, NULL), 0);
    assert_int_equal(git_index_write(index), 0);
    git_index_free(index);
    kernels_free(pattern);
}

static void commit(git_repository *repository) {
    git_index *index = NULL;
    git_tree *tree = NULL;
    git_signature *who = NULL;
    git_oid tree_id, commit_id;
    assert_int_equal(git_repository_index(&index, repository), 0);
    assert_int_equal(git_index_write_tree(&tree_id, index), 0);
    assert_int_equal(git_tree_lookup(&tree, repository, &tree_id), 0);
    assert_int_equal(git_signature_new(&who, "T", "t@example.org", COMMIT_TIME, 0), 0);
    assert_int_equal(git_commit_create(&commit_id, repository, "HEAD", who, who, NULL, "first\n", tree, 0, NULL), 0);
    git_signature_free(who);
    git_tree_free(tree);
    git_index_free(index);
}

static void do_steps(kernels_document *document, git_repository *repository, const char *folder,
                     const kernels_node *steps) {
    for (size_t i = 0; i < steps->count; i++) {
        const kernels_node *step = steps->as.items[i];
        const char *name = kernels_arena_copy_text(document->arena, kernels_node_text(step->as.items[1]));
        kernels_view verb = kernels_node_text(step->as.items[0]);
        if (kernels_view_equal_text(verb, "write")) {
            folder_write(folder, name, kernels_node_text(step->as.items[2]));
        } else if (kernels_view_equal_text(verb, "add")) {
            stage(repository, name);
        } else {
            char *path = kernels_path_join(folder, name);
            assert_int_equal(kernels_remove_file(path, NULL), KERNELS_OK);
            kernels_free(path);
        }
    }
}

static void make_repository(kernels_document *document, const kernels_node *one, const char *folder) {
    git_repository *repository = NULL;
    const kernels_node *files = kernels_node_find(one, "committed_files");
    if (!kernels_node_is(files, KERNELS_NODE_OBJECT)) {
        return;
    }
    assert_int_equal(git_repository_init(&repository, folder, 0), 0);
    if (files->count) {
        write_all(document, folder, files);
        stage(repository, "*");
        commit(repository);
        do_steps(document, repository, folder, kernels_node_find(one, "then"));
    }
    git_repository_free(repository);
}

static void check_state(kernels_document *document, const kernels_node *one, const kernels_git_state *state) {
    const char *wanted = vector_text(document, one, "unique_id");
    assert_int_equal(state->found, wanted != NULL);
    if (!wanted) {
        assert_true(state->reason[0] != '\0');
        return;
    }
    char id[KERNELS_BUILD_ID_SIZE];
    const kernels_node *provenance = kernels_node_find(one, "provenance_kernel");
    kernels_build_id_from_git(state, KERNELS_BUILD_ID_TREE, state->dirty, id);
    assert_string_equal(id, wanted);
    assert_string_equal(state->tree, vector_text(document, one, "head_tree"));
    assert_string_equal(state->commit, vector_text(document, provenance, "commit"));
    assert_int_equal(state->dirty, vector_true(provenance, "dirty"));
}

static void test_vectors(void **unused) {
    (void)unused;
    kernels_document document = vector_read("builder/unique_id.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    for (size_t i = 0; i < cases->count; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        const kernels_node *one = cases->as.items[i];
        const char *below = vector_text(&document, one, "kernel_dir");
        char *folder = folder_make();
        make_repository(&document, one, folder);
        char *kernel_dir = kernels_path_join(folder, below ? below : ".");
        kernels_git_state state;
        must(kernels_git_read(kernel_dir, NULL, 0, &state, &error), &error);
        check_state(&document, one, &state);
        kernels_free(kernel_dir);
        folder_remove(folder);
    }
    print_message("%zu states\n", cases->count);
    kernels_document_dispose(&document);
}

static void test_untracked(void **unused) {
    (void)unused;
    static const char *const tracked[] = {"a.py", "sub/b.py"}, *const both[] = {"a.py", "new.py"};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_git_state state;
    git_repository *repository = NULL;
    char *folder = folder_make();
    char *kernel_dir = kernels_path_join(folder, "kernels/one");
    folder_write_text(kernel_dir, "a.py", "a");
    folder_write_text(kernel_dir, "sub/b.py", "b");
    assert_int_equal(git_repository_init(&repository, folder, 0), 0);
    stage(repository, "*");
    commit(repository);
    git_repository_free(repository);
    folder_write_text(kernel_dir, "new.py", "n");
    must(kernels_git_read(kernel_dir, tracked, 2, &state, &error), &error);
    assert_true(state.found && !state.dirty && !state.is_untracked);
    must(kernels_git_read(kernel_dir, both, 2, &state, &error), &error);
    assert_true(state.found && !state.dirty && state.is_untracked);
    char id[KERNELS_BUILD_ID_SIZE];
    kernels_build_id_from_git(&state, KERNELS_BUILD_ID_COMMIT, true, id);
    assert_memory_equal(id, state.commit, 7);
    assert_string_equal(id + 7, "_dirty");
    kernels_free(kernel_dir);
    folder_remove(folder);
}

static void test_init(void **unused) {
    (void)unused;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_git_state state;
    git_repository *repository = NULL;
    git_index *index = NULL;
    char *folder = folder_make();
    folder_write_text(folder, "a.py", "a");
    folder_write_text(folder, "b/c.py", "c");
    folder_write_text(folder, "b/no.tmp", "n");
    folder_write_text(folder, ".gitignore", "*.tmp\n");
    must(kernels_git_init(folder, &error), &error);
    must(kernels_git_init(folder, &error), &error); /* kept */
    must(kernels_git_read(folder, NULL, 0, &state, &error), &error);
    assert_false(state.found);
    assert_int_equal(git_repository_open(&repository, folder), 0);
    assert_int_equal(git_repository_index(&index, repository), 0);
    assert_int_equal(git_index_entrycount(index), 3);
    assert_non_null(git_index_get_bypath(index, "b/c.py", 0));
    git_index_free(index);
    git_repository_free(repository);
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_untracked),
        cmocka_unit_test(test_init),
    };
    git_libgit2_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    git_libgit2_shutdown();
    return failed;
}
