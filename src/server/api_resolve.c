/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"
#include "server/range.h"

/* ---- bodies ---- */

static kernels_status read_blob(void *stream, void *data, size_t size, size_t *got) {
    return kernels_blob_reader_read(stream, data, size, got, NULL);
}

static void close_blob(void *stream) { kernels_blob_reader_close(stream); }

/* `length` bytes of the content from `first` on. HEAD only tells the length. */
static kernels_status attach_content(kernels_request *request, const kernels_store_entry *entry, uint64_t first,
                                     uint64_t length, kernels_response *response, kernels_error *error) {
    response->body_type = KERNELS_BODY_STREAM;
    response->size = length;
    if (request->is_head) {
        return KERNELS_OK;
    }
    if (entry->lfs_sha256[0] != '\0') {
        uint64_t size;
        KERNELS_TRY(
            kernels_store_lfs_open(request->service->store, entry->lfs_sha256, &response->descriptor, &size, error));
        response->body_type = KERNELS_BODY_FILE;
        response->offset = first;
        return KERNELS_OK;
    }
    kernels_blob_reader *reader;
    KERNELS_TRY(kernels_blob_reader_open(request->repository, entry->oid, first, &reader, error));
    response->stream = reader;
    response->read = read_blob;
    response->close = close_blob;
    return KERNELS_OK;
}

static kernels_status answer_content(kernels_request *request, const kernels_store_entry *entry,
                                     kernels_response *response, kernels_error *error) {
    uint64_t first = 0, length = entry->size;
    kernels_range_result range = KERNELS_RANGE_WHOLE;
    if (!request->is_head) {
        range = kernels_range_parse(request->headers.range, entry->size, &first, &length);
    }
    kernels_response_set_header(response, "Accept-Ranges", "bytes");
    kernels_response_set_header(response, "Content-Type", "application/octet-stream");
    kernels_response_set_header(response, "X-Content-Type-Options", "nosniff");
    if (range == KERNELS_RANGE_UNSATISFIABLE) {
        kernels_response_set_header(response, "Content-Range",
                                    kernels_arena_printf(request->arena, "bytes */%" PRIu64, entry->size));
        return kernels_fail(error, KERNELS_OUT_OF_RANGE, "The file has only %" PRIu64 " bytes", entry->size);
    }
    if (range == KERNELS_RANGE_PART) {
        response->status = 206;
        kernels_response_set_header(response, "Content-Range",
                                    kernels_arena_printf(request->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                                                         first, first + length - 1, entry->size));
    }
    return attach_content(request, entry, first, length, response, error);
}

/* ---- /resolve/ ---- */

/* The same server under its other name: another origin for the client. */
static const char *other_origin(const kernels_request *request) {
    kernels_view base = kernels_view_of(kernels_request_base_url(request));
    size_t start = kernels_view_find(base, '/') + 2; /* of the host */
    kernels_view host = kernels_view_slice(base, start, base.size);
    size_t colon = kernels_view_find_last(host, ':');
    kernels_view port = kernels_view_slice(host, colon, host.size);
    bool has_port = colon != SIZE_MAX && port.size > 1 && kernels_is_digit(port.data[1]);
    bool is_localhost = kernels_view_starts_with(host, KERNELS_VIEW("localhost"));
    return kernels_arena_printf(request->arena, "%s://%s%.*s", request->service->scheme,
                                is_localhost ? "127.0.0.1" : "localhost", has_port ? (int)port.size : 0, port.data);
}

static kernels_status redirect_to_cdn(kernels_request *request, const kernels_store_entry *entry,
                                      kernels_response *response, kernels_error *error) {
    const char *path = kernels_arena_printf(request->arena, "/cdn/%s", entry->lfs_sha256);
    const char *base = other_origin(request);
    const char *url = path != NULL && base != NULL ? kernels_signed_url(request, base, "get", path, entry->size) : NULL;
    if (url == NULL) {
        return kernels_fail_no_memory(error);
    }
    response->status = 302;
    kernels_response_set_header(response, "Location", url);
    kernels_response_set_header(response, "X-Linked-Size",
                                kernels_arena_printf(request->arena, "%" PRIu64, entry->size));
    kernels_response_set_header(response, "X-Linked-Etag",
                                kernels_arena_printf(request->arena, "\"%s\"", entry->lfs_sha256));
    return KERNELS_OK;
}

kernels_status kernels_api_resolve(kernels_request *request, kernels_response *response, kernels_error *error) {
    char commit[KERNELS_COMMIT_ID_SIZE];
    kernels_store_entry entry;
    kernels_view path = request->route.path;
    KERNELS_TRY(kernels_request_commit(request, response, commit, error));
    KERNELS_TRY(kernels_repository_entry(request->repository, commit, path, request->arena, &entry, error));
    if (entry.is_directory) {
        return kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%.*s is a folder", KERNELS_VIEW_ARGS(path));
    }
    const char *id = entry.lfs_sha256[0] != '\0' ? entry.lfs_sha256 : entry.oid;
    kernels_response_set_header(response, "ETag", kernels_arena_printf(request->arena, "\"%s\"", id));
    if (request->service->cdn && entry.lfs_sha256[0] != '\0') {
        return redirect_to_cdn(request, &entry, response, error);
    }
    return answer_content(request, &entry, response, error);
}

/* ---- /cdn/ ---- */

kernels_status kernels_api_lfs_download(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_store_entry entry = {.path = ""};
    uint64_t announced;
    KERNELS_TRY(kernels_signed_url_check(request, "get", &announced, error));
    if (!kernels_is_sha256(request->route.name)) {
        return kernels_fail(error, KERNELS_NOT_FOUND, "no such file");
    }
    memcpy(entry.lfs_sha256, request->route.name.data, request->route.name.size);
    KERNELS_TRY(kernels_store_lfs_size(request->service->store, entry.lfs_sha256, &entry.size, error));
    kernels_response_set_header(response, "ETag", kernels_arena_printf(request->arena, "\"%s\"", entry.lfs_sha256));
    return answer_content(request, &entry, response, error);
}
