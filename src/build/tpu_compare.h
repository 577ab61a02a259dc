/* SPDX-License-Identifier: Apache-2.0 */
/* Are the numbers right? |got - want| <= atol + rtol * |want| for every element; NaN equals nothing. */
#ifndef KERNELS_SRC_BUILD_TPU_COMPARE_H
#define KERNELS_SRC_BUILD_TPU_COMPARE_H

#include "kernels/runtime.h"

typedef struct kernels_tpu_difference {
    uint64_t element_count, wrong_count;
    double largest;               /* of |got - want|; NaN when a NaN stands on one side */
    uint64_t first_wrong;         /* index in row-major order; only when wrong_count > 0 */
    double first_got, first_want; /* likewise */
} kernels_tpu_difference;

/* got and want: compact row-major arrays of that shape, host byte order. Any element type that a shape can have. */
void kernels_tpu_compare(const kernels_shape *shape, const void *got, const void *want, double rtol, double atol,
                         kernels_tpu_difference *difference);

#endif
