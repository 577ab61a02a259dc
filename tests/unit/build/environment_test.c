/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "build/build_data.h"
#include "build/environment.h"
#include "build/environment_lock.h"
#include "build/folder.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define WHEEL(name, version)                                                                                       \
    "[[wheel]]\nname = \"" name "\"\nversion = \"" version "\"\nfile = \"a-1-py3-none-any.whl\"\nsha256 = \"" HASH \
    "\"\nsize = 7\nsource = \"pypi\"\nroles = [\"build\"]\n"
#define LOCK "format = 1\npython = \"3.11\"\n" WHEEL("a", "1")

static void test_shipped_lock(void **state) {
    kernels_environment_lock lock;
    kernels_error error = KERNELS_ERROR_INIT;
    bool has_licence = false;
    (void)state;
    kernels_view text = kernels_build_data_find("data/locks/jax.x86_64-linux.toml");
    assert_non_null(text.data);
    must(kernels_environment_lock_parse(text, "lock", &lock, &error), &error);
    assert_string_equal(lock.python, "3.11");
    for (size_t i = 0; i < lock.count; i++) {
        bool is_libtpu = strcmp(lock.wheels[i].name, "libtpu") == 0;
        assert_int_equal(lock.wheels[i].licence != NULL, is_libtpu);
        has_licence = has_licence || is_libtpu;
    }
    assert_true(has_licence);
    kernels_environment_lock_dispose(&lock);
    assert_null(kernels_build_data_find("data/locks/none.toml").data);
}

static void test_shipped_torch_lock(void **state) {
    kernels_environment_lock lock;
    kernels_error error = KERNELS_ERROR_INIT;
    size_t licences = 0, torch = 0;
    (void)state;
    kernels_view text = kernels_build_data_find("data/locks/torch-tpu.x86_64-linux.toml");
    must(kernels_environment_lock_parse(text, "lock", &lock, &error), &error);
    assert_string_equal(lock.base, "jax");
    for (size_t i = 0; i < lock.count; i++) {
        const kernels_lock_wheel *wheel = &lock.wheels[i];
        licences += wheel->licence != NULL;
        torch += strcmp(wheel->name, "torch") == 0 && strcmp(wheel->version, "2.15.0") == 0;
        torch += strcmp(wheel->name, "torch_tpu") == 0 && strcmp(wheel->version, "0.2.0") == 0;
    }
    assert_int_equal(licences, 1); /* nvidia-cuda-runtime */
    assert_int_equal(torch, 2);
    kernels_environment_lock_dispose(&lock);
}

static void test_lock_errors(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "format = 1"},
        {"format = 2\n", "format = 1"},
        {"format = 1\npython = \"3\"\n", "lock:2:10: python"},
        {"format = 1\npython = \"3.11\"\n", "1 to 256 tables [[wheel]]"},
        {"format = 1\npython = \"3.11\"\nbase = \"a b\"\n", "lock:3:8: base: expected the name of an environment"},
        {LOCK "extra = 1\n", "unknown key \"extra\""},
        {"format = 1\npython = \"3.11\"\n" WHEEL("a --index-url=x", "1"), "name: expected the name of a package"},
        {"format = 1\npython = \"3.11\"\n" WHEEL("-a", "1"), "name: expected the name of a package"},
        {"format = 1\npython = \"3.11\"\n" WHEEL("a", "1\\nb"), "version: expected a version"},
        {"format = 1\npython = \"3.11\"\n[[wheel]]\nname = \"a\"\nversion = \"1\"\nfile = \"../a.whl\"\n",
         "file: expected the name of a .whl file"},
        {"format = 1\npython = \"3.11\"\n[[wheel]]\nname = \"a\"\nversion = \"1\"\nfile = \"a.whl\"\nsha256 = \"00\"\n",
         "sha256: expected 64 hex digits"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kernels_environment_lock lock;
        kernels_error error = KERNELS_ERROR_INIT;
        assert_int_not_equal(kernels_environment_lock_parse(kernels_view_of(cases[i].text), "lock", &lock, &error),
                             KERNELS_OK);
        if (strstr(kernels_error_message(&error), cases[i].message) == NULL) {
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, kernels_error_message(&error), cases[i].message);
        }
        kernels_error_dispose(&error);
    }
}

