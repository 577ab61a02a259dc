/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"

static int make_scratch(void **state) {
    char *folder = NULL;
    if (kernels_make_temporary_directory(NULL, "kernels-test-", &folder, NULL) != KERNELS_OK) {
        return -1;
    }
    *state = folder;
    return 0;
}

static int remove_scratch(void **state) {
    kernels_status status = kernels_remove_tree(*state, NULL);
    kernels_free(*state);
    return status == KERNELS_OK ? 0 : -1;
}

static size_t count_files(const char *folder) {
    kernels_listing listing = {0};
    assert_int_equal(kernels_list(folder, KERNELS_LIST_RECURSIVE, &listing, NULL), KERNELS_OK);
    size_t count = listing.count;
    kernels_listing_dispose(&listing);
    return count;
}

static void a_file_appears_whole(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "a");
    static const kernels_hash_algorithm algorithms[] = {KERNELS_HASH_SHA256, KERNELS_HASH_GIT_BLOB};
    kernels_file_writer_options options = {.algorithms = algorithms, .algorithm_count = 2, .git_blob_size = 6};
    kernels_file_writer *writer = NULL;
    assert_ok(kernels_file_writer_open(path, &options, &writer, &error), error);
    assert_ok(kernels_file_writer_write(writer, "wrong", 5, &error), error);
    assert_ok(kernels_file_writer_restart(writer, &error), error);
    assert_ok(kernels_file_writer_write(writer, "hello\n", 6, &error), error);
    assert_false(kernels_file_exists(path));
    kernels_digest digest;
    assert_ok(kernels_file_writer_digest(writer, KERNELS_HASH_GIT_BLOB, &digest, &error), error);
    assert_true(kernels_digest_equal_hex(&digest, KERNELS_VIEW("CE013625030ba8dba906f756967f9e9ca394464a")));
    assert_ok(kernels_file_writer_commit(writer, &error), error);
    char *data = NULL;
    size_t size = 0;
    assert_ok(kernels_file_read(path, 100, &data, &size, &error), error);
    assert_string_equal(data, "hello\n");
    kernels_free(data);
    assert_int_equal(kernels_file_read(path, 5, &data, &size, &error), KERNELS_LIMIT);
    assert_string_equal(error.subject, path);
    kernels_error_dispose(&error);
    assert_int_equal(count_files(*state), 1);
}

static void exclusive_files_are_not_replaced(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "a");
    assert_ok(kernels_file_write(path, KERNELS_VIEW("one"), 0, &error), error);
    kernels_file_writer *writer = NULL;
    assert_ok(kernels_file_writer_open(path, &(kernels_file_writer_options){.exclusive = true}, &writer, &error),
              error);
    assert_ok(kernels_file_writer_write(writer, "two", 3, &error), error);
    assert_int_equal(kernels_file_writer_commit(writer, &error), KERNELS_ALREADY_EXISTS);
    kernels_error_dispose(&error);
    assert_int_equal(count_files(*state), 1);
}

static void only_plain_files_are_replaced(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *pipe = kernels_path_join(*state, "pipe");
    KERNELS_CLEANUP_FREE char *link = kernels_path_join(*state, "link");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_ok(kernels_make_link("pipe", link, &error), error);
    const char *const targets[] = {pipe, link, *state, ""};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(kernels_file_write(targets[i], KERNELS_VIEW("x"), 0, &error), KERNELS_IO);
        assert_string_equal(error.subject, targets[i]);
        kernels_error_dispose(&error);
    }
    assert_int_equal(count_files(*state), 2);
    assert_false(kernels_file_is_regular(pipe));
    assert_true(kernels_file_is_link(link));
    assert_int_equal(kernels_make_directories("", &error), KERNELS_FILE_NOT_FOUND);
    kernels_error_dispose(&error);
}

