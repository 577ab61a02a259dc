/* SPDX-License-Identifier: Apache-2.0 */
/* Builds of a small noarch kernel, and what is left behind when the disk is full or memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "build/engine.h"
#include "build/kernel_dir.h"
#include "build/plan.h"
#include "build/sources.h"
#include "folder.h"
#include "vector.h"

#define ALLOCATIONS 600 /* about as many as a build makes */
#define ALLOCATION_STEP 13

static const char build_toml[] = "[general]\nname = \"a-b\"\nversion = 1\nedition = 5\nlicense = \"MIT\"\n"
                                 "backends = [\"cann\"]\n[general.hub]\nrepo-id = \"o/a-b\"\n[torch-noarch]\n";

static char *kernel_make(void) {
    char *folder = folder_make();
    folder_write_text(folder, "k/build.toml", build_toml);
    folder_write_text(folder, "k/CARD.md", "# {{ repo_id }}\n");
    folder_write_text(folder, "k/torch-ext/a_b/__init__.py", "__all__ = []\n");
    folder_write_text(folder, "k/benchmarks/benchmark.py", "");
    return folder;
}

/* Allocates nothing itself: the tests below make allocations fail. */
static kernels_status build(const char *folder, kernels_error *error) {
    char kernel_dir[KERNELS_PATH_LIMIT], store[KERNELS_PATH_LIMIT], *result = NULL;
    (void)snprintf(kernel_dir, sizeof kernel_dir, "%s/k", folder);
    (void)snprintf(store, sizeof store, "%s/store", folder);
    kernels_builder_options options = {.kernel_dir = kernel_dir, .store = store};
    kernels_status status = kernels_builder_build(&options, &result, error);
    kernels_free(result);
    return status;
}

static bool is_empty(const char *folder, const char *name) {
    kernels_listing listing;
    char *path = kernels_path_join(folder, name);
    bool empty = true;
    if (kernels_file_exists(path)) {
        assert_int_equal(kernels_list(path, KERNELS_LIST_RECURSIVE, &listing, NULL), KERNELS_OK);
        empty = listing.count == 0;
        kernels_listing_dispose(&listing);
    }
    kernels_free(path);
    return empty;
}

static void test_build(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = kernel_make();
    must(build(folder, &error), &error);
    assert_true(folder_has(folder, "k/result/torch-npu/_ops.py"));
    assert_true(folder_has(folder, "k/result/torch-npu/metadata.json"));
    assert_true(folder_has(folder, "k/result/benchmarks/benchmark.py"));
    assert_true(folder_has(folder, "k/result/../build-report.json"));
    char *card = folder_read(folder, "k/result/CARD.md");
    assert_string_equal(card, "# o/a-b");
    kernels_free(card);
    assert_true(is_empty(folder, "store/work"));
    folder_remove(folder);
}

#ifdef KERNELS_FAULTS
/* One build whose countdown-th call at a point fails. */
static kernels_status build_with_fault(kernels_fault_point point, unsigned long countdown, kernels_status expected) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = kernel_make();
    kernels_fault_arm(point, countdown);
    kernels_status status = build(folder, &error);
    kernels_fault_arm(point, 0);
    assert_int_equal(folder_has(folder, "k/result"), status == KERNELS_OK);
    assert_true(status == KERNELS_OK || expected == KERNELS_OK || status == expected);
    /* a fault in the removal of the scratch folder itself cannot be made good, and does not fail the build */
    assert_true(is_empty(folder, "store/work") || status == KERNELS_OK);
    kernels_error_dispose(&error);
    folder_remove(folder);
    return status;
}

/* The n-th call at a point fails, for every n, until a build gets through. */
static void torture(kernels_fault_point point, kernels_status expected) {
    unsigned long countdown = 1;
    while (build_with_fault(point, countdown, expected)) {
        countdown++;
    }
    print_message("%lu faults\n", countdown - 1);
    assert_true(countdown > 1);
}

static void test_disk_full(void **state) {
    (void)state;
    torture(KERNELS_FAULT_WRITE, KERNELS_NO_SPACE);
}

static void test_open_fails(void **state) {
    (void)state;
    torture(KERNELS_FAULT_OPEN, KERNELS_OK);
}

static void test_rename_fails(void **state) {
    (void)state;
    torture(KERNELS_FAULT_RENAME, KERNELS_OK);
}

