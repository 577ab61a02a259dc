/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a load, loading by lock and the registry of a context, all from a cache on disk. */
#include "support/test_support.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/load.h"

#define LEAF_1 "1111111111111111111111111111111111111111"
#define LEAF_2 "2222222222222222222222222222222222222222"
#define TOP_1 "3333333333333333333333333333333333333333"
#define METAL_1 "4444444444444444444444444444444444444444"
#define WARNINGS 16

typedef struct fixture {
    char *cache;
    kernels_context *context;
    kernels_error error;
    char categories[WARNINGS][32], messages[WARNINGS][512];
    size_t warning_count;
} fixture;

static void keep_warning(void *payload, const char *category, const char *message) {
    fixture *f = payload;
    assert_true(f->warning_count < WARNINGS);
    (void)snprintf(f->categories[f->warning_count], sizeof f->categories[0], "%s", category);
    (void)snprintf(f->messages[f->warning_count], sizeof f->messages[0], "%s", message);
    f->warning_count++;
}

static void write_file(const fixture *f, const char *folder, const char *path, const char *content) {
    char *full = kernels_path_join3(f->cache, folder, path);
    char *parent = kernels_path_parent(full);
    assert_int_equal(kernels_make_directories(parent, NULL), KERNELS_OK);
    assert_int_equal(kernels_file_write(full, kernels_view_of(content), 0, NULL), KERNELS_OK);
    kernels_free(full);
    kernels_free(parent);
}

/* A commit of a repository with one variant of an empty __init__.py. */
static void write_commit(const fixture *f, const char *repository, const char *commit, const char *variant,
                         const char *depends) {
    char folder[256], metadata[1024];
    (void)snprintf(folder, sizeof folder, "%s/snapshots/%s/build/%s", repository, commit, variant);
    (void)snprintf(
        metadata, sizeof metadata,
        "{\"name\": \"near\", \"id\": \"_near\", \"version\": 1, \"license\": \"MIT\", \"python-depends\": [],"
        " \"kernel-depends\": [%s], \"backend\": {\"type\": \"cpu\"}, \"digest\": {\"algorithm\": \"sha256\","
        " \"files\": {\"__init__.py\": \"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"}}}",
        depends);
    write_file(f, folder, "metadata.json", metadata);
    write_file(f, folder, "__init__.py", "");
}

static int setup(void **state) {
    fixture *f = kernels_calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-find-", &f->cache, NULL), KERNELS_OK);
    write_commit(f, "kernels--good--leaf", LEAF_1, "torch-cpu", "");
    write_commit(f, "kernels--good--leaf", LEAF_2, "torch-universal", "");
    write_commit(f, "kernels--good--top", TOP_1, "torch-cpu", "{\"repo-id\": \"good/leaf\", \"version\": 1}");
    write_commit(f, "kernels--good--metal", METAL_1, "torch-metal", "");
    write_file(f, "kernels--good--leaf/refs", "v1", LEAF_1);
    write_file(f, "kernels--good--leaf/refs", "v2", LEAF_2);
    write_file(f, "kernels--good--top/refs", "v1", TOP_1);
    write_file(f, "kernels--good--metal/refs", "v1", METAL_1);
    const kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    const kernels_context_options options = {
        .cache_directory = f->cache, .offline = true, .system = &system, .warning = keep_warning, .payload = f};
    assert_ok(kernels_context_new(&options, &f->context, &f->error), f->error);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    kernels_context_free(f->context);
    kernels_error_dispose(&f->error);
    (void)kernels_remove_tree(f->cache, NULL);
    kernels_free(f->cache);
    kernels_free(f);
    return 0;
}

static const kernels_load_options version_1 = {.version = 1, .for_python = true, .trust_remote_code = true};

static void expect(fixture *f, kernels_status status, kernels_status wanted, const char *text) {
    assert_int_equal(status, wanted);
    assert_contains(kernels_error_message(&f->error), text);
    kernels_error_dispose(&f->error);
}

/* ---- the steps ---- */

