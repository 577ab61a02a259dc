/* SPDX-License-Identifier: Apache-2.0 */
/* From a kernel's folder to a call, with the XLA CPU plugin; and everything that must be refused on the way. */
#include "support/test_support.h"

#include <pthread.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
size_t __sanitizer_get_current_allocated_bytes(void); /* gcc ships no header for it */
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/runtime.h"
#include "runtime/plugin.h"

typedef struct fixture {
    char *root; /* a copy of the sample that a test may spoil */
    char *plugin;
    kernels_context *context;
    kernels_kernel *kernel;
    kernels_function_options options;
    kernels_error error;
    char warnings[1024];
} fixture;

static void copy_sample(const char *root) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_listing files;
    char *from = kernels_strdup(test_data("aot/sample"));
    assert_ok(kernels_list(from, KERNELS_LIST_RECURSIVE, &files, &error), error);
    for (size_t i = 0; i < files.count; i++) {
        char *source = kernels_path_join(from, files.entries[i].path);
        char *target = kernels_path_join(root, files.entries[i].path);
        if (files.entries[i].type == KERNELS_ENTRY_DIRECTORY) {
            assert_ok(kernels_make_directories(target, &error), error);
        } else {
            assert_ok(kernels_file_copy(source, target, 0, &error), error);
        }
        kernels_free(source);
        kernels_free(target);
    }
    kernels_listing_dispose(&files);
    kernels_free(from);
}

static int setup(void **state) {
    fixture *f = kernels_calloc(1, sizeof(*f));
    if (!f || kernels_make_temporary_directory(NULL, "function", &f->root, NULL)) {
        return -1;
    }
    copy_sample(f->root);
    f->plugin = plugin_path();
    *state = f;
    return 0;
}

/* The kernel of the fixture, once the test has done to its files what it wanted. */
static void load(fixture *f) {
    const kernels_context_options options = {.offline = true};
    const kernels_load_options load_options = {0};
    f->options.plugin = f->plugin;
    assert_ok(kernels_context_new(&options, &f->context, &f->error), f->error);
    assert_ok(kernels_load_local(f->context, f->root, &load_options, &f->kernel, &f->error), f->error);
}

static int teardown(void **state) {
    fixture *f = *state;
    kernels_kernel_free(f->kernel);
    kernels_context_free(f->context);
    kernels_error_dispose(&f->error);
    (void)kernels_remove_tree(f->root, NULL);
    kernels_free(f->root);
    kernels_free(f->plugin);
    kernels_free(f);
    return 0;
}

/* A tensor over memory of the test. */
typedef struct sample {
    kernels_shape shape;
    DLTensor tensor;
} sample;

static void fill(sample *s, const char *shape, void *data) {
    kernels_error error = KERNELS_ERROR_INIT;
    assert_ok(kernels_shape_parse(kernels_view_of(shape), &s->shape, &error), error);
    s->tensor = (DLTensor){.data = data,
                           .device = {kDLCPU, 0},
                           .ndim = s->shape.rank,
                           .dtype = s->shape.dtype,
                           .shape = s->shape.dimensions};
}

static kernels_function *get(fixture *f, const char *name) {
    kernels_function *function = NULL;
    assert_ok(kernels_function_get(f->kernel, name, &f->options, &function, &f->error), f->error);
    return function;
}

static void test_calls(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *relu = get(f, "relu");
    assert_string_equal(kernels_function_platform(relu), "cpu");
    assert_string_equal(kernels_function_plugin(relu), f->plugin);
    float in[32], out[32];
    for (int i = 0; i < 32; i++) {
        in[i] = (float)i - 15.5f;
    }
    sample x, y;
    fill(&x, "f32[4,8]", in);
    fill(&y, "f32[4,8]", out);
    const DLTensor *inputs[] = {&x.tensor};
    DLTensor *outputs[] = {&y.tensor};
    assert_ok(kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), f->error);
    for (int i = 0; i < 32; i++) {
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0.0f));
    }
    /* in place */
    DLTensor *same[] = {&x.tensor};
    assert_ok(kernels_function_call(relu, inputs, 1, same, 1, &f->error), f->error);
    assert_memory_equal(in, out, sizeof(in));
    kernels_function_free(relu);
}

