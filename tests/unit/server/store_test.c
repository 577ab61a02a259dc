/* SPDX-License-Identifier: Apache-2.0 */
/* The store without HTTP: repositories, references, commits, large files; and the n-th write that fails. */
#include "support/test_support.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "server/store.h"

#define ID KERNELS_VIEW("acme/demo")
#define MAIN KERNELS_VIEW("main")

typedef struct fixture {
    char *directory;
    kernels_store *store;
    kernels_repository *repository;
    kernels_arena *arena;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f = (fixture){.arena = kernels_arena_new(0)};
    assert_int_equal(kernels_make_temporary_directory(NULL, "kernels-store-", &f.directory, NULL), KERNELS_OK);
    assert_int_equal(kernels_store_open(f.directory, &f.store, NULL), KERNELS_OK);
    assert_int_equal(kernels_store_create_repository(f.store, KERNELS_REPOSITORY_KERNEL, ID, false, NULL), KERNELS_OK);
    assert_int_equal(kernels_repository_open(f.store, KERNELS_REPOSITORY_KERNEL, ID, &f.repository, NULL), KERNELS_OK);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    kernels_repository_close(f->repository);
    kernels_store_close(f->store);
    kernels_arena_free(f->arena);
    assert_int_equal(kernels_remove_tree(f->directory, NULL), KERNELS_OK);
    kernels_free(f->directory);
    return 0;
}

static kernels_status add_blob(fixture *f, const char *text, char oid[KERNELS_COMMIT_ID_SIZE]) {
    kernels_blob_writer *writer = NULL;
    kernels_status status = kernels_blob_writer_new(f->repository, &writer, NULL);
    if (status == KERNELS_OK) {
        status = kernels_blob_writer_add(writer, text, strlen(text), NULL);
    }
    if (status == KERNELS_OK) {
        status = kernels_blob_writer_finish(writer, oid, NULL);
    }
    kernels_blob_writer_free(writer);
    return status;
}

static kernels_status commit_changes(fixture *f, const kernels_change *changes, size_t count, bool pull_request,
                                     kernels_commit_outcome *outcome) {
    const kernels_commit_request request = {.revision = MAIN,
                                            .create_pr = pull_request,
                                            .changes = changes,
                                            .change_count = count,
                                            .message = "test",
                                            .author = "me"};
    return kernels_repository_commit(f->repository, &request, outcome, NULL);
}

static kernels_status commit_file(fixture *f, const char *path, const char *text, kernels_commit_outcome *outcome) {
    kernels_change change = {.type = KERNELS_CHANGE_PUT, .path = path};
    kernels_status status = add_blob(f, text, change.oid);
    return status == KERNELS_OK ? commit_changes(f, &change, 1, false, outcome) : status;
}

static void head(fixture *f, char commit[KERNELS_COMMIT_ID_SIZE]) {
    assert_int_equal(kernels_repository_resolve(f->repository, MAIN, commit, NULL), KERNELS_OK);
}

static void new_repositories(void **state) {
    fixture *f = *state;
    char commit[KERNELS_COMMIT_ID_SIZE];
    kernels_store_page page;
    head(f, commit);
    assert_int_equal(
        kernels_repository_list(f->repository, commit, KERNELS_VIEW(""), true, 0, 10, f->arena, &page, NULL),
        KERNELS_OK);
    assert_int_equal(page.count, 0);
    assert_int_equal(kernels_store_create_repository(f->store, KERNELS_REPOSITORY_KERNEL, ID, false, NULL),
                     KERNELS_ALREADY_EXISTS);
    assert_false(kernels_repository_is_private(f->repository));
    assert_true(kernels_store_has_owner(f->store, KERNELS_VIEW("acme")));
    assert_false(kernels_store_has_owner(f->store, KERNELS_VIEW("nobody")));
    assert_false(kernels_store_has_owner(f->store, KERNELS_VIEW("..")));
    static const char *const wrong[] = {"", "..", "a/..", "../a", "a/b/c", "a.git", "a--b", "/a", "a/", "a\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kernels_view id = kernels_view_of(wrong[i]);
        kernels_repository *none = NULL;
        assert_int_not_equal(kernels_store_create_repository(f->store, KERNELS_REPOSITORY_KERNEL, id, false, NULL),
                             KERNELS_OK);
        assert_int_equal(kernels_repository_open(f->store, KERNELS_REPOSITORY_KERNEL, id, &none, NULL),
                         KERNELS_REPOSITORY_NOT_FOUND);
    }
    assert_int_equal(
        kernels_store_create_repository(f->store, KERNELS_REPOSITORY_MODEL, KERNELS_VIEW("bare"), true, NULL),
        KERNELS_OK);
    kernels_repository *model = NULL;
    assert_int_equal(kernels_repository_open(f->store, KERNELS_REPOSITORY_MODEL, KERNELS_VIEW("bare"), &model, NULL),
                     KERNELS_OK);
    assert_true(kernels_repository_is_private(model));
    kernels_repository_close(model);
    assert_int_equal(kernels_store_delete_repository(f->store, KERNELS_REPOSITORY_MODEL, KERNELS_VIEW("bare"), NULL),
                     KERNELS_OK);
    assert_int_equal(kernels_store_delete_repository(f->store, KERNELS_REPOSITORY_MODEL, KERNELS_VIEW("bare"), NULL),
                     KERNELS_REPOSITORY_NOT_FOUND);
}

