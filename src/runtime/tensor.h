/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack tensors: what is accepted as an argument, and the ones we make. */
#ifndef KERNELS_SRC_RUNTIME_TENSOR_H
#define KERNELS_SRC_RUNTIME_TENSOR_H

#include "kernels/runtime.h"

/* Host memory, compact row-major, a type of the formats: else KERNELS_MISMATCH with what was expected and given.
 * who names the tensor ("argument 0 (x) of relu"). */
kernels_status kernels_tensor_check(const DLTensor *tensor, const char *who, kernels_shape *shape,
                                    kernels_error *error);
/* First byte of a checked tensor. */
void *kernels_tensor_data(const DLTensor *tensor);
/* A new, uninitialised tensor in host memory, aligned for vector loads. */
kernels_status kernels_tensor_new(const kernels_shape *shape, DLManagedTensorVersioned **tensor, kernels_error *error);

#endif