/* Some allocations may fail without harm (a line of a log), so that a success is not the end. */
static void test_no_memory(void **state) {
    (void)state;
    size_t failures = 0, rounds = 0;
    for (unsigned long countdown = 1; countdown < ALLOCATIONS; countdown += ALLOCATION_STEP, rounds++) {
        failures += build_with_fault(KERNELS_FAULT_ALLOCATE, countdown, KERNELS_OK) != KERNELS_OK;
    }
    print_message("%zu of %zu faults were fatal\n", failures, rounds);
    assert_true(failures > rounds / 2);
}
#endif

/* ---- sources ---- */

static void select_sources(const char *folder, kernels_paths *paths, kernels_status wanted, const char *message) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *kernel_dir = kernels_path_join(folder, "k");
    kernels_build parsed;
    *paths = (kernels_paths){0};
    must(kernels_build_read(kernel_dir, &parsed, NULL, &error), &error);
    kernels_status status = kernels_sources_select(kernel_dir, &parsed, paths, &error);
    if (status != wanted || (message && !strstr(kernels_error_message(&error), message))) {
        fail_msg("%s: %s", kernels_status_name(status), kernels_error_message(&error));
    }
    kernels_error_dispose(&error);
    kernels_build_dispose(&parsed);
    kernels_free(kernel_dir);
}

static void test_sources(void **state) {
    (void)state;
    static const char *const wanted[] = {"aot.toml",
                                         "build.toml",
                                         "other/kernels.py",
                                         "tests/test_a.py",
                                         "torch-ext/a_b/__init__.py",
                                         "torch-ext/a_b/data/x=1.json"};
    static const char *const made[] = {
        "k/other/kernels.py",
        "k/other/unlisted.py",
        "k/tests/test_a.py",
        "k/tests/data.txt",
        "k/torch-ext/a_b/data/x=1.json",
        "k/torch-ext/a_b/note.txt",
        "k/torch-ext/a_b/stub.pyi",
        "k/torch-ext/a_b/__pycache__/x.py",
        "k/torch-ext/a_b/json",
    };
    char *folder = kernel_make();
    kernels_paths paths;
    folder_write_text(folder, "k/build.toml",
                      "[general]\nname = \"a-b\"\nversion = 1\nedition = 5\nlicense = \"MIT\"\nbackends = [\"tpu\"]\n"
                      "[torch-noarch]\npyext = [\"py\", \"json\"]\n");
    folder_write_text(folder, "k/aot.toml",
                      "format = 1\n[[function]]\nname = \"f\"\nsource = \"other/kernels.py:f\"\narguments = [\"x\"]\n"
                      "specialisations = [[\"f32[1]\"]]\n");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        folder_write_text(folder, made[i], "");
    }
    select_sources(folder, &paths, KERNELS_OK, NULL);
    assert_int_equal(paths.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < paths.count; i++) {
        assert_string_equal(paths.items[i], wanted[i]);
    }
    kernels_paths_dispose(&paths);
    char *named = kernels_path_join(folder, "k/other/kernels.py");
    assert_int_equal(kernels_remove_file(named, NULL), KERNELS_OK);
    select_sources(folder, &paths, KERNELS_FILE_NOT_FOUND, "other/kernels.py");
    kernels_paths_dispose(&paths);
    assert_int_equal(kernels_make_link("/etc/hostname", named, NULL), KERNELS_OK);
    select_sources(folder, &paths, KERNELS_UNSAFE_NAME, "outside of the kernel's folder");
    kernels_paths_dispose(&paths);
    kernels_free(named);
    folder_remove(folder);
}

static void test_layout(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = kernel_make();
    folder_write_text(folder, "k/torch-ext/a_b/a_b/__init__.py", "");
    assert_int_equal(build(folder, &error), KERNELS_CHECK_FAILED);
    assert_non_null(strstr(kernels_error_message(&error), "torch-ext/a_b/a_b must not exist"));
    folder_remove(folder);
    folder = kernel_make();
    char *init = kernels_path_join(folder, "k/torch-ext/a_b/__init__.py");
    must(kernels_remove_file(init, &error), &error);
    assert_int_equal(build(folder, &error), KERNELS_CHECK_FAILED);
    assert_non_null(strstr(kernels_error_message(&error), "torch-ext/a_b/__init__.py is missing"));
    kernels_free(init);
    kernels_error_dispose(&error);
    folder_remove(folder);
}

