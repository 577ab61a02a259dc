/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

/* As the Hub: pages are short when details are asked for. */
#define EXPANDED_PAGE_SIZE 50
#define PATHS_INFO_LIMIT ((size_t)10000)

static void write_entry(kernels_json_writer *json, const kernels_store_entry *entry) {
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "type", entry->is_directory ? "directory" : "file");
    kernels_json_member_text(json, "oid", entry->oid);
    kernels_json_member_unsigned(json, "size", entry->size);
    kernels_json_member_text(json, "path", entry->path);
    if (entry->lfs_sha256[0] != '\0') {
        kernels_json_key(json, "lfs");
        kernels_json_begin_object(json);
        kernels_json_member_text(json, "oid", entry->lfs_sha256);
        kernels_json_member_unsigned(json, "size", entry->size);
        kernels_json_member_unsigned(json, "pointerSize", entry->pointer_size);
        kernels_json_end_object(json);
    }
    kernels_json_end_object(json);
}

/* ---- listings ---- */

/* A cursor is "<commit>.<entries already given>", so that a listing stays whole while the branch moves on. */
static kernels_status read_cursor(kernels_request *request, char commit[KERNELS_COMMIT_ID_SIZE], size_t *offset,
                                  kernels_error *error) {
    kernels_view cursor = kernels_target_query(&request->target, "cursor");
    uint64_t number;
    *offset = 0;
    if (cursor.data == NULL) {
        return KERNELS_OK;
    }
    kernels_view id = kernels_view_slice(cursor, 0, KERNELS_COMMIT_ID_SIZE - 1);
    if (!kernels_view_is_hex(id, KERNELS_COMMIT_ID_SIZE - 1) || cursor.size < KERNELS_COMMIT_ID_SIZE ||
        cursor.data[id.size] != '.' ||
        !kernels_view_to_u64(kernels_view_slice(cursor, KERNELS_COMMIT_ID_SIZE, cursor.size), &number) ||
        number > KERNELS_STORE_ENTRIES_LIMIT) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The cursor is not one of this server");
    }
    *offset = (size_t)number;
    return kernels_repository_resolve(request->repository, id, commit, error);
}

static size_t page_size(const kernels_request *request) {
    size_t size = request->service->page_size;
    uint64_t wanted;
    if (kernels_target_query_is_true(&request->target, "expand") && size > EXPANDED_PAGE_SIZE) {
        size = EXPANDED_PAGE_SIZE;
    }
    if (kernels_view_to_u64(kernels_target_query(&request->target, "limit"), &wanted) && wanted > 0 && wanted < size) {
        size = (size_t)wanted;
    }
    return size;
}

/* The same address with the next cursor, as a Link header. */
static void set_next_link(kernels_request *request, const char *commit, size_t offset, kernels_response *response) {
    kernels_buffer link = KERNELS_BUFFER_INIT(4 * KERNELS_TARGET_SIZE_LIMIT);
    kernels_buffer_printf(&link, "<%s%.*s?", kernels_request_base_url(request),
                          KERNELS_VIEW_ARGS(request->target.raw_path));
    for (size_t i = 0; i < request->target.query_count; i++) {
        const kernels_query_item *item = &request->target.query[i];
        if (!kernels_view_equal_text(item->name, "cursor")) {
            kernels_encode_percent(&link, item->name, false);
            kernels_buffer_add_char(&link, '=');
            kernels_encode_percent(&link, item->value, false);
            kernels_buffer_add_char(&link, '&');
        }
    }
    kernels_buffer_printf(&link, "cursor=%s.%zu>; rel=\"next\"", commit, offset);
    kernels_response_set_header(response, "Link", kernels_arena_copy_text(request->arena, kernels_buffer_view(&link)));
    kernels_buffer_dispose(&link);
}

