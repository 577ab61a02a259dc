/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "server/alias.h"
#include "server/api.h"

/* Most memory of one request apart from bodies; listings of a page are the largest part. */
#define REQUEST_ARENA_LIMIT ((size_t)512 * 1024 * 1024)

kernels_request *kernels_request_new(const kernels_service *service, const char *raw_target) {
    kernels_request *request = kernels_calloc(1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->service = service;
    request->arena = kernels_arena_new(REQUEST_ARENA_LIMIT);
    request->body = KERNELS_BUFFER_INIT(KERNELS_REQUEST_TEXT_LIMIT);
    if (request->arena != NULL) {
        /* one byte more than the limit is enough to be refused */
        kernels_view target = kernels_view_slice(kernels_view_of(raw_target), 0, KERNELS_TARGET_SIZE_LIMIT + 1);
        request->raw_target = kernels_arena_copy_view(request->arena, target);
    }
    if (request->raw_target.data == NULL ||
        kernels_random_hex(request->id, KERNELS_REQUEST_ID_SIZE - 1, NULL) != KERNELS_OK) {
        kernels_request_free(request);
        return NULL;
    }
    return request;
}

void kernels_request_free(kernels_request *request) {
    if (request == NULL) {
        return;
    }
    if (request->routed) {
        const kernels_endpoint *endpoint = kernels_endpoint_find(request->route.endpoint);
        if (endpoint->dispose != NULL) {
            endpoint->dispose(request);
        }
    }
    kernels_repository_close(request->repository);
    kernels_buffer_dispose(&request->body);
    kernels_error_dispose(&request->error);
    kernels_arena_free(request->arena);
    kernels_free(request);
}

/* ---- who may do what ---- */

static kernels_status refuse(unsigned http_status, kernels_status status, const char *message, kernels_error *error) {
    kernels_fail(error, status, "%s", message);
    error->http_status = (int)http_status;
    return status;
}

/* The Hub does not tell strangers whether a repository exists. */
static kernels_status hide_repository(const kernels_request *request, kernels_error *error) {
    if (request->account == NULL && request->headers.authorization == NULL) {
        return refuse(401, KERNELS_REPOSITORY_NOT_FOUND, "Invalid username or password.", error);
    }
    return kernels_fail(error, KERNELS_REPOSITORY_NOT_FOUND, "Repository not found");
}

static kernels_status refuse_anonymous(kernels_access access, kernels_error *error) {
    return access == KERNELS_ACCESS_ACCOUNT
               ? kernels_fail(error, KERNELS_AUTHENTICATION, "Invalid username or password.")
               : refuse(401, KERNELS_REPOSITORY_NOT_FOUND, "Invalid username or password.", error);
}

static kernels_status check_write(const kernels_request *request, kernels_access access, kernels_error *error) {
    const kernels_service *service = request->service;
    if (access != KERNELS_ACCESS_ACCOUNT && access != KERNELS_ACCESS_WRITE) {
        return KERNELS_OK;
    }
    if (service->read_only) {
        return kernels_fail(error, KERNELS_FORBIDDEN, "This server is read-only");
    }
    if (!kernels_auth_has_accounts(service->auth)) {
        /* an open server on loopback must not be written by a web page in the user's browser */
        return request->headers.origin == NULL
                   ? KERNELS_OK
                   : kernels_fail(error, KERNELS_FORBIDDEN, "Requests of web pages may not write here");
    }
    if (request->account == NULL) {
        return refuse_anonymous(access, error);
    }
    return request->account->can_write
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_FORBIDDEN, "The token of %s may only read", request->account->name);
}

kernels_status kernels_request_need_write(const kernels_request *request, kernels_error *error) {
    return check_write(request, KERNELS_ACCESS_WRITE, error);
}

static bool is_private(const kernels_request *request, kernels_view id, const kernels_repository *repository) {
    for (size_t i = 0; i < request->service->private_count; i++) {
        if (kernels_view_equal_text(id, request->service->private_repositories[i])) {
            return true;
        }
    }
    return kernels_repository_is_private(repository);
}

