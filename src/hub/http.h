/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to a Hub, on top of libcurl's multi interface and in the caller's thread: retries with back-off,
 * redirects followed by hand, the token only where it belongs, bounds on everything a server sends.
 */
#ifndef KERNELS_SRC_HUB_HTTP_H
#define KERNELS_SRC_HUB_HTTP_H

#include "base/buffer.h"
#include "hub/body.h"
#include "hub/hub.h"

typedef struct kernels_http kernels_http;

/* All text must outlive the kernels_http. */
typedef struct kernels_http_options {
    const char *endpoint;     /* without trailing slash; its origin may have the token */
    const char *token;        /* NULL = none */
    const char *user_agent;   /* header value */
    const char *ca_file;      /* NULL = libcurl's */
    const char *ca_directory; /* NULL = libcurl's */
    const char *http_proxy;   /* for http URLs; NULL = what libcurl finds in the environment */
    bool offline;             /* every request fails with KERNELS_OFFLINE */
    kernels_log_function *log;
    bool (*cancelled)(void *payload);
    void *payload;
} kernels_http_options;

kernels_status kernels_http_new(const kernels_http_options *options, kernels_http **http, kernels_error *error);
void kernels_http_free(kernels_http *http);
uint64_t kernels_http_request_count(const kernels_http *http);
/* Nanoseconds spent waiting for the network, so far. */
uint64_t kernels_http_waited(const kernels_http *http);

typedef enum kernels_http_method {
    KERNELS_HTTP_GET,
    KERNELS_HTTP_HEAD,
    KERNELS_HTTP_POST,
    KERNELS_HTTP_PUT
} kernels_http_method;

/* Where the body of a successful answer goes instead of into kernels_http_response.body. */
typedef struct kernels_http_sink {
    /* Forget what was written: the server starts again from the first byte. */
    kernels_status (*restart)(void *payload, kernels_error *error);
    kernels_status (*write)(void *payload, const char *data, size_t size, kernels_error *error);
    void *payload;
} kernels_http_sink;

typedef struct kernels_http_request {
    kernels_http_method method;
    const char *url;
    const char *content_type;   /* of the body */
    const char *accept;         /* NULL: any */
    const char *const *headers; /* further "Name: value", NULL-terminated; may be NULL */
    kernels_body *body;         /* POST, PUT; rewound for each attempt */
    const kernels_http_sink *sink;
    bool anonymous;             /* never with a token */
    bool repeatable;            /* may be sent again although the server may have seen it */
    bool is_file;               /* content of the repository: identity encoding, counted as a download */
    bool keep_foreign_redirect; /* a redirect that leaves the Hub is the answer (metadata of a file) */
    unsigned idle_seconds;      /* longest silence; 0 = 30 */
    size_t body_limit;          /* of response.body; 0 = 1 MiB */
    bool has_size;              /* of the body that goes to the sink */
    uint64_t size;              /* may be made smaller on the way, down to what the sink has got, with is_cut set */
    bool is_part;               /* of a file: `size` bytes from `offset` on; the sink gets only those */
    uint64_t offset;
    bool is_cut; /* the answer may go on behind `size`: it is then broken off */
    void *owner; /* for the source that made it */
} kernels_http_request;

typedef struct kernels_http_response {
    unsigned status;
    kernels_buffer headers; /* "Name: value\n" lines of the last answer */
    kernels_buffer body;
    char *url; /* that gave the answer, after redirects */
} kernels_http_response;

void kernels_http_response_dispose(kernels_http_response *response);

/* Sends one request. KERNELS_OK only for an answer below 400; else the error has http_status. The response must be
 * disposed in any case. */
kernels_status kernels_http_send(kernels_http *http, const kernels_http_request *request,
                                 kernels_http_response *response, kernels_error *error);

/* ---- several at once ---- */

typedef enum kernels_http_next {
    KERNELS_HTTP_NEXT_REQUEST, /* *request is set; it must stay valid until done */
    KERNELS_HTTP_NEXT_LATER,   /* none now: ask again */
    KERNELS_HTTP_NEXT_END
} kernels_http_next;

typedef struct kernels_http_source {
    kernels_status (*next)(void *payload, kernels_http_next *what, const kernels_http_request **request,
                           kernels_error *error);
    /* Called once for each request given by next, with its outcome (error describes a failure and belongs to the
     * callee's caller). What it returns decides: KERNELS_OK goes on, anything else ends the run. */
    kernels_status (*done)(void *payload, const kernels_http_request *request, kernels_http_response *response,
                           kernels_status status, kernels_error *error);
    void *payload;
} kernels_http_source;

/* Most requests in flight at a time. */
#define KERNELS_HTTP_PARALLEL 8

kernels_status kernels_http_run(kernels_http *http, const kernels_http_source *source, kernels_error *error);

#endif