static void test_find_and_install(void **state) {
    fixture *f = *state;
    kernels_found *found = NULL;
    char *path = NULL;
    assert_ok(kernels_find(f->context, "good/leaf", &version_1, &found, &f->error), f->error);
    assert_string_equal(kernels_found_repo_id(found), "good/leaf");
    assert_string_equal(kernels_found_commit(found), LEAF_1);
    assert_string_equal(kernels_found_ref(found), "v1");
    assert_string_equal(kernels_found_variant(found), "torch-cpu");
    assert_string_equal(kernels_found_metadata(found)->name, "near");
    assert_true(kernels_view_starts_with(kernels_found_metadata_text(found), KERNELS_VIEW("{\"name\": \"near\"")));
    assert_int_equal(kernels_found_decisions(found)->accepted_count, 1);
    assert_ok(kernels_install(f->context, "good/leaf", LEAF_1, "torch-cpu", "v1", NULL, &path, &f->error), f->error);
    assert_string_equal(path, kernels_found_path(found));
    bool has_digest = false;
    assert_ok(kernels_verify_folder(f->context, path, &has_digest, &f->error), f->error);
    assert_true(has_digest);
    write_file(f, "kernels--good--leaf/snapshots/" LEAF_1 "/build/torch-cpu", "__init__.py", "changed");
    expect(f, kernels_verify_folder(f->context, path, &has_digest, &f->error), KERNELS_INTEGRITY, "__init__.py");
    kernels_string_free(path);
    path = NULL;
    expect(f, kernels_install(f->context, "good/leaf", LEAF_1, "torch-cpu", NULL, NULL, &path, &f->error),
           KERNELS_INTEGRITY, "__init__.py");
    assert_null(path);
    kernels_found_free(found);
    assert_int_equal(kernels_context_requests(f->context), 0);
}

static void test_questions(void **state) {
    fixture *f = *state;
    kernels_version_branch *versions = NULL;
    kernels_names names = {0};
    size_t count = 0;
    char commit[65];
    assert_ok(kernels_list_versions(f->context, "good/leaf", true, &versions, &count, &f->error), f->error);
    assert_int_equal(count, 2);
    assert_int_equal(versions[1].version, 2);
    assert_string_equal(versions[1].commit, LEAF_2);
    kernels_string_free((char *)versions);
    versions = NULL;
    assert_ok(kernels_list_versions(f->context, "good/none", false, &versions, &count, &f->error), f->error);
    assert_int_equal(count, 0);
    assert_null(versions);
    assert_ok(kernels_find_commit(f->context, "good/leaf", &version_1, commit, &f->error), f->error);
    assert_string_equal(commit, LEAF_1);
    assert_int_equal(f->warning_count, 1);
    assert_string_equal(f->categories[0], "versions");
    assert_ok(kernels_list_variants(f->context, "good/leaf", LEAF_2, false, &names, &f->error), f->error);
    assert_int_equal(names.count, 1);
    assert_string_equal(names.items[0], "torch-universal");
    kernels_names_dispose(&names);
    expect(f, kernels_list_variants(f->context, "good/leaf", TOP_1, false, &names, &f->error), KERNELS_NOT_CACHED, "");
    expect(f, kernels_list_variants(f->context, "good/leaf", "v1", false, &names, &f->error), KERNELS_INVALID_ARGUMENT,
           "v1");
}

static void test_trust(void **state) {
    fixture *f = *state;
    const char *const trusted[] = {"x/y", "good/leaf"};
    kernels_load_options options = {.trusted = trusted, .trusted_count = 2};
    assert_ok(kernels_check_trust(f->context, "good/leaf", &options, &f->error), f->error);
    assert_int_equal(f->warning_count, 0);
    options.trusted_count = 1;
    assert_ok(kernels_check_trust(f->context, "good/leaf", &options, &f->error), f->error);
    assert_int_equal(f->warning_count, 1);
    assert_string_equal(f->categories[0], "trust");
    assert_contains(f->messages[0], "Skipping publisher trust check for 'good/leaf'");
    assert_int_equal(kernels_check_trust(f->context, "good", &options, NULL), KERNELS_OK);
    assert_int_equal(kernels_check_trust(f->context, "../x", &options, NULL), KERNELS_INVALID_ARGUMENT);
}

