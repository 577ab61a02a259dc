/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of large files on its way to the store, several requests at a time. Each object goes through the same
 * steps: its parts (or the whole), then with parts the list of them, then its verification if the Hub wants one.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/headers.h"
#include "hub/lfs.h"
#include "hub/repo_url.h"
#include "hub/url.h"

#define ANSWER_LIMIT ((size_t)1024 * 1024)
#define PART_LIMIT ((uint64_t)10000)
#define HEADER_COUNT_LIMIT 32
/* A store may take its time to assemble and check what it received. */
#define IDLE_SECONDS 120

typedef enum step { STEP_CONTENT, STEP_LIST, STEP_VERIFY, STEP_END } step;

typedef struct transfer {
    const kernels_upload_file *file;
    const kernels_node *action, *verification;
    step step;
    uint64_t chunk;         /* bytes of a part; 0 = in one piece */
    uint64_t parts;         /* requests that carry the content */
    uint64_t begun, landed; /* of them */
    bool waiting;           /* for the answer to the list or the verification */
    char **etags;           /* of the parts */
} transfer;

typedef struct sending {
    const kernels_upload *upload;
    transfer *transfers;
    size_t count;
    size_t in_flight;
} sending;

/* One request. */
typedef struct job {
    transfer *transfer;
    uint64_t part; /* from 1; 0 = no part */
    char *url;
    kernels_body *body;
    char *headers[HEADER_COUNT_LIMIT + 1];
    kernels_http_request request;
} job;

/* ---- addresses in the answer ---- */

/* The href of an action, on the custom endpoint where the Hub wrote its public one. Heap text. */
static kernels_status read_href(const kernels_upload *upload, kernels_view href, char **url, kernels_error *error) {
    const char *endpoint = upload->hub->config.endpoint;
    kernels_view public_start = KERNELS_VIEW(KERNELS_HUB_PUBLIC_ENDPOINT "/");
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    if (kernels_view_starts_with(href, public_start)) {
        kernels_buffer_printf(&text, "%s/", endpoint);
        href = kernels_view_slice(href, public_start.size, href.size);
    }
    kernels_buffer_add_view(&text, href);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    kernels_url to, hub;
    kernels_status status = kernels_url_parse(kernels_buffer_view(&text), &to, error);
    if (status != KERNELS_OK) {
        return kernels_wrap(error, status, "the Hub names an unusable address for the upload");
    }
    KERNELS_TRY(kernels_url_parse(kernels_view_of(endpoint), &hub, error));
    if (hub.secure && !to.secure) {
        return kernels_fail(error, KERNELS_HTTP, "the Hub asks to upload without encryption, which is refused");
    }
    *url = kernels_buffer_take(&text);
    return *url ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status action_href(const kernels_upload *upload, const kernels_node *action, char **url,
                                  kernels_error *error) {
    kernels_view href;
    KERNELS_TRY(kernels_hub_text_member(action, "href", "the Hub's answer about a large file", &href, error));
    return read_href(upload, href, url, error);
}

/* ---- what a request holds ---- */

static void add_content(kernels_body *body, const kernels_upload_file *file, uint64_t offset, uint64_t size) {
    const kernels_operation *operation = file->operation;
    if (operation->local_path) {
        kernels_body_add_file(body, operation->local_path, offset, size);
    } else {
        kernels_body_add_text(body, (kernels_view){operation->content.data + offset, (size_t)size});
    }
}

static bool is_header_safe(kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f) {
            return false;
        }
    }
    return text.size > 0;
}

/* "Name: value" lines that the store wants to see; heap array with heap texts, NULL-terminated. */
static kernels_status read_headers(const kernels_node *action, char *headers[HEADER_COUNT_LIMIT + 1],
                                   kernels_error *error) {
    const kernels_node *node = kernels_node_find(action, "header");
    size_t count = 0;
    for (size_t i = 0; kernels_node_is(node, KERNELS_NODE_OBJECT) && i < node->count; i++) {
        kernels_view name = node->as.members[i].key;
        kernels_view value = kernels_node_text(node->as.members[i].value);
        if (count == HEADER_COUNT_LIMIT || !is_header_safe(name) || !is_header_safe(value) ||
            kernels_view_find(name, ':') != SIZE_MAX) {
            return kernels_fail(error, KERNELS_HTTP, "the Hub asks for a header field that cannot be sent");
        }
        kernels_buffer line = KERNELS_BUFFER_INIT(KERNELS_HEADER_LIMIT);
        kernels_buffer_printf(&line, "%.*s: %.*s", KERNELS_VIEW_ARGS(name), KERNELS_VIEW_ARGS(value));
        headers[count] = kernels_buffer_take(&line);
        if (!headers[count]) {
            return kernels_fail_no_memory(error);
        }
        count++;
    }
    return KERNELS_OK;
}