bool kernels_request_is_private(const kernels_request *request) {
    return is_private(request, request->route.repository, request->repository);
}

bool kernels_request_may_read(const kernels_request *request, kernels_view id, const kernels_repository *repository) {
    /* without accounts there is nobody to keep a repository from */
    return request->account != NULL || !kernels_auth_has_accounts(request->service->auth) ||
           !is_private(request, id, repository);
}

static kernels_status open_repository(kernels_request *request, kernels_access access, kernels_error *error) {
    if (access != KERNELS_ACCESS_READ && access != KERNELS_ACCESS_WRITE) {
        return KERNELS_OK;
    }
    kernels_status status = kernels_repository_open(request->service->store, request->route.type,
                                                    request->route.repository, &request->repository, error);
    if (status == KERNELS_REPOSITORY_NOT_FOUND) {
        return hide_repository(request, error);
    }
    if (status == KERNELS_OK && !kernels_request_may_read(request, request->route.repository, request->repository)) {
        return hide_repository(request, error);
    }
    return status;
}

static kernels_status authenticate(kernels_request *request, kernels_access access, kernels_error *error) {
    if (access == KERNELS_ACCESS_SIGNED) {
        return KERNELS_OK;
    }
    if (kernels_auth_check(request->service->auth, request->headers.authorization, &request->account) ==
        KERNELS_AUTH_INVALID) {
        return kernels_fail(error, KERNELS_AUTHENTICATION, "Invalid credentials in Authorization header");
    }
    return KERNELS_OK;
}

/* ---- the way of a request ---- */

static kernels_status check_body(const kernels_request *request, kernels_error *error) {
    const kernels_request_headers *headers = &request->headers;
    if (headers->content_encoding != NULL && strcmp(headers->content_encoding, "identity") != 0) {
        return refuse(415, KERNELS_BAD_REQUEST, "Bodies must come without content encoding", error);
    }
    if (headers->has_length && headers->content_length > request->service->max_body) {
        return kernels_fail(error, KERNELS_LIMIT, "The body has %llu bytes; this server takes at most %llu",
                            (unsigned long long)headers->content_length,
                            (unsigned long long)request->service->max_body);
    }
    return KERNELS_OK;
}

static kernels_status begin(kernels_request *request, kernels_error *error) {
    if (request->raw_target.size > KERNELS_TARGET_SIZE_LIMIT) {
        return refuse(414, KERNELS_BAD_REQUEST, "The target of the request is too long", error);
    }
    KERNELS_TRY(kernels_target_parse(request->raw_target, request->arena, &request->target, error));
    request->fault = kernels_faults_find(request->service->faults, request->method, request->target.raw_path);
    if (request->fault != NULL && kernels_fault_replaces_answer(request->fault)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_route_find(request->method, &request->target, request->arena, &request->route, error));
    request->location = kernels_alias_location(request->service->aliases, request->service->alias_count,
                                               request->route.repository, request->raw_target, request->arena);
    if (request->location != NULL) {
        return KERNELS_OK;
    }
    const kernels_endpoint *endpoint = kernels_endpoint_find(request->route.endpoint);
    KERNELS_TRY(authenticate(request, endpoint->access, error));
    KERNELS_TRY(check_write(request, endpoint->access, error));
    KERNELS_TRY(check_body(request, error));
    KERNELS_TRY(open_repository(request, endpoint->access, error));
    request->routed = true;
    return endpoint->begin != NULL ? endpoint->begin(request, error) : KERNELS_OK;
}

bool kernels_request_begin(kernels_request *request, const char *method, const kernels_request_headers *headers) {
    request->method = kernels_arena_copy_view(request->arena, kernels_view_of(method));
    request->is_head = kernels_view_equal_text(request->method, "HEAD");
    request->headers = *headers;
    return begin(request, &request->error) == KERNELS_OK && request->location == NULL;
}

