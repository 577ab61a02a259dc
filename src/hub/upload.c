/* SPDX-License-Identifier: Apache-2.0 */
/* Commits: what changes on a branch, in batches that the Hub takes. */
#include "hub/upload.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/printable.h"
#include "hub/repo_url.h"
#include "hub/url.h"

#define BATCH_SIZE ((size_t)1000)
#define OPERATION_LIMIT ((size_t)1000000)
#define MESSAGE_LIMIT ((size_t)8192)
/* A commit of many files takes the Hub a while, and must not be sent twice. */
#define COMMIT_IDLE_SECONDS 300

/* One kernels_hub_commit. */
typedef struct commit_job {
    kernels_hub *hub;
    kernels_repository_type type;
    const char *repo_id, *branch, *message;
    bool create_pr;
    char *pr_revision; /* refs/pr/N once it is opened */
    kernels_commit_result *result;
} commit_job;

/* ---- shared with preupload.c and lfs.c ---- */

kernels_status kernels_upload_hash(const kernels_upload_file *file, kernels_hash_algorithm algorithm, char hex[65],
                                   kernels_error *error) {
    const kernels_operation *operation = file->operation;
    kernels_digest digest;
    char text[KERNELS_DIGEST_HEX_SIZE];
    if (operation->local_path) {
        uint64_t size = 0;
        KERNELS_TRY(kernels_file_hash(operation->local_path, algorithm, &digest, &size, error));
        if (size != file->size) {
            return kernels_fail(error, KERNELS_IO, "%s changed while it was uploaded; try again",
                                operation->local_path);
        }
    } else {
        KERNELS_TRY(kernels_hash_bytes(algorithm, operation->content.data, operation->content.size, &digest, error));
    }
    kernels_digest_hex(&digest, text);
    memcpy(hex, text, 65);
    hex[2 * digest.size] = '\0';
    return KERNELS_OK;
}

void kernels_upload_report(const kernels_upload *upload, const kernels_upload_file *file) {
    const kernels_hub *hub = upload->hub;
    if (hub->progress) {
        hub->progress(hub->payload, file->operation->path, file->size, file->size);
    }
}

/* ---- the commit itself ---- */

static void begin_line(kernels_json_writer *json, kernels_buffer *out, const char *key) {
    kernels_json_writer_init(json, out, 0, false);
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "key", key);
    kernels_json_key(json, "value");
    kernels_json_begin_object(json);
}

static void end_line(kernels_json_writer *json, kernels_buffer *out) {
    kernels_json_end_object(json);
    kernels_json_end_object(json);
    kernels_buffer_add_char(out, '\n');
}

static void write_header(kernels_buffer *out, const char *message) {
    kernels_json_writer json;
    begin_line(&json, out, "header");
    kernels_json_member_text(&json, "summary", message);
    kernels_json_member_text(&json, "description", "");
    end_line(&json, out);
}

static void write_deletion(kernels_buffer *out, const char *path) {
    kernels_json_writer json;
    begin_line(&json, out, "deletedFile");
    kernels_json_member_text(&json, "path", path);
    end_line(&json, out);
}

static void write_large_file(kernels_buffer *out, const kernels_upload_file *file) {
    kernels_json_writer json;
    begin_line(&json, out, "lfsFile");
    kernels_json_member_text(&json, "path", file->operation->path);
    kernels_json_member_text(&json, "algo", "sha256");
    kernels_json_member_text(&json, "oid", file->sha256);
    kernels_json_member_unsigned(&json, "size", file->size);
    end_line(&json, out);
}

/* The content stands in the middle of the line and is encoded when the line is sent. */
static void add_regular_file(kernels_body *body, kernels_buffer *line, const kernels_upload_file *file) {
    const kernels_operation *operation = file->operation;
    kernels_json_writer json;
    begin_line(&json, line, "file");
    kernels_json_member_text(&json, "path", operation->path);
    kernels_json_member_text(&json, "encoding", "base64");
    kernels_json_key(&json, "content");
    kernels_buffer_add_char(line, '"');
    kernels_body_add_text(body, kernels_buffer_view(line));
    if (operation->local_path) {
        kernels_body_add_file_base64(body, operation->local_path, file->size);
    } else {
        kernels_body_add_base64(body, operation->content);
    }
    kernels_body_add_text(body, KERNELS_VIEW("\"}}\n"));
}

static kernels_status fill_body(kernels_body *body, const kernels_upload *upload, const kernels_operation *operations,
                                size_t count, const char *message, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer line = KERNELS_BUFFER_INIT(2 * MESSAGE_LIMIT);
    write_header(&line, message);
    KERNELS_TRY(kernels_buffer_status(&line, error));
    kernels_body_add_text(body, kernels_buffer_view(&line));
    const kernels_upload_file *file = upload->files;
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_reset(&line);
        if (operations[i].type == KERNELS_OPERATION_DELETE) {
            write_deletion(&line, operations[i].path);
            kernels_body_add_text(body, kernels_buffer_view(&line));
            continue;
        }
        if (!file->dropped && file->is_large) {
            write_large_file(&line, file);
            kernels_body_add_text(body, kernels_buffer_view(&line));
        } else if (!file->dropped) {
            add_regular_file(body, &line, file);
        }
        KERNELS_TRY(kernels_buffer_status(&line, error));
        file++;
    }
    return kernels_body_status(body, error);
}