static void test_store_directory(void **state) {
    char *directory = NULL;
    (void)state;
    setenv("KERNEL_BUILDER_STORE", "", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/my/home", 1);
    assert_int_equal(kernels_store_directory(NULL, &directory, NULL), KERNELS_OK);
    assert_string_equal(directory, "/xdg/kernel-builder");
    kernels_free(directory);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(kernels_store_directory(NULL, &directory, NULL), KERNELS_OK);
    assert_string_equal(directory, "/my/home/.cache/kernel-builder");
    kernels_free(directory);
    setenv("KERNEL_BUILDER_STORE", "/store", 1);
    assert_int_equal(kernels_store_directory(NULL, &directory, NULL), KERNELS_OK);
    assert_string_equal(directory, "/store");
    kernels_free(directory);
    assert_int_equal(kernels_store_directory("/given", &directory, NULL), KERNELS_OK);
    assert_string_equal(directory, "/given");
    kernels_free(directory);
    unsetenv("KERNEL_BUILDER_STORE");
}

/* Runs provide with a lock of that text; gives the error's text, or "" on success. */
static void provide(const char *lock_text, const char *store, kernels_status *status, char message[1024]) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment = {0};
    folder_write_text(store, "lock.toml", lock_text);
    char *path = kernels_path_join(store, "lock.toml");
    kernels_environment_options options = {.lock_path = path, .store = store};
    *status = kernels_environment_provide(&options, &environment, &error);
    size_t size = *status != KERNELS_OK ? strlen(kernels_error_message(&error)) : 0;
    size = size < 1023 ? size : 1023;
    memcpy(message, kernels_error_message(&error), size);
    message[size] = '\0';
    kernels_environment_dispose(&environment);
    kernels_error_dispose(&error);
    kernels_free(path);
}

static void test_wrong_python(void **state) {
    kernels_status status;
    char message[1024], *store = folder_make();
    (void)state;
    provide("format = 1\npython = \"2.6\"\n" WHEEL("a", "1"), store, &status, message);
    assert_int_equal(status, KERNELS_MISSING_DEPENDENCY);
    assert_non_null(strstr(message, "Python 2.6 is needed"));
    assert_non_null(strstr(message, "found /")); /* a path and its version: some python3 runs these tests */
    folder_remove(store);
}

static void test_licence(void **state) {
    kernels_status status;
    char message[1024], *store = folder_make();
    (void)state;
    provide(LOCK "licence = \"unfree\"\n", store, &status, message);
    assert_int_equal(status, KERNELS_PERMISSION);
    assert_non_null(strstr(message, "--accept-licence a"));
    assert_false(folder_has(store, "env"));
    folder_remove(store);
}

/* A folder without the marker is what a killed builder leaves: it is not used. */
static void test_bases(void **state) {
    kernels_status status;
    char message[1024], *store = folder_make();
    (void)state;
    provide("format = 1\npython = \"3.11\"\nbase = \"none\"\n" WHEEL("a", "1"), store, &status, message);
    assert_int_equal(status, KERNELS_UNSUPPORTED);
    assert_non_null(strstr(message, "no build environment \"none\""));
    provide("format = 1\npython = \"3.11\"\nbase = \"torch-tpu\"\n" WHEEL("a", "1"), store, &status, message);
    assert_int_equal(status, KERNELS_UNSUPPORTED);
    assert_non_null(strstr(message, "which stands on another one itself"));
    provide("format = 1\npython = \"3.11\"\nbase = \"jax\"\n" WHEEL("a", "1"), store, &status, message);
    assert_int_equal(status, KERNELS_PERMISSION); /* asked for the base before anything is made */
    assert_non_null(strstr(message, "--accept-licence libtpu"));
    assert_false(folder_has(store, "env"));
    folder_remove(store);
}