static kernels_status receive(kernels_request *request, const void *data, size_t size, kernels_error *error) {
    const kernels_endpoint *endpoint = kernels_endpoint_find(request->route.endpoint);
    if (request->received > request->service->max_body) {
        return kernels_fail(error, KERNELS_LIMIT, "This server takes at most %llu bytes",
                            (unsigned long long)request->service->max_body);
    }
    if (endpoint->receive != NULL) {
        return endpoint->receive(request, data, size, error);
    }
    kernels_buffer_add(&request->body, data, size);
    if (request->body.failure == KERNELS_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "The body is longer than %zu bytes", KERNELS_REQUEST_TEXT_LIMIT);
    }
    return kernels_buffer_status(&request->body, error);
}

void kernels_request_receive(kernels_request *request, const void *data, size_t size) {
    request->received += size;
    if (request->routed && request->error.status == KERNELS_OK) {
        receive(request, data, size, &request->error);
    }
}

void kernels_request_answer(kernels_request *request, kernels_response *response) {
    if (request->routed && request->error.status == KERNELS_OK) {
        const kernels_endpoint *endpoint = kernels_endpoint_find(request->route.endpoint);
        if (endpoint->answer(request, response, &request->error) == KERNELS_OK) {
            kernels_buffer_status(&response->text, &request->error);
        }
    }
    if (request->location != NULL) {
        response->status = 307;
        kernels_response_set_header(response, "Location", request->location);
    }
    if (request->error.status != KERNELS_OK) {
        kernels_response_fail(response, &request->error);
    }
    kernels_response_set_header(response, "X-Request-Id", request->id);
    if (request->fault != NULL) {
        kernels_fault_apply(request->fault, response);
    }
}

/* ---- for the endpoints ---- */

static bool host_is_usable(const char *host) {
    if (host == NULL || *host == '\0' || strlen(host) > 255) {
        return false;
    }
    for (const char *c = host; *c != '\0'; c++) {
        if (!kernels_is_alnum(*c) && strchr(".-_:[]", *c) == NULL) {
            return false;
        }
    }
    return true;
}

const char *kernels_request_base_url(const kernels_request *request) {
    const char *host = host_is_usable(request->headers.host) ? request->headers.host : request->service->authority;
    const char *url = kernels_arena_printf(request->arena, "%s://%s", request->service->scheme, host);
    return url != NULL ? url : "";
}

kernels_status kernels_request_json(const kernels_request *request, kernels_document *document, kernels_error *error) {
    kernels_view text = kernels_buffer_view(&request->body);
    if (text.size == 0) {
        text = KERNELS_VIEW("{}");
    }
    kernels_error cause = KERNELS_ERROR_INIT;
    if (kernels_json_parse(text, "body", document, &cause) != KERNELS_OK) {
        kernels_status status = cause.status == KERNELS_NO_MEMORY ? KERNELS_NO_MEMORY : KERNELS_BAD_REQUEST;
        kernels_fail(error, status, "The body is not usable: %s", kernels_error_message(&cause));
        kernels_error_dispose(&cause);
        return status;
    }
    if (!kernels_node_is(document->root, KERNELS_NODE_OBJECT)) {
        kernels_document_dispose(document);
        return kernels_fail(error, KERNELS_BAD_REQUEST, "The body must be a JSON object");
    }
    return KERNELS_OK;
}

void kernels_response_json(kernels_response *response, kernels_json_writer *json) {
    kernels_response_set_header(response, "Content-Type", "application/json; charset=utf-8");
    kernels_json_writer_init(json, &response->text, 0, false);
}

kernels_status kernels_request_commit(kernels_request *request, kernels_response *response,
                                      char commit[KERNELS_COMMIT_ID_SIZE], kernels_error *error) {
    KERNELS_TRY(kernels_repository_resolve(request->repository, request->route.revision, commit, error));
    kernels_response_set_header(response, "X-Repo-Commit",
                                kernels_arena_copy_text(request->arena, kernels_view_of(commit)));
    return KERNELS_OK;
}
