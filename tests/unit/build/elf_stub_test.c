/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs as the reader of room abi sees them and as the loader of this machine takes them. */
#define _GNU_SOURCE /* dlvsym */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build/elf_stub.h"
#include "build/folder.h"
#include "kernels/abi.h"

#define SONAME KERNELS_VIEW("libcublas.so.13")

static const kernels_stub_symbol symbols[] = {
    {{"cublasCreate_v2", 15}, {"libcublas.so.13", 15}},
    {{"cublasDestroy_v2", 16}, {"libcublas.so.13", 15}},
    {{"cublasOld", 9}, {"OLD_1.0", 7}},
    {{"cublasPlain", 11}, {"", 0}},
};

static void write_stub(kernels_buffer *out) {
    kernels_error error = KERNELS_ERROR_INIT;
    must(kernels_elf_stub_write(SONAME, symbols, 4, out, &error), &error);
}

static void test_reader(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_buffer first = KERNELS_BUFFER_INIT(1 << 20), second = KERNELS_BUFFER_INIT(1 << 20);
    kernels_abi_object *object = NULL;
    (void)state;
    write_stub(&first);
    write_stub(&second);
    assert_true(kernels_view_equal(kernels_buffer_view(&first), kernels_buffer_view(&second)));
    must(kernels_abi_object_open_memory(kernels_buffer_view(&first), "stub", 0, &object, &error), &error);
    const kernels_abi_image *image = kernels_abi_object_image(object, 0);
    assert_string_equal(image->machine, "x86_64");
    assert_true(kernels_view_equal(image->name, SONAME));
    assert_int_equal(image->defined_count, 4);
    assert_int_equal(image->symbol_count, 0);
    assert_int_equal(image->needed.count, 0);
    assert_true(image->is_shared && image->has_dynamic && image->has_stack_note);
    assert_false(image->has_executable_stack || image->has_writable_code || image->has_text_relocations);
    kernels_abi_object_free(object);
    kernels_buffer_dispose(&first);
    kernels_buffer_dispose(&second);
}

/* The end of a child that calls the symbol; what it wrote to standard error. */
static int call_in_child(void *address, char *text, size_t size) {
    int ends[2], result = 0;
    void (*function)(void);
    memcpy(&function, &address, sizeof function);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(ends[1], STDERR_FILENO);
        function();
        _exit(0);
    }
    (void)close(ends[1]);
    ssize_t got = read(ends[0], text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &result, 0), child);
    return result;
}

static void test_loader(void **state) {
#ifdef __x86_64__
    kernels_buffer content = KERNELS_BUFFER_INIT(1 << 20);
    char *folder = folder_make(), text[512];
    (void)state;
    write_stub(&content);
    folder_write(folder, "libcublas.so.13", kernels_buffer_view(&content));
    char *path = kernels_path_join(folder, "libcublas.so.13");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    for (size_t i = 0; i < 4; i++) {
        char name[64] = {0};
        memcpy(name, symbols[i].name.data, symbols[i].name.size);
        void *address = dlsym(library, name);
        assert_non_null(address);
        int result = call_in_child(address, text, sizeof text);
        assert_true(WIFSIGNALED(result));
        assert_int_equal(WTERMSIG(result), SIGABRT);
        assert_int_equal(strncmp(text, "libcublas.so.13: ", 17), 0);
        assert_int_equal(strncmp(text + 17, name, strlen(name)), 0);
        assert_non_null(strstr(text, "import stub"));
    }
    assert_null(dlsym(library, "cublasOther"));
    assert_non_null(dlvsym(library, "cublasOld", "OLD_1.0"));
    assert_null(dlvsym(library, "cublasOld", "libcublas.so.13"));
    (void)dlclose(library);
    kernels_free(path);
    kernels_buffer_dispose(&content);
    folder_remove(folder);
#else
    (void)state;
    skip();
#endif
}

static void test_no_symbols(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_buffer content = KERNELS_BUFFER_INIT(1 << 20), small = KERNELS_BUFFER_INIT(100);
    (void)state;
    must(kernels_elf_stub_write(SONAME, NULL, 0, &content, &error), &error);
    assert_true(content.size > 0);
    assert_int_equal(kernels_elf_stub_write(SONAME, symbols, 4, &small, &error), KERNELS_LIMIT);
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&content);
    kernels_buffer_dispose(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_loader),
        cmocka_unit_test(test_no_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