static void commits_and_listings(void **state) {
    fixture *f = *state;
    kernels_commit_outcome first, second;
    kernels_store_entry entry;
    kernels_store_page page;
    assert_int_equal(commit_file(f, "a/b/c.txt", "x = 1\n", &first), KERNELS_OK);
    assert_int_equal(commit_file(f, "d.txt", "", &second), KERNELS_OK);
    assert_int_equal(
        kernels_repository_entry(f->repository, second.commit, KERNELS_VIEW("a/b/c.txt"), f->arena, &entry, NULL),
        KERNELS_OK);
    assert_string_equal(entry.oid, "7d4290a117a4ddcc11daae7ea675841033830c8f");
    assert_int_equal(entry.size, 6);
    assert_int_equal(
        kernels_repository_list(f->repository, second.commit, KERNELS_VIEW(""), true, 0, 2, f->arena, &page, NULL),
        KERNELS_OK);
    assert_int_equal(page.count, 2);
    assert_true(page.more);
    assert_string_equal(page.entries[1].path, "a/b");
    assert_true(page.entries[1].is_directory);
    assert_int_equal(
        kernels_repository_list(f->repository, second.commit, KERNELS_VIEW(""), true, 2, 2, f->arena, &page, NULL),
        KERNELS_OK);
    assert_int_equal(page.count, 2);
    assert_false(page.more);
    assert_string_equal(page.entries[0].path, "a/b/c.txt");
    assert_string_equal(page.entries[1].path, "d.txt");
    assert_int_equal(
        kernels_repository_list(f->repository, first.commit, KERNELS_VIEW("a/b"), false, 0, 9, f->arena, &page, NULL),
        KERNELS_OK);
    assert_int_equal(page.count, 1);
    assert_int_equal(
        kernels_repository_list(f->repository, first.commit, KERNELS_VIEW("d.txt"), false, 0, 9, f->arena, &page, NULL),
        KERNELS_ENTRY_NOT_FOUND);
    assert_int_equal(kernels_repository_list(f->repository, second.commit, KERNELS_VIEW("d.txt"), false, 0, 9, f->arena,
                                             &page, NULL),
                     KERNELS_ENTRY_NOT_FOUND);
}

