/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/view.h"
#include "kernels/data.h"
#include "server/api.h"

/* More than there are. */
#define FAMILIES_LIMIT 32

/* ---- creating and deleting ---- */

typedef struct repository_body {
    kernels_repository_type type;
    kernels_view id; /* in the arena */
    bool is_private;
} repository_body;

static kernels_status read_type(const kernels_node *root, kernels_repository_type *type, kernels_error *error) {
    const kernels_node *node = kernels_node_find(root, "type");
    kernels_view text = kernels_node_text(node);
    if (node == NULL || kernels_node_is(node, KERNELS_NODE_NULL) || kernels_view_equal_text(text, "model")) {
        *type = KERNELS_REPOSITORY_MODEL;
    } else if (kernels_view_equal_text(text, "kernel")) {
        *type = KERNELS_REPOSITORY_KERNEL;
    } else {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The type of a repository must be \"kernel\" or \"model\"");
    }
    return KERNELS_OK;
}

/* A name without an owner belongs to the account that sends it. */
static kernels_status read_id(kernels_request *request, const kernels_node *root, kernels_view *id,
                              kernels_error *error) {
    kernels_view name = kernels_node_text(kernels_node_find(root, "name"));
    kernels_view owner = kernels_node_text(kernels_node_find(root, "organization"));
    if (owner.size == 0 && request->account != NULL && kernels_view_find(name, '/') == SIZE_MAX) {
        owner = kernels_view_of(request->account->name);
    }
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_REQUEST_TEXT_LIMIT);
    kernels_buffer_add_view(&text, owner);
    kernels_buffer_add_text(&text, owner.size > 0 ? "/" : "");
    kernels_buffer_add_view(&text, name);
    *id = kernels_arena_copy_view(request->arena, kernels_buffer_view(&text));
    kernels_buffer_dispose(&text);
    if (id->data == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_view first = kernels_view_slice(*id, 0, kernels_view_find(*id, '/'));
    if (!kernels_route_owner_is_free(first)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "%.*s is not available as a name", KERNELS_VIEW_ARGS(first));
    }
    return kernels_repository_id_check(*id, error);
}

static kernels_status read_body(kernels_request *request, repository_body *body, kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(kernels_request_json(request, &document, error));
    const kernels_node *is_private = kernels_node_find(document.root, "private");
    kernels_view visibility = kernels_node_text(kernels_node_find(document.root, "visibility"));
    body->is_private = (kernels_node_is(is_private, KERNELS_NODE_BOOLEAN) && is_private->as.boolean) ||
                       kernels_view_equal_text(visibility, "private");
    kernels_status status = read_type(document.root, &body->type, error);
    if (status == KERNELS_OK) {
        status = read_id(request, document.root, &body->id, error);
    }
    kernels_document_dispose(&document);
    return status;
}

/* Also the answer when it exists: clients read the URL from there. */
static void write_created(kernels_request *request, const repository_body *body, kernels_response *response,
                          const char *failure) {
    kernels_json_writer json;
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    if (failure != NULL) {
        kernels_json_member_text(&json, "error", failure);
    }
    kernels_json_member_text(&json, "url",
                             kernels_arena_printf(request->arena, "%s/%s%.*s", kernels_request_base_url(request),
                                                  kernels_route_prefix(body->type), KERNELS_VIEW_ARGS(body->id)));
    kernels_json_member_view(&json, "name", body->id);
    kernels_json_member_view(&json, "id", body->id);
    kernels_json_end_object(&json);
}

kernels_status kernels_api_create_repository(kernels_request *request, kernels_response *response,
                                             kernels_error *error) {
    repository_body body;
    KERNELS_TRY(read_body(request, &body, error));
    kernels_status status =
        kernels_store_create_repository(request->service->store, body.type, body.id, body.is_private, error);
    if (status == KERNELS_ALREADY_EXISTS) {
        response->status = 409;
        kernels_response_set_header(response, "X-Error-Message", "You already created this repo");
        write_created(request, &body, response, "You already created this repo");
        kernels_error_dispose(error);
        return KERNELS_OK;
    }
    if (status == KERNELS_OK) {
        write_created(request, &body, response, NULL);
    }
    return status;
}

kernels_status kernels_api_delete_repository(kernels_request *request, kernels_response *response,
                                             kernels_error *error) {
    repository_body body;
    (void)response;
    KERNELS_TRY(read_body(request, &body, error));
    return kernels_store_delete_repository(request->service->store, body.type, body.id, error);
}