kernels_status kernels_api_tree(kernels_request *request, kernels_response *response, kernels_error *error) {
    char commit[KERNELS_COMMIT_ID_SIZE];
    size_t offset;
    kernels_store_page page;
    kernels_json_writer json;
    bool recursive = kernels_target_query_is_true(&request->target, "recursive");
    KERNELS_TRY(kernels_request_commit(request, response, commit, error));
    KERNELS_TRY(read_cursor(request, commit, &offset, error));
    KERNELS_TRY(kernels_repository_list(request->repository, commit, request->route.path, recursive, offset,
                                        page_size(request), request->arena, &page, error));
    if (page.more) {
        set_next_link(request, commit, offset + page.count, response);
    }
    kernels_response_json(response, &json);
    kernels_json_begin_array(&json);
    for (size_t i = 0; i < page.count; i++) {
        write_entry(&json, &page.entries[i]);
    }
    kernels_json_end_array(&json);
    return KERNELS_OK;
}

/* ---- some paths ---- */

static kernels_status write_path(kernels_request *request, const char *commit, kernels_view path,
                                 kernels_json_writer *json, kernels_error *error) {
    kernels_store_entry entry;
    kernels_status status = kernels_repository_entry(request->repository, commit, path, request->arena, &entry, error);
    if (status == KERNELS_ENTRY_NOT_FOUND) { /* unknown paths are left out */
        kernels_error_dispose(error);
        return KERNELS_OK;
    }
    if (status == KERNELS_OK) {
        write_entry(json, &entry);
    }
    return status;
}

static kernels_status write_json_paths(kernels_request *request, const char *commit, kernels_json_writer *json,
                                       kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(kernels_request_json(request, &document, error));
    const kernels_node *paths = kernels_node_find(document.root, "paths");
    kernels_status status = KERNELS_OK;
    if (!kernels_node_is(paths, KERNELS_NODE_ARRAY) || paths->count > PATHS_INFO_LIMIT) {
        status =
            kernels_fail(error, KERNELS_BAD_REQUEST, "\"paths\" must be a list of at most %zu paths", PATHS_INFO_LIMIT);
    }
    for (size_t i = 0; status == KERNELS_OK && i < paths->count; i++) {
        status = write_path(request, commit, kernels_node_text(paths->as.items[i]), json, error);
    }
    kernels_document_dispose(&document);
    return status;
}

/* paths=a&paths=b%2Fc&expand=False */
static kernels_status write_form_paths(kernels_request *request, const char *commit, kernels_json_writer *json,
                                       kernels_error *error) {
    const kernels_view key = KERNELS_VIEW("paths=");
    kernels_view rest = kernels_buffer_view(&request->body), piece;
    size_t count = 0;
    for (size_t i = 0; i < request->body.size; i++) {
        request->body.data[i] = request->body.data[i] == '+' ? ' ' : request->body.data[i];
    }
    while (kernels_view_split(&rest, '&', &piece)) {
        if (!kernels_view_starts_with(piece, key)) {
            continue;
        }
        kernels_view path = kernels_target_decode(kernels_view_slice(piece, key.size, piece.size), request->arena);
        if (path.data == NULL || ++count > PATHS_INFO_LIMIT) {
            return kernels_fail(error, KERNELS_BAD_REQUEST, "expected at most %zu percent-encoded paths",
                                PATHS_INFO_LIMIT);
        }
        KERNELS_TRY(write_path(request, commit, path, json, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_api_paths_info(kernels_request *request, kernels_response *response, kernels_error *error) {
    char commit[KERNELS_COMMIT_ID_SIZE];
    kernels_json_writer json;
    KERNELS_TRY(kernels_request_commit(request, response, commit, error));
    bool is_json = request->headers.content_type != NULL && strstr(request->headers.content_type, "json") != NULL;
    kernels_response_json(response, &json);
    kernels_json_begin_array(&json);
    KERNELS_TRY(is_json ? write_json_paths(request, commit, &json, error)
                        : write_form_paths(request, commit, &json, error));
    kernels_json_end_array(&json);
    return KERNELS_OK;
}
