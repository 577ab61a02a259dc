/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/http_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "hub/answer.h"
#include "hub/headers.h"
#include "hub/printable.h"
#include "hub/repo_url.h"
#include "hub/url.h"

#define NANOSECONDS_PER_MS 1000000u
#define REDIRECT_LIMIT 20
#define CONNECT_TIMEOUT_SECONDS 10L
#define DEFAULT_IDLE_SECONDS 30
/* Besides silence: a body that trickles below 1 KiB/s for a minute is a stall. */
#define STALL_BYTES_PER_SECOND 1024L
#define STALL_SECONDS 60L
#define RECEIVE_BUFFER_SIZE (256L * 1024)
#define DEFAULT_BODY_LIMIT ((size_t)1024 * 1024)
/* Of an answer that reports a failure: enough for its message. */
#define FAILURE_BODY_LIMIT ((size_t)64 * 1024)
/* Largest body whose size nobody announced. */
#define UNKNOWN_SIZE_LIMIT ((uint64_t)64 * 1024 * 1024 * 1024)

const char *kernels_http_method_name(kernels_http_method method) {
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT"};
    return names[method];
}

/* For "%.*s" in messages: without the query, which may hold a signature. */
#define SHOWN_URL(transfer) KERNELS_VIEW_ARGS(kernels_url_without_query((transfer)->url))

static bool is_success(unsigned status) { return status >= 200 && status < 300; }

/* ---- life ---- */

kernels_status kernels_transfer_new(kernels_http *http, const kernels_http_request *request,
                                    kernels_transfer **transfer, kernels_error *error) {
    kernels_url checked;
    KERNELS_TRY(kernels_url_parse(kernels_view_of(request->url), &checked, error));
    kernels_transfer *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->http = http;
    made->request = request;
    made->url = kernels_strdup(request->url);
    made->authorized = kernels_repo_url_may_have_token(http->options.endpoint, request->url);
    made->response.headers = KERNELS_BUFFER_INIT(KERNELS_HEADERS_LIMIT);
    made->response.body = KERNELS_BUFFER_INIT(request->body_limit ? request->body_limit : DEFAULT_BODY_LIMIT);
    if (!made->url) {
        kernels_transfer_free(made);
        return kernels_fail_no_memory(error);
    }
    *transfer = made;
    return KERNELS_OK;
}

void kernels_transfer_free(kernels_transfer *transfer) {
    if (!transfer) {
        return;
    }
    kernels_transfer_stop(transfer);
    kernels_free(transfer->url);
    kernels_http_response_dispose(&transfer->response);
    kernels_error_dispose(&transfer->failure_error);
    kernels_free(transfer);
}

kernels_http_response kernels_transfer_take_response(kernels_transfer *transfer) {
    kernels_http_response response = transfer->response;
    response.url = transfer->url;
    transfer->response = (kernels_http_response){0};
    transfer->url = NULL;
    return response;
}

/* ---- callbacks of libcurl ---- */

/* Keeps the first failure and makes libcurl end the transfer. */
static size_t refuse(kernels_transfer *transfer, kernels_status status) {
    transfer->failure = status;
    return 0;
}

static void touch(kernels_transfer *transfer) { transfer->last_activity = kernels_clock_nanoseconds(); }

static size_t on_header(char *data, size_t size, size_t count, void *user) {
    kernels_transfer *t = user;
    kernels_http_response *response = &t->response;
    size_t bytes = size * count;
    kernels_view line = kernels_view_trim_ascii((kernels_view){data, bytes});
    touch(t);
    if (line.size > KERNELS_HEADER_LIMIT || response->headers.size + line.size + 1 > KERNELS_HEADERS_LIMIT) {
        return refuse(t, kernels_fail(&t->failure_error, KERNELS_LIMIT,
                                      "%.*s sent more than 64 KiB of header fields, or one over 16 KiB", SHOWN_URL(t)));
    }
    unsigned status = kernels_status_line_code(line);
    if (status > 0) { /* a new answer: after "100 Continue", or behind a proxy's own */
        response->status = status;
        kernels_buffer_reset(&response->headers);
        return bytes;
    }
    if (line.size > 0) {
        kernels_buffer_add_view(&response->headers, line);
        kernels_buffer_add_char(&response->headers, '\n');
    }
    return bytes;
}