static void listings_are_sorted_and_removal_follows_no_link(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *deep = kernels_path_join(*state, "tree/b/c");
    KERNELS_CLEANUP_FREE char *tree = kernels_path_join(*state, "tree");
    KERNELS_CLEANUP_FREE char *kept = kernels_path_join(*state, "kept");
    KERNELS_CLEANUP_FREE char *kept_file = kernels_path_join(kept, "file");
    KERNELS_CLEANUP_FREE char *link = kernels_path_join(tree, "link");
    KERNELS_CLEANUP_FREE char *file = kernels_path_join(deep, "z");
    assert_ok(kernels_make_directories(deep, &error), error);
    assert_ok(kernels_make_directories(kept, &error), error);
    assert_ok(kernels_file_write(kept_file, KERNELS_VIEW("x"), 0, &error), error);
    assert_ok(kernels_file_write(file, KERNELS_VIEW("x"), 0, &error), error);
    assert_ok(kernels_make_link(kept, link, &error), error);
    assert_ok(kernels_make_link("../kept", link, &error), error); /* replaced */
    kernels_listing listing = {0};
    assert_ok(kernels_list(tree, KERNELS_LIST_RECURSIVE | KERNELS_LIST_FOLLOW_LINKS, &listing, &error), error);
    assert_int_equal(listing.count, 4);
    assert_string_equal(listing.entries[0].path, "b");
    assert_string_equal(listing.entries[2].path, "b/c/z");
    assert_int_equal(listing.entries[3].type, KERNELS_ENTRY_DIRECTORY);
    assert_true(listing.entries[3].is_link);
    kernels_listing_dispose(&listing);
    assert_int_equal(chmod(deep, 0500), 0);
    assert_ok(kernels_remove_tree(tree, &error), error);
    assert_false(kernels_file_exists(tree));
    assert_true(kernels_file_exists(kept_file));
    assert_ok(kernels_remove_tree(tree, &error), error); /* absent is fine */
}

static void locks_exclude_each_other(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "lock");
    kernels_file_lock *first = NULL, *second = NULL;
    assert_ok(kernels_file_lock_take(path, -1, &first, &error), error);
    assert_int_equal(kernels_file_lock_take(path, 50, &second, &error), KERNELS_TIMEOUT);
    kernels_error_dispose(&error);
    kernels_file_lock_release(first);
    assert_ok(kernels_file_lock_take(path, 50, &second, &error), error);
    kernels_file_lock_release(second);
}

#ifdef KERNELS_FAULTS
/* Whatever fails: one error, and no file, not even a temporary one, is left. */
static void failing_writes_leave_nothing(void **state) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "a");
    static const kernels_fault_point points[] = {KERNELS_FAULT_ALLOCATE, KERNELS_FAULT_OPEN, KERNELS_FAULT_WRITE,
                                                 KERNELS_FAULT_SYNC, KERNELS_FAULT_RENAME};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        for (unsigned long n = 1;; n++) {
            kernels_error error = KERNELS_ERROR_INIT;
            kernels_fault_arm(points[i], n);
            kernels_status status = kernels_file_write(path, KERNELS_VIEW("content"), 0, &error);
            kernels_fault_arm(points[i], 0);
            if (status == KERNELS_OK) {
                assert_true(n > 1);
                break;
            }
            assert_int_equal(count_files(*state), 0);
            if (points[i] == KERNELS_FAULT_WRITE) {
                assert_int_equal(status, KERNELS_NO_SPACE);
            }
            kernels_error_dispose(&error);
        }
        assert_int_equal(unlink(path), 0);
    }
}
#endif

/* ---- processes ---- */

static kernels_status run(const char *script, unsigned timeout_ms, kernels_process_result *result,
                          kernels_error *error) {
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const char *const environment[] = {"KERNELS_TEST_VALUE=42", "HOME", NULL};
    return kernels_process_run(&(kernels_process_options){.arguments = arguments,
                                                          .environment = environment,
                                                          .timeout_ms = timeout_ms,
                                                          .capture_limit = 1000,
                                                          .input = KERNELS_VIEW("from stdin")},
                               result, error);
}

