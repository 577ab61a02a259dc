/* SPDX-License-Identifier: Apache-2.0 */
#include "server/response.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/view.h"

#define TEXT_LIMIT ((size_t)256 * 1024 * 1024)

void kernels_response_init(kernels_response *response, kernels_arena *arena) {
    *response = (kernels_response){.status = 200,
                                   .arena = arena,
                                   .text = KERNELS_BUFFER_INIT(TEXT_LIMIT),
                                   .descriptor = -1,
                                   .send_at_most = UINT64_MAX,
                                   .announced_size = UINT64_MAX};
}

static void drop_body(kernels_response *response) {
    kernels_buffer_dispose(&response->text);
    response->text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
    if (response->descriptor >= 0) {
        close(response->descriptor);
        response->descriptor = -1;
    }
    if (response->close != NULL) {
        response->close(response->stream);
        response->close = NULL;
    }
    response->body_type = KERNELS_BODY_TEXT;
    response->size = 0;
}

void kernels_response_dispose(kernels_response *response) { drop_body(response); }

static void remove_header(kernels_response *response, const char *name) {
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcasecmp(response->headers[i].name, name) == 0) {
            response->headers[i] = response->headers[--response->header_count];
            return;
        }
    }
}

/* The value itself, or a copy without what could end or garble a header. */
static const char *clean_value(kernels_arena *arena, const char *value) {
    const char *bad = value;
    while (*bad >= ' ' && *bad <= '~') {
        bad++;
    }
    if (*bad == '\0') {
        return value;
    }
    char *copy = kernels_arena_copy_text(arena, kernels_view_of(value));
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            *c = *c == '\n' ? ' ' : '?';
        }
    }
    return copy;
}

void kernels_response_set_header(kernels_response *response, const char *name, const char *value) {
    remove_header(response, name);
    const char *clean = value != NULL ? clean_value(response->arena, value) : NULL;
    if (clean != NULL && response->header_count < KERNELS_RESPONSE_HEADERS_LIMIT) {
        response->headers[response->header_count++] = (kernels_response_header){name, clean};
    }
}

uint64_t kernels_response_size(const kernels_response *response) {
    return response->body_type == KERNELS_BODY_TEXT ? response->text.size : response->size;
}

/* ---- failures ---- */

static const struct {
    kernels_status status;
    unsigned http_status;
    const char *code; /* X-Error-Code, or NULL */
} failures[] = {
    {KERNELS_BAD_REQUEST, 400, NULL},
    {KERNELS_INVALID_ARGUMENT, 400, NULL},
    {KERNELS_SYNTAX, 400, NULL},
    {KERNELS_SCHEMA, 400, NULL},
    {KERNELS_UNSAFE_NAME, 400, NULL},
    {KERNELS_NOT_UTF8, 400, NULL},
    {KERNELS_INTEGRITY, 400, NULL},
    {KERNELS_AUTHENTICATION, 401, NULL},
    {KERNELS_FORBIDDEN, 403, NULL},
    {KERNELS_NOT_FOUND, 404, NULL},
    {KERNELS_REPOSITORY_NOT_FOUND, 404, "RepoNotFound"},
    {KERNELS_REVISION_NOT_FOUND, 404, "RevisionNotFound"},
    {KERNELS_ENTRY_NOT_FOUND, 404, "EntryNotFound"},
    {KERNELS_ALREADY_EXISTS, 409, NULL},
    {KERNELS_CONFLICT, 409, NULL},
    {KERNELS_LIMIT, 413, NULL},
    {KERNELS_OUT_OF_RANGE, 416, NULL},
    {KERNELS_NO_MEMORY, 503, NULL},
    {KERNELS_INTERRUPTED, 503, NULL},
    {KERNELS_NO_SPACE, 507, NULL},
};

static void write_error_text(kernels_response *response, const char *message) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, &response->text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "error", message);
    kernels_json_end_object(&json);
}

void kernels_response_fail(kernels_response *response, const kernels_error *error) {
    const char *message = kernels_error_message(error);
    const char *code = NULL;
    drop_body(response);
    response->status = 500;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        if (failures[i].status == error->status) {
            response->status = failures[i].http_status;
            code = failures[i].code;
        }
    }
    if (error->http_status != 0) {
        response->status = (unsigned)error->http_status;
    }
    write_error_text(response, message);
    kernels_response_set_header(response, "Content-Type", "application/json; charset=utf-8");
    kernels_view shown = kernels_view_slice(kernels_view_of(message), 0, KERNELS_ERROR_HEADER_LIMIT);
    kernels_response_set_header(response, "X-Error-Message", kernels_arena_copy_text(response->arena, shown));
    if (code != NULL) {
        kernels_response_set_header(response, "X-Error-Code", code);
    }
}