static void test_find(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment;
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE], *store = folder_make();
    (void)state;
    folder_write_text(store, "lock.toml", LOCK);
    char *lock = kernels_path_join(store, "lock.toml");
    kernels_environment_options options = {.lock_path = lock, .store = store};
    must(kernels_hash_bytes(KERNELS_HASH_SHA256, LOCK, sizeof(LOCK) - 1, &digest, &error), &error);
    kernels_digest_hex(&digest, hex);
    char *folder = kernels_path_join3(store, "env", hex);
    folder_write_text(folder, "bin/python", "");
    assert_int_equal(kernels_environment_find(&options, &environment, &error), KERNELS_NOT_FOUND);
    assert_non_null(strstr(kernels_error_message(&error), "kernel-builder env fetch"));
    folder_write_text(folder, ".complete", "");
    must(kernels_environment_find(&options, &environment, &error), &error);
    assert_string_equal(environment.directory, folder);
    assert_non_null(strstr(environment.site_packages, "/lib/python3.11/site-packages"));
    kernels_environment_dispose(&environment);
    kernels_error_dispose(&error);
    kernels_free(folder);
    kernels_free(lock);
    folder_remove(store);
}

/* ---- really making one, from a wheel of four files (tests/data/wheels) ---- */

#define TINY_HASH "9e353335300a0a8968bb3b126c2191d10525cb82ba156d13bfc2e5320b1a0ecc"
#define TINY(hash)                                                                                 \
    "format = 1\npython = \"3.11\"\n[[wheel]]\nname = \"tiny\"\nversion = \"1.0\"\n"               \
    "file = \"tiny-1.0-py3-none-any.whl\"\nsha256 = \"" hash "\"\nsize = 720\nsource = \"pypi\"\n" \
    "roles = [\"build\"]\nlicence = \"own\"\n"

static void count_line(void *payload, const char *message) {
    unsigned *count = payload;
    (void)message;
    (*count)++;
}

/* lines: what the maker reported, 0 when somebody else made it. */
static kernels_status provide_tiny(const char *store, unsigned *lines, kernels_environment *environment,
                                   kernels_error *error) {
    static const char *const licences[] = {"other", "tiny"};
    char *lock = kernels_path_join(store, "lock.toml");
    char *wheels = kernels_path_join(getenv("KERNELS_TEST_DATA"), "wheels");
    kernels_environment_options options = {
        .lock_path = lock,
        .store = store,
        .wheel_dir = wheels,
        .licences = licences,
        .licence_count = 2,
        .progress = count_line,
        .payload = lines,
    };
    kernels_status status = kernels_environment_provide(&options, environment, error);
    kernels_free(wheels);
    kernels_free(lock);
    return status;
}

/* Two builders at once: one makes it, both get it. */
static void test_two_builders(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment = {0};
    unsigned lines = 0;
    int result = -1;
    char *store = folder_make();
    (void)state;
    folder_write_text(store, "lock.toml", TINY(TINY_HASH));
    pid_t child = fork();
    if (child == 0) {
        kernels_status status = provide_tiny(store, &lines, &environment, NULL);
        _exit(status != KERNELS_OK ? 100 : (int)lines);
    }
    must(provide_tiny(store, &lines, &environment, &error), &error);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result) + (int)lines, 3); /* one plan and two steps, told once */
    assert_true(folder_has(environment.site_packages, "tiny.py"));
    assert_true(folder_has(environment.directory, ".complete"));
    kernels_environment_dispose(&environment);
    folder_remove(store);
}

static void test_wheel_with_another_hash(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment = {0};
    unsigned lines = 0;
    char *store = folder_make();
    (void)state;
    folder_write_text(store, "lock.toml", TINY(HASH));
    assert_int_equal(provide_tiny(store, &lines, &environment, &error), KERNELS_PROCESS);
    assert_non_null(strstr(kernels_error_message(&error), "pip install failed"));
    assert_non_null(strstr(kernels_error_message(&error), TINY_HASH));
    char *lock = kernels_path_join(store, "lock.toml");
    kernels_environment_options options = {.lock_path = lock, .store = store};
    assert_int_equal(kernels_environment_find(&options, &environment, &error), KERNELS_NOT_FOUND);
    kernels_free(lock);
    kernels_error_dispose(&error);
    folder_remove(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_lock),    cmocka_unit_test(test_shipped_torch_lock),
        cmocka_unit_test(test_bases),           cmocka_unit_test(test_lock_errors),
        cmocka_unit_test(test_store_directory), cmocka_unit_test(test_wrong_python),
        cmocka_unit_test(test_licence),         cmocka_unit_test(test_find),
        cmocka_unit_test(test_two_builders),    cmocka_unit_test(test_wheel_with_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
