/* SPDX-License-Identifier: Apache-2.0 */
/* The Range header (RFC 9110, one range of bytes). Pure. */
#ifndef KERNELS_SRC_SERVER_RANGE_H
#define KERNELS_SRC_SERVER_RANGE_H

#include "kernels/base.h"

typedef enum kernels_range_result {
    KERNELS_RANGE_WHOLE, /* no header, or one that may be ignored: other units, several ranges, nonsense */
    KERNELS_RANGE_PART,
    KERNELS_RANGE_UNSATISFIABLE, /* begins behind the end */
} kernels_range_result;

/* first and length are set for KERNELS_RANGE_PART; length > 0, first + length <= size. header may be NULL. */
kernels_range_result kernels_range_parse(const char *header, uint64_t size, uint64_t *first, uint64_t *length);

#endif
