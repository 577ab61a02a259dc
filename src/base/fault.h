/* SPDX-License-Identifier: Apache-2.0 */
/* Torture tests: make the n-th allocation, write, sync or rename of this process fail.
 * Compiled in only with KERNELS_FAULTS (debug builds); elsewhere kernels_fault is constantly false. */
#ifndef KERNELS_SRC_BASE_FAULT_H
#define KERNELS_SRC_BASE_FAULT_H

#include <stdbool.h>

typedef enum kernels_fault_point {
    KERNELS_FAULT_ALLOCATE,
    KERNELS_FAULT_OPEN,
    KERNELS_FAULT_WRITE, /* fails with ENOSPC */
    KERNELS_FAULT_SYNC,
    KERNELS_FAULT_RENAME,
    KERNELS_FAULT_POINT_COUNT
} kernels_fault_point;

#ifdef KERNELS_FAULTS
/* true when the call at this point must fail now */
bool kernels_fault(kernels_fault_point point);
/* the countdown-th next call fails (1 = the very next); 0 switches faults off */
void kernels_fault_arm(kernels_fault_point point, unsigned long countdown);
#else
#define kernels_fault(point) (false)
#endif

#endif
