/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/runtime.h - calling a loaded kernel with DLPack tensors.
 *
 *     kernels_function *relu;
 *     kernels_function_get(kernel, "relu", NULL, &relu, &error);
 *     kernels_function_call(relu, inputs, 1, outputs, 1, &error);   // arrays of DLTensor *
 *     kernels_function_free(relu);
 *
 * Tensors are in host memory; strides NULL or compact row-major. A function compiles once per
 * specialisation (combination of input dtypes and shapes) and keeps the executable; it belongs to one
 * thread at a time. The kernel must outlive it. A child process made by fork() gets errors from what its
 * parent opened, and can load anew.
 *
 * Since 0.1.
 */
#ifndef KERNELS_RUNTIME_H
#define KERNELS_RUNTIME_H

#include "kernels/base.h"
#include "kernels/dlpack/dlpack.h"
#include "kernels/load.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kernels_function kernels_function;

/* A shape text of the formats, for example "f32[256,1024]" or "s32[]". */
#define KERNELS_RANK_MAX 16
typedef struct kernels_shape {
    DLDataType dtype;
    int32_t rank;
    int64_t dimensions[KERNELS_RANK_MAX];
} kernels_shape;

KERNELS_API kernels_status kernels_shape_parse(kernels_view text, kernels_shape *shape, kernels_error *error);
/* Heap text (kernels_string_free). NULL = no memory. */
KERNELS_API char *kernels_shape_print(const kernels_shape *shape);
KERNELS_API bool kernels_shape_equal(const kernels_shape *a, const kernels_shape *b);
KERNELS_API uint64_t kernels_shape_bytes(const kernels_shape *shape); /* of a compact tensor */

/* Most arguments, and most results, of a function. */
#define KERNELS_OPERANDS_MAX 64

/* One exported combination. Pointers belong to the kernel's manifest. */
typedef struct kernels_specialisation {
    const char *platform; /* "tpu", "cpu" */
    const kernels_shape *inputs, *outputs;
    size_t input_count, output_count;
    const char *file;               /* below aot/ */
    const char *sha256;             /* hex */
    const char *stablehlo, *mosaic; /* versions; mosaic NULL when no TPU program is inside */
} kernels_specialisation;

typedef struct kernels_signature {
    const char *name;
    const char *const *arguments;
    size_t argument_count;
    const char *const *generations;
    size_t generation_count;
    double rtol, atol;
    const kernels_specialisation *specialisations;
    size_t specialisation_count;
} kernels_signature;

/* Functions of a loaded kernel, from its aot/manifest.json. */
typedef struct kernels_signatures {
    const kernels_signature *items;
    size_t count;
    const char *jax, *jaxlib, *libtpu, *builder; /* what exported them; NULL = unknown */
    void *owner;
} kernels_signatures;

KERNELS_API kernels_status kernels_kernel_functions(const kernels_kernel *kernel, kernels_signatures *functions,
                                                    kernels_error *error);
KERNELS_API void kernels_signatures_dispose(kernels_signatures *functions);

typedef struct kernels_function_options {
    const char *plugin;        /* path of a PJRT plugin; NULL = search */
    const char *site_packages; /* part of that search; NULL = that of the environment */
    const char *platform;      /* "cpu": also where there is a TPU; NULL = choose. Without a plugin */
    bool strict;               /* a TPU generation that was not checked is an error instead of a warning */
    void (*warning)(void *payload, const char *message);
    void *payload;
    /* Use the plugin and the device of this function as well (the members above are then not looked at). A
     * process can take a TPU only once: functions that live together on one should share it. NULL = its own. */
    const kernels_function *share;
} kernels_function_options;

/* options may be NULL. KERNELS_FUNCTION_NOT_FOUND lists the functions there are. */
KERNELS_API kernels_status kernels_function_get(const kernels_kernel *kernel, const char *name,
                                                const kernels_function_options *options, kernels_function **function,
                                                kernels_error *error);
KERNELS_API void kernels_function_free(kernels_function *function);
KERNELS_API const char *kernels_function_platform(const kernels_function *function); /* "cpu", "tpu" */
KERNELS_API const char *kernels_function_plugin(const kernels_function *function);   /* its path */

/*
 * Runs the function. Inputs and outputs are caller-supplied; outputs are overwritten.
 * KERNELS_SPECIALISATION_NOT_FOUND lists the combinations that were exported; KERNELS_MISMATCH names the argument
 * index with what was expected and given.
 */
KERNELS_API kernels_status kernels_function_call(kernels_function *function, const DLTensor *const *inputs,
                                                 size_t input_count, DLTensor *const *outputs, size_t output_count,
                                                 kernels_error *error);
/* As above, but the outputs are allocated: outputs[i] receives a tensor whose deleter the caller must call. */
KERNELS_API kernels_status kernels_function_call_allocate(kernels_function *function, const DLTensor *const *inputs,
                                                          size_t input_count, DLManagedTensorVersioned **outputs,
                                                          size_t output_count, kernels_error *error);
/* One more handle on the memory of a tensor that kernels_function_call_allocate made, in the current form of DLPack or
 * in its first one. Each handle has its own deleter, to be called once, in any thread; the memory goes with the last.
 */
KERNELS_API kernels_status kernels_tensor_share(const DLManagedTensorVersioned *tensor,
                                                DLManagedTensorVersioned **shared, kernels_error *error);
KERNELS_API kernels_status kernels_tensor_share_unversioned(const DLManagedTensorVersioned *tensor,
                                                            DLManagedTensor **shared, kernels_error *error);
/* Output shapes for these inputs, without running: what the caller must supply. */
KERNELS_API kernels_status kernels_function_find(const kernels_function *function, const kernels_shape *inputs,
                                                 size_t input_count, const kernels_specialisation **found,
                                                 kernels_error *error);

#ifdef __cplusplus
}
#endif

#endif
