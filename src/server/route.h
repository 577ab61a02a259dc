/* SPDX-License-Identifier: Apache-2.0 */
/* Which endpoint a method and a target mean. Pure. */
#ifndef KERNELS_SRC_SERVER_ROUTE_H
#define KERNELS_SRC_SERVER_ROUTE_H

#include "hub/hub.h"
#include "server/target.h"

typedef enum kernels_endpoint_id {
    KERNELS_ENDPOINT_WHOAMI,
    KERNELS_ENDPOINT_ORGANIZATION,
    KERNELS_ENDPOINT_VALIDATE_YAML,
    KERNELS_ENDPOINT_CREATE_REPOSITORY,
    KERNELS_ENDPOINT_DELETE_REPOSITORY,
    KERNELS_ENDPOINT_INFO,
    KERNELS_ENDPOINT_REFS,
    KERNELS_ENDPOINT_TREE,
    KERNELS_ENDPOINT_PATHS_INFO,
    KERNELS_ENDPOINT_CREATE_BRANCH,
    KERNELS_ENDPOINT_DELETE_BRANCH,
    KERNELS_ENDPOINT_CREATE_TAG,
    KERNELS_ENDPOINT_DELETE_TAG,
    KERNELS_ENDPOINT_PREUPLOAD,
    KERNELS_ENDPOINT_COMMIT,
    KERNELS_ENDPOINT_RESOLVE,
    KERNELS_ENDPOINT_LFS_BATCH,
    KERNELS_ENDPOINT_LFS_UPLOAD,
    KERNELS_ENDPOINT_LFS_PART,
    KERNELS_ENDPOINT_LFS_JOIN,
    KERNELS_ENDPOINT_LFS_VERIFY,
    KERNELS_ENDPOINT_LFS_DOWNLOAD,
    KERNELS_ENDPOINT_INDEX,
    KERNELS_ENDPOINT_STYLE,
    KERNELS_ENDPOINT_PAGE,
    KERNELS_ENDPOINT_COUNT
} kernels_endpoint_id;

typedef struct kernels_route {
    kernels_endpoint_id endpoint;
    kernels_repository_type type;
    kernels_view repository; /* "owner/name" or "name"; not yet checked */
    kernels_view revision;   /* decoded; "main" where the target names none; "" for a page: the best there is */
    kernels_view path;       /* decoded, inside the repository; "" = its root; of a part: its number */
    kernels_view name;       /* organization, branch, tag, SHA-256, upload */
} kernels_route;

/* KERNELS_NOT_FOUND: no such endpoint. HEAD is routed as GET. */
kernels_status kernels_route_find(kernels_view method, const kernels_target *target, kernels_arena *arena,
                                  kernels_route *route, kernels_error *error);
/* Where a repository's files and web page are: "kernels/" or "". */
const char *kernels_route_prefix(kernels_repository_type type);
/* false for owners whose files could not be told from other addresses of the server. */
bool kernels_route_owner_is_free(kernels_view owner);

#endif