static kernels_status find_pull_request(commit_job *job, const char *commit, uint64_t *number, kernels_error *error) {
    kernels_refs refs;
    KERNELS_TRY(kernels_hub_refs(job->hub, job->type, job->repo_id, true, &refs, error));
    kernels_view start = KERNELS_VIEW("refs/pr/");
    bool found = false;
    for (size_t i = 0; i < refs.pull_request_count && !found; i++) {
        kernels_view ref = kernels_view_of(refs.pull_requests[i].ref);
        found = strcmp(refs.pull_requests[i].commit, commit) == 0 && kernels_view_starts_with(ref, start) &&
                kernels_view_to_u64(kernels_view_slice(ref, start.size, ref.size), number);
    }
    kernels_refs_dispose(&refs);
    return found
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_HTTP, "the pull request was opened, but the Hub does not tell its number");
}

static kernels_status keep_pull_request(commit_job *job, const kernels_node *answer, const char *commit,
                                        kernels_error *error) {
    kernels_commit_result *result = job->result;
    const kernels_node *number = kernels_node_find(answer, "prNum");
    if (kernels_node_is(number, KERNELS_NODE_UNSIGNED)) {
        result->pull_request = number->as.unsigned_value;
    } else if (!kernels_view_to_u64(kernels_node_text(number), &result->pull_request)) {
        KERNELS_TRY(find_pull_request(job, commit, &result->pull_request, error));
    }
    kernels_buffer revision = KERNELS_BUFFER_INIT(64);
    kernels_buffer_printf(&revision, "refs/pr/%" PRIu64, result->pull_request);
    job->pr_revision = kernels_buffer_take(&revision);
    kernels_view url = kernels_node_text(kernels_node_find(answer, "pullRequestUrl"));
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    if (url.size > 0) {
        kernels_buffer_add_view(&text, url);
    } else {
        kernels_buffer_printf(&text, "%s/%s%s/discussions/%" PRIu64, kernels_hub_web_address(job->hub),
                              kernels_repository_type_prefix(job->type), job->repo_id, result->pull_request);
    }
    result->pull_request_url = kernels_buffer_take(&text);
    return job->pr_revision && result->pull_request_url ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_answer(commit_job *job, const kernels_upload *upload, const char *url,
                                  const kernels_http_response *response, kernels_error *error) {
    kernels_document document;
    char commit[65];
    KERNELS_TRY(kernels_json_parse(kernels_buffer_view(&response->body), url, &document, error));
    kernels_status status = kernels_hub_commit_member(document.root, "commitOid", url, commit, error);
    if (status == KERNELS_OK) {
        memcpy(job->result->commit, commit, sizeof(commit));
    }
    if (status == KERNELS_OK && upload->create_pr) {
        status = keep_pull_request(job, document.root, commit, error);
    }
    kernels_document_dispose(&document);
    return status;
}

static kernels_status send_commit(commit_job *job, const kernels_upload *upload, kernels_body *body,
                                  kernels_error *error) {
    KERNELS_CLEANUP_FREE char *base =
        kernels_repo_api_url(job->hub->config.endpoint, job->type, job->repo_id, "commit", upload->revision);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_printf(&url, "%s%s", base ? base : "", upload->create_pr ? "?create_pr=1" : "");
    KERNELS_TRY(base ? kernels_buffer_status(&url, error) : kernels_fail_no_memory(error));
    kernels_http_request request = {.method = KERNELS_HTTP_POST,
                                    .url = kernels_buffer_text(&url),
                                    .content_type = "application/x-ndjson",
                                    .body = body,
                                    .idle_seconds = COMMIT_IDLE_SECONDS};
    kernels_http_response response = {0};
    kernels_status status = kernels_http_send(job->hub->http, &request, &response, error);
    if (status == KERNELS_OK) {
        status = read_answer(job, upload, request.url, &response, error);
    }
    kernels_http_response_dispose(&response);
    return status == KERNELS_OK
               ? status
               : kernels_wrap(error, status, "cannot commit to '%s' of '%s'", upload->revision, job->repo_id);
}

/* ---- batches ---- */

static kernels_status measure(const kernels_operation *operation, uint64_t *size, kernels_error *error) {
    if (!operation->local_path) {
        *size = operation->content.size;
        return KERNELS_OK;
    }
    if (!kernels_file_is_regular(operation->local_path)) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "cannot upload %s: expected a regular file",
                            operation->local_path);
    }
    return kernels_file_size(operation->local_path, size, error);
}

