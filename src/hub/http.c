/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/http.h"

#include "base/clock.h"
#include "base/error.h"
#include "hub/http_transfer.h"

#define NANOSECONDS_PER_MS 1000000u
/* Longest sleep of the loop: how late a cancellation may be noticed. */
#define POLL_MS 100
/* Sleep while a source has nothing to send yet. */
#define LATER_MS 20

kernels_status kernels_http_new(const kernels_http_options *options, kernels_http **http, kernels_error *error) {
    kernels_http *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->options = *options;
    *http = made;
    return KERNELS_OK;
}

void kernels_http_free(kernels_http *http) {
    if (!http) {
        return;
    }
    if (http->multi) {
        http->curl->multi_cleanup(http->multi);
    }
    for (size_t i = 0; i < http->warning_topic_count; i++) {
        kernels_free(http->warning_topics[i]);
    }
    kernels_free(http);
}

uint64_t kernels_http_request_count(const kernels_http *http) { return http->request_count; }

uint64_t kernels_http_waited(const kernels_http *http) { return http->waited; }

void kernels_http_response_dispose(kernels_http_response *response) {
    kernels_buffer_dispose(&response->headers);
    kernels_buffer_dispose(&response->body);
    kernels_free(response->url);
    *response = (kernels_http_response){0};
}

static kernels_status open_multi(kernels_http *http, kernels_error *error) {
    if (http->multi) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_curl_open(&http->curl, error));
    http->multi = http->curl->multi_init();
    if (!http->multi) {
        return kernels_fail_no_memory(error);
    }
    http->curl->multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)KERNELS_HTTP_PARALLEL);
    return KERNELS_OK;
}

/* ---- the loop ---- */

typedef struct run {
    kernels_http *http;
    const kernels_http_source *source;
    kernels_transfer *active[KERNELS_HTTP_PARALLEL];
    size_t count;
    bool ended; /* the source has no more */
    bool later; /* the source has none now */
} run;

static void remove_active(run *r, size_t index) {
    kernels_transfer_free(r->active[index]);
    r->count--;
    r->active[index] = r->active[r->count];
}

/* Hands the outcome of a transfer to the source and forgets the transfer. */
static kernels_status deliver(run *r, size_t index, kernels_status status, kernels_error *outcome,
                              kernels_error *error) {
    kernels_transfer *transfer = r->active[index];
    kernels_http_response response = kernels_transfer_take_response(transfer);
    const kernels_http_request *request = transfer->request;
    remove_active(r, index);
    kernels_status result = r->source->done(r->source->payload, request, &response, status, outcome);
    kernels_http_response_dispose(&response);
    if (result != KERNELS_OK) {
        kernels_error_move(error, outcome);
    } else {
        kernels_error_dispose(outcome);
    }
    return result;
}

static kernels_status fill(run *r, kernels_error *error) {
    r->later = false;
    while (!r->ended && !r->later && r->count < KERNELS_HTTP_PARALLEL) {
        kernels_http_next what = KERNELS_HTTP_NEXT_END;
        const kernels_http_request *request = NULL;
        KERNELS_TRY(r->source->next(r->source->payload, &what, &request, error));
        r->ended = what == KERNELS_HTTP_NEXT_END;
        r->later = what == KERNELS_HTTP_NEXT_LATER;
        if (what != KERNELS_HTTP_NEXT_REQUEST) {
            break;
        }
        kernels_error outcome = KERNELS_ERROR_INIT;
        kernels_status status = kernels_transfer_new(r->http, request, &r->active[r->count], &outcome);
        if (status != KERNELS_OK) {
            kernels_http_response none = {0};
            status = r->source->done(r->source->payload, request, &none, status, &outcome);
            kernels_error_move(error, &outcome);
            return status == KERNELS_OK ? KERNELS_INTERNAL : status;
        }
        r->count++;
    }
    return KERNELS_OK;
}

/* Starts the attempts whose time has come. */
static kernels_status start_due(run *r, kernels_error *error) {
    uint64_t now = kernels_clock_nanoseconds();
    for (size_t i = 0; i < r->count; i++) {
        if (!r->active[i]->easy && r->active[i]->resume_at <= now) {
            KERNELS_TRY(kernels_transfer_start(r->active[i], error));
        }
    }
    return KERNELS_OK;
}

static kernels_status finish(run *r, size_t index, CURLcode code, kernels_error *error) {
    kernels_error outcome = KERNELS_ERROR_INIT;
    kernels_status status = KERNELS_OK;
    kernels_verdict verdict = kernels_transfer_judge(r->active[index], code, &status, &outcome);
    return verdict == KERNELS_VERDICT_AGAIN ? KERNELS_OK : deliver(r, index, status, &outcome, error);
}

