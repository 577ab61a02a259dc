/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do ops registered from Python carry the kernel's own namespace? Two versions of a kernel live in one
 * process only when each registers under the prefix that `_ops.add_op_namespace_prefix` gives.
 */
#ifndef KERNELS_SRC_BUILD_REGISTRATION_CHECK_H
#define KERNELS_SRC_BUILD_REGISTRATION_CHECK_H

#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_REGISTRATION_LIMIT 10000 /* findings of one kernel */

typedef enum kernels_registration_type {
    KERNELS_REGISTRATION_DECORATOR,     /* torch.library decorator without the prefix: a violation */
    KERNELS_REGISTRATION_OWN_LITERAL,   /* jax_op("<python name>::..."): a warning */
    KERNELS_REGISTRATION_OTHER_LITERAL, /* jax_op("<anything else>::..."): a violation for tpu, else a warning */
} kernels_registration_type;

typedef struct kernels_registration {
    kernels_registration_type type;
    char *file;
    uint32_t line;
    const char *kind; /* "function", "async function", "class"; "op" for jax_op */
    char *name;       /* of the function or class; "ns::op" for jax_op */
} kernels_registration;

typedef struct kernels_registrations {
    kernels_registration *items;
    size_t count, capacity;
} kernels_registrations;

/* Appends what one file holds. python_name: of the kernel. A file that is not Python is KERNELS_SYNTAX. */
kernels_status kernels_registration_scan(kernels_view text, const char *file, const char *python_name,
                                         kernels_registrations *found, kernels_error *error);
void kernels_registrations_dispose(kernels_registrations *found);

/* Scans every *.py below directory. KERNELS_CHECK_FAILED lists the violations, "FILE:LINE KIND NAME" each;
 * warnings (may be NULL) receives one line each, also when the check fails. */
kernels_status kernels_registration_check(const char *directory, const char *python_name, bool for_tpu,
                                          kernels_buffer *warnings, kernels_error *error);

#endif
