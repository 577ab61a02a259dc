/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded, growing text buffer for writing. Failure (out of memory, limit reached) is sticky: a
 * chain of appends needs one check at its end. The content is always NUL-terminated once something
 * was appended; kernels_buffer_text never gives NULL.
 *
 *     kernels_buffer text = KERNELS_BUFFER_INIT(64 * 1024);
 *     kernels_buffer_add_text(&text, "a"); kernels_buffer_printf(&text, "%d", 1);
 *     KERNELS_TRY(kernels_buffer_status(&text, error));
 *     kernels_buffer_dispose(&text);
 */
#ifndef KERNELS_SRC_BASE_BUFFER_H
#define KERNELS_SRC_BASE_BUFFER_H

#include <stdarg.h>

#include "base/memory.h"
#include "kernels/base.h"

typedef struct kernels_buffer {
    char *data;
    size_t size;            /* bytes used, without the NUL */
    size_t capacity;        /* bytes allocated */
    size_t limit;           /* size never exceeds this */
    kernels_status failure; /* KERNELS_OK, KERNELS_NO_MEMORY or KERNELS_LIMIT */
} kernels_buffer;

#define KERNELS_BUFFER_INIT(max_size) ((kernels_buffer){.limit = (max_size)})
/* For text we make ourselves, bounded by construction. */
#define KERNELS_BUFFER_DEFAULT_LIMIT ((size_t)256 * 1024 * 1024)

void kernels_buffer_add(kernels_buffer *buffer, const void *bytes, size_t size);
void kernels_buffer_add_view(kernels_buffer *buffer, kernels_view text);
void kernels_buffer_add_text(kernels_buffer *buffer, const char *text);
void kernels_buffer_add_char(kernels_buffer *buffer, char c);
void kernels_buffer_printf(kernels_buffer *buffer, const char *format, ...) KERNELS_PRINTF(2, 3);
void kernels_buffer_vprintf(kernels_buffer *buffer, const char *format, va_list arguments);
void kernels_buffer_reset(kernels_buffer *buffer); /* empty, memory and limit kept, failure cleared */
void kernels_buffer_dispose(kernels_buffer *buffer);
void kernels_cleanup_buffer(kernels_buffer *buffer); /* for KERNELS_CLEANUP */

kernels_view kernels_buffer_view(const kernels_buffer *buffer);
const char *kernels_buffer_text(const kernels_buffer *buffer);
/* Gives the text away (free with kernels_free); the buffer becomes empty. NULL after a failure. */
char *kernels_buffer_take(kernels_buffer *buffer);
/* KERNELS_OK, or the sticky failure with a message. */
kernels_status kernels_buffer_status(const kernels_buffer *buffer, kernels_error *error);

#endif
