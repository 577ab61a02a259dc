/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of compiled programs: its names, what it refuses, and a program that comes back from it. */
#include "support/test_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/compiled_cache.h"
#include "runtime/pjrt.h"
#include "runtime/plugin.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_SHA "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

typedef struct fixture {
    char *folder;
    char *plugin; /* any file: only its name, size and time are looked at */
} fixture;

static int setup(void **state) {
    static fixture f;
    assert_int_equal(kernels_make_temporary_directory(NULL, "compiled", &f.folder, NULL), KERNELS_OK);
    f.plugin = kernels_path_join(f.folder, "plugin.so");
    assert_int_equal(kernels_file_write(f.plugin, KERNELS_VIEW("plugin"), 0, NULL), KERNELS_OK);
    assert_int_equal(setenv("KERNELS_COMPILED_CACHE", f.folder, 1), 0);
    assert_int_equal(unsetenv("XLA_FLAGS"), 0);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    kernels_status status = kernels_remove_tree(f->folder, NULL);
    kernels_free(f->folder);
    kernels_free(f->plugin);
    return status == KERNELS_OK ? 0 : -1;
}

static char *path_of(const char *plugin, const char *sha256) {
    char *path = NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_compiled_cache_path(plugin, sha256, &path, &error), error);
    return path;
}

/* Frees both. */
static bool same(char *a, char *b) {
    bool equal = strcmp(a, b) == 0;
    kernels_free(a);
    kernels_free(b);
    return equal;
}

static void test_a_name_stands_for_all_that_decides(void **state) {
    const fixture *f = *state;
    assert_true(same(path_of(f->plugin, SHA), path_of(f->plugin, SHA)));
    assert_false(same(path_of(f->plugin, SHA), path_of(f->plugin, OTHER_SHA)));
    char *before = path_of(f->plugin, SHA);
    assert_int_equal(kernels_file_write(f->plugin, KERNELS_VIEW("newer plugin"), 0, NULL), KERNELS_OK);
    assert_false(same(before, path_of(f->plugin, SHA)));
    before = path_of(f->plugin, SHA);
    assert_int_equal(setenv("XLA_FLAGS", "--xla_backend_optimization_level=0", 1), 0);
    assert_false(same(before, path_of(f->plugin, SHA)));
}

static void test_where_it_is(void **state) {
    const fixture *f = *state;
    assert_int_equal(setenv("KERNELS_COMPILED_CACHE", "", 1), 0);
    assert_null(path_of(f->plugin, SHA));
    assert_int_equal(unsetenv("KERNELS_COMPILED_CACHE"), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/xdg", 1), 0);
    char *path = path_of(f->plugin, SHA);
    assert_int_equal(strncmp(path, "/xdg/kernels/compiled/", 22), 0);
    kernels_free(path);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", "/home-of-tests", 1), 0);
    path = path_of(f->plugin, SHA);
    assert_int_equal(strncmp(path, "/home-of-tests/.cache/kernels/compiled/", 39), 0);
    kernels_free(path);
    char *none = NULL;
    assert_int_equal(kernels_compiled_cache_path("/no/such/plugin", SHA, &none, NULL), KERNELS_FILE_NOT_FOUND);
    assert_null(none);
}

static kernels_status read_back(const char *path, const char *expected) {
    char *contents = NULL;
    kernels_view bytes = {0};
    kernels_status status = kernels_compiled_cache_read(path, &contents, &bytes, NULL);
    if (status == KERNELS_OK) {
        assert_true(kernels_view_equal_text(bytes, expected));
    }
    kernels_free(contents);
    return status;
}

static void test_only_what_is_whole_and_ours_comes_back(void **state) {
    const fixture *f = *state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = path_of(f->plugin, SHA);
    assert_int_equal(read_back(path, ""), KERNELS_NOT_CACHED);
    assert_ok(kernels_compiled_cache_write(path, KERNELS_VIEW("machine code"), &error), error);
    assert_int_equal(read_back(path, "machine code"), KERNELS_OK);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);

    assert_int_equal(chmod(path, 0622), 0); /* somebody else may have written it */
    assert_int_equal(read_back(path, ""), KERNELS_NOT_CACHED);
    assert_int_equal(chmod(path, 0600), 0);

    char *file = NULL;
    size_t size = 0;
    assert_ok(kernels_file_read(path, 1024, &file, &size, &error), error);
    for (size_t i = 0; i < size; i++) { /* one byte changed, or all behind it gone */
        file[i] = (char)(file[i] ^ 1);
        assert_ok(kernels_file_write(path, (kernels_view){file, size}, 0600, &error), error);
        assert_true(i == 64 || read_back(path, "") == KERNELS_NOT_CACHED); /* the line end is not looked at */
        file[i] = (char)(file[i] ^ 1);
        assert_ok(kernels_file_write(path, (kernels_view){file, i}, 0600, &error), error);
        assert_int_equal(read_back(path, ""), KERNELS_NOT_CACHED);
    }
    kernels_free(file);
    kernels_free(path);
}

static void test_a_compiled_program_runs_again(void **state) {
    (void)state;
    kernels_error error = KERNELS_ERROR_INIT;
    char *path = NULL;
    PLUGIN_OR_SKIP(path);
    kernels_pjrt_plugin *plugin = NULL;
    kernels_pjrt_client *client = NULL;
    kernels_pjrt_executable *compiled = NULL, *again = NULL;
    char *program = NULL, *bytes = NULL;
    size_t program_size = 0, size = 0;
    assert_ok(kernels_pjrt_plugin_open(path, &plugin, &error), error);
    assert_ok(kernels_pjrt_client_new(plugin, &client, &error), error);
    assert_ok(kernels_file_read(test_data("aot/sample/build/torch-tpu/aot/relu.cpu.0.mlirbc"), (size_t)1 << 20,
                                &program, &program_size, &error),
              error);
    assert_ok(kernels_pjrt_compile(client, (kernels_view){program, program_size}, "relu", 1, &compiled, &error), error);
    assert_ok(kernels_pjrt_serialize(compiled, &bytes, &size, &error), error);
    kernels_pjrt_executable_free(compiled);
    assert_int_equal(kernels_pjrt_deserialize(client, (kernels_view){bytes, size}, "relu", 2, &again, NULL),
                     KERNELS_SCHEMA); /* the program has one result */
    assert_ok(kernels_pjrt_deserialize(client, (kernels_view){bytes, size}, "relu", 1, &again, &error), error);
    kernels_shape shape;
    assert_ok(kernels_shape_parse(KERNELS_VIEW("f32[4,8]"), &shape, &error), error);
    float in[32], out[32];
    for (int i = 0; i < 32; i++) {
        in[i] = (float)(i - 16);
    }
    const kernels_pjrt_array input = {&shape, in}, output = {&shape, out};
    assert_ok(kernels_pjrt_execute(again, &input, 1, &output, 1, &error), error);
    for (int i = 0; i < 32; i++) {
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0.0f));
    }
    kernels_pjrt_executable_free(again);
    kernels_pjrt_client_free(client);
    kernels_pjrt_plugin_close(plugin);
    kernels_free(program);
    kernels_free(bytes);
    kernels_free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_name_stands_for_all_that_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_what_is_whole_and_ours_comes_back, setup, teardown),
        cmocka_unit_test(test_a_compiled_program_runs_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
