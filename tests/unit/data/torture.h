/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every allocation of a call fail in turn. Include after cmocka. */
#ifndef KERNELS_TESTS_UNIT_DATA_TORTURE_H
#define KERNELS_TESTS_UNIT_DATA_TORTURE_H

#include "base/fault.h"
#include "kernels/base.h"

/* One call: must free what it made; what it left behind, the leak checker finds. */
typedef kernels_status torture_call(void *payload, kernels_error *error);

/* Returns how many allocations were made to fail: 0 where faults are not compiled in. */
static inline unsigned long torture(torture_call *call, void *payload) {
#ifdef KERNELS_FAULTS
    for (unsigned long n = 1;; n++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        kernels_status status = call(payload, &error);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        if (status == KERNELS_OK) {
            kernels_error_dispose(&error);
            return n - 1;
        }
        if (status != KERNELS_NO_MEMORY) {
            fail_msg("allocation %lu failed and gave %s: %s", n, kernels_status_name(status),
                     kernels_error_message(&error));
        }
        kernels_error_dispose(&error);
    }
#else
    (void)call;
    (void)payload;
    return 0;
#endif
}

#endif