static kernels_status restart_sink(kernels_transfer *t, kernels_error *error) {
    const kernels_http_sink *sink = t->request->sink;
    t->received = 0;
    t->attempt_start = 0;
    return sink->restart(sink->payload, error);
}

/* Position in the resource of what the sink wants next. */
static uint64_t first_byte(const kernels_transfer *t) { return t->request->offset + t->received; }

/* What a Hub itself says of a file (another host, to which it sent us, need not) must fit what its listing said. */
static kernels_status check_announcement(const kernels_transfer *t, kernels_view headers, kernels_error *error) {
    const kernels_http_request *request = t->request;
    uint64_t announced;
    if (!request->is_file || t->redirects > 0) {
        return KERNELS_OK;
    }
    if (kernels_headers_find(headers, "X-Repo-Commit").size == 0) {
        return kernels_fail(error, KERNELS_HTTP,
                            "file metadata error: the answer of %.*s lacks X-Repo-Commit; is HF_ENDPOINT the address "
                            "of a Hub?",
                            SHOWN_URL(t));
    }
    if (t->response.status == 200 && !request->is_part && !request->is_cut && request->has_size &&
        kernels_view_to_u64(kernels_headers_find(headers, "Content-Length"), &announced) &&
        announced != request->size) {
        return kernels_fail(error, KERNELS_INTEGRITY,
                            "Consistency check failed: %.*s should have %" PRIu64
                            " bytes, but the server announces %" PRIu64 "; nothing was stored",
                            SHOWN_URL(t), request->size, announced);
    }
    return KERNELS_OK;
}

/* Before the first byte of a successful answer: is it the part that we asked for? */
static kernels_status begin_body(kernels_transfer *t, kernels_error *error) {
    kernels_view headers = kernels_buffer_view(&t->response.headers);
    kernels_view encoding = kernels_headers_find(headers, "Content-Encoding");
    t->body_begun = true;
    KERNELS_TRY(check_announcement(t, headers, error));
    if (encoding.size > 0 && !kernels_view_equal_ascii_case(encoding, KERNELS_VIEW("identity"))) {
        return kernels_fail(error, KERNELS_HTTP, "%.*s sent compressed content that was not asked for", SHOWN_URL(t));
    }
    if (t->response.status == 206) {
        uint64_t start;
        if (!kernels_content_range_start(kernels_headers_find(headers, "Content-Range"), &start) ||
            start != first_byte(t)) {
            return kernels_fail(error, KERNELS_HTTP, "%.*s answered with another part of the file than asked for",
                                SHOWN_URL(t));
        }
        return KERNELS_OK;
    }
    if (t->request->is_part) {
        t->to_skip = first_byte(t); /* the server knows no ranges */
        return KERNELS_OK;
    }
    return t->received > 0 ? restart_sink(t, error) : KERNELS_OK;
}

static kernels_status give_to_sink(kernels_transfer *t, const char *data, size_t size) {
    const kernels_http_request *request = t->request;
    kernels_error *error = &t->failure_error;
    if (!t->body_begun) {
        KERNELS_TRY(begin_body(t, error));
    }
    size_t skipped = t->to_skip < size ? (size_t)t->to_skip : size;
    t->to_skip -= skipped;
    data += skipped;
    size -= skipped;
    uint64_t limit = request->has_size ? request->size : UNKNOWN_SIZE_LIMIT;
    uint64_t room = limit > t->received ? limit - t->received : 0;
    if (size > room && (request->is_cut || request->is_part)) {
        size = (size_t)room;
        t->is_complete = true;
    } else if (size > room) {
        return kernels_fail(error, KERNELS_INTEGRITY,
                            "Consistency check failed: %.*s sent more than the expected %" PRIu64 " bytes",
                            SHOWN_URL(t), limit);
    }
    KERNELS_TRY(request->sink->write(request->sink->payload, data, size, error));
    t->received += size;
    t->is_complete = t->is_complete || (request->is_cut && t->received >= request->size);
    return KERNELS_OK;
}

