/* SPDX-License-Identifier: Apache-2.0 */
/* What every cmocka program needs: the framework's own includes in the right order, test data, scratch folders. */
#ifndef KERNELS_TEST_SUPPORT_H
#define KERNELS_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/base.h"

/* Fails the test with the error's message when the status is not OK. */
#define assert_ok(call, error)                                                                           \
    do {                                                                                                 \
        kernels_status assert_ok_status_ = (call);                                                       \
        if (assert_ok_status_ != KERNELS_OK) {                                                           \
            fail_msg("%s: %s", kernels_status_name(assert_ok_status_), kernels_error_message(&(error))); \
        }                                                                                                \
    } while (0)

#define assert_contains(text, part)                            \
    do {                                                       \
        if (!strstr((text), (part))) {                         \
            fail_msg("expected `%s` in `%s`", (part), (text)); \
        }                                                      \
    } while (0)

/* "<tests/data>/<name>" in a static buffer that the next call overwrites. */
static inline const char *test_data(const char *name) {
    static char path[4096];
    const char *root = getenv("KERNELS_TEST_DATA");
    (void)snprintf(path, sizeof path, "%s/%s", root ? root : "tests/data", name);
    return path;
}

#endif