static void changes_see_earlier_ones(void **state) {
    fixture *f = *state;
    kernels_commit_outcome outcome;
    char before[KERNELS_COMMIT_ID_SIZE], after[KERNELS_COMMIT_ID_SIZE];
    kernels_change put = {.type = KERNELS_CHANGE_PUT, .path = "a"}, below = {.type = KERNELS_CHANGE_PUT, .path = "a/b"};
    const kernels_change drop = {.type = KERNELS_CHANGE_DELETE_FILE, .path = "a"};
    const kernels_change drop_folder = {.type = KERNELS_CHANGE_DELETE_FOLDER, .path = "a"};
    assert_int_equal(add_blob(f, "1", put.oid), KERNELS_OK);
    memcpy(below.oid, put.oid, sizeof put.oid);
    assert_int_equal(commit_changes(f, (kernels_change[]){put, drop, below}, 3, false, &outcome), KERNELS_OK);
    head(f, before);
    assert_string_equal(before, outcome.commit);
    assert_int_equal(commit_changes(f, (kernels_change[]){put}, 1, false, &outcome), KERNELS_BAD_REQUEST);
    assert_int_equal(commit_changes(f, (kernels_change[]){drop}, 1, false, &outcome), KERNELS_ENTRY_NOT_FOUND);
    assert_int_equal(commit_changes(f, (kernels_change[]){drop_folder, drop_folder}, 2, false, &outcome),
                     KERNELS_ENTRY_NOT_FOUND);
    head(f, after);
    assert_string_equal(before, after); /* all or nothing */
    assert_int_equal(commit_changes(f, (kernels_change[]){drop_folder, put}, 2, false, &outcome), KERNELS_OK);
    assert_int_equal(commit_changes(f, (kernels_change[]){below}, 1, false, &outcome), KERNELS_BAD_REQUEST);
    assert_int_equal(commit_changes(f, NULL, 0, false, &outcome), KERNELS_OK);
    assert_int_equal(commit_changes(f, NULL, 0, true, &outcome), KERNELS_OK);
    assert_int_equal(outcome.pull_request, 1);
}

static void parents(void **state) {
    fixture *f = *state;
    kernels_commit_outcome outcome;
    kernels_error error = KERNELS_ERROR_INIT;
    char old[KERNELS_COMMIT_ID_SIZE];
    head(f, old);
    kernels_commit_request request = {.revision = MAIN, .message = "m", .author = "me", .parent = old};
    assert_int_equal(kernels_repository_commit(f->repository, &request, &outcome, NULL), KERNELS_OK);
    assert_string_equal(outcome.commit, old); /* nothing changed: nothing was added */
    assert_int_equal(commit_file(f, "a", "1", &outcome), KERNELS_OK);
    assert_string_not_equal(outcome.commit, old);
    assert_int_equal(kernels_repository_commit(f->repository, &request, &outcome, &error), KERNELS_CONFLICT);
    assert_int_equal(error.http_status, 412);
    request.parent = "nonsense";
    assert_int_equal(kernels_repository_commit(f->repository, &request, &outcome, &error), KERNELS_CONFLICT);
    kernels_error_dispose(&error);
}

#define ORIGIN "00112233445566778899aabbccddeeff00112233"

/* A mirrored commit has the name it has at its origin, wherever a commit is named. */
static void imports(void **state) {
    fixture *f = *state;
    char commit[KERNELS_COMMIT_ID_SIZE];
    kernels_commit_outcome outcome;
    kernels_store_ref *refs;
    size_t count;
    kernels_change put = {.type = KERNELS_CHANGE_PUT, .path = "a"};
    assert_int_equal(add_blob(f, "1", put.oid), KERNELS_OK);
    kernels_import import = {
        .reference = "refs/heads/v1", .origin = ORIGIN, .files = &put, .file_count = 1, .message = "m\n"};
    assert_false(kernels_repository_has_origin(f->repository, ORIGIN));
    assert_int_equal(kernels_repository_import(f->repository, &import, NULL), KERNELS_OK);
    assert_int_equal(kernels_repository_import(f->repository, &import, NULL), KERNELS_OK);
    assert_true(kernels_repository_has_origin(f->repository, ORIGIN));
    static const char *const names[] = {"v1", "refs/heads/v1", ORIGIN, "00112233445566778899AABBCCDDEEFF00112233"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(kernels_repository_resolve(f->repository, kernels_view_of(names[i]), commit, NULL),
                         KERNELS_OK);
        assert_string_equal(commit, ORIGIN);
    }
    assert_int_equal(kernels_repository_refs(f->repository, f->arena, &refs, &count, NULL), KERNELS_OK);
    assert_int_equal(count, 2); /* main and v1; the way back is not shown */
    assert_string_equal(refs[1].commit, ORIGIN);
    assert_int_equal(kernels_repository_create_ref(f->repository, "refs/tags/", KERNELS_VIEW("t"), ORIGIN, NULL),
                     KERNELS_OK);
    kernels_commit_request request = {.revision = KERNELS_VIEW("v1"), .message = "m", .author = "me", .parent = ORIGIN};
    assert_int_equal(kernels_repository_commit(f->repository, &request, &outcome, NULL), KERNELS_OK);
    assert_string_equal(outcome.commit, ORIGIN);
    static const char way_back[] = "refs/mirror/" ORIGIN;
    const char *const wrong[] = {way_back, "refs/pr/1", "HEAD", "refs/heads/../x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        import.reference = wrong[i];
        assert_int_not_equal(kernels_repository_import(f->repository, &import, NULL), KERNELS_OK);
    }
    import = (kernels_import){.reference = "refs/heads/v2", .origin = "short", .message = "m"};
    assert_int_equal(kernels_repository_import(f->repository, &import, NULL), KERNELS_INVALID_ARGUMENT);
}