/* ---- information ---- */

const char *kernels_format_time(kernels_arena *arena, int64_t seconds) {
    char text[32];
    struct tm parts;
    time_t when = (time_t)seconds;
    if (gmtime_r(&when, &parts) == NULL || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", &parts) == 0) {
        return NULL;
    }
    return kernels_arena_copy_text(arena, kernels_view_of(text));
}

static void write_siblings(kernels_json_writer *json, const kernels_store_page *page) {
    kernels_json_key(json, "siblings");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < page->count; i++) {
        if (!page->entries[i].is_directory) {
            kernels_json_begin_object(json);
            kernels_json_member_text(json, "rfilename", page->entries[i].path);
            kernels_json_end_object(json);
        }
    }
    kernels_json_end_array(json);
}

/* "build/<variant>": what the variant runs on; "" for other entries. */
static kernels_view driver_family(const kernels_store_entry *entry) {
    const kernels_view folder = KERNELS_VIEW("build/");
    kernels_view path = kernels_view_of(entry->path);
    kernels_variant variant;
    if (!entry->is_directory || !kernels_view_starts_with(path, folder) ||
        kernels_variant_parse(kernels_view_slice(path, folder.size, path.size), &variant, NULL) != KERNELS_OK) {
        return KERNELS_VIEW("");
    }
    if (variant.framework != KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return kernels_view_of(kernels_backend_name(variant.backend));
    }
    /* the name stands at the end of the path, which lives longer than the variant */
    return kernels_view_slice(path, path.size - strlen(variant.noarch_name), path.size);
}

/* Each once, in the order of the variants. */
static void write_driver_families(kernels_json_writer *json, const kernels_store_page *page) {
    kernels_view seen[FAMILIES_LIMIT];
    size_t count = 0;
    kernels_json_key(json, "supportedDriverFamilies");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < page->count && count < FAMILIES_LIMIT; i++) {
        kernels_view family = driver_family(&page->entries[i]);
        bool is_new = family.size > 0;
        for (size_t k = 0; k < count && is_new; k++) {
            is_new = !kernels_view_equal(seen[k], family);
        }
        if (is_new) {
            seen[count++] = family;
            kernels_json_string(json, family);
        }
    }
    kernels_json_end_array(json);
}

static void write_info(kernels_request *request, const char *commit, int64_t time, const kernels_store_page *page,
                       kernels_response *response) {
    kernels_json_writer json;
    kernels_view id = request->route.repository;
    size_t slash = kernels_view_find(id, '/');
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    kernels_json_member_view(&json, "_id", id);
    kernels_json_member_view(&json, "id", id);
    if (slash != SIZE_MAX) {
        kernels_json_member_view(&json, "author", kernels_view_slice(id, 0, slash));
    }
    kernels_json_member_text(&json, "sha", commit);
    kernels_json_member_text(&json, "lastModified", kernels_format_time(request->arena, time));
    kernels_json_member_boolean(&json, "private", kernels_request_is_private(request));
    kernels_json_member_boolean(&json, "gated", false);
    kernels_json_member_unsigned(&json, "downloads", 0);
    kernels_json_member_unsigned(&json, "likes", 0);
    if (request->route.type == KERNELS_REPOSITORY_KERNEL) {
        kernels_json_member_boolean(&json, "trustedPublisher",
                                    kernels_service_trusts(request->service, kernels_view_slice(id, 0, slash)));
        write_driver_families(&json, page);
    }
    kernels_json_key(&json, "tags");
    kernels_json_begin_array(&json);
    kernels_json_end_array(&json);
    write_siblings(&json, page);
    kernels_json_end_object(&json);
}

kernels_status kernels_api_info(kernels_request *request, kernels_response *response, kernels_error *error) {
    char commit[KERNELS_COMMIT_ID_SIZE];
    int64_t time;
    kernels_store_page page;
    KERNELS_TRY(kernels_request_commit(request, response, commit, error));
    KERNELS_TRY(kernels_repository_commit_time(request->repository, commit, &time, error));
    KERNELS_TRY(kernels_repository_list(request->repository, commit, KERNELS_VIEW(""), true, 0,
                                        KERNELS_STORE_ENTRIES_LIMIT, request->arena, &page, error));
    write_info(request, commit, time, &page, response);
    return KERNELS_OK;
}
