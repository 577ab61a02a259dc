/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels/base.h - what every other header of libkernels builds on: export macro, text views,
 * status codes and errors.
 *
 * Conventions of the whole library
 *
 *   - A function that can fail returns a kernels_status; 0 (KERNELS_OK) is success. Its last
 *     parameter is a kernels_error pointer that receives message, cause and details; NULL is allowed.
 *   - Out parameters are untouched on failure unless the function says otherwise.
 *   - What an out pointer to a pointer gives you is yours: pass it to the matching _free function
 *     (NULL is allowed there). A returned or embedded const pointer belongs to its parent.
 *   - Text is UTF-8. A kernels_view is not terminated by NUL; a const char * is.
 *   - Nothing in the library exits, aborts or prints.
 *
 * Since 0.1.
 */
#ifndef KERNELS_BASE_H
#define KERNELS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define KERNELS_API
#elif defined(__GNUC__)
#define KERNELS_API __attribute__((visibility("default")))
#else
#define KERNELS_API
#endif

#if defined(__GNUC__)
#define KERNELS_PRINTF(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#define KERNELS_MUST_USE __attribute__((warn_unused_result))
#else
#define KERNELS_PRINTF(format_index, first_argument)
#define KERNELS_MUST_USE
#endif

/* A read-only piece of text or bytes owned by somebody else. data may be NULL when size is 0. */
typedef struct kernels_view {
    const char *data;
    size_t size; /* bytes */
} kernels_view;

/* View of a string literal. */
#define KERNELS_VIEW(literal) ((kernels_view){("" literal), sizeof(literal) - 1})
/* printf arguments for "%.*s". */
#define KERNELS_VIEW_ARGS(view) ((int)(view).size), ((view).data ? (view).data : "")

/*
 * Status codes. The category (code >> 8) tells what kind of failure it is, so that a caller can
 * decide without knowing each code; the code itself tells which. X(name, value, short text).
 */
#define KERNELS_STATUS_TABLE(X)                                      \
    X(OK, 0x000, "ok")                                               \
    /* 0x1xx: the caller asked for something impossible */           \
    X(INVALID_ARGUMENT, 0x101, "invalid argument")                   \
    X(USAGE, 0x102, "wrong use of a command")                        \
    X(OUT_OF_RANGE, 0x103, "number out of range")                    \
    /* 0x2xx: the operating system refused */                        \
    X(IO, 0x201, "input or output failed")                           \
    X(NO_SPACE, 0x202, "no space left")                              \
    X(PERMISSION, 0x203, "permission denied")                        \
    X(PROCESS, 0x204, "child process failed")                        \
    X(TIMEOUT, 0x205, "time limit exceeded")                         \
    X(INTERRUPTED, 0x206, "interrupted")                             \
    X(ADDRESS_IN_USE, 0x207, "address already in use")               \
    /* 0x3xx: data from outside is not what it should be */          \
    X(SYNTAX, 0x301, "syntax error")                                 \
    X(SCHEMA, 0x302, "document does not follow its schema")          \
    X(UNSUPPORTED_EDITION, 0x303, "unsupported edition or format")   \
    X(LIMIT, 0x304, "input exceeds a limit")                         \
    X(NOT_UTF8, 0x305, "text is not UTF-8")                          \
    X(UNSAFE_NAME, 0x306, "unsafe name or path")                     \
    /* 0x4xx: something is not there */                              \
    X(NOT_FOUND, 0x401, "not found")                                 \
    X(FILE_NOT_FOUND, 0x402, "file not found")                       \
    X(NO_VARIANT, 0x403, "no build variant for this system")         \
    X(VERSION_NOT_FOUND, 0x404, "version not found")                 \
    X(NOT_CACHED, 0x405, "not in the local cache")                   \
    X(NOT_LOCKED, 0x406, "not in the lock file")                     \
    X(ALREADY_EXISTS, 0x407, "already exists")                       \
    X(FUNCTION_NOT_FOUND, 0x408, "function not found")               \
    X(SPECIALISATION_NOT_FOUND, 0x409, "no matching specialisation") \
    X(PLUGIN_NOT_FOUND, 0x40a, "plugin not found")                   \
    /* 0x5xx: the Hub or the way to it */                            \
    X(NETWORK, 0x501, "network failure")                             \
    X(HTTP, 0x502, "unexpected HTTP answer")                         \
    X(AUTHENTICATION, 0x503, "authentication required or refused")   \
    X(FORBIDDEN, 0x504, "no permission")                             \
    X(REPOSITORY_NOT_FOUND, 0x505, "repository not found")           \
    X(REVISION_NOT_FOUND, 0x506, "revision not found")               \
    X(ENTRY_NOT_FOUND, 0x507, "file not found in the repository")    \
    X(GATED_REPOSITORY, 0x508, "repository is gated")                \
    X(DISABLED_REPOSITORY, 0x509, "repository is disabled")          \
    X(CONFLICT, 0x50a, "conflict")                                   \
    X(RATE_LIMITED, 0x50b, "too many requests")                      \
    X(OFFLINE, 0x50c, "offline mode is on")                          \
    X(BAD_REQUEST, 0x50d, "request refused as malformed")            \
    X(TOKEN_NOT_FOUND, 0x50e, "no token found")                      \
    /* 0x6xx: what we got must not be used */                        \
    X(INTEGRITY, 0x601, "content does not match its digest")         \
    X(UNTRUSTED, 0x602, "publisher is not trusted")                  \
    X(SIGNATURE, 0x603, "signature is missing or wrong")             \
    /* 0x7xx: this build, machine or kernel cannot do that */        \
    X(UNSUPPORTED, 0x701, "not supported")                           \
    X(MISSING_DEPENDENCY, 0x702, "a dependency is missing")          \
    X(TOO_OLD, 0x703, "a newer version is required")                 \
    X(ARCHITECTURE, 0x704, "device architecture is not supported")   \
    /* 0x8xx: a kernel, plugin or compiler reported a failure */     \
    X(PLUGIN, 0x801, "plugin reported an error")                     \
    X(COMPILE, 0x802, "compilation failed")                          \
    X(MISMATCH, 0x803, "argument does not match the function")       \
    X(CHECK_FAILED, 0x804, "a check failed")                         \
    /* 0x9xx: this process */                                        \
    X(NO_MEMORY, 0x901, "out of memory")                             \
    X(INTERNAL, 0x902, "internal error")