static void test_no_variant_as_data(void **state) {
    fixture *f = *state;
    kernels_found *found = NULL;
    assert_null(kernels_context_no_variant(f->context));
    expect(f, kernels_find(f->context, "good/metal", &version_1, &found, &f->error), KERNELS_NO_VARIANT, "torch-metal");
    const kernels_no_variant *why = kernels_context_no_variant(f->context);
    assert_non_null(why);
    assert_string_equal(why->repo_id, "good/metal");
    assert_string_equal(why->commit, METAL_1);
    assert_int_equal(why->decisions->count, 1);
    assert_contains(why->decisions->items[0].reason, "metal");
    assert_contains(why->decisions->items[0].reason, "cpu");
    assert_int_equal(why->version_count, 1);
    assert_false(why->has_fitting_version);
    assert_ok(kernels_find(f->context, "good/leaf", &version_1, &found, &f->error), f->error);
    kernels_found_free(found);
    assert_null(kernels_context_no_variant(f->context));
    expect(f, kernels_find_folder(f->context, "/nowhere/at/all", NULL, &found, &f->error), KERNELS_NO_VARIANT,
           "/nowhere/at/all");
    assert_null(kernels_context_no_variant(f->context)->commit);
}

/* A listing of the whole repository, as another tool leaves it: the file is named once, and never asked for. */
static void test_status_file(void **state) {
    fixture *f = *state;
    static const char listing[] =
        "{\"format_version\": 1, \"files\": {\"kernel-status.toml\": {\"size\": 1},"
        " \"build/torch-cpu/__init__.py\": {\"size\": 0}, \"build/torch-cpu/metadata.json\": {\"size\": 1}}}";
    kernels_found *found = NULL;
    write_file(f, "kernels--good--leaf/trees", LEAF_1 ".json", listing);
    for (int i = 0; i < 2; i++) {
        const kernels_load_options options = {.revision = LEAF_1, .for_python = true, .trust_remote_code = true};
        assert_ok(kernels_find(f->context, "good/leaf", &options, &found, &f->error), f->error);
        kernels_found_free(found);
    }
    assert_int_equal(f->warning_count, 1);
    assert_string_equal(f->categories[0], "status");
    assert_contains(f->messages[0], "good/leaf");
}

/* ---- locks ---- */

typedef struct lock_case {
    kernels_lock items[4];
    size_t count;
} lock_case;

static kernels_locks make_locks(const lock_case *wanted) {
    kernels_locks locks = {0};
    assert_int_equal(kernels_locks_make(KERNELS_LOCK_KERNELS, wanted->items, wanted->count, &locks, NULL), KERNELS_OK);
    return locks;
}

static const lock_case with_top = {{{.dependency = {.repo_id = "good/top", .version = 1}, .commit = TOP_1},
                                    {.dependency = {.repo_id = "good/leaf", .version = 1}, .commit = LEAF_1}},
                                   2};
static const lock_case two_leaves = {{{.dependency = {.repo_id = "good/top", .version = 1}, .commit = TOP_1},
                                      {.dependency = {.repo_id = "good/leaf", .version = 1}, .commit = LEAF_1},
                                      {.dependency = {.repo_id = "good/leaf", .version = 2}, .commit = LEAF_2}},
                                     3};

/* Commit of the kernel that the lock gives for a name without version. */
static void expect_commit(fixture *f, const kernels_locks *locks, const char *repo_id, const char *commit) {
    const kernels_load_options options = {.locks = locks, .for_python = true, .trust_remote_code = true};
    kernels_kernel *kernel = NULL;
    assert_ok(kernels_load(f->context, repo_id, &options, &kernel, &f->error), f->error);
    assert_string_equal(kernels_kernel_revision(kernel), commit);
    kernels_kernel_free(kernel);
}

static void test_load_by_lock(void **state) {
    fixture *f = *state;
    kernels_locks locks = make_locks(&with_top);
    kernels_load_options options = {.locks = &locks, .version = 2, .for_python = true};
    kernels_kernel *kernel = NULL;
    expect_commit(f, &locks, "good/top", TOP_1);
    expect_commit(f, &locks, "good/leaf", LEAF_1);
    expect(f, kernels_load(f->context, "good/leaf", &options, &kernel, &f->error), KERNELS_NOT_LOCKED,
           "Kernel good/leaf (version 2) is not locked");
    options.version = 0;
    expect(f, kernels_load(f->context, "good/none", &options, &kernel, &f->error), KERNELS_NOT_LOCKED, "kernels lock");
    kernels_locks_dispose(&locks);
    const lock_case no_leaf = {{with_top.items[0]}, 1};
    kernels_locks partial = make_locks(&no_leaf);
    options.locks = &partial;
    options.trust_remote_code = true;
    /* loaded before, so nothing is looked up for it */
    assert_ok(kernels_load(f->context, "good/top", &options, &kernel, &f->error), f->error);
    kernels_kernel_free(kernel);
    kernels_locks_dispose(&partial);
}

