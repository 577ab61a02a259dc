/* SPDX-License-Identifier: Apache-2.0 */
/* Which variants a listing offers, and how exported programs are told from their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/candidates.h"

static kernels_candidates from_paths(const char *const *paths, size_t count) {
    kernels_tree_entry entries[32] = {{0}};
    kernels_candidates candidates = {0};
    assert_true(count <= 32);
    for (size_t i = 0; i < count; i++) {
        kernels_view path = kernels_view_of(paths[i]);
        entries[i].path = paths[i];
        entries[i].is_directory = kernels_view_find(path, '.') == SIZE_MAX;
    }
    const kernels_tree tree = {.entries = entries, .count = count};
    assert_int_equal(kernels_candidates_from_tree(&tree, &candidates, NULL), KERNELS_OK);
    return candidates;
}

static void test_tree(void **state) {
    (void)state;
    /* "torch-cpu-x" sorts between the folder torch-cpu and the files below it */
    const char *const paths[] = {"README.md",
                                 "build/README.md",
                                 "build/torch-cpu",
                                 "build/torch-cpu-x",
                                 "build/torch-cpu-x/a.py",
                                 "build/torch-cpu/aot/relu.cpu.0.mlirbc",
                                 "build/torch-tpu/aot/manifest.json",
                                 "build/torch-tpu/aot/relu.tpu.0.mlirbc",
                                 "build/torch-universal/relu.cpu.0.mlirbc",
                                 "builder/torch-cuda"};
    kernels_candidates candidates = from_paths(paths, sizeof paths / sizeof paths[0]);
    assert_int_equal(candidates.count, 4);
    assert_string_equal(candidates.items[0].name, "torch-cpu");
    assert_true(candidates.items[0].has_aot && candidates.items[0].has_aot_cpu);
    assert_string_equal(candidates.items[1].name, "torch-cpu-x");
    assert_false(candidates.items[1].has_aot);
    assert_string_equal(candidates.items[2].name, "torch-tpu");
    assert_true(candidates.items[2].has_aot && !candidates.items[2].has_aot_cpu);
    assert_string_equal(candidates.items[3].name, "torch-universal");
    assert_false(candidates.items[3].has_aot);
    kernels_candidates_dispose(&candidates);
}

static void test_empty_tree(void **state) {
    (void)state;
    kernels_candidates candidates = from_paths(NULL, 0);
    assert_int_equal(candidates.count, 0);
    kernels_candidates_dispose(&candidates);
}

static void test_folder(void **state) {
    (void)state;
    char *root = NULL;
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-candidates-", &root, NULL), KERNELS_OK);
    char *aot = kernels_path_join3(root, "torch-tpu", "aot");
    char *program = kernels_path_join(aot, "f.g.cpu.12.mlirbc");
    char *link = kernels_path_join(root, "torch-cpu");
    char *dangling = kernels_path_join(root, "torch-cuda");
    char *file = kernels_path_join(root, "torch-rocm");
    assert_int_equal(kernels_make_directories(aot, NULL), KERNELS_OK);
    assert_int_equal(kernels_file_write(program, KERNELS_VIEW(""), 0, NULL), KERNELS_OK);
    assert_int_equal(kernels_file_write(file, KERNELS_VIEW(""), 0, NULL), KERNELS_OK);
    assert_int_equal(kernels_make_link("torch-tpu", link, NULL), KERNELS_OK);
    assert_int_equal(kernels_make_link("nowhere", dangling, NULL), KERNELS_OK);
    kernels_candidates candidates = {0};
    assert_int_equal(kernels_candidates_from_folder(root, &candidates, NULL), KERNELS_OK);
    assert_int_equal(candidates.count, 2);
    assert_string_equal(candidates.items[0].name, "torch-cpu");
    assert_string_equal(candidates.items[1].name, "torch-tpu");
    assert_true(candidates.items[1].has_aot_cpu);
    kernels_candidates_dispose(&candidates);
    assert_int_equal(kernels_candidates_from_folder(file, &candidates, NULL), KERNELS_OK);
    assert_int_equal(candidates.count, 0);
    kernels_candidates_dispose(&candidates);
    assert_int_equal(kernels_remove_tree(root, NULL), KERNELS_OK);
    kernels_free(root);
    kernels_free(aot);
    kernels_free(program);
    kernels_free(link);
    kernels_free(dangling);
    kernels_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_empty_tree),
        cmocka_unit_test(test_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
