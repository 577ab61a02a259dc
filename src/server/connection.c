/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/view.h"

/* A refused request's body up to this size is still read, since most clients look at the answer only behind it. */
#define DRAIN_LIMIT (UINT64_C(64) * 1024 * 1024)
/* A sender slower than this on average is cut off after the time limit. */
#define SLOW_BYTES_PER_SECOND 1024
#define STREAM_BLOCK (128 * 1024)
#define DELAY_STEP_MS 50

typedef struct exchange {
    kernels_request *request;
    uint64_t started; /* clock */
    bool has_begun;   /* the headers were read */
    unsigned status;  /* of the answer; 0 = none was sent */
    uint64_t answer_size;
} exchange;

/* ---- sending ---- */

/* A response whose body the library asks for piece by piece. */
typedef struct sender {
    kernels_response response;
    uint64_t position;
} sender;

static ssize_t send_piece(void *cls, uint64_t position, char *buffer, size_t size) {
    sender *s = cls;
    kernels_response *response = &s->response;
    size_t got = 0;
    (void)position; /* the library asks from front to back */
    if (size > response->send_at_most - s->position) {
        size = (size_t)(response->send_at_most - s->position);
    }
    if (response->body_type == KERNELS_BODY_TEXT) {
        size_t left = response->text.size - (size_t)s->position;
        got = left < size ? left : size;
        memcpy(buffer, kernels_buffer_text(&response->text) + s->position, got);
    } else if (size == 0 || response->read == NULL ||
               response->read(response->stream, buffer, size, &got) != KERNELS_OK) {
        got = 0;
    }
    s->position += got;
    return got > 0 ? (ssize_t)got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_sender(void *cls) {
    sender *s = cls;
    kernels_response_dispose(&s->response);
    kernels_free(s);
}

/* Files read through the sender, when a fault keeps the library from sending them itself. */
static kernels_status read_file(void *stream, void *data, size_t size, size_t *got) {
    kernels_response *response = stream;
    ssize_t count = pread(response->descriptor, data, size, (off_t)response->offset);
    *got = count > 0 ? (size_t)count : 0;
    response->offset += *got;
    return count >= 0 ? KERNELS_OK : KERNELS_IO;
}

static struct MHD_Response *make_sender(kernels_response *response) {
    sender *s = kernels_calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->response = *response;
    if (response->body_type == KERNELS_BODY_FILE) {
        s->response.read = read_file;
        s->response.stream = &s->response;
    }
    uint64_t size = response->announced_size != UINT64_MAX ? response->announced_size : kernels_response_size(response);
    struct MHD_Response *made = MHD_create_response_from_callback(size, STREAM_BLOCK, send_piece, s, free_sender);
    if (made == NULL) {
        kernels_free(s);
        return NULL;
    }
    kernels_response_init(response, response->arena); /* its body belongs to the sender now */
    return made;
}

static struct MHD_Response *make_text(kernels_response *response) {
    size_t size = response->text.size;
    char *text = kernels_buffer_take(&response->text);
    struct MHD_Response *made = size > 0 ? MHD_create_response_from_buffer_with_free_callback(size, text, kernels_free)
                                         : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (made == NULL || size == 0) {
        kernels_free(text);
    }
    return made;
}

static struct MHD_Response *make_file(kernels_response *response) {
    struct MHD_Response *made =
        MHD_create_response_from_fd_at_offset64(response->size, response->descriptor, response->offset);
    if (made != NULL) {
        response->descriptor = -1; /* the library closes it */
    }
    return made;
}

static struct MHD_Response *make_response(kernels_response *response) {
    bool is_altered = response->send_at_most != UINT64_MAX || response->announced_size != UINT64_MAX;
    if (!is_altered && response->body_type == KERNELS_BODY_TEXT) {
        return make_text(response);
    }
    if (!is_altered && response->body_type == KERNELS_BODY_FILE) {
        return make_file(response);
    }
    return make_sender(response);
}

static void wait_for_fault(const kernels_transport *transport, unsigned delay_ms) {
    for (unsigned waited = 0; waited < delay_ms && !atomic_load(&transport->stopping); waited += DELAY_STEP_MS) {
        unsigned left = delay_ms - waited;
        kernels_clock_sleep_ms(left < DELAY_STEP_MS ? left : DELAY_STEP_MS);
    }
}

static enum MHD_Result send_response(const kernels_transport *transport, struct MHD_Connection *connection, exchange *x,
                                     kernels_response *response) {
    x->status = response->status;
    x->answer_size = kernels_response_size(response);
    kernels_response headers = *response; /* their texts live in the request's arena */
    struct MHD_Response *made = make_response(response);
    if (made == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < headers.header_count; i++) {
        MHD_add_response_header(made, headers.headers[i].name, headers.headers[i].value);
    }
    if (atomic_load(&transport->stopping)) {
        MHD_add_response_header(made, "Connection", "close");
    }
    enum MHD_Result result = MHD_queue_response(connection, headers.status, made);
    MHD_destroy_response(made);
    return result;
}

static enum MHD_Result answer(const kernels_transport *transport, struct MHD_Connection *connection, exchange *x) {
    kernels_response response;
    enum MHD_Result result = MHD_NO;
    kernels_response_init(&response, x->request->arena);
    /* work and waiting are not idleness of the client */
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    kernels_request_answer(x->request, &response);
    wait_for_fault(transport, response.delay_ms);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, transport->service->timeout);
    if (!response.drop) {
        result = send_response(transport, connection, x, &response);
    }
    kernels_response_dispose(&response);
    return result;
}

/* ---- time ---- */

