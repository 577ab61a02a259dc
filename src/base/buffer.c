/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"

#ifndef NDEBUG
static bool buffer_check(const kernels_buffer *buffer) {
    return buffer->size <= buffer->limit && (buffer->data ? buffer->size < buffer->capacity : buffer->size == 0);
}
#endif

/* Room for `size` more bytes and the NUL. */
static bool buffer_reserve(kernels_buffer *buffer, size_t size) {
    assert(buffer_check(buffer));
    if (buffer->failure) {
        return false;
    }
    if (size > buffer->limit - buffer->size) {
        buffer->failure = KERNELS_LIMIT;
        return false;
    }
    size_t needed = buffer->size + size + 1;
    if (needed <= buffer->capacity) {
        return true;
    }
    size_t wanted = buffer->capacity < 64 ? 64 : buffer->capacity * 2;
    if (wanted < needed) {
        wanted = needed;
    }
    char *data = kernels_realloc(buffer->data, wanted);
    if (!data) {
        buffer->failure = KERNELS_NO_MEMORY;
        return false;
    }
    buffer->data = data;
    buffer->capacity = wanted;
    return true;
}

void kernels_buffer_add(kernels_buffer *buffer, const void *bytes, size_t size) {
    if (buffer_reserve(buffer, size)) {
        if (size) {
            memcpy(buffer->data + buffer->size, bytes, size);
        }
        buffer->size += size;
        buffer->data[buffer->size] = '\0';
    }
}

void kernels_buffer_add_view(kernels_buffer *buffer, kernels_view text) {
    kernels_buffer_add(buffer, text.data, text.size);
}

void kernels_buffer_add_text(kernels_buffer *buffer, const char *text) {
    kernels_buffer_add_view(buffer, kernels_view_of(text));
}

void kernels_buffer_add_char(kernels_buffer *buffer, char c) { kernels_buffer_add(buffer, &c, 1); }

void kernels_buffer_vprintf(kernels_buffer *buffer, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    size_t room = buffer->failure || !buffer->data ? 0 : buffer->capacity - buffer->size;
    int size = vsnprintf(room > 0 ? buffer->data + buffer->size : NULL, room, format, arguments);
    bool written = size >= 0 && (size_t)size < room;
    if (room > 0 && !written) {
        buffer->data[buffer->size] = '\0';
    }
    if (size >= 0 && buffer_reserve(buffer, (size_t)size)) {
        if (!written) {
            (void)vsnprintf(buffer->data + buffer->size, (size_t)size + 1, format, again);
        }
        buffer->size += (size_t)size;
    } else if (written) {
        buffer->data[buffer->size] = '\0'; /* there was room, but the limit does not allow it */
    }
    va_end(again);
}

void kernels_buffer_printf(kernels_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(buffer, format, arguments);
    va_end(arguments);
}

void kernels_buffer_reset(kernels_buffer *buffer) {
    buffer->size = 0;
    buffer->failure = KERNELS_OK;
    if (buffer->data) {
        buffer->data[0] = '\0';
    }
}

void kernels_buffer_dispose(kernels_buffer *buffer) {
    if (buffer) {
        kernels_free(buffer->data);
        *buffer = (kernels_buffer){.limit = buffer->limit};
    }
}

void kernels_cleanup_buffer(kernels_buffer *buffer) { kernels_buffer_dispose(buffer); }

kernels_view kernels_buffer_view(const kernels_buffer *buffer) {
    return (kernels_view){buffer->data ? buffer->data : "", buffer->size};
}

const char *kernels_buffer_text(const kernels_buffer *buffer) { return buffer->data ? buffer->data : ""; }

char *kernels_buffer_take(kernels_buffer *buffer) {
    (void)buffer_reserve(buffer, 0); /* an empty buffer gives an empty text */
    char *text = buffer->failure ? NULL : buffer->data;
    if (text) {
        text[buffer->size] = '\0';
        *buffer = (kernels_buffer){.limit = buffer->limit};
    } else {
        kernels_buffer_dispose(buffer);
    }
    return text;
}

kernels_status kernels_buffer_status(const kernels_buffer *buffer, kernels_error *error) {
    if (buffer->failure == KERNELS_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "text exceeds its limit of %zu bytes", buffer->limit);
    }
    return buffer->failure ? kernels_fail_no_memory(error) : KERNELS_OK;
}
