/* SPDX-License-Identifier: Apache-2.0 */
/* Content of large files: ask where it goes (git-lfs batch), send it whole or in parts, have it verified. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/headers.h"
#include "hub/printable.h"
#include "hub/repo_url.h"
#include "hub/upload.h"
#include "hub/url.h"

#define LFS_TYPE "application/vnd.git-lfs+json"
#define QUESTION_LIMIT ((size_t)1024 * 1024)
#define PART_LIMIT ((uint64_t)10000)
#define HEADER_COUNT_LIMIT 32
/* A store may take its time to assemble and check what it received. */
#define IDLE_SECONDS 120

/* ---- the question ---- */

static void write_objects(kernels_json_writer *json, const kernels_upload_file *const *files, size_t count) {
    kernels_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        kernels_json_begin_object(json);
        kernels_json_key(json, "oid");
        kernels_json_text(json, files[i]->sha256);
        kernels_json_key(json, "size");
        kernels_json_unsigned(json, files[i]->size);
        kernels_json_end_object(json);
    }
    kernels_json_end_array(json);
}

static void write_question(kernels_buffer *out, const kernels_upload *upload, const kernels_upload_file *const *files,
                           size_t count) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, out, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "operation");
    kernels_json_text(&json, "upload");
    kernels_json_key(&json, "transfers");
    kernels_json_begin_array(&json);
    kernels_json_text(&json, "basic");
    kernels_json_text(&json, "multipart");
    kernels_json_end_array(&json);
    kernels_json_key(&json, "objects");
    write_objects(&json, files, count);
    kernels_json_key(&json, "hash_algo");
    kernels_json_text(&json, "sha256");
    if (!upload->create_pr && !kernels_view_starts_with(kernels_view_of(upload->revision), KERNELS_VIEW("refs/pr/"))) {
        kernels_json_key(&json, "ref");
        kernels_json_begin_object(&json);
        kernels_json_key(&json, "name");
        kernels_json_text(&json, upload->revision);
        kernels_json_end_object(&json);
    }
    kernels_json_end_object(&json);
}

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

/* ---- sending ---- */

static void add_content(kernels_body *body, const kernels_upload_file *file, uint64_t offset, uint64_t size) {
    const kernels_operation *operation = file->operation;
    if (operation->local_path) {
        kernels_body_add_file(body, operation->local_path, offset, size);
    } else {
        kernels_body_add_text(body, (kernels_view){operation->content.data + offset, (size_t)size});
    }
}