/* In a new context, since one that has loaded good/top does not walk its dependencies again. */
static void test_a_dependency_that_is_not_locked(void **state) {
    fixture *f = *state;
    const lock_case no_leaf = {{with_top.items[0]}, 1};
    kernels_locks locks = make_locks(&no_leaf);
    const kernels_load_options options = {.locks = &locks, .for_python = true, .trust_remote_code = true};
    kernels_kernel *kernel = NULL;
    expect(f, kernels_load(f->context, "good/top", &options, &kernel, &f->error), KERNELS_NOT_LOCKED, "good/leaf");
    assert_null(kernel);
    size_t count = 1;
    (void)kernels_context_kernels(f->context, &count);
    assert_int_equal(count, 0);
    kernels_locks_dispose(&locks);
}

/* good/top needs version 1, so version 2 is what the project itself asked for. */
static void test_the_version_that_nothing_else_needs(void **state) {
    fixture *f = *state;
    kernels_locks locks = make_locks(&two_leaves);
    expect_commit(f, &locks, "good/leaf", LEAF_2);
    assert_int_equal(f->warning_count, 0);
    /* top now needs version 2, so version 1 was asked for: not the highest */
    write_commit(f, "kernels--good--top", TOP_1, "torch-cpu", "{\"repo-id\": \"good/leaf\", \"version\": 2}");
    expect_commit(f, &locks, "good/leaf", LEAF_1);
    assert_int_equal(f->warning_count, 0);
    /* nothing is known: the highest, with a warning */
    write_commit(f, "kernels--good--top", TOP_1, "torch-cpu", "");
    expect_commit(f, &locks, "good/leaf", LEAF_2);
    assert_int_equal(f->warning_count, 1);
    assert_string_equal(f->categories[0], "versions");
    kernels_locks_dispose(&locks);
}

static void test_an_older_lock_has_any_version(void **state) {
    fixture *f = *state;
    kernels_locks locks = {0};
    static const char text[] = "[{\"repo_id\": \"good/top\", \"sha\": \"" TOP_1 "\", \"variants\": {}},"
                               " {\"repo_id\": \"good/leaf\", \"sha\": \"" LEAF_2 "\", \"variants\": {}}]";
    assert_ok(kernels_locks_parse_any(kernels_view_of(text), "kernels.lock", &locks, &f->error), f->error);
    assert_true(locks.older);
    expect_commit(f, &locks, "good/top", TOP_1);
    size_t count = 0;
    const kernels_kernel *const *kernels = kernels_context_kernels(f->context, &count);
    assert_int_equal(count, 2);
    assert_string_equal(kernels_kernel_revision(kernels[0]), LEAF_2);
    kernels_locks_dispose(&locks);
}

static void test_not_downloaded(void **state) {
    fixture *f = *state;
    const lock_case other = {
        {{.dependency = {.repo_id = "good/leaf", .version = 1}, .commit = "5555555555555555555555555555555555555555"}},
        1};
    kernels_locks locks = make_locks(&other);
    const kernels_load_options options = {.locks = &locks, .for_python = true, .trust_remote_code = true};
    kernels_kernel *kernel = NULL;
    expect(f, kernels_load(f->context, "good/leaf", &options, &kernel, &f->error), KERNELS_NOT_CACHED,
           "kernels download");
    kernels_locks_dispose(&locks);
}

/* ---- the registry ---- */

