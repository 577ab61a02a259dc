/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing built variants: the repository, its branches, one commit a branch. */
#ifndef KERNELS_SRC_BUILD_PUBLISH_H
#define KERNELS_SRC_BUILD_PUBLISH_H

#include "base/buffer.h"
#include "hub/hub.h"

typedef struct kernels_publish_options {
    const char *kernel_dir;
    const char *repo_id; /* NULL = general.hub.repo-id */
    const char *branch;  /* NULL = general.hub.branch, else v<version> of the variants */
    bool is_private;
    kernels_repository_type type;
    bool create_pr;
    bool dry_run;                                     /* reads only; plan gets what would be done */
    void (*note)(void *payload, const char *text);    /* may be NULL */
    void (*warning)(void *payload, const char *text); /* may be NULL */
    void *payload;
} kernels_publish_options;

typedef struct kernels_pull_request {
    char *branch, *url;
} kernels_pull_request;

typedef struct kernels_publish_result {
    char *repo_id, *branch;
    char *url;      /* of the branch, for people */
    size_t commits; /* made; 0 = no changes */
    kernels_pull_request pull_requests[2];
    size_t pull_request_count;
    kernels_buffer plan; /* dry_run: text, a heading for each branch and a line for each operation */
} kernels_publish_result;

kernels_status kernels_publish(kernels_hub *hub, const kernels_publish_options *options, kernels_publish_result *result,
                               kernels_error *error);
void kernels_publish_result_dispose(kernels_publish_result *result);

#endif