/* Address of part `number`: the header member of that name. */
static kernels_status part_url(const kernels_upload *upload, const kernels_node *header, uint64_t number, char **url,
                               kernels_error *error) {
    char key[24];
    snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
    kernels_view href = kernels_node_text(kernels_node_find(header, key));
    /* Some stores write the numbers with leading zeros. */
    for (size_t i = 0; href.size == 0 && i < header->count; i++) {
        uint64_t value;
        if (kernels_view_to_u64(header->as.members[i].key, &value) && value == number) {
            href = kernels_node_text(header->as.members[i].value);
        }
    }
    if (href.size == 0) {
        return kernels_fail(error, KERNELS_SCHEMA, "the Hub names no address for part %s of a large file", key);
    }
    return read_href(upload, href, url, error);
}

static size_t count_parts(const kernels_node *header) {
    size_t count = 0;
    for (size_t i = 0; i < header->count; i++) {
        uint64_t number;
        count += kernels_view_to_u64(header->as.members[i].key, &number);
    }
    return count;
}

static void free_job(job *j) {
    for (size_t i = 0; j->headers[i]; i++) {
        kernels_free(j->headers[i]);
    }
    kernels_body_free(j->body);
    kernels_free(j->url);
    kernels_free(j);
}

static kernels_status fill_content(const sending *s, job *j, kernels_error *error) {
    const transfer *t = j->transfer;
    uint64_t offset = j->part > 0 ? (j->part - 1) * t->chunk : 0;
    uint64_t left = t->file->size - offset;
    add_content(j->body, t->file, offset, j->part > 0 && left > t->chunk ? t->chunk : left);
    j->request.method = KERNELS_HTTP_PUT;
    j->request.anonymous = true;
    if (j->part > 0) {
        return part_url(s->upload, kernels_node_find(t->action, "header"), j->part, &j->url, error);
    }
    j->request.headers = (const char *const *)j->headers;
    KERNELS_TRY(read_headers(t->action, j->headers, error));
    return action_href(s->upload, t->action, &j->url, error);
}

static void write_parts(kernels_json_writer *json, const transfer *t) {
    kernels_json_key(json, "parts");
    kernels_json_begin_array(json);
    for (uint64_t i = 0; i < t->parts; i++) {
        kernels_json_begin_object(json);
        kernels_json_member_unsigned(json, "partNumber", i + 1);
        kernels_json_member_text(json, "etag", t->etags[i]);
        kernels_json_end_object(json);
    }
    kernels_json_end_array(json);
}

/* {"oid", "parts"} for the store, or {"oid", "size"} for the Hub. */
static kernels_status fill_statement(const sending *s, job *j, kernels_error *error) {
    const transfer *t = j->transfer;
    bool verifies = t->step == STEP_VERIFY;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(ANSWER_LIMIT);
    kernels_json_writer json;
    kernels_json_writer_init(&json, &text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "oid", t->file->sha256);
    if (verifies) {
        kernels_json_member_unsigned(&json, "size", t->file->size);
    } else {
        write_parts(&json, t);
    }
    kernels_json_end_object(&json);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    kernels_body_add_text(j->body, kernels_buffer_view(&text));
    j->request.method = KERNELS_HTTP_POST;
    j->request.content_type = verifies ? "application/json" : KERNELS_LFS_TYPE;
    j->request.accept = verifies ? NULL : KERNELS_LFS_TYPE;
    j->request.anonymous = !verifies;
    return action_href(s->upload, verifies ? t->verification : t->action, &j->url, error);
}

static kernels_status make_job(const sending *s, transfer *t, job **made, kernels_error *error) {
    job *j = kernels_calloc(1, sizeof(*j));
    if (!j) {
        return kernels_fail_no_memory(error);
    }
    j->transfer = t;
    j->part = t->step == STEP_CONTENT && t->chunk > 0 ? t->begun + 1 : 0;
    j->body = kernels_body_new();
    kernels_status status = !j->body                  ? kernels_fail_no_memory(error)
                            : t->step == STEP_CONTENT ? fill_content(s, j, error)
                                                      : fill_statement(s, j, error);
    if (status == KERNELS_OK) {
        status = kernels_body_status(j->body, error);
    }
    if (status != KERNELS_OK) {
        free_job(j);
        return kernels_wrap(error, status, "cannot upload %s", t->file->operation->path);
    }
    j->request.url = j->url;
    j->request.body = j->body;
    j->request.repeatable = true;
    j->request.idle_seconds = IDLE_SECONDS;
    j->request.owner = j;
    *made = j;
    return KERNELS_OK;
}

/* ---- the source of requests ---- */

static bool is_ready(const transfer *t) {
    return t->step == STEP_CONTENT ? t->begun < t->parts : t->step != STEP_END && !t->waiting;
}

