/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies made of pieces. */
#include "support/test_support.h"

#include "base/buffer.h"
#include "base/encode.h"
#include "base/file.h"
#include "base/view.h"
#include "hub/body.h"

#define BIG 40000u

static void read_all(kernels_body *body, size_t step, kernels_buffer *out) {
    char block[16384];
    size_t got = 1;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_body_rewind(body);
    while (got > 0) {
        assert_ok(kernels_body_read(body, block, step, &got, &error), error);
        kernels_buffer_add(out, block, got);
    }
}

static void test_pieces(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *root = NULL;
    assert_ok(kernels_make_temporary_directory(NULL, "body", &root, &error), error);
    char path[1024];
    snprintf(path, sizeof(path), "%s/f", root);
    char *content = malloc(BIG);
    assert_non_null(content);
    for (size_t i = 0; i < BIG; i++) {
        content[i] = (char)(i * 7);
    }
    assert_ok(kernels_file_write(path, (kernels_view){content, BIG}, 0, &error), error);

    kernels_body *body = kernels_body_new();
    kernels_body_add_text(body, KERNELS_VIEW("head "));
    kernels_body_add_base64(body, KERNELS_VIEW("ab"));
    kernels_body_add_file_base64(body, path, BIG);
    kernels_body_add_text(body, KERNELS_VIEW(""));
    kernels_body_add_file(body, path, 100, 20000);
    kernels_body_add_text(body, KERNELS_VIEW(" tail"));
    assert_ok(kernels_body_status(body, &error), error);

    kernels_buffer expected = KERNELS_BUFFER_INIT(1000000);
    kernels_buffer_add_text(&expected, "head YWI=");
    kernels_encode_base64(&expected, content, BIG);
    kernels_buffer_add(&expected, content + 100, 20000);
    kernels_buffer_add_text(&expected, " tail");
    assert_int_equal(kernels_body_size(body), expected.size);
    static const size_t steps[] = {64, 999, 16384};
    for (size_t i = 0; i < 3; i++) {
        kernels_buffer got = KERNELS_BUFFER_INIT(1000000);
        read_all(body, steps[i], &got);
        assert_true(kernels_view_equal(kernels_buffer_view(&got), kernels_buffer_view(&expected)));
        kernels_buffer_dispose(&got);
    }

    /* the file became shorter since */
    assert_ok(kernels_file_write(path, KERNELS_VIEW("short"), 0, &error), error);
    char block[16384];
    size_t got = 1;
    kernels_status status = KERNELS_OK;
    kernels_body_rewind(body);
    while (status == KERNELS_OK && got > 0) {
        status = kernels_body_read(body, block, sizeof(block), &got, &error);
    }
    assert_int_equal(status, KERNELS_IO);
    assert_contains(kernels_error_message(&error), path);
    kernels_error_dispose(&error);
    kernels_body_free(body);
    kernels_buffer_dispose(&expected);
    free(content);
    assert_int_equal(kernels_remove_tree(root, NULL), KERNELS_OK);
    kernels_free(root);
}

static void test_empty(void **state) {
    (void)state;
    kernels_body *body = kernels_body_new();
    kernels_buffer got = KERNELS_BUFFER_INIT(100);
    kernels_body_add_file_base64(body, "/nowhere", 0);
    assert_int_equal(kernels_body_size(body), 0);
    read_all(body, 64, &got);
    assert_int_equal(got.size, 0);
    kernels_buffer_dispose(&got);
    kernels_body_free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