static void processes_are_captured(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_process_result result = {0};
    assert_ok(run("cat; echo \" $KERNELS_TEST_VALUE ${HOME-unset}\"; echo bad >&2; exit 3", 0, &result, &error), error);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(kernels_buffer_text(&result.output), "from stdin 42 unset\n");
    assert_string_equal(kernels_buffer_text(&result.errors), "bad\n");
    kernels_process_result_dispose(&result);
    assert_ok(run("i=0; while [ $i -lt 500 ]; do echo 12345678; i=$((i+1)); done; echo end", 0, &result, &error),
              error);
    assert_true(result.output.size <= 1000);
    assert_true(result.output.size + result.output_dropped == 4504);
    assert_true(kernels_view_ends_with(kernels_buffer_view(&result.output), KERNELS_VIEW("12345678\nend\n")));
    kernels_process_result_dispose(&result);
    assert_ok(run("kill -9 $$", 0, &result, &error), error);
    assert_int_equal(result.signal, 9);
    kernels_process_result_dispose(&result);
}

static void slow_processes_are_stopped(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_process_result result = {0};
    assert_int_equal(run("sleep 100 & sleep 100", 100, &result, &error), KERNELS_TIMEOUT);
    assert_true(result.timed_out);
    kernels_process_result_dispose(&result);
    const char *const arguments[] = {"no-such-program-here", NULL};
    assert_int_equal(kernels_process_run(&(kernels_process_options){.arguments = arguments}, &result, &error),
                     KERNELS_FILE_NOT_FOUND);
    kernels_error_dispose(&error);
}

static void files_are_hashed_in_turn(void **state) {
    static char large[600 * 1024]; /* more than one chunk */
    const kernels_view contents[] = {
        KERNELS_VIEW("hello\n"), {large, sizeof large}, {large, 256 * 1024}, KERNELS_VIEW("")};
    static const kernels_hash_algorithm algorithms[] = {KERNELS_HASH_SHA256, KERNELS_HASH_GIT_BLOB};
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "a");
    memset(large, 'x', sizeof large);
    for (size_t a = 0; a < 2; a++) {
        kernels_file_hasher *hasher = NULL;
        assert_ok(kernels_file_hasher_new(algorithms[a], &hasher, &error), error);
        for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
            kernels_digest digest, wanted;
            uint64_t size = 1;
            assert_ok(kernels_file_write(path, contents[i], 0, &error), error);
            assert_ok(kernels_file_hasher_run(hasher, path, &digest, &size, &error), error);
            assert_ok(kernels_hash_bytes(algorithms[a], contents[i].data, contents[i].size, &wanted, &error), error);
            assert_int_equal(size, contents[i].size);
            assert_int_equal(digest.size, wanted.size);
            assert_memory_equal(digest.bytes, wanted.bytes, wanted.size);
        }
        assert_int_equal(kernels_file_hasher_run(hasher, *state, &(kernels_digest){0}, NULL, NULL), KERNELS_IO);
        kernels_file_hasher_free(hasher);
    }
}

#define scratch_test(function) cmocka_unit_test_setup_teardown(function, make_scratch, remove_scratch)

int main(void) {
    const struct CMUnitTest tests[] = {
        scratch_test(a_file_appears_whole),           scratch_test(exclusive_files_are_not_replaced),
        scratch_test(only_plain_files_are_replaced),  scratch_test(listings_are_sorted_and_removal_follows_no_link),
        scratch_test(locks_exclude_each_other),
#ifdef KERNELS_FAULTS
        scratch_test(failing_writes_leave_nothing),
#endif
        scratch_test(files_are_hashed_in_turn),       cmocka_unit_test(processes_are_captured),
        cmocka_unit_test(slow_processes_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