static void test_other_types_and_shapes(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *relu = get(f, "relu");
    uint16_t in[32], out[32]; /* bf16: the upper half of an f32 */
    for (int i = 0; i < 32; i++) {
        in[i] = i % 2 ? 0xbf80 : 0x3f80; /* -1, 1 */
    }
    sample x, y;
    fill(&x, "bf16[4,8]", in);
    fill(&y, "bf16[4,8]", out);
    const DLTensor *inputs[] = {&x.tensor};
    DLTensor *outputs[] = {&y.tensor};
    assert_ok(kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), f->error);
    assert_int_equal(out[0], 0x3f80);
    assert_int_equal(out[1], 0);
    int32_t scalar = -5, result = 7;
    fill(&x, "s32[]", &scalar);
    fill(&y, "s32[]", &result);
    assert_ok(kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), f->error);
    assert_int_equal(result, 0);
    fill(&x, "f32[0,8]", NULL);
    fill(&y, "f32[0,8]", NULL);
    assert_ok(kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), f->error);
    kernels_function *flags = get(f, "unchanged_flags");
    bool flag[5] = {true, false, true, true, false}, inverted[5];
    fill(&x, "pred[5]", flag);
    fill(&y, "pred[5]", inverted);
    assert_ok(kernels_function_call(flags, inputs, 1, outputs, 1, &f->error), f->error);
    assert_true(!inverted[0] && inverted[1] && inverted[4]);
    kernels_function_free(flags);
    kernels_function_free(relu);
}

static void test_allocates_results(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *function = get(f, "sum_and_dot");
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 1, 1, 1, 1, 1};
    sample x, y;
    fill(&x, "f32[3,2]", a);
    fill(&y, "f32[3,2]", b);
    const DLTensor *inputs[] = {&x.tensor, &y.tensor};
    DLManagedTensorVersioned *results[2] = {NULL, NULL};
    assert_int_equal(kernels_function_call_allocate(function, inputs, 2, results, 1, &f->error), KERNELS_MISMATCH);
    assert_contains(kernels_error_message(&f->error), "expected room for 2 results, given 1");
    assert_null(results[0]);
    assert_ok(kernels_function_call_allocate(function, inputs, 2, results, 2, &f->error), f->error);
    assert_int_equal(results[0]->dl_tensor.ndim, 2);
    assert_int_equal(results[0]->dl_tensor.shape[0], 3);
    assert_true(((float *)results[0]->dl_tensor.data)[5] == 7);
    assert_int_equal(results[1]->dl_tensor.ndim, 0);
    assert_true(*(float *)results[1]->dl_tensor.data == 21);
    kernels_function_free(function); /* results do not need it */
    results[0]->deleter(results[0]);
    results[1]->deleter(results[1]);
}

static void expect(fixture *f, kernels_status got, kernels_status wanted, const char *part) {
    if (got != wanted) {
        fail_msg("%s instead of %s: %s", kernels_status_name(got), kernels_status_name(wanted),
                 kernels_error_message(&f->error));
    }
    assert_contains(kernels_error_message(&f->error), part);
}

