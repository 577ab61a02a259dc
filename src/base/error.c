/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

/* Longest message of one failure; a longer one is cut (decision traces of thousands of variants). */
#define KERNELS_MESSAGE_LIMIT ((size_t)1024 * 1024)
/* Deepest chain of causes that is kept. */
#define KERNELS_CAUSE_LIMIT 16

typedef struct status_entry {
    kernels_status status;
    const char *name;
    const char *text;
} status_entry;

static const status_entry status_entries[] = {
#define STATUS_ENTRY(name, value, text) {KERNELS_##name, #name, text},
    KERNELS_STATUS_TABLE(STATUS_ENTRY)
#undef STATUS_ENTRY
};

static const status_entry *find_status(kernels_status status) {
    for (size_t i = 0; i < sizeof status_entries / sizeof *status_entries; i++) {
        if (status_entries[i].status == status) {
            return &status_entries[i];
        }
    }
    return NULL;
}

const char *kernels_status_name(kernels_status status) {
    const status_entry *entry = find_status(status);
    return entry ? entry->name : "UNKNOWN";
}

const char *kernels_status_text(kernels_status status) {
    const status_entry *entry = find_status(status);
    return entry ? entry->text : "unknown failure";
}

kernels_category kernels_status_category(kernels_status status) { return (kernels_category)(status >> 8); }

const char *kernels_error_message(const kernels_error *error) {
    if (!error) {
        return "";
    }
    return error->message ? error->message : kernels_status_text(error->status);
}

/* Iterative, so that a long chain cannot exhaust the stack. */
void kernels_error_dispose(kernels_error *error) {
    if (!error) {
        return;
    }
    kernels_error *cause = error->cause;
    kernels_free(error->message);
    kernels_free(error->subject);
    *error = KERNELS_ERROR_INIT;
    while (cause) {
        kernels_error *next = cause->cause;
        kernels_free(cause->message);
        kernels_free(cause->subject);
        kernels_free(cause);
        cause = next;
    }
}

static char *format_message(const char *format, va_list arguments) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_MESSAGE_LIMIT);
    kernels_buffer_vprintf(&text, format, arguments);
    return kernels_buffer_take(&text); /* NULL after a failure: the text of the status is shown */
}

/* A failure always has a status of one: callers build on it. */
static kernels_status failure(kernels_status status) { return status == KERNELS_OK ? KERNELS_INTERNAL : status; }

kernels_status(kernels_fail)(kernels_error *error, kernels_status status, const char *format, ...) {
    status = failure(status);
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        char *message = format_message(format, arguments); /* before dispose: it may quote the old message */
        va_end(arguments);
        kernels_error_dispose(error);
        error->status = status;
        error->message = message;
    }
    return status;
}

static kernels_status status_of_errno(int error_number) {
    switch (error_number) {
    case ENOSPC:
    case EDQUOT:
        return KERNELS_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return KERNELS_PERMISSION;
    case ENOENT:
    case ENOTDIR:
        return KERNELS_FILE_NOT_FOUND;
    case EEXIST:
        return KERNELS_ALREADY_EXISTS;
    case ENOMEM:
        return KERNELS_NO_MEMORY;
    case EINTR:
        return KERNELS_INTERRUPTED;
    case ETIMEDOUT:
        return KERNELS_TIMEOUT;
    case EADDRINUSE:
        return KERNELS_ADDRESS_IN_USE;
    default:
        return KERNELS_IO;
    }
}

kernels_status(kernels_fail_errno)(kernels_error *error, int error_number, const char *format, ...) {
    kernels_status status = status_of_errno(error_number);
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        char *message = format_message(format, arguments);
        va_end(arguments);
        char reason[128];
        if (strerror_r(error_number, reason, sizeof reason) != 0) {
            (void)snprintf(reason, sizeof reason, "system error %d", error_number);
        }
        kernels_fail(error, status, "%s: %s", message ? message : "system call failed", reason);
        kernels_free(message);
        error->system_errno = error_number;
    }
    return status;
}

/* Allocates nothing: message NULL shows the text of the status. */
kernels_status(kernels_fail_no_memory)(kernels_error *error) {
    if (error) {
        kernels_error_dispose(error);
        error->status = KERNELS_NO_MEMORY;
    }
    return KERNELS_NO_MEMORY;
}

static size_t chain_length(const kernels_error *error) {
    size_t length = 0;
    for (const kernels_error *cause = error->cause; cause; cause = cause->cause) {
        length++;
    }
    return length;
}

kernels_status(kernels_wrap)(kernels_error *error, kernels_status status, const char *format, ...) {
    status = failure(status);
    if (!error) {
        return status;
    }
    if (error->status == KERNELS_OK) {
        error->status = status;
    }
    if (chain_length(error) >= KERNELS_CAUSE_LIMIT) {
        return error->status;
    }
    va_list arguments;
    va_start(arguments, format);
    char *message = format_message(format, arguments);
    va_end(arguments);
    kernels_error *cause = kernels_malloc(sizeof *cause);
    if (!message || !cause) { /* the deeper message is worth more than its frame */
        kernels_free(message);
        kernels_free(cause);
        return error->status;
    }
    *cause = *error;
    cause->subject = kernels_strdup(error->subject);
    error->message = message;
    error->cause = cause;
    return error->status;
}

void kernels_error_set_subject(kernels_error *error, const char *subject) {
    if (error) {
        char *copy = kernels_strdup(subject);
        kernels_free(error->subject);
        error->subject = copy;
    }
}

void kernels_error_move(kernels_error *to, kernels_error *from) {
    if (to == from) {
        return;
    }
    kernels_error_dispose(to);
    if (!from) {
        return;
    }
    if (to) {
        *to = *from;
        *from = KERNELS_ERROR_INIT;
    } else {
        kernels_error_dispose(from);
    }
}

const char *kernels_library_version(void) { return KERNELS_VERSION_TEXT; }

const char *kernels_compatible_version(void) { return KERNELS_COMPATIBLE_VERSION_TEXT; }
