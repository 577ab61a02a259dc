/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls a TPU kernel from plain C: finds it by name and version, downloads and verifies it, runs its function "relu"
 * on a 256x1024 array and compares the result with relu written in C. On a machine with a TPU it runs there, on any
 * other through an XLA CPU plugin. No Python takes part.
 *
 *     cc run_relu.c $(pkg-config --cflags --libs libkernels) -o run_relu
 *     ./run_relu [REPO_ID [VERSION]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernels/kernels.h>

enum { ROWS = 256, COLUMNS = 1024, COUNT = ROWS * COLUMNS };

/* Prints an error and what lies below it; for use as `return failed(&error);`. */
static int failed(kernels_error *error) {
    for (const kernels_error *at = error; at; at = at->cause) {
        fprintf(stderr, "%s%s\n", at == error ? "run_relu: " : "  because ", kernels_error_message(at));
    }
    kernels_error_dispose(error);
    return EXIT_FAILURE;
}

static void print_warning(void *payload, const char *message) {
    (void)payload;
    fprintf(stderr, "run_relu: warning: %s\n", message);
}

static void print_load_warning(void *payload, const char *category, const char *message) {
    (void)category; /* "versions", "trust", ...: see kernels/load.h */
    print_warning(payload, message);
}

/* Numbers from -1 to 1, the same at every run. */
static void fill(float *values) {
    uint32_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)state / 2147483648.0f;
    }
}

static int compare(const float *input, const float *result) {
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        float expected = input[i] > 0.0f ? input[i] : 0.0f;
        if (result[i] != expected && wrong++ == 0) {
            fprintf(stderr, "run_relu: element %d is %g, expected %g\n", i, (double)result[i], (double)expected);
        }
    }
    return wrong;
}

static int call_relu(kernels_function *relu) {
    static float input[COUNT], result[COUNT];
    int64_t shape[2] = {ROWS, COLUMNS};
    DLTensor x = {.data = input,
                  .device = {.device_type = kDLCPU, .device_id = 0},
                  .ndim = 2,
                  .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
                  .shape = shape};
    DLTensor y = x;
    y.data = result;
    const DLTensor *inputs[] = {&x};
    DLTensor *outputs[] = {&y};
    kernels_error error = KERNELS_ERROR_INIT;
    fill(input);
    if (kernels_function_call(relu, inputs, 1, outputs, 1, &error)) {
        return failed(&error);
    }
    int wrong = compare(input, result);
    printf("relu f32[%d,%d] on %s: %d of %d elements right\n", ROWS, COLUMNS, kernels_function_platform(relu),
           COUNT - wrong, COUNT);
    printf("plugin: %s\n", kernels_function_plugin(relu));
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int use_kernel(const kernels_kernel *kernel) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_function_options options = {.warning = print_warning};
    kernels_function *relu = NULL;
    printf("kernel: %s, %s\n", kernels_kernel_path(kernel),
           kernels_kernel_is_verified(kernel) ? "every file verified" : "not verified: it has no digest");
    if (kernels_function_get(kernel, "relu", &options, &relu, &error)) {
        return failed(&error);
    }
    int code = call_relu(relu);
    kernels_function_free(relu);
    return code;
}

/* A number of decimal digits; 0 when it is anything else, which no kernel has as its version here. */
static uint64_t parse_version(const char *text) {
    uint64_t version = 0;
    for (; *text >= '0' && *text <= '9' && version < UINT64_MAX / 10 - 1; text++) {
        version = version * 10 + (uint64_t)(*text - '0');
    }
    return *text ? 0 : version;
}

int main(int argc, char **argv) {
    const char *repo_id = argc > 1 ? argv[1] : "kernels-test/relu-tpu";
    uint64_t version = argc > 2 ? parse_version(argv[2]) : 1;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_context_options context_options = {.warning = print_load_warning};
    kernels_context *context = NULL;
    if (kernels_context_new(&context_options, &context, &error)) {
        return failed(&error);
    }
    kernels_load_options load_options = {.has_version = true, .version = version};
    kernels_kernel *kernel = NULL;
    kernels_status status = kernels_load(context, repo_id, &load_options, &kernel, &error);
    int code = status ? failed(&error) : use_kernel(kernel);
    kernels_kernel_free(kernel);
    kernels_context_free(context);
    return code;
}
