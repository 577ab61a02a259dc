/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries made with the compiler of this machine stand for torch's and NVIDIA's; the real ones:
 * tests/program/test_torch_environment.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "build/folder.h"
#include "build/import_stubs.h"

static void compile(const char *folder, const char *name, const char *code, const char *const *more) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_process_result result;
    const char *arguments[24] = {"cc", "-shared", "-fPIC", "-w", "-Wl,--no-as-needed", "-L.", "code.c", "-o", name};
    size_t count = 9;
    folder_write_text(folder, "code.c", code);
    while (*more != NULL) {
        arguments[count++] = *more++;
    }
    kernels_process_options options = {.arguments = arguments, .working_directory = folder};
    must(kernels_process_run(&options, &result, &error), &error);
    if (result.exit_code != 0) {
        fail_msg("cc %s: %s", name, kernels_buffer_text(&result.errors));
    }
    kernels_process_result_dispose(&result);
}

/* torch/lib/libtorch_cuda.so, which needs libcublas with versions, libnccl without, and the CUDA runtime. */
static void make_torch(const char *site_packages) {
    char *folder = kernels_path_join(site_packages, "torch/lib");
    folder_write_text(folder, "cublas.map", "libcublas.so.13 { global: cublas*; local: *; };\n");
    compile(folder, "libcublas.so.13", "int cublasCreate_v2() { return 1; } int cublasLtHint() { return 1; }",
            (const char *[]){"-Wl,-soname,libcublas.so.13", "-Wl,--version-script=cublas.map", NULL});
    compile(folder, "libnccl.so.2", "int ncclSend() { return 1; }", (const char *[]){"-Wl,-soname,libnccl.so.2", NULL});
    compile(folder, "libcudart.so.13", "int cudaFree() { return 1; }",
            (const char *[]){"-Wl,-soname,libcudart.so.13", NULL});
    compile(folder, "libtorch_cuda.so",
            "int cublasCreate_v2(), cublasLtHint(), ncclSend(), cudaFree(); __attribute__((weak)) int ncclNew();\n"
            "int torch(void) { return ncclNew ? ncclNew() : cublasCreate_v2() + cublasLtHint() + ncclSend() + "
            "cudaFree(); }\n"
            "int torch_has_new(void) { return ncclNew != 0; }",
            (const char *[]){"libcublas.so.13", "libnccl.so.2", "libcudart.so.13", "-Wl,-rpath,$ORIGIN", NULL});
    for (size_t i = 0; i < 2; i++) {
        char *path = kernels_path_join(folder, i == 0 ? "libcublas.so.13" : "libnccl.so.2");
        must(kernels_remove_file(path, NULL), NULL);
        kernels_free(path);
    }
    kernels_free(folder);
}

static char *prepare(void) {
    char *compiler = kernels_process_find("cc");
#ifndef __x86_64__
    kernels_free(compiler);
    compiler = NULL;
#endif
    if (compiler == NULL) {
        skip();
    }
    kernels_free(compiler);
    char *folder = folder_make();
    make_torch(folder);
    return folder;
}

/* Loaded with every name bound; a weak name that only a newer library has stays away. */
static void test_torch_loads(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_import_stubs written;
    char *folder = prepare(), *path = kernels_path_join(folder, "torch/lib/libtorch_cuda.so");
    int (*has_new)(void);
    (void)state;
    assert_null(dlopen(path, RTLD_NOW));
    must(kernels_import_stubs_write(folder, &written, &error), &error);
    assert_int_equal(written.libraries, 2);
    assert_int_equal(written.symbols, 3); /* two of cublas, the name with "cublasLt" in it too, and one of nccl */
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    void *address = dlsym(library, "torch_has_new");
    memcpy(&has_new, &address, sizeof has_new);
    assert_int_equal(has_new(), 0);
    (void)dlclose(library);
    kernels_free(path);
    folder_remove(folder);
}

/* What a wheel of NVIDIA's has brought is left alone. */
static void test_real_libraries_stay(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_import_stubs written;
    char *folder = prepare();
    (void)state;
    folder_write_text(folder, "nvidia/cu13/lib/libcublas.so.13", "real");
    must(kernels_import_stubs_write(folder, &written, &error), &error);
    assert_int_equal(written.libraries, 1);
    assert_true(folder_has(folder, "torch/lib/libnccl.so.2"));
    assert_false(folder_has(folder, "torch/lib/libcublas.so.13"));
    folder_remove(folder);
}

static void test_no_torch(void **state) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_import_stubs written;
    char *folder = folder_make();
    (void)state;
    must(kernels_import_stubs_write(folder, &written, &error), &error);
    assert_int_equal(written.libraries, 0);
    folder_write_text(folder, "torch/lib/broken.so", "no library");
    assert_int_equal(kernels_import_stubs_write(folder, &written, &error), KERNELS_UNSUPPORTED_EDITION);
    kernels_error_dispose(&error);
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torch_loads),
        cmocka_unit_test(test_real_libraries_stay),
        cmocka_unit_test(test_no_torch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