static kernels_status keep_body(kernels_transfer *t, const char *data, size_t size) {
    kernels_buffer *body = &t->response.body;
    if (is_success(t->response.status)) {
        kernels_buffer_add(body, data, size);
        return body->failure == KERNELS_OK
                   ? KERNELS_OK
                   : kernels_fail(&t->failure_error, body->failure, "the answer of %.*s is larger than %zu bytes",
                                  SHOWN_URL(t), body->limit);
    }
    size_t limit = body->limit < FAILURE_BODY_LIMIT ? body->limit : FAILURE_BODY_LIMIT;
    size_t room = limit > body->size ? limit - body->size : 0;
    kernels_buffer_add(body, data, size < room ? size : room);
    return KERNELS_OK;
}

static size_t on_body(char *data, size_t size, size_t count, void *user) {
    kernels_transfer *t = user;
    size_t bytes = size * count;
    touch(t);
    bool to_sink = t->request->sink && is_success(t->response.status);
    kernels_status status = to_sink ? give_to_sink(t, data, bytes) : keep_body(t, data, bytes);
    return status != KERNELS_OK ? refuse(t, status) : t->is_complete ? 0 : bytes;
}

static size_t on_read(char *out, size_t size, size_t count, void *user) {
    kernels_transfer *t = user;
    size_t got = 0;
    touch(t);
    kernels_status status = kernels_body_read(t->request->body, out, size * count, &got, &t->failure_error);
    if (status != KERNELS_OK) {
        t->failure = status;
        return CURL_READFUNC_ABORT;
    }
    return got;
}

static int on_seek(void *user, curl_off_t offset, int origin) {
    kernels_transfer *t = user;
    if (offset != 0 || origin != SEEK_SET) {
        return CURL_SEEKFUNC_CANTSEEK;
    }
    kernels_body_rewind(t->request->body);
    return CURL_SEEKFUNC_OK;
}

/* ---- starting ---- */

/* libcurl's curl_easy_setopt is a variadic macro with type checks of its own; through a pointer these small functions
 * keep the types right. They record failure in *ok, so that a list of options needs one test. */
static void set_long(kernels_transfer *t, bool *ok, CURLoption option, long value) {
    *ok = t->http->curl->easy_setopt(t->easy, option, value) == CURLE_OK && *ok;
}

static void set_size(kernels_transfer *t, bool *ok, CURLoption option, uint64_t value) {
    *ok = t->http->curl->easy_setopt(t->easy, option, (curl_off_t)value) == CURLE_OK && *ok;
}

static void set_text(kernels_transfer *t, bool *ok, CURLoption option, const char *value) {
    *ok = t->http->curl->easy_setopt(t->easy, option, value) == CURLE_OK && *ok;
}

static void set_pointer(kernels_transfer *t, bool *ok, CURLoption option, void *value) {
    *ok = t->http->curl->easy_setopt(t->easy, option, value) == CURLE_OK && *ok;
}

static void add_header(kernels_transfer *t, bool *ok, const char *name, const char *value) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer line = KERNELS_BUFFER_INIT(2 * KERNELS_HEADER_LIMIT);
    kernels_buffer_printf(&line, "%s%s", name, value);
    struct curl_slist *list = NULL;
    if (line.failure == KERNELS_OK) {
        list = t->http->curl->slist_append(t->headers, kernels_buffer_text(&line));
    }
    *ok = list && *ok;
    t->headers = list ? list : t->headers;
}

/* A name for this request in the server's logs: a random UUID (version 4). */
static void add_trace_id(kernels_transfer *t, bool *ok) {
    static const char variants[] = "89ab";
    char hex[33];
    if (kernels_random_hex(hex, 32, NULL) != KERNELS_OK) {
        return; /* nothing depends on it */
    }
    char id[37];
    unsigned char last = (unsigned char)hex[31];
    snprintf(id, sizeof(id), "%.8s-%.4s-4%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 12, variants[last % 4], hex + 15,
             hex + 18);
    add_header(t, ok, "X-Amzn-Trace-Id: ", id);
}

