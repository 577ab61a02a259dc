/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes with a time limit, bounded capture and a changed environment. No shell. */
#ifndef KERNELS_SRC_BASE_PROCESS_H
#define KERNELS_SRC_BASE_PROCESS_H

#include "base/buffer.h"

typedef struct kernels_process_options {
    const char *const *arguments;   /* argv, NULL-terminated; arguments[0] is the program, found on PATH when
                                       it holds no "/" */
    const char *const *environment; /* "NAME=value" to set or "NAME" to unset, NULL-terminated; may be NULL */
    bool clear_environment;         /* start from nothing but `environment` */
    const char *working_directory;  /* NULL = inherited */
    kernels_view input;             /* given on standard input, then closed */
    size_t capture_limit;           /* per stream; 0 = 1 MiB; more is dropped from the front, counted */
    unsigned timeout_ms;            /* 0 = none; then SIGKILL to the whole process group */
    bool inherit_output;            /* stdout and stderr go where ours go, nothing is captured */
    void (*on_error_line)(void *payload, kernels_view line); /* each line of stderr as it comes, may be NULL */
    void *payload;
} kernels_process_options;

/* How long an interrupted child may clear up. */
#define KERNELS_PROCESS_GRACE_MS 3000

typedef struct kernels_process_result {
    int exit_code; /* -1 when ended by a signal */
    int signal;    /* 0, or the signal that ended it */
    bool timed_out;
    kernels_buffer output;                   /* stdout; the end of it when over the limit */
    kernels_buffer errors;                   /* stderr, likewise */
    uint64_t output_dropped, errors_dropped; /* bytes */
} kernels_process_result;

/* Runs to the end. KERNELS_OK whenever the program was started, whatever its exit code;
 * KERNELS_FILE_NOT_FOUND when it is not there; KERNELS_TIMEOUT (result filled) past the limit.
 * Dispose the result after KERNELS_OK and KERNELS_TIMEOUT.
 *
 * A caller that holds SIGINT and SIGTERM (blocked in its mask) gives the child's life to them: once one is pending, the
 * child and all of its group get it, after KERNELS_PROCESS_GRACE_MS SIGKILL, and the result is KERNELS_INTERRUPTED. */
kernels_status kernels_process_run(const kernels_process_options *options, kernels_process_result *result,
                                   kernels_error *error);
void kernels_process_result_dispose(kernels_process_result *result);

/* How many cores this process may run on; at least 1. */
size_t kernels_core_count(void);

/* Full path of a program on PATH, or NULL. Heap text. */
char *kernels_process_find(const char *name);

/* Directory holding the running executable, resolved. Heap text, NULL on failure. */
char *kernels_process_own_directory(void);

#endif