static void test_refuses_wrong_arguments(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *relu = get(f, "relu");
    float in[64] = {0}, out[64] = {0};
    sample x, y;
    fill(&x, "f32[4,8]", in);
    fill(&y, "f32[4,8]", out);
    const DLTensor *inputs[] = {&x.tensor, &x.tensor};
    DLTensor *outputs[] = {&y.tensor};
    expect(f, kernels_function_call(relu, inputs, 2, outputs, 1, &f->error), KERNELS_MISMATCH,
           "relu: expected 1 argument (x), given 2");
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 0, &f->error), KERNELS_MISMATCH,
           "expected room for 1 result, given 0");
    fill(&x, "f32[8,4]", in);
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), KERNELS_SPECIALISATION_NOT_FOUND,
           "relu was not exported for (f32[8,4]) on platform cpu; exported were:\n  relu(f32[4,8]) -> (f32[4,8])\n  "
           "relu(bf16[4,8]) -> (bf16[4,8])\n  relu(s32[]) -> (s32[])");
    fill(&x, "f64[4,8]", in);
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), KERNELS_SPECIALISATION_NOT_FOUND,
           "(f64[4,8])");
    fill(&x, "f32[4,8]", in);
    int64_t strides[2] = {16, 2};
    x.tensor.strides = strides;
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), KERNELS_MISMATCH,
           "argument 0 (x) of relu: expected a compact row-major tensor, given strides [16, 2]");
    fill(&x, "f32[4,8]", in);
    x.tensor.device.device_type = kDLCUDA;
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), KERNELS_MISMATCH,
           "argument 0 (x) of relu: expected a tensor in host memory");
    fill(&x, "f32[4,8]", in);
    fill(&y, "bf16[4,8]", out);
    expect(f, kernels_function_call(relu, inputs, 1, outputs, 1, &f->error), KERNELS_MISMATCH,
           "result 0 of relu: expected a tensor f32[4,8], given bf16[4,8]");
    const kernels_specialisation *found = NULL;
    expect(f, kernels_function_find(relu, &x.shape, 0, &found, &f->error), KERNELS_MISMATCH, "given 0");
    assert_ok(kernels_function_find(relu, &x.shape, 1, &found, &f->error), f->error);
    assert_string_equal(found->file, "relu.cpu.0.mlirbc");
    kernels_function_free(relu);
}

static void test_refuses_wrong_functions_and_plugins(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *function = NULL;
    expect(f, kernels_function_get(f->kernel, "gelu", &f->options, &function, &f->error), KERNELS_FUNCTION_NOT_FOUND,
           "no function \"gelu\"; it has: relu, sum_and_dot, unchanged_flags");
    f->options.plugin = "/no/such/plugin.so";
    expect(f, kernels_function_get(f->kernel, "relu", &f->options, &function, &f->error), KERNELS_PLUGIN_NOT_FOUND,
           "/no/such/plugin.so: no such file");
    char *manifest = kernels_path_join3(f->root, "build/torch-tpu", "aot/manifest.json");
    f->options.plugin = manifest;
    expect(f, kernels_function_get(f->kernel, "relu", &f->options, &function, &f->error), KERNELS_PLUGIN,
           "cannot open the PJRT plugin");
    kernels_free(manifest);
    assert_null(function);
}

/* Replaces the manifest by one with `from` turned into `to`. */
static void edit_manifest(fixture *f, const char *from, const char *to) {
    char *path = kernels_path_join3(f->root, "build/torch-tpu", "aot/manifest.json");
    char *text = NULL;
    size_t size = 0;
    kernels_buffer edited = KERNELS_BUFFER_INIT(1 << 20);
    assert_ok(kernels_file_read(path, 1 << 20, &text, &size, &f->error), f->error);
    const char *rest = text;
    for (const char *at = strstr(rest, from); at; at = strstr(rest, from)) {
        kernels_buffer_add(&edited, rest, (size_t)(at - rest));
        kernels_buffer_add_text(&edited, to);
        rest = at + strlen(from);
    }
    kernels_buffer_add_text(&edited, rest);
    assert_ok(kernels_file_write(path, kernels_buffer_view(&edited), 0, &f->error), f->error);
    kernels_buffer_dispose(&edited);
    kernels_free(text);
    kernels_free(path);
}

static kernels_status call_relu(fixture *f) {
    kernels_function *relu = get(f, "relu");
    float in[32] = {0}, out[32] = {0};
    sample x, y;
    fill(&x, "f32[4,8]", in);
    fill(&y, "f32[4,8]", out);
    const DLTensor *inputs[] = {&x.tensor};
    DLTensor *outputs[] = {&y.tensor};
    kernels_status status = kernels_function_call(relu, inputs, 1, outputs, 1, &f->error);
    kernels_function_free(relu);
    return status;
}

