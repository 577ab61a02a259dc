/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

#define BATCH_LIMIT ((size_t)10000)
#define LFS_TYPE "application/vnd.git-lfs+json"

/* ---- batch ---- */

typedef struct lfs_object {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t size;
} lfs_object;

static kernels_status read_object(const kernels_node *node, lfs_object *object, kernels_error *error) {
    kernels_view oid = kernels_node_text(kernels_node_find(node, "oid"));
    const kernels_node *size = kernels_node_find(node, "size");
    if (!kernels_is_sha256(oid) || !kernels_node_is(size, KERNELS_NODE_UNSIGNED)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST,
                            "a large file needs an \"oid\" (SHA-256 in lower-case hex) and a \"size\"");
    }
    memcpy(object->sha256, oid.data, oid.size);
    object->sha256[oid.size] = '\0';
    object->size = size->as.unsigned_value;
    return KERNELS_OK;
}

/* "/<prefix><id>.git/info/lfs<end>" */
static const char *lfs_path(const kernels_request *request, const char *end) {
    return kernels_arena_printf(request->arena, "/%s%.*s.git/info/lfs%s", kernels_route_prefix(request->route.type),
                                KERNELS_VIEW_ARGS(request->route.repository), end);
}

static void write_action(kernels_json_writer *json, const char *name, const char *href) {
    kernels_json_key(json, name);
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "href", href);
    kernels_json_key(json, "header");
    kernels_json_begin_object(json);
    kernels_json_end_object(json);
    kernels_json_end_object(json);
}

static kernels_status write_actions(kernels_request *request, const lfs_object *object, kernels_json_writer *json,
                                    kernels_error *error) {
    const char *base = kernels_request_base_url(request);
    const char *end = kernels_arena_printf(request->arena, "/upload/%s", object->sha256);
    const char *path = end != NULL ? lfs_path(request, end) : NULL;
    const char *verify_path = lfs_path(request, "/objects/verify");
    const char *upload = path != NULL ? kernels_signed_url(request, base, "put", path, object->size) : NULL;
    const char *verify = verify_path != NULL ? kernels_arena_printf(request->arena, "%s%s", base, verify_path) : NULL;
    if (upload == NULL || verify == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_json_key(json, "actions");
    kernels_json_begin_object(json);
    write_action(json, "upload", upload);
    write_action(json, "verify", verify);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

static kernels_status write_object(kernels_request *request, const kernels_node *node, kernels_json_writer *json,
                                   kernels_error *error) {
    lfs_object object;
    uint64_t stored;
    KERNELS_TRY(read_object(node, &object, error));
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "oid", object.sha256);
    kernels_json_member_unsigned(json, "size", object.size);
    if (object.size > request->service->max_body) {
        kernels_json_key(json, "error");
        kernels_json_begin_object(json);
        kernels_json_member_unsigned(json, "code", 413);
        kernels_json_member_text(json, "message", "The file is larger than this server takes");
        kernels_json_end_object(json);
    } else if (kernels_store_lfs_size(request->service->store, object.sha256, &stored, NULL) != KERNELS_OK) {
        KERNELS_TRY(write_actions(request, &object, json, error));
    }
    kernels_json_end_object(json);
    return KERNELS_OK;
}

static kernels_status write_batch(kernels_request *request, const kernels_node *root, kernels_json_writer *json,
                                  kernels_error *error) {
    const kernels_node *objects = kernels_node_find(root, "objects");
    if (!kernels_view_equal_text(kernels_node_text(kernels_node_find(root, "operation")), "upload") ||
        !kernels_node_is(objects, KERNELS_NODE_ARRAY) || objects->count > BATCH_LIMIT) {
        return kernels_fail(error, KERNELS_BAD_REQUEST,
                            "expected \"operation\": \"upload\" and at most %zu \"objects\"", BATCH_LIMIT);
    }
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "transfer", "basic");
    kernels_json_key(json, "objects");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < objects->count; i++) {
        KERNELS_TRY(write_object(request, objects->as.items[i], json, error));
    }
    kernels_json_end_array(json);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

kernels_status kernels_api_lfs_batch(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_document document;
    kernels_json_writer json;
    KERNELS_TRY(kernels_request_json(request, &document, error));
    kernels_response_json(response, &json);
    kernels_response_set_header(response, "Content-Type", LFS_TYPE);
    kernels_status status = write_batch(request, document.root, &json, error);
    kernels_document_dispose(&document);
    return status;
}

/* ---- upload ---- */

kernels_status kernels_api_lfs_upload_begin(kernels_request *request, kernels_error *error) {
    char sha256[KERNELS_SHA256_HEX_SIZE];
    uint64_t size;
    kernels_lfs_writer *writer;
    KERNELS_TRY(kernels_signed_url_check(request, "put", &size, error));
    if (!kernels_is_sha256(request->route.name)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The address names no SHA-256");
    }
    if (request->headers.has_length && request->headers.content_length != size) {
        return kernels_fail(error, KERNELS_INTEGRITY, "expected a body of %llu bytes, not %llu",
                            (unsigned long long)size, (unsigned long long)request->headers.content_length);
    }
    memcpy(sha256, request->route.name.data, request->route.name.size);
    sha256[request->route.name.size] = '\0';
    KERNELS_TRY(kernels_lfs_writer_open(request->service->store, sha256, size, &writer, error));
    request->state = writer;
    return KERNELS_OK;
}

kernels_status kernels_api_lfs_upload_receive(kernels_request *request, const void *data, size_t size,
                                              kernels_error *error) {
    return kernels_lfs_writer_add(request->state, data, size, error);
}

kernels_status kernels_api_lfs_upload(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_lfs_writer *writer = request->state;
    request->state = NULL;
    KERNELS_TRY(kernels_lfs_writer_finish(writer, error));
    kernels_response_set_header(
        response, "ETag", kernels_arena_printf(request->arena, "\"%.*s\"", KERNELS_VIEW_ARGS(request->route.name)));
    return KERNELS_OK;
}

void kernels_api_lfs_upload_dispose(kernels_request *request) { kernels_lfs_writer_abort(request->state); }

/* ---- verify ---- */

kernels_status kernels_api_lfs_verify(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_document document;
    kernels_json_writer json;
    lfs_object object;
    uint64_t stored;
    KERNELS_TRY(kernels_request_json(request, &document, error));
    kernels_status status = read_object(document.root, &object, error);
    kernels_document_dispose(&document);
    KERNELS_TRY(status);
    KERNELS_TRY(kernels_store_lfs_size(request->service->store, object.sha256, &stored, error));
    if (stored != object.size) {
        return kernels_fail(error, KERNELS_INTEGRITY, "%s is stored with %llu bytes, not %llu", object.sha256,
                            (unsigned long long)stored, (unsigned long long)object.size);
    }
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_end_object(&json);
    return KERNELS_OK;
}
