/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints: what each needs and does. One row of the table in api.c an endpoint, one file a topic. */
#ifndef KERNELS_SRC_SERVER_API_H
#define KERNELS_SRC_SERVER_API_H

#include "server/request.h"

typedef enum kernels_access {
    KERNELS_ACCESS_OPEN,    /* anybody; no repository */
    KERNELS_ACCESS_ACCOUNT, /* whoever may write; no repository */
    KERNELS_ACCESS_READ,    /* request->repository is opened */
    KERNELS_ACCESS_WRITE,   /* likewise */
    KERNELS_ACCESS_SIGNED,  /* the endpoint checks the signature of the address */
} kernels_access;

typedef kernels_status kernels_answer_function(kernels_request *request, kernels_response *response,
                                               kernels_error *error);

typedef struct kernels_endpoint {
    kernels_endpoint_id id;
    kernels_access access;
    /* Before the body comes; may be NULL. */
    kernels_status (*begin)(kernels_request *request, kernels_error *error);
    /* A piece of the body; NULL: it is collected in request->body. */
    kernels_status (*receive)(kernels_request *request, const void *data, size_t size, kernels_error *error);
    kernels_answer_function *answer;
    /* Frees request->state; may be NULL. Called once, also after failures. */
    void (*dispose)(kernels_request *request);
} kernels_endpoint;

const kernels_endpoint *kernels_endpoint_find(kernels_endpoint_id id);

/* api_account.c */
kernels_answer_function kernels_api_whoami, kernels_api_organization, kernels_api_validate_yaml;
/* true when the publisher was called trusted */
bool kernels_service_trusts(const kernels_service *service, kernels_view name);
/* api_repository.c */
kernels_answer_function kernels_api_create_repository, kernels_api_delete_repository, kernels_api_info;
/* "2026-11-30T12:00:00.000Z" in the arena; NULL on failure */
const char *kernels_format_time(kernels_arena *arena, int64_t seconds);
/* api_refs.c */
kernels_answer_function kernels_api_refs, kernels_api_create_branch, kernels_api_delete_branch, kernels_api_create_tag,
    kernels_api_delete_tag;
/* api_pages.c */
kernels_answer_function kernels_api_index, kernels_api_style, kernels_api_page;
/* api_tree.c */
kernels_answer_function kernels_api_tree, kernels_api_paths_info;
/* api_resolve.c */
kernels_answer_function kernels_api_resolve, kernels_api_lfs_download;
/* api_lfs.c */
kernels_answer_function kernels_api_lfs_batch, kernels_api_lfs_verify;
/* Bytes of each part but the last of a large file of that size. */
uint64_t kernels_lfs_part_size(const kernels_service *service, uint64_t size);
/* api_lfs_transfer.c */
kernels_answer_function kernels_api_lfs_upload, kernels_api_lfs_part, kernels_api_lfs_join;
kernels_status kernels_api_lfs_upload_begin(kernels_request *request, kernels_error *error);
kernels_status kernels_api_lfs_part_begin(kernels_request *request, kernels_error *error);
kernels_status kernels_api_lfs_receive(kernels_request *request, const void *data, size_t size, kernels_error *error);
void kernels_api_lfs_dispose(kernels_request *request);
/* api_commit.c */
kernels_answer_function kernels_api_preupload, kernels_api_commit;
kernels_status kernels_api_commit_begin(kernels_request *request, kernels_error *error);
kernels_status kernels_api_commit_receive(kernels_request *request, const void *data, size_t size,
                                          kernels_error *error);
void kernels_api_commit_dispose(kernels_request *request);

/* signed_url.c: addresses that work without a token until they expire. */
/* "<base><path>?size=N&expires=T&signature=S" in the arena; NULL on failure. verb: "put", "join" or "get". */
const char *kernels_signed_url(const kernels_request *request, const char *base, const char *verb, const char *path,
                               uint64_t size);
/* Checks the address of this request; size receives the signed size. */
kernels_status kernels_signed_url_check(const kernels_request *request, const char *verb, uint64_t *size,
                                        kernels_error *error);

#endif