static void test_a_platform_that_was_not_exported(void **state) {
    fixture *f = *state;
    edit_manifest(f, "\"platform\": \"cpu\"", "\"platform\": \"gpu\"");
    load(f);
    kernels_function *relu = NULL;
    expect(f, kernels_function_get(f->kernel, "relu", &f->options, &relu, &f->error), KERNELS_UNSUPPORTED,
           "was exported for: tpu, gpu; the plugin runs cpu");
}

static void test_a_truncated_program(void **state) {
    fixture *f = *state;
    char *path = kernels_path_join3(f->root, "build/torch-tpu", "aot/relu.cpu.0.mlirbc");
    char *text = NULL;
    size_t size = 0;
    assert_ok(kernels_file_read(path, 1 << 20, &text, &size, &f->error), f->error);
    assert_ok(kernels_file_write(path, (kernels_view){text, size / 2}, 0, &f->error), f->error);
    load(f);
    expect(f, call_relu(f), KERNELS_INTEGRITY, "relu.cpu.0.mlirbc does not match aot/manifest.json");
    kernels_free(text);
    kernels_free(path);
}

/* The version in the manifest alone refuses nothing: plugins read newer programs as far as they can. */
static void test_a_newer_stablehlo(void **state) {
    fixture *f = *state;
    edit_manifest(f, "\"stablehlo\": \"1.15.0\"", "\"stablehlo\": \"99.0.0\"");
    load(f);
    assert_ok(call_relu(f), f->error);
}

/* Its digest is right, but it is no program: the compiler's own words come through, after both versions. */
static void test_a_program_the_compiler_refuses(void **state) {
    fixture *f = *state;
    char *path = kernels_path_join3(f->root, "build/torch-tpu", "aot/relu.cpu.0.mlirbc");
    assert_ok(kernels_file_write(path, KERNELS_VIEW("ML\xefR\x0dStableHLO_v99.0.0"), 0, &f->error), f->error);
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE], before[KERNELS_DIGEST_HEX_SIZE];
    assert_ok(kernels_file_hash(path, KERNELS_HASH_SHA256, &digest, NULL, &f->error), f->error);
    kernels_digest_hex(&digest, hex);
    char *original = kernels_strdup(test_data("aot/sample/build/torch-tpu/aot/relu.cpu.0.mlirbc"));
    assert_ok(kernels_file_hash(original, KERNELS_HASH_SHA256, &digest, NULL, &f->error), f->error);
    kernels_digest_hex(&digest, before);
    edit_manifest(f, before, hex);
    edit_manifest(f, "\"stablehlo\": \"1.15.0\"", "\"stablehlo\": \"99.0.0\"");
    load(f);
    expect(f, call_relu(f), KERNELS_COMPILE, "relu.cpu.0.mlirbc was exported with StableHLO 99.0.0, ");
    assert_non_null(f->error.cause);
    assert_contains(kernels_error_message(f->error.cause), "relu.cpu.0.mlirbc: ");
    kernels_free(original);
    kernels_free(path);
}

static void test_a_manifest_that_lies_about_results(void **state) {
    fixture *f = *state;
    edit_manifest(f, "\"outputs\": [\n            \"f32[4,8]\"\n          ]", "\"outputs\": [\"f32[4,8]\", \"f32[]\"]");
    load(f);
    expect(f, call_relu(f), KERNELS_SCHEMA, "the program has 1 results, the manifest says 2");
}

/* Bytes of the heap in use, the plugin's included: what it allocated for us and we never gave back would not be
 * reported as a leak, since its allocations are suppressed. */