static void revisions(void **state) {
    fixture *f = *state;
    char commit[KERNELS_COMMIT_ID_SIZE], found[KERNELS_COMMIT_ID_SIZE];
    static const char *const wrong[] = {"",
                                        "nothing",
                                        "refs/heads/nothing",
                                        "refs/heads/..",
                                        "refs/",
                                        "HEAD",
                                        "main~1",
                                        "main^{tree}",
                                        "main:a",
                                        "@",
                                        "refs/remotes/x",
                                        "..",
                                        "main ",
                                        "abc",
                                        "mai\xff"};
    head(f, commit);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(kernels_repository_resolve(f->repository, kernels_view_of(wrong[i]), found, NULL),
                         KERNELS_REVISION_NOT_FOUND);
    }
    kernels_view id = kernels_view_of(commit);
    const kernels_view right[] = {MAIN, KERNELS_VIEW("refs/heads/main"), id, kernels_view_slice(id, 0, 7)};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_int_equal(kernels_repository_resolve(f->repository, right[i], found, NULL), KERNELS_OK);
        assert_string_equal(found, commit);
    }
    kernels_view tag = KERNELS_VIEW("t");
    assert_int_equal(kernels_repository_create_ref(f->repository, "refs/tags/", tag, commit, NULL), KERNELS_OK);
    assert_int_equal(kernels_repository_create_ref(f->repository, "refs/tags/", tag, commit, NULL),
                     KERNELS_ALREADY_EXISTS);
    assert_int_equal(kernels_repository_resolve(f->repository, tag, found, NULL), KERNELS_OK);
    assert_int_equal(kernels_repository_check_writable(f->repository, tag, NULL), KERNELS_REVISION_NOT_FOUND);
    assert_int_equal(kernels_repository_delete_ref(f->repository, "refs/tags/", tag, NULL), KERNELS_OK);
    assert_int_equal(kernels_repository_delete_ref(f->repository, "refs/tags/", tag, NULL), KERNELS_REVISION_NOT_FOUND);
    assert_int_equal(kernels_repository_delete_ref(f->repository, "refs/heads/", MAIN, NULL), KERNELS_FORBIDDEN);
}

#define HELLO_SHA256 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static kernels_status store_hello(fixture *f, const char *sha256, const char *text, uint64_t size) {
    kernels_lfs_writer *writer = NULL;
    kernels_status status = kernels_lfs_writer_open(f->store, sha256, size, &writer, NULL);
    if (status != KERNELS_OK) {
        return status;
    }
    status = kernels_lfs_writer_add(writer, text, strlen(text), NULL);
    if (status != KERNELS_OK) {
        kernels_lfs_writer_abort(writer);
        return status;
    }
    char found[KERNELS_SHA256_HEX_SIZE];
    status = kernels_lfs_writer_finish(writer, found, NULL);
    return status == KERNELS_OK ? kernels_repository_grant_lfs(f->repository, sha256, NULL) : status;
}

static size_t count_large_files(fixture *f) {
    kernels_listing listing = {0};
    char *directory = kernels_path_join(f->directory, "lfs");
    assert_int_equal(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, NULL), KERNELS_OK);
    size_t count = listing.count;
    kernels_listing_dispose(&listing);
    kernels_free(directory);
    return count;
}