static void set_headers(kernels_transfer *t, bool *ok) {
    const kernels_http_request *request = t->request;
    const char *token = t->http->options.token;
    if (request->accept) {
        add_header(t, ok, "Accept: ", request->accept);
    }
    if (request->content_type) {
        add_header(t, ok, "Content-Type: ", request->content_type);
    }
    if (token && t->authorized && !request->anonymous) {
        add_header(t, ok, "Authorization: Bearer ", token);
    }
    add_trace_id(t, ok);
    if (request->is_file) {
        add_header(t, ok, "Accept-Encoding: ", "identity");
        add_header(t, ok, "X-HF-Download-Counter: ", "1");
    }
    if (request->body) {
        add_header(t, ok, "Expect:", ""); /* without it libcurl waits a second for "100 Continue" */
    }
    for (const char *const *header = request->headers; header && *header; header++) {
        add_header(t, ok, *header, "");
    }
    set_pointer(t, ok, CURLOPT_HTTPHEADER, t->headers);
}

static void set_body(kernels_transfer *t, bool *ok) {
    const kernels_http_request *request = t->request;
    uint64_t size = request->body ? kernels_body_size(request->body) : 0;
    if (request->method == KERNELS_HTTP_PUT) {
        set_long(t, ok, CURLOPT_UPLOAD, 1L);
        set_size(t, ok, CURLOPT_INFILESIZE_LARGE, size);
    } else {
        set_long(t, ok, CURLOPT_POST, 1L);
        set_size(t, ok, CURLOPT_POSTFIELDSIZE_LARGE, size);
    }
    if (request->body) {
        kernels_body_rewind(request->body);
        *ok = t->http->curl->easy_setopt(t->easy, CURLOPT_READFUNCTION, on_read) == CURLE_OK && *ok;
        set_pointer(t, ok, CURLOPT_READDATA, t);
        *ok = t->http->curl->easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, on_seek) == CURLE_OK && *ok;
        set_pointer(t, ok, CURLOPT_SEEKDATA, t);
    } else {
        set_text(t, ok, CURLOPT_POSTFIELDS, "");
    }
}

static void set_method(kernels_transfer *t, bool *ok) {
    switch (t->request->method) {
    case KERNELS_HTTP_HEAD:
        set_long(t, ok, CURLOPT_NOBODY, 1L);
        break;
    case KERNELS_HTTP_POST:
    case KERNELS_HTTP_PUT:
        set_body(t, ok);
        break;
    case KERNELS_HTTP_GET:
        break;
    }
    if (t->received > 0 || t->request->is_part) {
        char range[48];
        int length = snprintf(range, sizeof(range), "%" PRIu64 "-", first_byte(t));
        if (t->request->is_part || t->request->is_cut) {
            snprintf(range + length, sizeof(range) - (size_t)length, "%" PRIu64,
                     t->request->offset + t->request->size - 1);
        }
        set_text(t, ok, CURLOPT_RANGE, range);
    }
}