static size_t bytes_in_use(void) {
#if defined(__SANITIZE_ADDRESS__)
    return __sanitizer_get_current_allocated_bytes();
#elif defined(__GLIBC__)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void test_a_thousand_calls_leak_nothing(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *relu = get(f, "relu");
    float in[32] = {1, -1};
    sample x;
    fill(&x, "f32[4,8]", in);
    const DLTensor *inputs[] = {&x.tensor};
    size_t before = 0;
    for (int i = 0; i < 1000; i++) {
        DLManagedTensorVersioned *result = NULL;
        assert_ok(kernels_function_call_allocate(relu, inputs, 1, &result, 1, &f->error), f->error);
        assert_true(((float *)result->dl_tensor.data)[0] == 1 && ((float *)result->dl_tensor.data)[1] == 0);
        result->deleter(result);
        before = i == 500 ? bytes_in_use() : before;
    }
    size_t after = bytes_in_use();
    kernels_function_free(relu);
    /* one lost buffer of 128 bytes a call would be 60 KiB and more */
    if (after > before + (size_t)32 * 1024) {
        fail_msg("500 calls left %zu bytes behind", after - before);
    }
}

static void test_functions_share_a_client(void **state) {
    fixture *f = *state;
    load(f);
    kernels_function *relu = get(f, "relu"), *other = NULL;
    const kernels_function_options options = {.share = relu};
    assert_ok(kernels_function_get(f->kernel, "sum_and_dot", &options, &other, &f->error), f->error);
    assert_string_equal(kernels_function_plugin(other), f->plugin);
    kernels_function_free(relu); /* the other keeps the client */
    float a[6] = {1}, sum[6], dot = 0;
    sample x, y, z;
    fill(&x, "f32[3,2]", a);
    fill(&y, "f32[3,2]", sum);
    fill(&z, "f32[]", &dot);
    const DLTensor *inputs[] = {&x.tensor, &x.tensor};
    DLTensor *outputs[] = {&y.tensor, &z.tensor};
    assert_ok(kernels_function_call(other, inputs, 2, outputs, 2, &f->error), f->error);
    assert_true(sum[0] == 2 && dot == 1);
    kernels_function_free(other);
}

static void test_plugin_from_the_environment(void **state) {
    fixture *f = *state;
    load(f);
    char text[1024];
    f->options.plugin = NULL;
    f->options.site_packages = f->root; /* holds no plugin */
    (void)snprintf(text, sizeof(text), "cpu:%s", f->plugin);
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", text, 1);
    assert_ok(call_relu(f), f->error);
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "cpu:/no/such/plugin.so", 1);
    kernels_function *relu = NULL;
    expect(f, kernels_function_get(f->kernel, "relu", &f->options, &relu, &f->error), KERNELS_PLUGIN_NOT_FOUND,
           "/no/such/plugin.so: no such file");
    unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
}

/* Where the context looked for packages the function looks for plugins, without being told again. */
static void test_the_packages_of_the_context(void **state) {
    fixture *f = *state;
    char *packages = kernels_path_join(f->root, "packages");
    char *folder = kernels_path_join3(packages, "xla_plugins", "xla_cpu_pjrt");
    char *plugin = kernels_path_join(folder, "plugin.so");
    kernels_function *relu = NULL;
    const kernels_context_options options = {.offline = true, .site_packages = packages};
    assert_ok(kernels_make_directories(folder, &f->error), f->error);
    assert_int_equal(symlink(f->plugin, plugin), 0);
    assert_ok(kernels_context_new(&options, &f->context, &f->error), f->error);
    assert_ok(kernels_load_local(f->context, f->root, NULL, &f->kernel, &f->error), f->error);
    assert_non_null(kernels_kernel_system(f->kernel));
    assert_string_equal(kernels_kernel_system(f->kernel)->site_packages, packages);
    assert_ok(kernels_function_get(f->kernel, "relu", NULL, &relu, &f->error), f->error);
    assert_string_equal(kernels_function_plugin(relu), plugin);
    kernels_function_free(relu);
    kernels_free(plugin);
    kernels_free(folder);
    kernels_free(packages);
}

