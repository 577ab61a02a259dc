/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "server/api.h"

#define BRANCHES "refs/heads/"
#define TAGS "refs/tags/"
#define PULL_REQUESTS "refs/pr/"

/* ---- listing ---- */

/* References with this prefix; `shown_from`: where the name that clients see begins. */
static void write_refs(kernels_json_writer *json, const char *key, const kernels_store_ref *refs, size_t count,
                       const char *prefix, size_t shown_from) {
    kernels_json_key(json, key);
    kernels_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(refs[i].name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        kernels_json_begin_object(json);
        kernels_json_member_text(json, "name", refs[i].name + shown_from);
        kernels_json_member_text(json, "ref", refs[i].name);
        kernels_json_member_text(json, "targetCommit", refs[i].commit);
        kernels_json_end_object(json);
    }
    kernels_json_end_array(json);
}

kernels_status kernels_api_refs(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_json_writer json;
    kernels_store_ref *refs;
    size_t count;
    KERNELS_TRY(kernels_repository_refs(request->repository, request->arena, &refs, &count, error));
    kernels_response_json(response, &json);
    kernels_json_begin_object(&json);
    write_refs(&json, "branches", refs, count, BRANCHES, strlen(BRANCHES));
    kernels_json_key(&json, "converts");
    kernels_json_begin_array(&json);
    kernels_json_end_array(&json);
    write_refs(&json, "tags", refs, count, TAGS, strlen(TAGS));
    if (kernels_target_query_is_true(&request->target, "include_prs")) {
        write_refs(&json, "pullRequests", refs, count, PULL_REQUESTS, 0);
    }
    kernels_json_end_object(&json);
    return KERNELS_OK;
}

/* ---- branches and tags ---- */

static kernels_status created(kernels_status status, kernels_response *response) {
    if (status == KERNELS_OK) {
        response->status = 201;
        kernels_response_set_header(response, "Content-Type", "text/plain; charset=utf-8");
        kernels_buffer_add_text(&response->text, "Created");
    }
    return status;
}

kernels_status kernels_api_create_branch(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_document document;
    char commit[KERNELS_COMMIT_ID_SIZE];
    KERNELS_TRY(kernels_request_json(request, &document, error));
    kernels_view start = kernels_node_text(kernels_node_find(document.root, "startingPoint"));
    kernels_status status =
        kernels_repository_resolve(request->repository, start.size > 0 ? start : KERNELS_VIEW("main"), commit, error);
    if (status == KERNELS_OK) {
        status = kernels_repository_create_ref(request->repository, BRANCHES, request->route.name, commit, error);
    }
    kernels_document_dispose(&document);
    return created(status, response);
}

kernels_status kernels_api_delete_branch(kernels_request *request, kernels_response *response, kernels_error *error) {
    (void)response;
    return kernels_repository_delete_ref(request->repository, BRANCHES, request->route.name, error);
}

kernels_status kernels_api_create_tag(kernels_request *request, kernels_response *response, kernels_error *error) {
    kernels_document document;
    char commit[KERNELS_COMMIT_ID_SIZE];
    KERNELS_TRY(kernels_request_json(request, &document, error));
    kernels_view tag = kernels_node_text(kernels_node_find(document.root, "tag"));
    kernels_status status = kernels_repository_resolve(request->repository, request->route.revision, commit, error);
    if (status == KERNELS_OK) {
        status = kernels_repository_create_ref(request->repository, TAGS, tag, commit, error);
    }
    kernels_document_dispose(&document);
    return created(status, response);
}

kernels_status kernels_api_delete_tag(kernels_request *request, kernels_response *response, kernels_error *error) {
    (void)response;
    return kernels_repository_delete_ref(request->repository, TAGS, request->route.name, error);
}