static void set_connection(kernels_transfer *t, bool *ok) {
    const kernels_http_options *options = &t->http->options;
    set_long(t, ok, CURLOPT_NOSIGNAL, 1L);
    set_long(t, ok, CURLOPT_FOLLOWLOCATION, 0L);
    set_long(t, ok, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_SECONDS);
    set_long(t, ok, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_SIZE);
    if (t->request->sink) {
        set_long(t, ok, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_PER_SECOND);
        set_long(t, ok, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
    }
    if (options->ca_file) {
        set_text(t, ok, CURLOPT_CAINFO, options->ca_file);
    }
    if (options->ca_directory) {
        set_text(t, ok, CURLOPT_CAPATH, options->ca_directory);
    }
    if (options->http_proxy && kernels_view_starts_with(kernels_view_of(t->url), KERNELS_VIEW("http:"))) {
        set_text(t, ok, CURLOPT_PROXY, options->http_proxy);
    }
}

static bool set_up(kernels_transfer *t) {
    const kernels_curl *curl = t->http->curl;
    bool ok = true;
    set_text(t, &ok, CURLOPT_URL, t->url);
    set_text(t, &ok, CURLOPT_USERAGENT, t->http->options.user_agent);
    set_pointer(t, &ok, CURLOPT_PRIVATE, t);
    ok = curl->easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK && ok;
    set_pointer(t, &ok, CURLOPT_HEADERDATA, t);
    ok = curl->easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK && ok;
    set_pointer(t, &ok, CURLOPT_WRITEDATA, t);
    set_connection(t, &ok);
    set_method(t, &ok);
    set_headers(t, &ok);
    return ok;
}

static void log_start(const kernels_transfer *t) {
    const kernels_http_options *options = &t->http->options;
    if (!options->log) {
        return;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(2 * KERNELS_URL_LIMIT);
    kernels_buffer_printf(&text, "%s %.*s", kernels_http_method_name(t->request->method),
                          KERNELS_VIEW_ARGS(kernels_url_without_query(t->url)));
    options->log(options->payload, KERNELS_LOG_DEBUG, kernels_buffer_text(&text));
}

kernels_status kernels_transfer_start(kernels_transfer *transfer, kernels_error *error) {
    kernels_http *http = transfer->http;
    transfer->easy = http->curl->easy_init();
    transfer->response.status = 0;
    kernels_buffer_reset(&transfer->response.headers);
    kernels_buffer_reset(&transfer->response.body);
    transfer->body_begun = false;
    transfer->to_skip = 0;
    transfer->attempt_start = transfer->received;
    touch(transfer);
    if (!transfer->easy || !set_up(transfer) || http->curl->multi_add_handle(http->multi, transfer->easy) != CURLM_OK) {
        return kernels_fail(error, KERNELS_NO_MEMORY, "cannot start the request for %.*s", SHOWN_URL(transfer));
    }
    log_start(transfer);
    http->request_count++;
    return KERNELS_OK;
}

void kernels_transfer_stop(kernels_transfer *transfer) {
    const kernels_curl *curl = transfer->http->curl;
    if (transfer->easy) {
        curl->multi_remove_handle(transfer->http->multi, transfer->easy);
        curl->easy_cleanup(transfer->easy);
        transfer->easy = NULL;
    }
    if (transfer->headers) {
        curl->slist_free_all(transfer->headers);
        transfer->headers = NULL;
    }
}

bool kernels_transfer_is_idle(const kernels_transfer *transfer, uint64_t now) {
    unsigned seconds = transfer->request->idle_seconds ? transfer->request->idle_seconds : DEFAULT_IDLE_SECONDS;
    return transfer->easy && now > transfer->last_activity &&
           now - transfer->last_activity > (uint64_t)seconds * 1000u * NANOSECONDS_PER_MS;
}

/* ---- judging what came back ---- */

static kernels_verdict failed(kernels_status *status, kernels_status value) {
    *status = value;
    return KERNELS_VERDICT_FAILED;
}

/* From the first URL again: what a redirect led to may have expired. */
static kernels_verdict try_again(kernels_transfer *t, uint64_t wait_ms, kernels_status *status, kernels_error *error) {
    char *url = kernels_strdup(t->request->url);
    if (!url) {
        return failed(status, kernels_fail_no_memory(error));
    }
    kernels_free(t->url);
    t->url = url;
    t->authorized = kernels_repo_url_may_have_token(t->http->options.endpoint, url);
    t->redirects = 0;
    t->resume_at = kernels_clock_nanoseconds() + wait_ms * NANOSECONDS_PER_MS;
    return KERNELS_VERDICT_AGAIN;
}

/* The server cannot have seen the request. */
static bool never_arrived(CURLcode code) {
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT;
}

static bool is_hopeless(CURLcode code) {
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return true;
    default:
        return false;
    }
}

static kernels_status fail_connection(const kernels_transfer *t, CURLcode code, kernels_error *error) {
    kernels_view url = kernels_url_without_query(t->url);
    kernels_status status = kernels_fail(
        error, KERNELS_NETWORK,
        "%s %.*s failed: %s; check the network and HF_ENDPOINT (%s), or set HF_HUB_OFFLINE=1 to use what is cached",
        kernels_http_method_name(t->request->method), KERNELS_VIEW_ARGS(url), t->http->curl->easy_strerror(code),
        t->http->options.endpoint);
    KERNELS_CLEANUP_FREE char *subject = kernels_strndup(url.data, url.size);
    kernels_error_set_subject(error, subject);
    return status;
}

static kernels_verdict judge_connection(kernels_transfer *t, CURLcode code, kernels_status *status,
                                        kernels_error *error) {
    bool may_repeat = (t->request->repeatable || never_arrived(code)) && !is_hopeless(code);
    if (t->received > t->attempt_start) {
        t->retry = (kernels_retry){0}; /* it got further: the count of failures without progress starts anew */
    }
    bool in_vain = never_arrived(code) && t->retry.attempts >= KERNELS_RETRY_CONNECT_ATTEMPTS;
    uint64_t wait_ms;
    if (may_repeat && !in_vain && kernels_retry_next(&t->retry, 0, (kernels_view){0}, &wait_ms)) {
        return try_again(t, wait_ms, status, error);
    }
    return failed(status, fail_connection(t, code, error));
}

static bool is_redirect(const kernels_transfer *t) {
    unsigned status = t->response.status;
    return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
           kernels_headers_find(kernels_buffer_view(&t->response.headers), "Location").size > 0;
}

/* Some servers forget the query when they rename a repository. Takes ownership of url; NULL = no memory. */
static char *keep_query(const char *from, char *url) {
    kernels_url old, new;
    if (kernels_url_parse(kernels_view_of(from), &old, NULL) != KERNELS_OK ||
        kernels_url_parse(kernels_view_of(url), &new, NULL) != KERNELS_OK || !old.query.data || new.query.data) {
        return url;
    }
    kernels_buffer joined = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&joined, "%s?%.*s", url, KERNELS_VIEW_ARGS(old.query));
    kernels_free(url);
    return kernels_buffer_take(&joined);
}

