/* SPDX-License-Identifier: Apache-2.0 */
/* Content that comes in several pieces at once. */
#include "support/test_support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"

static int make_scratch(void **state) {
    char *folder = NULL;
    kernels_status status = kernels_make_temporary_directory(NULL, "kernels-test-", &folder, NULL);
    *state = folder;
    return status == KERNELS_OK ? 0 : -1;
}

static int remove_scratch(void **state) {
    kernels_status status = kernels_remove_tree(*state, NULL);
    kernels_free(*state);
    return status == KERNELS_OK ? 0 : -1;
}

/* Pieces in any order: the digest is about what lies without a gap, and about what the file holds in the end. */
static void content_in_pieces(void **state) {
    const kernels_hash_algorithm algorithm = KERNELS_HASH_SHA256;
    const kernels_file_writer_options options = {.algorithms = &algorithm, .algorithm_count = 1};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_file_writer *writer = NULL;
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(*state, "pieces");
    assert_ok(kernels_file_writer_open(path, &options, &writer, &error), error);
    assert_ok(kernels_file_writer_write_at(writer, 3, "lo\n", 3, &error), error);
    assert_int_equal(kernels_file_writer_size(writer), 0);
    assert_ok(kernels_file_writer_write_at(writer, 0, "HEl", 3, &error), error);
    assert_int_equal(kernels_file_writer_size(writer), 3);
    assert_ok(kernels_file_writer_take_in(writer, 6, &error), error);
    assert_int_equal(kernels_file_writer_size(writer), 6);
    /* what was hashed is written once more, with other bytes: the hash starts anew */
    assert_ok(kernels_file_writer_write_at(writer, 0, "he", 2, &error), error);
    assert_int_equal(kernels_file_writer_size(writer), 2);
    assert_ok(kernels_file_writer_take_in(writer, 6, &error), error);
    assert_ok(kernels_file_writer_digest(writer, KERNELS_HASH_SHA256, &digest, &error), error);
    kernels_digest_hex(&digest, hex);
    assert_string_equal(hex, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"); /* "hello\n" */
    assert_int_equal(kernels_file_writer_take_in(writer, 7, &error), KERNELS_IO); /* more than there is */
    kernels_error_dispose(&error);
    assert_ok(kernels_file_writer_commit(writer, &error), error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(content_in_pieces, make_scratch, remove_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