static void test_registry(void **state) {
    fixture *f = *state;
    kernels_kernel *top = NULL, *again = NULL, *leaf = NULL, *local = NULL;
    size_t count = 1;
    (void)kernels_context_kernels(f->context, &count);
    assert_int_equal(count, 0);
    assert_ok(kernels_load(f->context, "good/top", &version_1, &top, &f->error), f->error);
    assert_ok(kernels_load(f->context, "good/top", &version_1, &again, &f->error), f->error);
    assert_ok(kernels_load(f->context, "good/leaf", &version_1, &leaf, &f->error), f->error);
    assert_ptr_equal(again, top);
    const kernels_kernel *const *kernels = kernels_context_kernels(f->context, &count);
    assert_int_equal(count, 2);
    assert_ptr_equal(kernels[0], leaf);
    assert_ptr_equal(kernels[1], top);
    assert_string_equal(kernels_kernel_repo_id(kernels[0]), "good/leaf");
    assert_null(kernels_kernel_system(top)); /* the context was told */
    /* the same folder under another name */
    char *link = kernels_path_join(f->cache, "link");
    assert_int_equal(symlink(kernels_kernel_path(leaf), link), 0);
    assert_ok(kernels_load_local(f->context, link, &version_1, &local, &f->error), f->error);
    assert_ptr_equal(local, leaf);
    kernels_free(link);
    kernels_kernel_free(local);
    kernels_kernel_free(again);
    kernels_kernel_free(leaf);
    /* a kernel outlives its context */
    kernels_context_free(f->context);
    f->context = NULL;
    assert_string_equal(kernels_kernel_variant(top), "torch-cpu");
    kernels_kernel_free(top);
}

static void test_what_was_not_checked_is_loaded_anew(void **state) {
    fixture *f = *state;
    kernels_load_options options = version_1;
    kernels_kernel *unchecked = NULL, *checked = NULL;
    options.no_verify = true;
    assert_ok(kernels_load(f->context, "good/leaf", &options, &unchecked, &f->error), f->error);
    assert_false(kernels_kernel_is_verified(unchecked));
    assert_ok(kernels_load(f->context, "good/leaf", &version_1, &checked, &f->error), f->error);
    assert_true(kernels_kernel_is_verified(checked));
    kernels_kernel_free(unchecked);
    kernels_kernel_free(checked);
}

static void test_nothing_given(void **state) {
    fixture *f = *state;
    kernels_found *found = NULL;
    kernels_names names = {0};
    kernels_version_branch *versions = NULL;
    size_t count = 0;
    char *path = NULL, commit[65];
    bool has_digest = false;
    const kernels_status wanted = KERNELS_INVALID_ARGUMENT;
    assert_int_equal(kernels_find(NULL, "a/b", &version_1, &found, NULL), wanted);
    assert_int_equal(kernels_find(f->context, NULL, &version_1, &found, NULL), wanted);
    assert_int_equal(kernels_find(f->context, "a/b", NULL, &found, NULL), wanted);
    assert_int_equal(kernels_find_folder(f->context, NULL, NULL, &found, NULL), wanted);
    assert_int_equal(kernels_install(f->context, "a/b", LEAF_1, NULL, NULL, NULL, &path, NULL), wanted);
    assert_int_equal(kernels_install_all(f->context, "a/b", NULL, NULL, NULL, &path, NULL), wanted);
    assert_int_equal(kernels_verify_folder(f->context, NULL, &has_digest, NULL), wanted);
    assert_int_equal(kernels_list_versions(f->context, "a/b", false, &versions, NULL, NULL), wanted);
    assert_int_equal(kernels_list_versions(f->context, NULL, false, &versions, &count, NULL), wanted);
    assert_int_equal(kernels_find_commit(f->context, "a/b", NULL, commit, NULL), wanted);
    assert_int_equal(kernels_list_variants(f->context, NULL, LEAF_1, false, &names, NULL), wanted);
    assert_int_equal(kernels_check_trust(NULL, "a/b", NULL, NULL), wanted);
    kernels_found_free(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_find_and_install),
        TEST(test_questions),
        TEST(test_trust),
        TEST(test_no_variant_as_data),
        TEST(test_status_file),
        TEST(test_load_by_lock),
        TEST(test_a_dependency_that_is_not_locked),
        TEST(test_the_version_that_nothing_else_needs),
        TEST(test_an_older_lock_has_any_version),
        TEST(test_not_downloaded),
        TEST(test_registry),
        TEST(test_what_was_not_checked_is_loaded_anew),
        TEST(test_nothing_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