static bool is_secure(const char *url) {
    kernels_url parsed;
    return kernels_url_parse(kernels_view_of(url), &parsed, NULL) == KERNELS_OK && parsed.secure;
}

/* Why this redirect is not followed, or NULL. */
static const char *refusal(const kernels_transfer *t, const char *url, bool trusted) {
    kernels_http_method method = t->request->method;
    bool reads = method == KERNELS_HTTP_GET || method == KERNELS_HTTP_HEAD;
    if (t->redirects >= REDIRECT_LIMIT) {
        return "more than 20 redirects, probably a loop";
    }
    if (is_secure(t->url) && !is_secure(url)) {
        return "a redirect from https to http is never followed";
    }
    if (!reads && t->response.status != 307 && t->response.status != 308) {
        return "a redirect that would drop what is being sent";
    }
    if (!reads && !trusted && !t->request->anonymous) {
        return "what is being sent is not handed to another host";
    }
    return NULL;
}

static kernels_verdict judge_redirect(kernels_transfer *t, kernels_status *status, kernels_error *error) {
    kernels_view location = kernels_headers_find(kernels_buffer_view(&t->response.headers), "Location");
    char *url = NULL;
    kernels_status resolved = kernels_url_resolve(t->url, location, &url, error);
    if (resolved != KERNELS_OK) {
        return failed(status,
                      kernels_wrap(error, resolved, "%.*s redirects to an address that cannot be used", SHOWN_URL(t)));
    }
    bool trusted = kernels_repo_url_same_or_hub(t->http->options.endpoint, t->url, url);
    if (!trusted && t->request->keep_foreign_redirect) {
        kernels_free(url);
        return KERNELS_VERDICT_DONE;
    }
    const char *reason = refusal(t, url, trusted);
    if (reason) {
        kernels_free(url);
        return failed(status, kernels_fail(error, KERNELS_HTTP, "%.*s: %s", SHOWN_URL(t), reason));
    }
    url = trusted ? keep_query(t->url, url) : url;
    if (!url) {
        return failed(status, kernels_fail_no_memory(error));
    }
    kernels_free(t->url);
    t->url = url;
    t->authorized = t->authorized && trusted;
    t->redirects++;
    t->resume_at = 0;
    return KERNELS_VERDICT_AGAIN;
}