typedef enum kernels_status {
#define KERNELS_STATUS_ENUMERATOR(name, value, text) KERNELS_##name = (value),
    KERNELS_STATUS_TABLE(KERNELS_STATUS_ENUMERATOR)
#undef KERNELS_STATUS_ENUMERATOR
} kernels_status;

typedef enum kernels_category {
    KERNELS_CATEGORY_NONE = 0,
    KERNELS_CATEGORY_ARGUMENT = 1,
    KERNELS_CATEGORY_SYSTEM = 2,
    KERNELS_CATEGORY_DATA = 3,
    KERNELS_CATEGORY_NOT_FOUND = 4,
    KERNELS_CATEGORY_HUB = 5,
    KERNELS_CATEGORY_SECURITY = 6,
    KERNELS_CATEGORY_UNSUPPORTED = 7,
    KERNELS_CATEGORY_KERNEL = 8,
    KERNELS_CATEGORY_PROCESS = 9,
} kernels_category;

/* Name of a code ("NOT_FOUND"), its short text ("not found") and its category. Never NULL. */
KERNELS_API const char *kernels_status_name(kernels_status status);
KERNELS_API const char *kernels_status_text(kernels_status status);
KERNELS_API kernels_category kernels_status_category(kernels_status status);

/*
 * One failure. Start from KERNELS_ERROR_INIT; after a call that failed, message says what was
 * expected, what was found and what to do; cause (may be NULL) is the failure below it.
 * A failing call replaces what an error held before. Success leaves the error alone.
 * All pointers belong to the error; kernels_error_dispose frees them and makes it reusable.
 */
typedef struct kernels_error {
    kernels_status status;
    char *message;               /* one or more lines, no final newline; NULL: use the status text */
    int system_errno;            /* errno of the failed call, or 0 */
    int http_status;             /* status of the answer that failed, or 0 */
    char *subject;               /* path or URL that it is about, or NULL */
    struct kernels_error *cause; /* next deeper failure, or NULL */
} kernels_error;

#define KERNELS_ERROR_INIT ((kernels_error){0})

/* The message, or the text of the status when there is none. Never NULL. */
KERNELS_API const char *kernels_error_message(const kernels_error *error);
KERNELS_API void kernels_error_dispose(kernels_error *error);

/* Version of the library at run time, for example "0.1.0", and the release of the Python package
 * `kernels` whose behaviour it provides, for example "0.17.2" (compared with kernels-minver). */
KERNELS_API const char *kernels_library_version(void);
KERNELS_API const char *kernels_compatible_version(void);

#ifdef __cplusplus
}
#endif

#endif
