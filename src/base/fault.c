/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#ifdef KERNELS_FAULTS

#include <stdatomic.h>

/* The one piece of mutable global state: test builds only. */
static atomic_ulong countdowns[KERNELS_FAULT_POINT_COUNT];

bool kernels_fault(kernels_fault_point point) {
    unsigned long left = atomic_load_explicit(&countdowns[point], memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&countdowns[point], &left, left - 1)) {
            return left == 1;
        }
    }
    return false;
}

void kernels_fault_arm(kernels_fault_point point, unsigned long countdown) {
    atomic_store(&countdowns[point], countdown);
}

#else
typedef int kernels_fault_points_are_not_compiled_in;
#endif
