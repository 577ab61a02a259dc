/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_support.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/view.h"

static void views_split_and_compare(void **state) {
    (void)state;
    kernels_view rest = KERNELS_VIEW("a,,b"), piece;
    assert_true(kernels_view_split(&rest, ',', &piece));
    assert_true(kernels_view_equal(piece, KERNELS_VIEW("a")));
    assert_true(kernels_view_split(&rest, ',', &piece));
    assert_int_equal(piece.size, 0);
    assert_true(kernels_view_split(&rest, ',', &piece));
    assert_true(kernels_view_equal(piece, KERNELS_VIEW("b")));
    assert_false(kernels_view_split(&rest, ',', &piece));
    assert_true(kernels_view_compare(KERNELS_VIEW("a"), KERNELS_VIEW("ab")) < 0);
    assert_true(kernels_view_compare(KERNELS_VIEW("\xff"), KERNELS_VIEW("a")) > 0);
    assert_true(kernels_view_contains(KERNELS_VIEW("kernel"), KERNELS_VIEW("rne")));
    assert_false(kernels_view_contains(KERNELS_VIEW("ke"), KERNELS_VIEW("kernel")));
}

static void numbers_are_bounded(void **state) {
    (void)state;
    uint64_t value = 0;
    assert_true(kernels_view_to_u64(KERNELS_VIEW("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(kernels_view_to_u64(KERNELS_VIEW("18446744073709551616"), &value));
    assert_false(kernels_view_to_u64(KERNELS_VIEW(""), &value));
    assert_false(kernels_view_to_u64(KERNELS_VIEW("1a"), &value));
}

static void utf8_is_strict(void **state) {
    (void)state;
    assert_true(kernels_view_is_utf8(KERNELS_VIEW("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")));
    assert_false(kernels_view_is_utf8(KERNELS_VIEW("\xc0\x80")));         /* overlong */
    assert_false(kernels_view_is_utf8(KERNELS_VIEW("\xed\xa0\x80")));     /* surrogate */
    assert_false(kernels_view_is_utf8(KERNELS_VIEW("\xf4\x90\x80\x80"))); /* beyond U+10FFFF */
    assert_false(kernels_view_is_utf8(KERNELS_VIEW("\xe2\x82")));         /* cut */
}

static void buffers_keep_their_limit(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_buffer text = KERNELS_BUFFER_INIT(5);
    kernels_buffer_add_text(&text, "abc");
    kernels_buffer_printf(&text, "%d", 12);
    assert_string_equal(kernels_buffer_text(&text), "abc12");
    kernels_buffer_add_char(&text, 'x');
    assert_int_equal(kernels_buffer_status(&text, &error), KERNELS_LIMIT);
    assert_string_equal(kernels_buffer_text(&text), "abc12");
    assert_null(kernels_buffer_take(&text));
    kernels_error_dispose(&error);
}

static void errors_chain(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_int_equal(kernels_fail_errno(&error, 28, "cannot write `%s`", "x"), KERNELS_NO_SPACE);
    assert_int_equal(error.system_errno, 28);
    assert_contains(error.message, "cannot write `x`: ");
    assert_int_equal(kernels_wrap(&error, KERNELS_INTERNAL, "cannot save"), KERNELS_NO_SPACE);
    assert_string_equal(kernels_error_message(&error), "cannot save");
    assert_contains(error.cause->message, "cannot write");
    kernels_error other = KERNELS_ERROR_INIT;
    kernels_error_move(&other, &error);
    assert_null(error.message);
    assert_non_null(other.cause);
    kernels_error_dispose(&other);
    assert_int_equal(kernels_status_category(KERNELS_NO_SPACE), KERNELS_CATEGORY_SYSTEM);
    assert_string_equal(kernels_status_name(KERNELS_NO_VARIANT), "NO_VARIANT");
}

static void encodings(void **state) {
    (void)state;
    kernels_buffer out = KERNELS_BUFFER_INIT(1000);
    kernels_encode_base64(&out, "foob", 4);
    assert_string_equal(kernels_buffer_text(&out), "Zm9vYg==");
    kernels_buffer_reset(&out);
    assert_true(kernels_decode_base64(&out, KERNELS_VIEW("Zm9vYmE=")));
    assert_string_equal(kernels_buffer_text(&out), "fooba");
    assert_false(kernels_decode_base64(&out, KERNELS_VIEW("Zm9vYmF=")));
    assert_false(kernels_decode_base64(&out, KERNELS_VIEW("Zm9")));
    kernels_buffer_reset(&out);
    kernels_encode_base32_lower(&out, "\0\0\0\0\0\0\0\1", 8);
    assert_string_equal(kernels_buffer_text(&out), "aaaaaaaaaaaac");
    kernels_buffer_reset(&out);
    kernels_encode_percent(&out, KERNELS_VIEW("refs/pr/1 \xc3"), false);
    assert_string_equal(kernels_buffer_text(&out), "refs%2Fpr%2F1%20%C3");
    kernels_buffer_reset(&out);
    assert_true(kernels_decode_percent(&out, KERNELS_VIEW("a%2fb")));
    assert_string_equal(kernels_buffer_text(&out), "a/b");
    assert_false(kernels_decode_percent(&out, KERNELS_VIEW("a%2")));
    kernels_buffer_dispose(&out);
}

static void hashes(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    assert_ok(kernels_hash_bytes(KERNELS_HASH_SHA256, "abc", 3, &digest, &error), error);
    kernels_digest_hex(&digest, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_ok(kernels_hash_bytes(KERNELS_HASH_GIT_BLOB, "hello\n", 6, &digest, &error), error);
    kernels_digest_hex(&digest, hex);
    assert_string_equal(hex, "ce013625030ba8dba906f756967f9e9ca394464a");
}

static void paths(void **state) {
    (void)state;
    char *path = kernels_path_join("a/", "b");
    assert_string_equal(path, "a/b");
    kernels_free(path);
    path = kernels_path_join("a", "/b");
    assert_string_equal(path, "/b");
    kernels_free(path);
    path = kernels_path_parent("/a/b/");
    assert_string_equal(path, "/a");
    kernels_free(path);
    path = kernels_path_parent("b");
    assert_string_equal(path, ".");
    kernels_free(path);
    static const char *const unsafe[] = {"", "/a", "a//b", "a/../b", "./a", "a\\b", "c:/x", "a/", "a\nb", "\xff"};
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        assert_non_null(kernels_path_unsafe_reason(kernels_view_of(unsafe[i])));
    }
    assert_non_null(kernels_path_unsafe_reason((kernels_view){"a\0b", 3}));
    assert_null(kernels_path_unsafe_reason(KERNELS_VIEW("build/torch-tpu/__init__.py")));
    assert_null(kernels_path_unsafe_reason(KERNELS_VIEW("a..b/...")));
}

static void arena_respects_its_limit(void **state) {
    (void)state;
    kernels_arena *arena = kernels_arena_new(100000);
    char *text = kernels_arena_printf(arena, "%s-%d", "x", 7);
    assert_string_equal(text, "x-7");
    assert_non_null(kernels_arena_allocate(arena, 50000));
    assert_null(kernels_arena_allocate(arena, 50001));
    assert_null(kernels_arena_array(arena, SIZE_MAX / 2, 4));
    kernels_arena_free(arena);
}

#ifdef KERNELS_FAULTS
static void allocation_failures_are_survived(void **state) {
    (void)state;
    for (unsigned long n = 1; n < 20; n++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        kernels_status status = kernels_fail(&error, KERNELS_NOT_FOUND, "%s", "message");
        status = kernels_wrap(&error, status, "outer");
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        assert_int_equal(status, KERNELS_NOT_FOUND);
        assert_non_null(kernels_error_message(&error));
        kernels_error_dispose(&error);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_split_and_compare),
        cmocka_unit_test(numbers_are_bounded),
        cmocka_unit_test(utf8_is_strict),
        cmocka_unit_test(buffers_keep_their_limit),
        cmocka_unit_test(errors_chain),
        cmocka_unit_test(encodings),
        cmocka_unit_test(hashes),
        cmocka_unit_test(paths),
        cmocka_unit_test(arena_respects_its_limit),
#ifdef KERNELS_FAULTS
        cmocka_unit_test(allocation_failures_are_survived),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