static kernels_status collect_files(kernels_upload *upload, const kernels_operation *operations, size_t count,
                                    kernels_error *error) {
    upload->files = kernels_calloc(count + 1, sizeof(*upload->files));
    if (!upload->files) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        if (operations[i].type == KERNELS_OPERATION_ADD) {
            kernels_upload_file *file = &upload->files[upload->count];
            file->operation = &operations[i];
            KERNELS_TRY(measure(file->operation, &file->size, error));
            upload->count++;
        }
    }
    return KERNELS_OK;
}

static size_t count_kept(const kernels_upload *upload) {
    size_t kept = 0;
    for (size_t i = 0; i < upload->count; i++) {
        kept += !upload->files[i].dropped;
    }
    return kept;
}

static kernels_status send_batch(commit_job *job, kernels_upload *upload, const kernels_operation *operations,
                                 size_t count, const char *message, kernels_error *error) {
    KERNELS_TRY(collect_files(upload, operations, count, error));
    KERNELS_TRY(kernels_preupload(upload, error));
    size_t deleted = count - upload->count;
    size_t added = count_kept(upload);
    job->result->unchanged += upload->unchanged;
    if (added + deleted == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_lfs_upload(upload, error));
    kernels_body *body = kernels_body_new();
    if (!body) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = fill_body(body, upload, operations, count, message, error);
    if (status == KERNELS_OK) {
        status = send_commit(job, upload, body, error);
    }
    kernels_body_free(body);
    if (status == KERNELS_OK) {
        job->result->added += added;
        job->result->deleted += deleted;
        for (size_t i = 0; i < upload->count; i++) {
            if (!upload->files[i].dropped && !upload->files[i].is_large) {
                kernels_upload_report(upload, &upload->files[i]);
            }
        }
    }
    return status;
}

/* "Uploaded." -> "Uploaded (batch 2/3)."; with one batch the message as it is. */
static void write_message(kernels_buffer *out, const char *message, size_t batch, size_t batches) {
    kernels_view text = kernels_view_of(message);
    bool stop = kernels_view_ends_with(text, KERNELS_VIEW("."));
    if (batches == 1) {
        kernels_buffer_add_view(out, text);
        return;
    }
    kernels_buffer_add_view(out, kernels_view_slice(text, 0, text.size - (stop ? 1 : 0)));
    kernels_buffer_printf(out, " (batch %zu/%zu)%s", batch, batches, stop ? "." : "");
}

static kernels_status run_batches(commit_job *job, const kernels_operation *operations, size_t count,
                                  kernels_error *error) {
    size_t batches = (count + BATCH_SIZE - 1) / BATCH_SIZE;
    for (size_t batch = 0; batch < batches; batch++) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer message = KERNELS_BUFFER_INIT(MESSAGE_LIMIT);
        write_message(&message, job->message, batch + 1, batches);
        KERNELS_TRY(kernels_buffer_status(&message, error));
        size_t first = batch * BATCH_SIZE;
        size_t size = count - first < BATCH_SIZE ? count - first : BATCH_SIZE;
        kernels_upload upload = {.hub = job->hub,
                                 .type = job->type,
                                 .repo_id = job->repo_id,
                                 .revision = job->pr_revision ? job->pr_revision : job->branch,
                                 .create_pr = job->create_pr && !job->pr_revision};
        kernels_status status =
            send_batch(job, &upload, operations + first, size, kernels_buffer_text(&message), error);
        kernels_free(upload.files);
        KERNELS_TRY(status);
    }
    return KERNELS_OK;
}

static kernels_status check_operations(const kernels_operation *operations, size_t count, const char *message,
                                       kernels_error *error) {
    if (strchr(message, '\n') || message[0] == '\0') {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "a commit message is one line of text");
    }
    if (count > OPERATION_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%zu operations are more than the %zu that one upload may have",
                            count, OPERATION_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        const char *reason = kernels_repo_path_unsafe_reason(kernels_view_of(operations[i].path));
        if (reason) {
            char shown[KERNELS_PRINTABLE_SIZE];
            kernels_printable(shown, kernels_view_of(operations[i].path));
            return kernels_fail(error, KERNELS_UNSAFE_NAME, "cannot upload as '%s': %s", shown, reason);
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_hub_commit(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                  const char *branch, const kernels_operation *operations, size_t count,
                                  const char *message, bool create_pr, kernels_commit_result *result,
                                  kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, branch, error));
    KERNELS_TRY(check_operations(operations, count, message, error));
    kernels_commit_result made = {0};
    commit_job job = {.hub = hub,
                      .type = type,
                      .repo_id = repo_id,
                      .branch = branch,
                      .message = message,
                      .create_pr = create_pr,
                      .result = &made};
    kernels_status status = run_batches(&job, operations, count, error);
    kernels_free(job.pr_revision);
    if (status != KERNELS_OK) {
        kernels_commit_result_dispose(&made);
        return status;
    }
    *result = made;
    return KERNELS_OK;
}

void kernels_commit_result_dispose(kernels_commit_result *result) {
    kernels_free(result->pull_request_url);
    *result = (kernels_commit_result){0};
}