static void large_files(void **state) {
    fixture *f = *state;
    uint64_t size = 0;
    kernels_commit_outcome outcome;
    kernels_store_entry entry;
    kernels_change change = {.type = KERNELS_CHANGE_PUT, .path = "big"};
    assert_int_equal(store_hello(f, HELLO_SHA256, "hellO", 5), KERNELS_INTEGRITY);
    assert_int_equal(store_hello(f, HELLO_SHA256, "hello", 6), KERNELS_INTEGRITY);
    assert_int_equal(store_hello(f, HELLO_SHA256, "hello", 4), KERNELS_INTEGRITY);
    assert_int_equal(store_hello(f, "../x", "hello", 5), KERNELS_BAD_REQUEST);
    assert_int_equal(count_large_files(f), 0);
    assert_int_equal(kernels_store_lfs_size(f->store, HELLO_SHA256, &size, NULL), KERNELS_NOT_FOUND);
    assert_int_equal(kernels_repository_add_pointer(f->repository, HELLO_SHA256, 5, change.oid, NULL), KERNELS_OK);
    assert_int_equal(commit_changes(f, &change, 1, false, &outcome), KERNELS_OK);
    kernels_view path = KERNELS_VIEW("big");
    assert_int_equal(kernels_repository_entry(f->repository, outcome.commit, path, f->arena, &entry, NULL), KERNELS_OK);
    assert_string_equal(entry.lfs_sha256, ""); /* not here: only a small text */
    assert_int_equal(store_hello(f, HELLO_SHA256, "hello", 5), KERNELS_OK);
    assert_int_equal(kernels_store_lfs_size(f->store, HELLO_SHA256, &size, NULL), KERNELS_OK);
    assert_int_equal(size, 5);
    assert_int_equal(kernels_repository_entry(f->repository, outcome.commit, path, f->arena, &entry, NULL), KERNELS_OK);
    assert_string_equal(entry.lfs_sha256, HELLO_SHA256);
    assert_int_equal(entry.size, 5);
}

#ifdef KERNELS_FAULTS
/* Our own writes and allocations fail one after the other: the large file is there as a whole or not at all. */
static void torture_large_file(void **state) {
    fixture *f = *state;
    static const kernels_fault_point points[] = {KERNELS_FAULT_ALLOCATE, KERNELS_FAULT_OPEN, KERNELS_FAULT_WRITE,
                                                 KERNELS_FAULT_SYNC, KERNELS_FAULT_RENAME};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        kernels_status status = KERNELS_INTERNAL;
        for (unsigned long nth = 1; status != KERNELS_OK; nth++) {
            assert_true(nth < 1000);
            kernels_fault_arm(points[i], nth);
            status = store_hello(f, HELLO_SHA256, "hello", 5);
            kernels_fault_arm(points[i], 0);
            assert_int_equal(count_large_files(f), status == KERNELS_OK ? 1 : 0);
        }
        char *path = kernels_path_join3(f->directory, "lfs", HELLO_SHA256);
        assert_int_equal(kernels_remove_file(path, NULL), KERNELS_OK);
        kernels_free(path);
    }
}

static void torture_commit(void **state) {
    fixture *f = *state;
    kernels_commit_outcome outcome;
    char before[KERNELS_COMMIT_ID_SIZE], after[KERNELS_COMMIT_ID_SIZE];
    kernels_status status = KERNELS_INTERNAL;
    head(f, before);
    for (unsigned long nth = 1; status != KERNELS_OK; nth++) {
        assert_true(nth < 1000);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, nth);
        status = commit_file(f, "a/b", "1", &outcome);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        head(f, after);
        assert_int_equal(strcmp(before, after) == 0, status != KERNELS_OK);
    }
}
#endif

static void one_owner(void **state) {
    fixture *f = *state;
    kernels_store *second = NULL;
    assert_int_equal(kernels_store_open(f->directory, &second, NULL), KERNELS_CONFLICT);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(new_repositories),
        TEST(commits_and_listings),
        TEST(changes_see_earlier_ones),
        TEST(parents),
        TEST(imports),
        TEST(revisions),
        TEST(large_files),
        TEST(one_owner),
#ifdef KERNELS_FAULTS
        TEST(torture_large_file),
        TEST(torture_commit),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
