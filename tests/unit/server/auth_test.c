/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts, signatures, ranges, pointers, addresses: the small decisions. */
#include "support/test_support.h"

#include "base/view.h"
#include "server/auth.h"
#include "server/lfs_pointer.h"
#include "server/listener.h"
#include "server/range.h"

static void accounts(void **state) {
    static const char *const texts[] = {"me:secret", "you:with:colon", "reader:other:ro"};
    kernels_auth *auth = NULL;
    const kernels_account *account;
    (void)state;
    assert_int_equal(kernels_auth_new(texts, 3, NULL, &auth, NULL), KERNELS_OK);
    assert_int_equal(kernels_auth_check(auth, "Bearer secret", &account), KERNELS_AUTH_ACCOUNT);
    assert_string_equal(account->name, "me");
    assert_true(account->can_write);
    assert_int_equal(kernels_auth_check(auth, "bearer  with:colon ", &account), KERNELS_AUTH_ACCOUNT);
    assert_string_equal(account->name, "you");
    assert_int_equal(kernels_auth_check(auth, "Bearer other", &account), KERNELS_AUTH_ACCOUNT);
    assert_false(account->can_write);
    assert_int_equal(kernels_auth_check(auth, NULL, &account), KERNELS_AUTH_ANONYMOUS);
    static const char *const wrong[] = {"Bearer", "Bearer ", "Bearer secre",   "Bearer secrets",
                                        "secret", "",        "Bearer other:ro"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(kernels_auth_check(auth, wrong[i], &account), KERNELS_AUTH_INVALID);
        assert_null(account);
    }
    kernels_auth_free(auth);
}

static void no_accounts(void **state) {
    kernels_auth *auth = NULL;
    const kernels_account *account;
    (void)state;
    assert_int_equal(kernels_auth_new(NULL, 0, NULL, &auth, NULL), KERNELS_OK);
    assert_false(kernels_auth_has_accounts(auth));
    assert_int_equal(kernels_auth_check(auth, "Bearer any", &account), KERNELS_AUTH_ANONYMOUS);
    kernels_auth_free(auth);
}

static void malformed_accounts(void **state) {
    static const char *const texts[] = {"",      ":",     "me",     "me:",     ":secret", "me::ro",
                                        "a/b:c", "a b:c", "me:a b", "me:\x01", "..:a"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kernels_auth *auth = NULL;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_int_equal(kernels_auth_new(&texts[i], 1, NULL, &auth, &error), KERNELS_USAGE);
        assert_null(strstr(kernels_error_message(&error), "secret"));
        kernels_error_dispose(&error);
    }
}

static void signatures(void **state) {
    kernels_auth *auth = NULL, *other = NULL;
    char signature[65];
    (void)state;
    assert_int_equal(kernels_auth_new(NULL, 0, NULL, &auth, NULL), KERNELS_OK);
    assert_int_equal(kernels_auth_new(NULL, 0, NULL, &other, NULL), KERNELS_OK);
    assert_int_equal(kernels_auth_sign(auth, KERNELS_VIEW("put\n/a\n1"), signature, NULL), KERNELS_OK);
    kernels_view view = kernels_view_of(signature);
    assert_true(kernels_auth_signature_is_valid(auth, KERNELS_VIEW("put\n/a\n1"), view));
    assert_false(kernels_auth_signature_is_valid(auth, KERNELS_VIEW("put\n/a\n2"), view));
    assert_false(kernels_auth_signature_is_valid(other, KERNELS_VIEW("put\n/a\n1"), view));
    assert_false(kernels_auth_signature_is_valid(auth, KERNELS_VIEW("put\n/a\n1"), kernels_view_slice(view, 0, 63)));
    assert_false(kernels_auth_signature_is_valid(auth, KERNELS_VIEW("put\n/a\n1"), KERNELS_VIEW("")));
    kernels_auth_free(auth);
    kernels_auth_free(other);
}

static void ranges(void **state) {
    static const struct {
        const char *header;
        uint64_t size;
        kernels_range_result result;
        uint64_t first, length;
    } cases[] = {
        {NULL, 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=0-0", 10, KERNELS_RANGE_PART, 0, 1},
        {"bytes=3-", 10, KERNELS_RANGE_PART, 3, 7},
        {"bytes=3-99", 10, KERNELS_RANGE_PART, 3, 7},
        {"bytes=9-18446744073709551615", 10, KERNELS_RANGE_PART, 9, 1},
        {"bytes=-3", 10, KERNELS_RANGE_PART, 7, 3},
        {"bytes=-99", 10, KERNELS_RANGE_PART, 0, 10},
        {"bytes=-0", 10, KERNELS_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=10-", 10, KERNELS_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=0-", 0, KERNELS_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-1", 0, KERNELS_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=5-4", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=-", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=a-b", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=0-1,2-3", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"bytes=99999999999999999999-", 10, KERNELS_RANGE_WHOLE, 0, 0},
        {"lines=0-1", 10, KERNELS_RANGE_WHOLE, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t first = 0, length = 0;
        assert_int_equal(kernels_range_parse(cases[i].header, cases[i].size, &first, &length), cases[i].result);
        assert_int_equal(first, cases[i].first);
        assert_int_equal(length, cases[i].length);
    }
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define VERSION "version https://git-lfs.github.com/spec/v1\n"

static void pointers(void **state) {
    static const char *const wrong[] = {
        "",
        VERSION,
        VERSION "oid sha256:" HEX64 "\n",
        VERSION "oid sha256:" HEX64 "\nsize 5",
        VERSION "oid sha256:" HEX64 "\nsize 5\n\n",
        VERSION "oid sha256:" HEX64 "\nsize -5\n",
        VERSION "oid sha1:" HEX64 "\nsize 5\n",
        VERSION "oid sha256:../x\nsize 5\n",
        "x" VERSION "oid sha256:" HEX64 "\nsize 5\n",
        VERSION "oid sha256:" HEX64 "\nsize 99999999999999999999\n",
    };
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t size = 0;
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_LFS_POINTER_LIMIT);
    (void)state;
    kernels_lfs_pointer_print(&text, HEX64, UINT64_MAX);
    assert_true(kernels_lfs_pointer_parse(kernels_buffer_view(&text), sha256, &size));
    assert_string_equal(sha256, HEX64);
    assert_true(size == UINT64_MAX);
    kernels_buffer_dispose(&text);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(kernels_lfs_pointer_parse(kernels_view_of(wrong[i]), sha256, &size));
    }
}

static void loopback(void **state) {
    static const char *const near[] = {"127.0.0.1", "127.8.9.1", "localhost", "::1"};
    static const char *const far[] = {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "example.org", "127.1", "", "::2"};
    (void)state;
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        assert_true(kernels_host_is_loopback(near[i]));
    }
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        assert_false(kernels_host_is_loopback(far[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts),   cmocka_unit_test(no_accounts), cmocka_unit_test(malformed_accounts),
        cmocka_unit_test(signatures), cmocka_unit_test(ranges),      cmocka_unit_test(pointers),
        cmocka_unit_test(loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