static kernels_status next_job(void *payload, kernels_http_next *what, const kernels_http_request **request,
                               kernels_error *error) {
    sending *s = payload;
    *what = s->in_flight > 0 ? KERNELS_HTTP_NEXT_LATER : KERNELS_HTTP_NEXT_END;
    for (size_t i = 0; i < s->count; i++) {
        transfer *t = &s->transfers[i];
        job *j = NULL;
        if (!is_ready(t)) {
            continue;
        }
        KERNELS_TRY(make_job(s, t, &j, error));
        t->begun += t->step == STEP_CONTENT;
        t->waiting = t->step != STEP_CONTENT;
        s->in_flight++;
        *what = KERNELS_HTTP_NEXT_REQUEST;
        *request = &j->request;
        return KERNELS_OK;
    }
    return KERNELS_OK;
}

static kernels_status keep_etag(const job *j, const kernels_http_response *response, kernels_error *error) {
    kernels_view value = kernels_headers_find(kernels_buffer_view(&response->headers), "ETag");
    if (value.size == 0) {
        return kernels_fail(error, KERNELS_HTTP, "the store gave no ETag for an uploaded part");
    }
    char **etag = &j->transfer->etags[j->part - 1];
    *etag = kernels_strndup(value.data, value.size);
    return *etag ? KERNELS_OK : kernels_fail_no_memory(error);
}

static void advance(const sending *s, transfer *t) {
    t->waiting = false;
    if (t->step == STEP_CONTENT) {
        t->landed++;
        if (t->landed < t->parts) {
            return;
        }
        t->step = t->chunk > 0 ? STEP_LIST : STEP_VERIFY;
    } else {
        t->step = t->step == STEP_LIST ? STEP_VERIFY : STEP_END;
    }
    if (t->step == STEP_VERIFY && !kernels_node_is(t->verification, KERNELS_NODE_OBJECT)) {
        t->step = STEP_END;
    }
    if (t->step == STEP_END) {
        kernels_upload_report(s->upload, t->file);
    }
}

static kernels_status job_done(void *payload, const kernels_http_request *request, kernels_http_response *response,
                               kernels_status status, kernels_error *error) {
    sending *s = payload;
    job *j = request->owner;
    transfer *t = j->transfer;
    s->in_flight--;
    if (status == KERNELS_OK && j->part > 0) {
        status = keep_etag(j, response, error);
    }
    free_job(j);
    if (status == KERNELS_OK) {
        advance(s, t);
        return KERNELS_OK;
    }
    return kernels_wrap(error, status, "cannot upload %s", t->file->operation->path);
}

/* ---- the whole ---- */

static kernels_status read_chunk_size(transfer *t, kernels_error *error) {
    const kernels_node *header = kernels_node_find(t->action, "header");
    const kernels_node *size = kernels_node_find(header, "chunk_size");
    t->parts = 1;
    if (!size) {
        return KERNELS_OK;
    }
    if (!kernels_view_to_u64(kernels_node_text(size), &t->chunk)) {
        t->chunk = size->type == KERNELS_NODE_UNSIGNED ? size->as.unsigned_value : 0;
    }
    t->parts = t->chunk > 0 ? (t->file->size - 1) / t->chunk + 1 : 0;
    if (t->parts == 0 || t->parts > PART_LIMIT || count_parts(header) != t->parts) {
        return kernels_fail(error, KERNELS_SCHEMA,
                            "the Hub wants %s in %zu parts, which does not fit its part size and the file's size",
                            t->file->operation->path, count_parts(header));
    }
    t->etags = kernels_calloc(t->parts, sizeof(*t->etags));
    return t->etags ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status begin_transfer(sending *s, const kernels_lfs_object *object, kernels_error *error) {
    const kernels_node *action = kernels_node_find(object->actions, "upload");
    if (!kernels_node_is(action, KERNELS_NODE_OBJECT)) {
        kernels_upload_report(s->upload, object->file); /* it is there already */
        return KERNELS_OK;
    }
    transfer *t = &s->transfers[s->count];
    s->count++;
    *t = (transfer){.file = object->file, .action = action};
    t->verification = kernels_node_find(object->actions, "verify");
    kernels_status status = read_chunk_size(t, error);
    return status == KERNELS_OK ? status
                                : kernels_wrap(error, status, "cannot upload %s", object->file->operation->path);
}

static void free_transfers(sending *s) {
    for (size_t i = 0; i < s->count; i++) {
        for (uint64_t part = 0; s->transfers[i].etags && part < s->transfers[i].parts; part++) {
            kernels_free(s->transfers[i].etags[part]);
        }
        kernels_free(s->transfers[i].etags);
    }
    kernels_free(s->transfers);
}

kernels_status kernels_lfs_send(const kernels_upload *upload, const kernels_lfs_object *objects, size_t count,
                                kernels_error *error) {
    sending s = {.upload = upload, .transfers = kernels_calloc(count + 1, sizeof(*s.transfers))};
    kernels_status status = s.transfers ? KERNELS_OK : kernels_fail_no_memory(error);
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = begin_transfer(&s, &objects[i], error);
    }
    if (status == KERNELS_OK && s.count > 0) {
        const kernels_http_source source = {next_job, job_done, &s};
        status = kernels_http_run(upload->hub->http, &source, error);
    }
    free_transfers(&s);
    return status;
}