static kernels_verdict judge_success(kernels_transfer *t, kernels_status *status, kernels_error *error) {
    const kernels_http_request *request = t->request;
    if (!request->sink) {
        return KERNELS_VERDICT_DONE;
    }
    if (!t->body_begun) { /* an empty body */
        kernels_status begun = begin_body(t, error);
        if (begun != KERNELS_OK) {
            return failed(status, begun);
        }
    }
    if (request->has_size && t->received != request->size) {
        return failed(status, kernels_fail(error, KERNELS_INTEGRITY,
                                           "Consistency check failed: %.*s should have %" PRIu64
                                           " bytes, but the server sent %" PRIu64 "; nothing was stored",
                                           SHOWN_URL(t), request->size, t->received));
    }
    return KERNELS_VERDICT_DONE;
}

/* X-HF-Warning: "topic; message", told once a topic. */
static void tell_warning(kernels_http *http, kernels_view headers) {
    kernels_view warning = kernels_headers_find(headers, "X-HF-Warning");
    if (warning.size == 0 || !http->options.log || http->warning_topic_count == KERNELS_HTTP_WARNING_TOPICS) {
        return;
    }
    size_t semicolon = kernels_view_find(warning, ';');
    kernels_view topic = kernels_view_slice(warning, 0, semicolon);
    for (size_t i = 0; i < http->warning_topic_count; i++) {
        if (kernels_view_equal_text(topic, http->warning_topics[i])) {
            return;
        }
    }
    char *kept = kernels_strndup(topic.data, topic.size);
    if (!kept) {
        return;
    }
    http->warning_topics[http->warning_topic_count] = kept;
    http->warning_topic_count++;
    char message[KERNELS_PRINTABLE_SIZE];
    kernels_printable(message, kernels_view_trim_ascii(kernels_view_slice(
                                   warning, semicolon == SIZE_MAX ? 0 : semicolon + 1, warning.size)));
    http->options.log(http->options.payload, KERNELS_LOG_WARNING, message);
}

static kernels_verdict judge_refusal(kernels_transfer *t, kernels_status *status, kernels_error *error) {
    const kernels_http_request *request = t->request;
    unsigned code = t->response.status;
    kernels_view headers = kernels_buffer_view(&t->response.headers);
    uint64_t wait_ms;
    if (code == 416 && t->received > 0) {
        kernels_status restarted = restart_sink(t, error);
        if (restarted != KERNELS_OK) {
            return failed(status, restarted);
        }
        if (kernels_retry_next(&t->retry, 0, headers, &wait_ms)) {
            return try_again(t, 0, status, error);
        }
    }
    if (request->repeatable && kernels_retry_status(code) && kernels_retry_next(&t->retry, code, headers, &wait_ms)) {
        return try_again(t, wait_ms, status, error);
    }
    return failed(status, kernels_answer_fail(error, kernels_http_method_name(request->method), t->url, code, headers,
                                              kernels_buffer_view(&t->response.body)));
}

kernels_verdict kernels_transfer_judge(kernels_transfer *transfer, CURLcode code, kernels_status *status,
                                       kernels_error *error) {
    kernels_transfer_stop(transfer);
    if (transfer->failure != KERNELS_OK) {
        kernels_error_move(error, &transfer->failure_error);
        return failed(status, transfer->failure);
    }
    if (code != CURLE_OK && !transfer->is_complete) {
        return judge_connection(transfer, code, status, error);
    }
    tell_warning(transfer->http, kernels_buffer_view(&transfer->response.headers));
    if (is_redirect(transfer)) {
        return judge_redirect(transfer, status, error);
    }
    return is_success(transfer->response.status) ? judge_success(transfer, status, error)
                                                 : judge_refusal(transfer, status, error);
}
