/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of large files as they come in: whole, or in parts that are joined. The addresses are signed. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

static kernels_status copy_sha256(kernels_view name, char sha256[KERNELS_SHA256_HEX_SIZE], kernels_error *error) {
    if (!kernels_is_sha256(name)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The address names no SHA-256");
    }
    memcpy(sha256, name.data, name.size);
    sha256[name.size] = '\0';
    return KERNELS_OK;
}

static kernels_status check_length(const kernels_request *request, uint64_t size, kernels_error *error) {
    const kernels_request_headers *headers = &request->headers;
    return !headers->has_length || headers->content_length == size
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_INTEGRITY, "expected a body of %" PRIu64 " bytes, not %" PRIu64, size,
                              headers->content_length);
}

/* The address is signed, so whoever has it may write to the repository it names. */
static kernels_status open_repository(kernels_request *request, kernels_error *error) {
    return kernels_repository_open(request->service->store, request->route.type, request->route.repository,
                                   &request->repository, error);
}

static kernels_status finish_writer(kernels_request *request, char sha256[KERNELS_SHA256_HEX_SIZE],
                                    kernels_response *response, kernels_error *error) {
    kernels_lfs_writer *writer = request->state;
    request->state = NULL;
    KERNELS_TRY(kernels_lfs_writer_finish(writer, sha256, error));
    kernels_response_set_header(response, "ETag", kernels_arena_printf(request->arena, "\"%s\"", sha256));
    return KERNELS_OK;
}

kernels_status kernels_api_lfs_receive(kernels_request *request, const void *data, size_t size, kernels_error *error) {
    return kernels_lfs_writer_add(request->state, data, size, error);
}

void kernels_api_lfs_dispose(kernels_request *request) { kernels_lfs_writer_abort(request->state); }

/* ---- whole ---- */

kernels_status kernels_api_lfs_upload_begin(kernels_request *request, kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t size;
    kernels_lfs_writer *writer;
    KERNELS_TRY(kernels_signed_url_check(request, "put", &size, error));
    KERNELS_TRY(copy_sha256(request->route.name, sha256, error));
    KERNELS_TRY(check_length(request, size, error));
    KERNELS_TRY(kernels_lfs_writer_open(request->service->store, sha256, size, &writer, error));
    request->state = writer;
    return KERNELS_OK;
}

kernels_status kernels_api_lfs_upload(kernels_request *request, kernels_response *response, kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    KERNELS_TRY(open_repository(request, error));
    KERNELS_TRY(finish_writer(request, sha256, response, error));
    return kernels_repository_grant_lfs(request->repository, sha256, error);
}

/* ---- in parts ---- */

kernels_status kernels_api_lfs_part_begin(kernels_request *request, kernels_error *error) {
    uint64_t size, number;
    kernels_lfs_writer *writer;
    KERNELS_TRY(kernels_signed_url_check(request, "put", &size, error));
    const char *upload = kernels_arena_copy_text(request->arena, request->route.name);
    if (upload == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_view_to_u64(request->route.path, &number)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The address names no part");
    }
    KERNELS_TRY(check_length(request, size, error));
    KERNELS_TRY(kernels_lfs_writer_open_part(request->service->store, upload, number, size, &writer, error));
    request->state = writer;
    return KERNELS_OK;
}

kernels_status kernels_api_lfs_part(kernels_request *request, kernels_response *response, kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    return finish_writer(request, sha256, response, error);
}

static kernels_status check_parts(const kernels_request *request, uint64_t count, kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(kernels_request_json(request, &document, error));
    const kernels_node *parts = kernels_node_find(document.root, "parts");
    bool is_complete = kernels_node_is(parts, KERNELS_NODE_ARRAY) && parts->count == count;
    kernels_document_dispose(&document);
    return is_complete ? KERNELS_OK
                       : kernels_fail(error, KERNELS_BAD_REQUEST, "expected a list of %" PRIu64 " \"parts\"", count);
}

static kernels_status join_parts(kernels_request *request, const char *upload, uint64_t count, const char *sha256,
                                 uint64_t size, kernels_error *error) {
    uint64_t stored;
    kernels_status status = kernels_store_lfs_join(request->service->store, upload, count, sha256, size, error);
    if (status == KERNELS_BAD_REQUEST &&
        kernels_repository_lfs_size(request->repository, sha256, &stored, NULL) == KERNELS_OK) {
        kernels_error_dispose(error); /* a client that did not hear the first answer asks again */
        return KERNELS_OK;
    }
    return status == KERNELS_OK ? kernels_repository_grant_lfs(request->repository, sha256, error) : status;
}

kernels_status kernels_api_lfs_join(kernels_request *request, kernels_response *response, kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t size;
    kernels_json_writer json;
    KERNELS_TRY(kernels_signed_url_check(request, "join", &size, error));
    KERNELS_TRY(copy_sha256(request->route.name, sha256, error));
    KERNELS_TRY(open_repository(request, error));
    const char *upload = kernels_arena_copy_text(request->arena, request->route.path);
    if (upload == NULL) {
        return kernels_fail_no_memory(error);
    }
    uint64_t part_size = kernels_lfs_part_size(request->service, size);
    uint64_t count = size / part_size + (size % part_size != 0);
    KERNELS_TRY(check_parts(request, count, error));
    KERNELS_TRY(join_parts(request, upload, count, sha256, size, error));
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_end_object(&json);
    return KERNELS_OK;
}