/* The next head of a request on this connection must be complete in that many seconds; 0: there is one. */
static void expect_head(const kernels_transport *transport, struct MHD_Connection *connection, unsigned seconds) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info != NULL) {
        kernels_watch_set(transport->watch, info->socket_context, seconds);
    }
}

void kernels_connection_notify(void *cls, struct MHD_Connection *connection, void **state,
                               enum MHD_ConnectionNotificationCode code) {
    kernels_transport *transport = cls;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        kernels_watch_remove(transport->watch, *state);
        *state = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *state = info != NULL ? kernels_watch_add(transport->watch, info->connect_fd) : NULL;
    kernels_watch_set(transport->watch, *state, transport->service->timeout);
}

/* ---- receiving ---- */

static const char *header(const exchange *x, struct MHD_Connection *connection, const char *name) {
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value != NULL ? kernels_arena_copy_text(x->request->arena, kernels_view_of(value)) : NULL;
}

static enum MHD_Result begin(const kernels_transport *transport, struct MHD_Connection *connection, const char *method,
                             exchange *x) {
    kernels_request_headers headers = {
        .authorization = header(x, connection, "Authorization"),
        .host = header(x, connection, "Host"),
        .range = header(x, connection, "Range"),
        .origin = header(x, connection, "Origin"),
        .content_encoding = header(x, connection, "Content-Encoding"),
        .content_type = header(x, connection, "Content-Type"),
    };
    headers.has_length =
        kernels_view_to_u64(kernels_view_of(header(x, connection, "Content-Length")), &headers.content_length);
    x->has_begun = true;
    expect_head(transport, connection, 0);
    if (kernels_request_begin(x->request, method, &headers)) {
        return MHD_YES;
    }
    bool waits_for_us = header(x, connection, "Expect") != NULL;
    bool too_long = headers.has_length && headers.content_length > DRAIN_LIMIT;
    return waits_for_us || too_long ? answer(transport, connection, x) : MHD_YES;
}

static bool is_too_slow(const exchange *x) {
    uint64_t seconds = (kernels_clock_nanoseconds() - x->started) / 1000000000u;
    return seconds > x->request->service->timeout && x->request->received / seconds < SLOW_BYTES_PER_SECOND;
}

static enum MHD_Result receive(exchange *x, const char *data, size_t *size) {
    bool has_failed = x->request->error.status != KERNELS_OK;
    if ((has_failed && x->request->received > DRAIN_LIMIT) || is_too_slow(x)) {
        return MHD_NO;
    }
    kernels_request_receive(x->request, data, *size);
    *size = 0;
    return MHD_YES;
}

void *kernels_connection_first_line(void *cls, const char *target, struct MHD_Connection *connection) {
    kernels_transport *transport = cls;
    exchange *x = kernels_calloc(1, sizeof *x);
    if (x == NULL) {
        return NULL;
    }
    expect_head(transport, connection, transport->service->timeout);
    x->started = kernels_clock_nanoseconds();
    x->request = kernels_request_new(transport->service, target);
    if (x->request == NULL) {
        kernels_free(x);
        return NULL;
    }
    atomic_fetch_add(&transport->running, 1);
    return x;
}

enum MHD_Result kernels_connection_handle(void *cls, struct MHD_Connection *connection, const char *url,
                                          const char *method, const char *version, const char *data, size_t *size,
                                          void **state) {
    const kernels_transport *transport = cls;
    exchange *x = *state;
    (void)url; /* decoded too early: "%2F" and "/" are not told apart */
    (void)version;
    if (x == NULL) {
        return MHD_NO; /* out of memory at the first line */
    }
    if (!x->has_begun) {
        return begin(transport, connection, method, x);
    }
    if (*size > 0) {
        return receive(x, data, size);
    }
    return answer(transport, connection, x);
}

/* ---- the end ---- */

static void write_log_line(kernels_buffer *line, const exchange *x, bool is_complete) {
    kernels_json_writer json;
    char when[32] = "";
    struct tm parts;
    time_t now = time(NULL);
    kernels_view path = x->request->target.raw_path; /* never the query: it may hold a signature */
    if (gmtime_r(&now, &parts) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    kernels_json_writer_init(&json, line, 0, true);
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "time", when);
    kernels_json_member_text(&json, "id", x->request->id);
    kernels_json_member_text(&json, "account", x->request->account != NULL ? x->request->account->name : NULL);
    kernels_json_member_view(&json, "method", x->request->method);
    kernels_json_member_view(&json, "path", kernels_view_is_utf8(path) ? path : KERNELS_VIEW("?"));
    kernels_json_member_unsigned(&json, "status", x->status);
    kernels_json_member_unsigned(&json, "received", x->request->received);
    kernels_json_member_unsigned(&json, "bytes", x->answer_size);
    kernels_json_member_unsigned(&json, "milliseconds", (kernels_clock_nanoseconds() - x->started) / 1000000u);
    kernels_json_member_boolean(&json, "complete", is_complete);
    kernels_json_end_object(&json);
}

void kernels_connection_completed(void *cls, struct MHD_Connection *connection, void **state,
                                  enum MHD_RequestTerminationCode reason) {
    kernels_transport *transport = cls;
    exchange *x = *state;
    /* silence until the next request is the library's matter, its head is ours */
    expect_head(transport, connection, 2 * transport->service->timeout);
    if (x == NULL) {
        return;
    }
    if (transport->access_log != NULL && x->has_begun) {
        kernels_buffer line = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        write_log_line(&line, x, reason == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        transport->access_log(transport->payload, kernels_buffer_view(&line));
        kernels_buffer_dispose(&line);
    }
    kernels_request_free(x->request);
    kernels_free(x);
    *state = NULL;
    atomic_fetch_sub(&transport->running, 1);
}