static size_t find_active(const run *r, const CURL *easy) {
    for (size_t i = 0; i < r->count; i++) {
        if (r->active[i]->easy == easy) {
            return i;
        }
    }
    return SIZE_MAX;
}

static kernels_status collect(run *r, kernels_error *error) {
    const kernels_curl *curl = r->http->curl;
    int left = 0;
    CURLMsg *message;
    while ((message = curl->multi_info_read(r->http->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        size_t index = message->msg == CURLMSG_DONE ? find_active(r, message->easy_handle) : SIZE_MAX;
        if (index != SIZE_MAX) {
            KERNELS_TRY(finish(r, index, code, error));
        }
    }
    uint64_t now = kernels_clock_nanoseconds();
    for (size_t i = r->count; i > 0; i--) {
        if (kernels_transfer_is_idle(r->active[i - 1], now)) {
            KERNELS_TRY(finish(r, i - 1, CURLE_OPERATION_TIMEDOUT, error));
        }
    }
    return KERNELS_OK;
}

/* Milliseconds until something is due. */
static int sleep_time(const run *r) {
    uint64_t now = kernels_clock_nanoseconds();
    uint64_t wait = r->later ? LATER_MS : POLL_MS;
    for (size_t i = 0; i < r->count; i++) {
        const kernels_transfer *t = r->active[i];
        if (!t->easy) {
            uint64_t due = t->resume_at > now ? (t->resume_at - now) / NANOSECONDS_PER_MS : 0;
            wait = due < wait ? due : wait;
        }
    }
    return (int)wait;
}

static kernels_status step(run *r, kernels_error *error) {
    const kernels_http_options *options = &r->http->options;
    const kernels_curl *curl = r->http->curl;
    if (options->cancelled && options->cancelled(options->payload)) {
        return kernels_fail(error, KERNELS_INTERRUPTED, "interrupted");
    }
    KERNELS_TRY(start_due(r, error));
    int running = 0;
    CURLMcode code = curl->multi_perform(r->http->multi, &running);
    if (code == CURLM_OK) {
        KERNELS_TRY(collect(r, error));
        KERNELS_TRY(fill(r, error));
        int wait = sleep_time(r);
        if (r->count > 0 || r->later) {
            uint64_t begin = kernels_clock_nanoseconds();
            code = curl->multi_poll(r->http->multi, NULL, 0, wait, NULL);
            r->http->waited += kernels_clock_nanoseconds() - begin;
        }
    }
    return code == CURLM_OK ? KERNELS_OK
                            : kernels_fail(error, KERNELS_NETWORK, "libcurl failed: %s", curl->multi_strerror(code));
}

/* After a failure: the rest is told that it will not be finished. */
static void abandon(run *r) {
    while (r->count > 0) {
        kernels_error outcome = KERNELS_ERROR_INIT;
        (void)deliver(r, 0, KERNELS_INTERRUPTED, &outcome, NULL);
        kernels_error_dispose(&outcome);
    }
}

kernels_status kernels_http_run(kernels_http *http, const kernels_http_source *source, kernels_error *error) {
    if (http->options.offline) {
        return kernels_fail(error, KERNELS_OFFLINE,
                            "offline mode is on (HF_HUB_OFFLINE): no request is sent to %s; unset it, or use what is "
                            "cached",
                            http->options.endpoint);
    }
    KERNELS_TRY(open_multi(http, error));
    run r = {.http = http, .source = source};
    kernels_status status = fill(&r, error);
    while (status == KERNELS_OK && (r.count > 0 || !r.ended)) {
        status = step(&r, error);
    }
    abandon(&r);
    return status;
}

/* ---- one request ---- */

typedef struct single {
    const kernels_http_request *request;
    kernels_http_response *response;
    bool sent;
} single;

static kernels_status next_single(void *payload, kernels_http_next *what, const kernels_http_request **request,
                                  kernels_error *error) {
    single *s = payload;
    (void)error;
    *what = s->sent ? KERNELS_HTTP_NEXT_END : KERNELS_HTTP_NEXT_REQUEST;
    *request = s->request;
    s->sent = true;
    return KERNELS_OK;
}

static kernels_status done_single(void *payload, const kernels_http_request *request, kernels_http_response *response,
                                  kernels_status status, kernels_error *error) {
    single *s = payload;
    (void)request;
    (void)error;
    *s->response = *response;
    *response = (kernels_http_response){0};
    return status;
}

kernels_status kernels_http_send(kernels_http *http, const kernels_http_request *request,
                                 kernels_http_response *response, kernels_error *error) {
    single s = {.request = request, .response = response};
    const kernels_http_source source = {next_single, done_single, &s};
    *response = (kernels_http_response){0};
    return kernels_http_run(http, &source, error);
}
