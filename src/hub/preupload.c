/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/repo_url.h"
#include "hub/upload.h"
#include "hub/url.h"

/* Beginning of a file by which the Hub tells text from binary. */
#define SAMPLE_SIZE ((size_t)512)
#define QUESTION_LIMIT ((size_t)4 * 1024 * 1024)

static kernels_status add_sample(kernels_buffer *out, const kernels_operation *operation, kernels_error *error) {
    if (!operation->local_path) {
        kernels_view sample = kernels_view_slice(operation->content, 0, SAMPLE_SIZE);
        kernels_encode_base64(out, sample.data, sample.size);
        return KERNELS_OK;
    }
    char sample[SAMPLE_SIZE];
    FILE *file = fopen(operation->local_path, "rb");
    if (!file) {
        return kernels_fail_errno(error, errno, "cannot read %s for the upload", operation->local_path);
    }
    size_t size = fread(sample, 1, sizeof(sample), file);
    fclose(file);
    kernels_encode_base64(out, sample, size);
    return KERNELS_OK;
}

static kernels_status write_question(kernels_buffer *out, const kernels_upload_file *files, size_t count,
                                     kernels_error *error) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, out, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "files");
    kernels_json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer sample = KERNELS_BUFFER_INIT(2 * SAMPLE_SIZE);
        KERNELS_TRY(add_sample(&sample, files[i].operation, error));
        kernels_json_begin_object(&json);
        kernels_json_member_text(&json, "path", files[i].operation->path);
        kernels_json_member_view(&json, "sample", kernels_buffer_view(&sample));
        kernels_json_member_unsigned(&json, "size", files[i].size);
        kernels_json_end_object(&json);
    }
    kernels_json_end_array(&json);
    kernels_json_end_object(&json);
    return kernels_buffer_status(out, error);
}

/* The answer keeps the order, so the place of the file is looked at first. */
static const kernels_node *find_answer(const kernels_node *answers, size_t index, const char *path) {
    for (size_t i = 0; i < answers->count; i++) {
        const kernels_node *answer = answers->as.items[(index + i) % answers->count];
        if (kernels_view_equal_text(kernels_node_text(kernels_node_find(answer, "path")), path)) {
            return answer;
        }
    }
    return NULL;
}

static kernels_status judge_file(kernels_upload *upload, kernels_upload_file *file, const kernels_node *answer,
                                 kernels_error *error) {
    kernels_view mode = kernels_node_text(kernels_node_find(answer, "uploadMode"));
    bool is_large = kernels_view_equal_text(mode, "lfs");
    if (!is_large && !kernels_view_equal_text(mode, "regular")) {
        return kernels_fail(error, KERNELS_SCHEMA, "the Hub's answer says not how to upload %s", file->operation->path);
    }
    const kernels_node *ignore = kernels_node_find(answer, "shouldIgnore");
    if (kernels_node_is(ignore, KERNELS_NODE_BOOLEAN) && ignore->as.boolean) {
        kernels_hub_log(upload->hub, KERNELS_LOG_WARNING, "%s is ignored by the repository's .gitignore",
                        file->operation->path);
        file->dropped = true;
        return KERNELS_OK;
    }
    file->is_large = is_large && file->size > 0;
    if (file->is_large) {
        KERNELS_TRY(kernels_upload_hash(file, KERNELS_HASH_SHA256, file->sha256, error));
    }
    kernels_view there = kernels_node_text(kernels_node_find(answer, "oid"));
    if (there.size > 0) {
        char hex[65];
        KERNELS_TRY(
            kernels_upload_hash(file, file->is_large ? KERNELS_HASH_SHA256 : KERNELS_HASH_GIT_BLOB, hex, error));
        file->dropped = kernels_view_equal_text(there, hex);
        upload->unchanged += file->dropped;
    }
    return KERNELS_OK;
}

static kernels_status ask(kernels_upload *upload, kernels_upload_file *files, size_t count, const char *url,
                          kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer question = KERNELS_BUFFER_INIT(QUESTION_LIMIT);
    KERNELS_TRY(write_question(&question, files, count, error));
    kernels_document document;
    KERNELS_TRY(kernels_hub_post_json(upload->hub, url, kernels_buffer_view(&question), true, &document, error));
    const kernels_node *answers = kernels_node_find(document.root, "files");
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        const kernels_node *answer =
            kernels_node_is(answers, KERNELS_NODE_ARRAY) ? find_answer(answers, i, files[i].operation->path) : NULL;
        status = answer ? judge_file(upload, &files[i], answer, error)
                        : kernels_fail(error, KERNELS_SCHEMA, "%s: the answer says nothing about %s", url,
                                       files[i].operation->path);
    }
    kernels_document_dispose(&document);
    return status;
}

kernels_status kernels_preupload(kernels_upload *upload, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *base = kernels_repo_api_url(upload->hub->config.endpoint, upload->type, upload->repo_id,
                                                           "preupload", upload->revision);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&url, "%s%s", base ? base : "", upload->create_pr ? "?create_pr=1" : "");
    KERNELS_TRY(base ? kernels_buffer_status(&url, error) : kernels_fail_no_memory(error));
    for (size_t i = 0; i < upload->count; i += KERNELS_UPLOAD_GROUP) {
        size_t left = upload->count - i;
        KERNELS_TRY(ask(upload, upload->files + i, left < KERNELS_UPLOAD_GROUP ? left : KERNELS_UPLOAD_GROUP,
                        kernels_buffer_text(&url), error));
    }
    return KERNELS_OK;
}
