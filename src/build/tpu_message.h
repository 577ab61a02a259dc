/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the messages of the TPU compiler. They are text for people, so everything here may find nothing. */
#ifndef KERNELS_SRC_BUILD_TPU_MESSAGE_H
#define KERNELS_SRC_BUILD_TPU_MESSAGE_H

#include <stdbool.h>

#include "kernels/base.h"

/* An allocation that does not fit. */
typedef struct kernels_tpu_allocation {
    uint64_t wanted, available; /* bytes; of rounded figures ("128.00M") the nearest number */
    char space[16];             /* "vmem", "smem", "hbm"; "" = not told */
} kernels_tpu_allocation;

/*
 * Two forms are known:
 *   "Allocation (size=1073741824) would exceed memory (size=134217728) :: ... space=vmem, ..."
 *   "Ran out of memory in memory space vmem. Used 128.00M of 127.94M vmem. Exceeded vmem capacity by 68.0K."
 */
bool kernels_tpu_message_allocation(kernels_view message, kernels_tpu_allocation *allocation);

/* First line, without the blanks around it, at most limit bytes. */
kernels_view kernels_tpu_message_summary(kernels_view message, size_t limit);

#endif
