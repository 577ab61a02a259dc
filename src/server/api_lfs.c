/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

#define BATCH_LIMIT ((size_t)10000)
#define PARTS_LIMIT UINT64_C(1000)
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

uint64_t kernels_lfs_part_size(const kernels_service *service, uint64_t size) {
    uint64_t least = size / PARTS_LIMIT + 1; /* so that there are not more parts than clients can bear */
    return service->lfs_part_size > least ? service->lfs_part_size : least;
}

/* ---- actions ---- */

/* header: members "1", "2", ... of an upload in parts, or none. */
static void begin_action(kernels_json_writer *json, const char *name, const char *href) {
    kernels_json_key(json, name);
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "href", href);
    kernels_json_key(json, "header");
    kernels_json_begin_object(json);
}

static void end_action(kernels_json_writer *json) {
    kernels_json_end_object(json);
    kernels_json_end_object(json);
}

static const char *signed_lfs_url(const kernels_request *request, const char *verb, const char *end, uint64_t size) {
    const char *path = end != NULL ? lfs_path(request, end) : NULL;
    return path != NULL ? kernels_signed_url(request, kernels_request_base_url(request), verb, path, size) : NULL;
}

static kernels_status write_whole(kernels_request *request, const lfs_object *object, kernels_json_writer *json,
                                  kernels_error *error) {
    const char *end = kernels_arena_printf(request->arena, "/upload/%s", object->sha256);
    const char *url = signed_lfs_url(request, "put", end, object->size);
    if (url == NULL) {
        return kernels_fail_no_memory(error);
    }
    begin_action(json, "upload", url);
    end_action(json);
    return KERNELS_OK;
}

static kernels_status write_parts(kernels_request *request, const lfs_object *object, kernels_json_writer *json,
                                  kernels_error *error) {
    char upload[33];
    uint64_t part_size = kernels_lfs_part_size(request->service, object->size), number = 0;
    KERNELS_TRY(kernels_random_hex(upload, sizeof upload - 1, error));
    const char *url = signed_lfs_url(
        request, "join", kernels_arena_printf(request->arena, "/join/%s/%s", object->sha256, upload), object->size);
    if (url == NULL) {
        return kernels_fail_no_memory(error);
    }
    begin_action(json, "upload", url);
    kernels_json_member_text(json, "chunk_size", kernels_arena_printf(request->arena, "%" PRIu64, part_size));
    for (uint64_t sent = 0; sent < object->size; sent += part_size) {
        uint64_t size = object->size - sent < part_size ? object->size - sent : part_size;
        const char *end = kernels_arena_printf(request->arena, "/part/%s/%" PRIu64, upload, ++number);
        const char *key = kernels_arena_printf(request->arena, "%" PRIu64, number);
        url = signed_lfs_url(request, "put", end, size);
        if (url == NULL || key == NULL) {
            return kernels_fail_no_memory(error);
        }
        kernels_json_member_text(json, key, url);
    }
    end_action(json);
    return KERNELS_OK;
}