/* Sends with a body that it takes over; etag (may be NULL) receives the answer's, heap text. */
static kernels_status send(const kernels_upload *upload, kernels_http_request *request, kernels_body *body, char **etag,
                           kernels_error *error) {
    if (!body) {
        return kernels_fail_no_memory(error);
    }
    request->body = body;
    request->repeatable = true;
    request->idle_seconds = IDLE_SECONDS;
    kernels_http_response response = {0};
    kernels_status status = kernels_body_status(body, error);
    if (status == KERNELS_OK) {
        status = kernels_http_send(upload->hub->http, request, &response, error);
    }
    if (status == KERNELS_OK && etag) {
        kernels_view value = kernels_headers_find(kernels_buffer_view(&response.headers), "ETag");
        *etag = value.size > 0 ? kernels_strndup(value.data, value.size) : NULL;
        status = *etag ? KERNELS_OK : kernels_fail(error, KERNELS_HTTP, "the store gave no ETag for an uploaded part");
    }
    kernels_http_response_dispose(&response);
    kernels_body_free(body);
    return status;
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

static kernels_status send_whole(const kernels_upload *upload, const kernels_upload_file *file,
                                 const kernels_node *action, const char *url, kernels_error *error) {
    char *headers[HEADER_COUNT_LIMIT + 1] = {NULL};
    kernels_status status = read_headers(action, headers, error);
    if (status == KERNELS_OK) {
        kernels_body *body = kernels_body_new();
        if (body) {
            add_content(body, file, 0, file->size);
        }
        kernels_http_request request = {
            .method = KERNELS_HTTP_PUT, .url = url, .headers = (const char *const *)headers, .anonymous = true};
        status = send(upload, &request, body, NULL, error);
    }
    for (size_t i = 0; headers[i]; i++) {
        kernels_free(headers[i]);
    }
    return status;
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

static kernels_status send_part(const kernels_upload *upload, const kernels_upload_file *file,
                                const kernels_node *header, uint64_t number, uint64_t chunk, kernels_json_writer *json,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *url = NULL;
    KERNELS_CLEANUP_FREE char *etag = NULL;
    KERNELS_TRY(part_url(upload, header, number, &url, error));
    uint64_t offset = (number - 1) * chunk;
    uint64_t size = file->size - offset < chunk ? file->size - offset : chunk;
    kernels_body *body = kernels_body_new();
    if (body) {
        add_content(body, file, offset, size);
    }
    kernels_http_request request = {.method = KERNELS_HTTP_PUT, .url = url, .anonymous = true};
    KERNELS_TRY(send(upload, &request, body, &etag, error));
    kernels_json_begin_object(json);
    kernels_json_key(json, "partNumber");
    kernels_json_unsigned(json, number);
    kernels_json_key(json, "etag");
    kernels_json_text(json, etag);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

static kernels_status post_text(const kernels_upload *upload, const char *url, const char *type, kernels_view text,
                                bool anonymous, kernels_error *error) {
    kernels_body *body = kernels_body_new();
    if (body) {
        kernels_body_add_text(body, text);
    }
    kernels_http_request request = {.method = KERNELS_HTTP_POST,
                                    .url = url,
                                    .content_type = type,
                                    .accept = anonymous ? LFS_TYPE : NULL,
                                    .anonymous = anonymous};
    return send(upload, &request, body, NULL, error);
}

static kernels_status send_parts(const kernels_upload *upload, const kernels_upload_file *file,
                                 const kernels_node *action, const char *url, uint64_t chunk, kernels_error *error) {
    const kernels_node *header = kernels_node_find(action, "header");
    uint64_t parts = chunk > 0 ? (file->size - 1) / chunk + 1 : 0;
    if (parts == 0 || parts > PART_LIMIT || count_parts(header) != parts) {
        return kernels_fail(error, KERNELS_SCHEMA,
                            "the Hub wants %s in %zu parts, which does not fit its part size and the file's size",
                            file->operation->path, count_parts(header));
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(QUESTION_LIMIT);
    kernels_json_writer json;
    kernels_json_writer_init(&json, &text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "oid");
    kernels_json_text(&json, file->sha256);
    kernels_json_key(&json, "parts");
    kernels_json_begin_array(&json);
    for (uint64_t number = 1; number <= parts; number++) {
        KERNELS_TRY(send_part(upload, file, header, number, chunk, &json, error));
    }
    kernels_json_end_array(&json);
    kernels_json_end_object(&json);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return post_text(upload, url, LFS_TYPE, kernels_buffer_view(&text), true, error);
}

static kernels_status verify(const kernels_upload *upload, const kernels_upload_file *file, const kernels_node *action,
                             kernels_error *error) {
    KERNELS_CLEANUP_FREE char *url = NULL;
    KERNELS_TRY(action_href(upload, action, &url, error));
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(QUESTION_LIMIT);
    kernels_json_writer json;
    kernels_json_writer_init(&json, &text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "oid");
    kernels_json_text(&json, file->sha256);
    kernels_json_key(&json, "size");
    kernels_json_unsigned(&json, file->size);
    kernels_json_end_object(&json);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return post_text(upload, url, "application/json", kernels_buffer_view(&text), false, error);
}

/* ---- one object, all objects ---- */

static kernels_status send_object(const kernels_upload *upload, const kernels_upload_file *file,
                                  const kernels_node *actions, kernels_error *error) {
    const kernels_node *action = kernels_node_find(actions, "upload");
    const kernels_node *verification = kernels_node_find(actions, "verify");
    if (!kernels_node_is(action, KERNELS_NODE_OBJECT)) {
        return KERNELS_OK; /* it is there already */
    }
    KERNELS_CLEANUP_FREE char *url = NULL;
    KERNELS_TRY(action_href(upload, action, &url, error));
    const kernels_node *chunk_size = kernels_node_find(kernels_node_find(action, "header"), "chunk_size");
    uint64_t chunk = 0;
    if (!chunk_size) {
        KERNELS_TRY(send_whole(upload, file, action, url, error));
    } else {
        if (!kernels_view_to_u64(kernels_node_text(chunk_size), &chunk)) {
            chunk = chunk_size->type == KERNELS_NODE_UNSIGNED ? chunk_size->as.unsigned_value : 0;
        }
        KERNELS_TRY(send_parts(upload, file, action, url, chunk, error));
    }
    return kernels_node_is(verification, KERNELS_NODE_OBJECT) ? verify(upload, file, verification, error) : KERNELS_OK;
}

static kernels_status send_answered(const kernels_upload *upload, const kernels_upload_file *file,
                                    const kernels_node *objects, kernels_error *error) {
    for (size_t i = 0; i < objects->count; i++) {
        const kernels_node *object = objects->as.items[i];
        if (!kernels_view_equal_text(kernels_node_text(kernels_node_find(object, "oid")), file->sha256)) {
            continue;
        }
        const kernels_node *failure = kernels_node_find(object, "error");
        if (kernels_node_is(failure, KERNELS_NODE_OBJECT)) {
            char shown[KERNELS_PRINTABLE_SIZE];
            kernels_printable(shown, kernels_node_text(kernels_node_find(failure, "message")));
            return kernels_fail(error, KERNELS_HTTP, "the Hub does not take %s: %s", file->operation->path, shown);
        }
        kernels_status status = send_object(upload, file, kernels_node_find(object, "actions"), error);
        return status == KERNELS_OK ? status : kernels_wrap(error, status, "cannot upload %s", file->operation->path);
    }
    return kernels_fail(error, KERNELS_SCHEMA, "the Hub's answer says nothing about the large file %s",
                        file->operation->path);
}

static kernels_status ask(const kernels_upload *upload, const kernels_upload_file *const *files, size_t count,
                          const char *url, kernels_document *document, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer question = KERNELS_BUFFER_INIT(QUESTION_LIMIT);
    write_question(&question, upload, files, count);
    KERNELS_TRY(kernels_buffer_status(&question, error));
    kernels_body *body = kernels_body_new();
    if (!body) {
        return kernels_fail_no_memory(error);
    }
    kernels_body_add_text(body, kernels_buffer_view(&question));
    kernels_http_request request = {.method = KERNELS_HTTP_POST,
                                    .url = url,
                                    .content_type = LFS_TYPE,
                                    .accept = LFS_TYPE,
                                    .body = body,
                                    .repeatable = true,
                                    .body_limit = KERNELS_HUB_PAGE_LIMIT};
    kernels_http_response response = {0};
    kernels_status status = kernels_body_status(body, error);
    if (status == KERNELS_OK) {
        status = kernels_http_send(upload->hub->http, &request, &response, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_json_parse(kernels_buffer_view(&response.body), url, document, error);
    }
    kernels_http_response_dispose(&response);
    kernels_body_free(body);
    return status;
}

static kernels_status send_group(const kernels_upload *upload, const kernels_upload_file *const *files, size_t count,
                                 const char *url, kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(ask(upload, files, count, url, &document, error));
    const kernels_node *objects = kernels_node_find(document.root, "objects");
    kernels_view transfer = kernels_node_text(kernels_node_find(document.root, "transfer"));
    kernels_status status = KERNELS_OK;
    if (!kernels_node_is(objects, KERNELS_NODE_ARRAY)) {
        status = kernels_fail(error, KERNELS_SCHEMA, "%s: expected a list of objects, found none", url);
    } else if (transfer.size > 0 && !kernels_view_equal_text(transfer, "basic") &&
               !kernels_view_equal_text(transfer, "multipart")) {
        status =
            kernels_fail(error, KERNELS_UNSUPPORTED, "%s: the Hub chose the transfer '%.*s', which was not offered",
                         url, KERNELS_VIEW_ARGS(transfer));
    }
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = send_answered(upload, files[i], objects, error);
        if (status == KERNELS_OK) {
            kernels_upload_report(upload, files[i]);
        }
    }
    kernels_document_dispose(&document);
    return status;
}

static bool is_listed(const kernels_upload_file *const *files, size_t count, const kernels_upload_file *file) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(files[i]->sha256, file->sha256) == 0) {
            return true;
        }
    }
    return false;
}

kernels_status kernels_lfs_upload(kernels_upload *upload, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *url = kernels_repo_lfs_url(upload->hub->config.endpoint, upload->type, upload->repo_id);
    if (!url) {
        return kernels_fail_no_memory(error);
    }
    const kernels_upload_file *group[KERNELS_UPLOAD_GROUP];
    size_t count = 0;
    for (size_t i = 0; i < upload->count; i++) {
        const kernels_upload_file *file = &upload->files[i];
        if (file->is_large && !file->dropped && !is_listed(group, count, file)) {
            group[count] = file;
            count++;
        }
        if (count == KERNELS_UPLOAD_GROUP) {
            KERNELS_TRY(send_group(upload, group, count, url, error));
            count = 0;
        }
    }
    return count > 0 ? send_group(upload, group, count, url, error) : KERNELS_OK;
}
