/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: the names of the formats, DLPack's codes, PJRT's codes. */
#ifndef KERNELS_SRC_RUNTIME_DTYPE_H
#define KERNELS_SRC_RUNTIME_DTYPE_H

#include "kernels/base.h"
#include "kernels/dlpack/dlpack.h"

/* "f32"; NULL for a type that the formats do not know. */
const char *kernels_dtype_name(DLDataType dtype);
/* Exact name. On failure KERNELS_SYNTAX listing the names there are. */
kernels_status kernels_dtype_parse(kernels_view name, DLDataType *dtype, kernels_error *error);
bool kernels_dtype_equal(DLDataType a, DLDataType b);
/* Bytes of one element of a known type. */
size_t kernels_dtype_size(DLDataType dtype);
/* Code of PJRT_Buffer_Type. */
kernels_status kernels_dtype_pjrt(DLDataType dtype, int *type, kernels_error *error);
/* "f32", or for an unknown type its DLPack numbers: "DLPack type (5, 64 bits, 1 lane)". */
void kernels_dtype_print(DLDataType dtype, char text[64]);

#endif