static kernels_status write_upload(kernels_request *request, const lfs_object *object, bool in_parts,
                                   kernels_json_writer *json, kernels_error *error) {
    const char *path = lfs_path(request, "/objects/verify");
    const char *verify =
        path != NULL ? kernels_arena_printf(request->arena, "%s%s", kernels_request_base_url(request), path) : NULL;
    if (verify == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_json_key(json, "actions");
    kernels_json_begin_object(json);
    in_parts = in_parts && object->size > request->service->lfs_part_size;
    KERNELS_TRY(in_parts ? write_parts(request, object, json, error) : write_whole(request, object, json, error));
    begin_action(json, "verify", verify);
    end_action(json);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

static kernels_status write_download(kernels_request *request, const lfs_object *object, kernels_json_writer *json,
                                     kernels_error *error) {
    const char *path = kernels_arena_printf(request->arena, "/cdn/%s", object->sha256);
    const char *url =
        path != NULL ? kernels_signed_url(request, kernels_request_base_url(request), "get", path, object->size) : NULL;
    if (url == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_json_key(json, "actions");
    kernels_json_begin_object(json);
    begin_action(json, "download", url);
    end_action(json);
    kernels_json_end_object(json);
    return KERNELS_OK;
}

/* ---- the answer ---- */

typedef struct batch_kind {
    bool is_upload;
    bool in_parts; /* the client can */
} batch_kind;

static void write_object_error(kernels_json_writer *json, unsigned code, const char *message) {
    kernels_json_key(json, "error");
    kernels_json_begin_object(json);
    kernels_json_member_unsigned(json, "code", code);
    kernels_json_member_text(json, "message", message);
    kernels_json_end_object(json);
}

static kernels_status write_object(kernels_request *request, const batch_kind *kind, const kernels_node *node,
                                   kernels_json_writer *json, kernels_error *error) {
    lfs_object object;
    uint64_t stored = 0;
    kernels_status status = KERNELS_OK;
    KERNELS_TRY(read_object(node, &object, error));
    bool is_here = kernels_repository_lfs_size(request->repository, object.sha256, &stored, NULL) == KERNELS_OK &&
                   stored == object.size;
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "oid", object.sha256);
    kernels_json_member_unsigned(json, "size", object.size);
    if (!kind->is_upload && !is_here) {
        write_object_error(json, 404, "The repository has no such file");
    } else if (!kind->is_upload) {
        status = write_download(request, &object, json, error);
    } else if (object.size > request->service->max_body) {
        write_object_error(json, 413, "The file is larger than this server takes");
    } else if (!is_here) {
        status = write_upload(request, &object, kind->in_parts, json, error);
    }
    kernels_json_end_object(json);
    return status;
}

static bool offers_parts(const kernels_node *root) {
    const kernels_node *transfers = kernels_node_find(root, "transfers");
    for (size_t i = 0; kernels_node_is(transfers, KERNELS_NODE_ARRAY) && i < transfers->count; i++) {
        if (kernels_view_equal_text(kernels_node_text(transfers->as.items[i]), "multipart")) {
            return true;
        }
    }
    return false;
}

static kernels_status read_kind(kernels_request *request, const kernels_node *root, batch_kind *kind,
                                kernels_error *error) {
    kernels_view operation = kernels_node_text(kernels_node_find(root, "operation"));
    const kernels_node *objects = kernels_node_find(root, "objects");
    kind->is_upload = kernels_view_equal_text(operation, "upload");
    kind->in_parts = offers_parts(root);
    if ((!kind->is_upload && !kernels_view_equal_text(operation, "download")) ||
        !kernels_node_is(objects, KERNELS_NODE_ARRAY) || objects->count > BATCH_LIMIT) {
        return kernels_fail(error, KERNELS_BAD_REQUEST,
                            "expected \"operation\": \"upload\" or \"download\" and at most %zu \"objects\"",
                            BATCH_LIMIT);
    }
    return kind->is_upload ? kernels_request_need_write(request, error) : KERNELS_OK;
}

/* Clients see it object by object, by "chunk_size"; the name of the transfer is for those that look at it first. */
static const char *transfer_name(const kernels_request *request, const batch_kind *kind, const kernels_node *objects) {
    for (size_t i = 0; kind->is_upload && kind->in_parts && i < objects->count; i++) {
        const kernels_node *size = kernels_node_find(objects->as.items[i], "size");
        if (kernels_node_is(size, KERNELS_NODE_UNSIGNED) && size->as.unsigned_value > request->service->lfs_part_size) {
            return "multipart";
        }
    }
    return "basic";
}

static kernels_status write_batch(kernels_request *request, const kernels_node *root, kernels_json_writer *json,
                                  kernels_error *error) {
    batch_kind kind;
    KERNELS_TRY(read_kind(request, root, &kind, error));
    const kernels_node *objects = kernels_node_find(root, "objects");
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "transfer", transfer_name(request, &kind, objects));
    kernels_json_key(json, "objects");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < objects->count; i++) {
        KERNELS_TRY(write_object(request, &kind, objects->as.items[i], json, error));
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
    KERNELS_TRY(kernels_repository_lfs_size(request->repository, object.sha256, &stored, error));
    if (stored != object.size) {
        return kernels_fail(error, KERNELS_INTEGRITY, "%s is stored with %llu bytes, not %llu", object.sha256,
                            (unsigned long long)stored, (unsigned long long)object.size);
    }
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_end_object(&json);
    return KERNELS_OK;
}
