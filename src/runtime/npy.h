/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's .npy files, versions 1 to 3: one array of a type of the formats, little-endian, row-major. bf16, which
 * NumPy does not know, is the two-byte void type that ml_dtypes writes.
 */
#ifndef KERNELS_SRC_RUNTIME_NPY_H
#define KERNELS_SRC_RUNTIME_NPY_H

#include "base/buffer.h"
#include "kernels/runtime.h"

/* Longest header text. */
#define KERNELS_NPY_HEADER_LIMIT ((size_t)64 * 1024)
/* Most bytes of a file. */
#define KERNELS_NPY_SIZE_LIMIT ((size_t)8 * 1024 * 1024 * 1024)

/* Reads the header of a whole file in memory; data receives the elements, a part of file. name goes into
 * messages. */
kernels_status kernels_npy_parse(kernels_view file, const char *name, kernels_shape *shape, kernels_view *data,
                                 kernels_error *error);
/* Reads a file. contents is heap memory (kernels_free) that data points into. */
kernels_status kernels_npy_read(const char *path, kernels_shape *shape, char **contents, kernels_view *data,
                                kernels_error *error);
/* Appends the header: everything but the elements. */
void kernels_npy_header(kernels_buffer *out, const kernels_shape *shape);
/* Writes a file with the elements of a compact array. */
kernels_status kernels_npy_write(const char *path, const kernels_shape *shape, const void *data, kernels_error *error);

#endif
