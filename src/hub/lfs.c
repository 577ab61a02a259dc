/* SPDX-License-Identifier: Apache-2.0 */
/* Content of large files: asks the Hub where it goes (git-lfs batch). */
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/lfs.h"
#include "hub/printable.h"
#include "hub/repo_url.h"

#define QUESTION_LIMIT ((size_t)1024 * 1024)

/* ---- the question ---- */

static void write_objects(kernels_json_writer *json, const kernels_upload_file *const *files, size_t count) {
    kernels_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        kernels_json_begin_object(json);
        kernels_json_member_text(json, "oid", files[i]->sha256);
        kernels_json_member_unsigned(json, "size", files[i]->size);
        kernels_json_end_object(json);
    }
    kernels_json_end_array(json);
}

static void write_question(kernels_buffer *out, const kernels_upload *upload, const kernels_upload_file *const *files,
                           size_t count) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, out, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_member_text(&json, "operation", "upload");
    kernels_json_key(&json, "transfers");
    kernels_json_begin_array(&json);
    kernels_json_text(&json, "basic");
    kernels_json_text(&json, "multipart");
    kernels_json_end_array(&json);
    kernels_json_key(&json, "objects");
    write_objects(&json, files, count);
    kernels_json_member_text(&json, "hash_algo", "sha256");
    if (!upload->create_pr && !kernels_view_starts_with(kernels_view_of(upload->revision), KERNELS_VIEW("refs/pr/"))) {
        kernels_json_key(&json, "ref");
        kernels_json_begin_object(&json);
        kernels_json_member_text(&json, "name", upload->revision);
        kernels_json_end_object(&json);
    }
    kernels_json_end_object(&json);
}

/* What the Hub's answer says about a file. */
static kernels_status find_object(const kernels_upload_file *file, const kernels_node *objects,
                                  kernels_lfs_object *found, kernels_error *error) {
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
        *found = (kernels_lfs_object){file, kernels_node_find(object, "actions")};
        return KERNELS_OK;
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
                                    .content_type = KERNELS_LFS_TYPE,
                                    .accept = KERNELS_LFS_TYPE,
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
    kernels_lfs_object found[KERNELS_UPLOAD_GROUP];
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = find_object(files[i], objects, &found[i], error);
    }
    if (status == KERNELS_OK) {
        status = kernels_lfs_send(upload, found, count, error);
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
