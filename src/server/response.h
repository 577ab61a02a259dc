/* SPDX-License-Identifier: Apache-2.0 */
/* One answer, independent of the HTTP library that sends it. Texts must live as long as the response (arena). */
#ifndef KERNELS_SRC_SERVER_RESPONSE_H
#define KERNELS_SRC_SERVER_RESPONSE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "kernels/base.h"

#define KERNELS_RESPONSE_HEADERS_LIMIT 32
/* Longest text from an error that goes into a header. */
#define KERNELS_ERROR_HEADER_LIMIT 500

typedef struct kernels_response_header {
    const char *name, *value;
} kernels_response_header;

typedef enum kernels_body_type {
    KERNELS_BODY_TEXT,   /* response.text */
    KERNELS_BODY_FILE,   /* `size` bytes of response.descriptor from `offset` on; closed with the response */
    KERNELS_BODY_STREAM, /* `size` bytes from read() */
} kernels_body_type;

/* Bytes from a stream: KERNELS_OK with *got 0 at the end. Called from front to back. */
typedef kernels_status kernels_stream_read(void *stream, void *data, size_t size, size_t *got);

typedef struct kernels_response {
    unsigned status;
    kernels_arena *arena;
    kernels_response_header headers[KERNELS_RESPONSE_HEADERS_LIMIT];
    size_t header_count;
    kernels_body_type body_type;
    kernels_buffer text;
    int descriptor;
    uint64_t offset;
    kernels_stream_read *read;
    void (*close)(void *stream);
    void *stream;
    uint64_t size; /* of FILE and STREAM bodies */
    /* set by faults (faults.h) */
    uint64_t send_at_most;   /* the connection is cut behind that many bytes; UINT64_MAX = all */
    uint64_t announced_size; /* Content-Length instead of the true one; UINT64_MAX = the true one */
    unsigned delay_ms;
    bool drop; /* close the connection without any answer */
} kernels_response;

void kernels_response_init(kernels_response *response, kernels_arena *arena);
void kernels_response_dispose(kernels_response *response);

/* Adds or replaces; value NULL removes. value is not copied. Characters that may not stand in a header become "?". */
void kernels_response_set_header(kernels_response *response, const char *name, const char *value);
uint64_t kernels_response_size(const kernels_response *response);

/* Makes this the answer to a failure: status code and code header from error->status (error->http_status wins),
 * X-Error-Message and {"error": message}. Headers that were set before stay; a body is dropped. */
void kernels_response_fail(kernels_response *response, const kernels_error *error);

#endif
