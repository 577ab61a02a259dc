/* SPDX-License-Identifier: Apache-2.0 */
/* Making repositories and branches. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "hub/hub_private.h"
#include "hub/repo_url.h"
#include "hub/retry.h"
#include "hub/url.h"

#define NAME_TEXT_LIMIT ((size_t)4096)

/* Sends a JSON text and keeps the answer whatever it is; http_status 409 is for the caller to judge. */
static kernels_status post(kernels_hub *hub, const char *url, kernels_view text, kernels_http_response *response,
                           kernels_error *error) {
    kernels_body *body = kernels_body_new();
    if (!body) {
        return kernels_fail_no_memory(error);
    }
    kernels_body_add_text(body, text);
    kernels_http_request request = {
        .method = KERNELS_HTTP_POST, .url = url, .content_type = "application/json", .body = body};
    kernels_status status = kernels_body_status(body, error);
    if (status == KERNELS_OK) {
        status = kernels_http_send(hub->http, &request, response, error);
    }
    kernels_body_free(body);
    return status;
}

static void write_create(kernels_buffer *text, kernels_repository_type type, kernels_view id, bool is_private) {
    size_t slash = kernels_view_find(id, '/');
    kernels_json_writer json;
    kernels_json_writer_init(&json, text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_member_view(&json, "name", slash == SIZE_MAX ? id : kernels_view_slice(id, slash + 1, id.size));
    if (slash != SIZE_MAX) {
        kernels_json_member_view(&json, "organization", kernels_view_slice(id, 0, slash));
    }
    kernels_json_member_boolean(&json, "private", is_private);
    kernels_json_member_text(&json, "type", kernels_repository_type_name(type));
    kernels_json_end_object(&json);
}

/* The id in the web address of the answer ("{endpoint}/kernels/Owner/Name"); an empty view when there is none. */
static kernels_view id_in_url(const kernels_hub *hub, kernels_repository_type type, kernels_view url) {
    const char *const starts[] = {hub->config.endpoint, KERNELS_HUB_PUBLIC_ENDPOINT};
    for (size_t i = 0; i < 2; i++) {
        kernels_view start = kernels_view_of(starts[i]);
        if (!kernels_view_starts_with(url, start) || url.size <= start.size || url.data[start.size] != '/') {
            continue;
        }
        kernels_view rest = kernels_view_slice(url, start.size + 1, url.size);
        kernels_view prefix = kernels_view_of(kernels_repository_type_prefix(type));
        if (kernels_view_starts_with(rest, prefix)) {
            rest = kernels_view_slice(rest, prefix.size, rest.size);
        }
        if (kernels_repository_id_check(rest, NULL) == KERNELS_OK) {
            return rest;
        }
    }
    return (kernels_view){0};
}

static kernels_status keep_id(const kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                              const kernels_http_response *response, char **id_on_hub, kernels_error *error) {
    if (!id_on_hub) {
        return KERNELS_OK;
    }
    kernels_document document = {0};
    kernels_view id = {0};
    if (kernels_json_parse(kernels_buffer_view(&response->body), "answer", &document, NULL) == KERNELS_OK) {
        id = id_in_url(hub, type, kernels_node_text(kernels_node_find(document.root, "url")));
    }
    *id_on_hub = id.size > 0 ? kernels_strndup(id.data, id.size) : kernels_strdup(repo_id);
    kernels_document_dispose(&document);
    return *id_on_hub ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* The Hub is still busy with another request for the same name. */
static bool is_busy(const kernels_http_response *response) {
    return response->status == 409 &&
           kernels_view_contains(kernels_buffer_view(&response->body),
                                 KERNELS_VIEW("another conflicting operation is in progress"));
}

static kernels_status create(kernels_hub *hub, const char *url, kernels_view text, kernels_http_response *response,
                             kernels_error *error) {
    kernels_retry retry = {0};
    for (;;) {
        uint64_t wait_ms;
        kernels_status status = post(hub, url, text, response, error);
        if (!is_busy(response) || !kernels_retry_next(&retry, 0, (kernels_view){0}, &wait_ms)) {
            return status == KERNELS_CONFLICT && !is_busy(response) ? KERNELS_OK : status;
        }
        kernels_http_response_dispose(response);
        kernels_clock_sleep_ms((unsigned)wait_ms);
    }
}

kernels_status kernels_hub_create_repository(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                             bool is_private, char **id_on_hub, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, NULL, error));
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer url = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(NAME_TEXT_LIMIT);
    kernels_buffer_printf(&url, "%s/api/repos/create", hub->config.endpoint);
    write_create(&text, type, kernels_view_of(repo_id), is_private);
    KERNELS_TRY(kernels_buffer_status(&url, error));
    KERNELS_TRY(kernels_buffer_status(&text, error));
    kernels_http_response response = {0};
    kernels_status status = create(hub, kernels_buffer_text(&url), kernels_buffer_view(&text), &response, error);
    if (status == KERNELS_OK) {
        status = keep_id(hub, type, repo_id, &response, id_on_hub, error);
    } else {
        status = kernels_wrap(error, status, "cannot create the repository '%s'", repo_id);
    }
    kernels_http_response_dispose(&response);
    return status;
}

kernels_status kernels_hub_create_branch(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                         const char *branch, bool *created, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, branch, error));
    KERNELS_CLEANUP_FREE char *url = kernels_repo_api_url(hub->config.endpoint, type, repo_id, "branch", branch);
    if (!url) {
        return kernels_fail_no_memory(error);
    }
    kernels_http_response response = {0};
    kernels_status status = post(hub, url, KERNELS_VIEW("{}"), &response, error);
    kernels_http_response_dispose(&response);
    if (status != KERNELS_OK && status != KERNELS_CONFLICT) {
        return kernels_wrap(error, status, "cannot create the branch '%s' of '%s'", branch, repo_id);
    }
    if (created) {
        *created = status == KERNELS_OK;
    }
    return KERNELS_OK;
}