/* ---- digests ---- */

static void check_hash(kernels_document *document, const kernels_node *one) {
    kernels_error error = KERNELS_ERROR_INIT;
    char *folder = folder_make();
    const kernels_node *files = kernels_node_find(one, "variant_files");
    const kernels_node *digests = kernels_node_find(kernels_node_find(one, "digest"), "files");
    for (size_t i = 0; i < files->count; i++) {
        char *name = kernels_arena_copy_text(document->arena, files->as.members[i].key);
        folder_write(folder, name, kernels_node_text(files->as.members[i].value));
    }
    must(kernels_variant_hash(folder, &error), &error);
    char *first = folder_read(folder, "metadata.json");
    kernels_metadata metadata;
    must(kernels_metadata_parse(kernels_view_of(first), "metadata.json", &metadata, &error), &error);
    assert_true(metadata.has_digest);
    assert_int_equal(metadata.digest.count, digests->count);
    for (size_t i = 0; i < digests->count; i++) {
        assert_true(kernels_view_equal_text(digests->as.members[i].key, metadata.digest.files[i].path));
        assert_true(
            kernels_view_equal_text(kernels_node_text(digests->as.members[i].value), metadata.digest.files[i].hash));
    }
    kernels_metadata_dispose(&metadata);
    must(kernels_variant_hash(folder, &error), &error);
    char *second = folder_read(folder, "metadata.json");
    assert_string_equal(first, second);
    kernels_free(first);
    kernels_free(second);
    folder_remove(folder);
}

static void test_hash(void **state) {
    (void)state;
    kernels_document document = vector_read("builder/hash.json");
    for (size_t i = 0; i < document.root->count; i++) {
        check_hash(&document, document.root->as.items[i]);
    }
    print_message("%zu variants\n", document.root->count);
    kernels_document_dispose(&document);
}

/* ---- plan ---- */

static void test_plan(void **state) {
    (void)state;
    static const kernels_backend backends[] = {KERNELS_BACKEND_CANN, KERNELS_BACKEND_TPU,  KERNELS_BACKEND_METAL,
                                               KERNELS_BACKEND_CUDA, KERNELS_BACKEND_CUDA, KERNELS_BACKEND_CPU};
    static const struct {
        const char *os, *cpu, *names;
    } systems[] = {
        {"linux", "x86_64", "torch-cpu torch-tpu torch-cuda torch-npu "},
        {"linux", "aarch64", "torch-cpu torch-cuda torch-npu "},
        {"darwin", "aarch64", "torch-cpu torch-metal torch-npu "},
    };
    kernels_build parsed = {.name = "a-b", .kind = KERNELS_KIND_TORCH_NOARCH, .backends = backends, .backend_count = 6};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_plan plan;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        kernels_buffer names = KERNELS_BUFFER_INIT(4096);
        must(kernels_plan_make(&parsed, systems[i].os, systems[i].cpu, &plan, &error), &error);
        for (size_t j = 0; j < plan.count; j++) {
            kernels_buffer_printf(&names, "%s ", plan.variants[j].name);
        }
        assert_string_equal(kernels_buffer_text(&names), systems[i].names);
        kernels_buffer_dispose(&names);
    }
    assert_int_equal(kernels_plan_select(&plan, "torch-tpu", &error), KERNELS_NO_VARIANT);
    assert_non_null(strstr(kernels_error_message(&error), "torch-cpu, torch-metal, torch-npu"));
    must(kernels_plan_select(&plan, "torch-npu", &error), &error);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.variants[0].backend, KERNELS_BACKEND_CANN);
    parsed.kind = KERNELS_KIND_TORCH;
    assert_int_equal(kernels_plan_make(&parsed, "linux", "x86_64", &plan, &error), KERNELS_UNSUPPORTED);
    kernels_error_dispose(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),     cmocka_unit_test(test_sources),    cmocka_unit_test(test_layout),
        cmocka_unit_test(test_hash),      cmocka_unit_test(test_plan),
#ifdef KERNELS_FAULTS
        cmocka_unit_test(test_disk_full), cmocka_unit_test(test_open_fails), cmocka_unit_test(test_rename_fails),
        cmocka_unit_test(test_no_memory),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
