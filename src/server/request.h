/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request from its first line to its answer, independent of the HTTP library:
 * new -> begin (the headers are known) -> receive* (pieces of the body) -> answer -> free.
 * Belongs to one thread at a time.
 */
#ifndef KERNELS_SRC_SERVER_REQUEST_H
#define KERNELS_SRC_SERVER_REQUEST_H

#include "base/document.h"
#include "base/json_writer.h"
#include "server/response.h"
#include "server/route.h"
#include "server/service.h"

/* Most bytes of a JSON or form body that is held in memory. */
#define KERNELS_REQUEST_TEXT_LIMIT ((size_t)16 * 1024 * 1024)
#define KERNELS_REQUEST_ID_SIZE 33

typedef struct kernels_request_headers { /* NULL = not sent */
    const char *authorization, *host, *range, *origin, *content_encoding, *content_type;
    bool has_length;
    uint64_t content_length;
} kernels_request_headers;

typedef struct kernels_request {
    const kernels_service *service;
    kernels_arena *arena;
    kernels_view raw_target;
    char id[KERNELS_REQUEST_ID_SIZE]; /* X-Request-Id */
    kernels_view method;
    bool is_head;
    kernels_request_headers headers;
    kernels_target target;
    kernels_route route;
    const kernels_account *account; /* NULL: anonymous */
    kernels_repository *repository; /* of endpoints below a repository */
    const kernels_fault_rule *fault;
    kernels_buffer body; /* of endpoints that take a text */
    uint64_t received;
    void *state; /* of the endpoint */
    bool routed;
    const char *location; /* of a renamed repository: the answer is a redirect */
    kernels_error error;  /* first failure; the rest of the body is then ignored */
} kernels_request;

/* NULL: out of memory. */
kernels_request *kernels_request_new(const kernels_service *service, const char *raw_target);
void kernels_request_free(kernels_request *request);

/* Routing, accounts, limits. false: the request has its answer already and needs no body. */
bool kernels_request_begin(kernels_request *request, const char *method, const kernels_request_headers *headers);
void kernels_request_receive(kernels_request *request, const void *data, size_t size);
/* Fills an initialised response. */
void kernels_request_answer(kernels_request *request, kernels_response *response);

/* ---- for the endpoints ---- */

/* "http://host:port" (or https) as the client sees this server; in the arena, never NULL. */
const char *kernels_request_base_url(const kernels_request *request);
/* The body as JSON; an empty body is an empty object. Dispose the document after success. */
kernels_status kernels_request_json(const kernels_request *request, kernels_document *document, kernels_error *error);
/* Starts a JSON answer. */
void kernels_response_json(kernels_response *response, kernels_json_writer *json);
/* Commit that route.revision names; also sets X-Repo-Commit. */
kernels_status kernels_request_commit(kernels_request *request, kernels_response *response,
                                      char commit[KERNELS_COMMIT_ID_SIZE], kernels_error *error);
/* May this request write to its repository? For endpoints that learn from the body that they have to. */
kernels_status kernels_request_need_write(const kernels_request *request, kernels_error *error);
/* true for repositories that only accounts may read */
bool kernels_request_is_private(const kernels_request *request);
/* May this request read that repository? */
bool kernels_request_may_read(const kernels_request *request, kernels_view id, const kernels_repository *repository);

#endif