/* What each of two threads does, with a context of its own. */
static void *thread_main(void *payload) {
    const fixture *f = payload;
    kernels_context *context = NULL;
    kernels_kernel *kernel = NULL;
    kernels_function *relu = NULL;
    const kernels_context_options options = {.offline = true};
    const kernels_load_options load_options = {0};
    const kernels_function_options function_options = {.plugin = f->plugin};
    const char *failed = NULL;
    if (kernels_context_new(&options, &context, NULL) ||
        kernels_load_local(context, f->root, &load_options, &kernel, NULL) ||
        kernels_function_get(kernel, "relu", &function_options, &relu, NULL)) {
        failed = "set-up";
    }
    for (int i = 0; i < 200 && !failed; i++) {
        float in[32], out[32];
        for (int j = 0; j < 32; j++) {
            in[j] = (float)(j - 16) * (float)i;
        }
        kernels_shape shape = {.dtype = {kDLFloat, 32, 1}, .rank = 2, .dimensions = {4, 8}};
        DLTensor x = {.data = in, .device = {kDLCPU, 0}, .ndim = 2, .dtype = shape.dtype, .shape = shape.dimensions};
        DLTensor y = x;
        y.data = out;
        const DLTensor *inputs[] = {&x};
        DLTensor *outputs[] = {&y};
        if (kernels_function_call(relu, inputs, 1, outputs, 1, NULL)) {
            failed = "call";
        }
        for (int j = 0; j < 32 && !failed; j++) {
            failed = out[j] == (in[j] > 0 ? in[j] : 0.0f) ? NULL : "numbers";
        }
    }
    kernels_function_free(relu);
    kernels_kernel_free(kernel);
    kernels_context_free(context);
    return (void *)(uintptr_t)failed;
}

static void test_two_threads_with_two_contexts(void **state) {
    fixture *f = *state;
    load(f);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, thread_main, f), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        if (failed) {
            fail_msg("a thread failed at %s", (const char *)failed);
        }
    }
}

#ifdef KERNELS_FAULTS
/* The n-th allocation fails: an error, nothing lost (the leak check sees to that), and the next call is fine. */
static void test_no_memory(void **state) {
    fixture *f = *state;
    load(f);
    float in[6] = {1}, other[6] = {2};
    sample x, y;
    fill(&x, "f32[3,2]", in);
    fill(&y, "f32[3,2]", other);
    const DLTensor *inputs[] = {&x.tensor, &y.tensor};
    unsigned long failures = 0;
    kernels_status status = KERNELS_NO_MEMORY;
    for (unsigned long n = 1; status != KERNELS_OK; n++) {
        kernels_function *function = NULL;
        DLManagedTensorVersioned *results[2] = {NULL, NULL};
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        status = kernels_function_get(f->kernel, "sum_and_dot", &f->options, &function, &f->error);
        if (!status) {
            status = kernels_function_call_allocate(function, inputs, 2, results, 2, &f->error);
        }
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (!status) {
            assert_true(*(float *)results[1]->dl_tensor.data == 2);
            results[0]->deleter(results[0]);
            results[1]->deleter(results[1]);
        }
        kernels_function_free(function);
        failures += status != KERNELS_OK;
        assert_true(n < 10000);
    }
    assert_true(failures > 20);
}
#endif

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_calls),
        TEST(test_other_types_and_shapes),
        TEST(test_allocates_results),
        TEST(test_refuses_wrong_arguments),
        TEST(test_refuses_wrong_functions_and_plugins),
        TEST(test_a_platform_that_was_not_exported),
        TEST(test_a_truncated_program),
        TEST(test_a_newer_stablehlo),
        TEST(test_a_program_the_compiler_refuses),
        TEST(test_a_manifest_that_lies_about_results),
        TEST(test_a_thousand_calls_leak_nothing),
        TEST(test_functions_share_a_client),
        TEST(test_plugin_from_the_environment),
        TEST(test_the_packages_of_the_context),
        TEST(test_two_threads_with_two_contexts),
#ifdef KERNELS_FAULTS
        TEST(test_no_memory),
#endif
    };
    char *plugin = plugin_path(); /* looked for here: a test that is left half-way frees nothing */
    if (!plugin) {
        print_message(NO_PLUGIN_TEXT);
        return PLUGIN_TESTS_SKIPPED;
    }
    kernels_free(plugin);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
