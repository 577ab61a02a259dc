/* SPDX-License-Identifier: Apache-2.0 */
/* Making errors, for code inside the library. The public half is kernels/base.h. */
#ifndef KERNELS_SRC_BASE_ERROR_H
#define KERNELS_SRC_BASE_ERROR_H

#include "kernels/base.h"

/* Replaces what *error holds by (status, formatted message). Returns status, so that a failing
 * function ends in `return kernels_fail(error, KERNELS_..., "...", ...)`. error may be NULL. */
kernels_status kernels_fail(kernels_error *error, kernels_status status, const char *format, ...) KERNELS_PRINTF(3, 4);

/* As kernels_fail with the system's text for error_number appended (": No space left on device");
 * the status is chosen from error_number (NO_SPACE, PERMISSION, FILE_NOT_FOUND, ..., else IO). */
kernels_status kernels_fail_errno(kernels_error *error, int error_number, const char *format, ...) KERNELS_PRINTF(3, 4);

kernels_status kernels_fail_no_memory(kernels_error *error);

/* Puts a new outer message above what *error holds, which becomes its cause; the status, errno,
 * http status and subject are carried up. Returns error->status, or `status` when error is NULL.
 * Use it where the outer text adds something: which kernel, which file, for whom. */
kernels_status kernels_wrap(kernels_error *error, kernels_status status, const char *format, ...) KERNELS_PRINTF(3, 4);

/* Records the path or URL the error is about (copied). error and subject may be NULL. */
void kernels_error_set_subject(kernels_error *error, const char *subject);

/* Moves what *from holds to *to (disposed first); *from becomes empty. Either may be NULL. */
void kernels_error_move(kernels_error *to, kernels_error *from);

/* `if ((status = (call)) != KERNELS_OK) return status;` in one word, for functions that own nothing yet. */
#define KERNELS_TRY(call)                            \
    do {                                             \
        kernels_status kernels_try_status_ = (call); \
        if (kernels_try_status_ != KERNELS_OK) {     \
            return kernels_try_status_;              \
        }                                            \
    } while (0)

/* Compilers read one file at a time: tell them that a failure is never KERNELS_OK, so that they see that an out
 * parameter is set wherever it is read. */
#if defined(__GNUC__)
static inline kernels_status kernels_failure_(kernels_status status) {
    if (status == KERNELS_OK) {
        __builtin_unreachable();
    }
    return status;
}
#define kernels_fail(...) kernels_failure_((kernels_fail)(__VA_ARGS__))
#define kernels_fail_errno(...) kernels_failure_((kernels_fail_errno)(__VA_ARGS__))
#define kernels_fail_no_memory(error) kernels_failure_((kernels_fail_no_memory)(error))
#define kernels_wrap(...) kernels_failure_((kernels_wrap)(__VA_ARGS__))
#endif

#endif
