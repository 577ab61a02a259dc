/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way: attempts, redirects, received bytes. Private to http.c and http_transfer.c. */
#ifndef KERNELS_SRC_HUB_HTTP_TRANSFER_H
#define KERNELS_SRC_HUB_HTTP_TRANSFER_H

#include "hub/curl_library.h"
#include "hub/http.h"
#include "hub/retry.h"

/* Topics of X-HF-Warning that were logged already: each is told once. */
#define KERNELS_HTTP_WARNING_TOPICS 32

struct kernels_http {
    kernels_http_options options;
    const kernels_curl *curl; /* NULL until the first request */
    CURLM *multi;             /* keeps connections open between requests */
    uint64_t request_count;
    uint64_t waited; /* for the network, nanoseconds */
    char *warning_topics[KERNELS_HTTP_WARNING_TOPICS];
    size_t warning_topic_count;
};

typedef struct kernels_transfer {
    kernels_http *http;
    const kernels_http_request *request;
    CURL *easy; /* NULL while nothing is in flight */
    struct curl_slist *headers;
    char *url;       /* of this attempt */
    bool authorized; /* the way so far never left the hosts that may have the token */
    unsigned redirects;
    kernels_retry retry;
    uint64_t resume_at;     /* clock time of the next attempt, nanoseconds */
    uint64_t last_activity; /* clock time */
    uint64_t received;      /* bytes that the sink holds */
    uint64_t attempt_start; /* received when this attempt began */
    uint64_t to_skip;       /* bytes before the wanted part, from a server that sends the whole */
    bool is_complete;       /* the sink has all that it wanted; the rest was refused */
    bool body_begun;        /* the sink was told about this attempt's answer */
    kernels_http_response response;
    kernels_status failure; /* of a callback, with failure_error */
    kernels_error failure_error;
} kernels_transfer;

typedef enum kernels_verdict {
    KERNELS_VERDICT_DONE,  /* the answer is there */
    KERNELS_VERDICT_AGAIN, /* start another attempt at resume_at */
    KERNELS_VERDICT_FAILED /* error is set */
} kernels_verdict;

kernels_status kernels_transfer_new(kernels_http *http, const kernels_http_request *request,
                                    kernels_transfer **transfer, kernels_error *error);
/* The response stays with the caller of kernels_transfer_take_response. */
void kernels_transfer_free(kernels_transfer *transfer);
kernels_http_response kernels_transfer_take_response(kernels_transfer *transfer);
/* Puts the request into the multi handle. */
kernels_status kernels_transfer_start(kernels_transfer *transfer, kernels_error *error);
/* Takes it out, whatever state it is in. */
void kernels_transfer_stop(kernels_transfer *transfer);
/* Silent for longer than it may be? */
bool kernels_transfer_is_idle(const kernels_transfer *transfer, uint64_t now);
/* After the attempt ended with `code`; the transfer is stopped. *status is the failure for VERDICT_FAILED. */
kernels_verdict kernels_transfer_judge(kernels_transfer *transfer, CURLcode code, kernels_status *status,
                                       kernels_error *error);

const char *kernels_http_method_name(kernels_http_method method);

#endif
