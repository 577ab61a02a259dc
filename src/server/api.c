/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api.h"

static const kernels_endpoint endpoints[] = {
    {.id = KERNELS_ENDPOINT_WHOAMI, .access = KERNELS_ACCESS_OPEN, .answer = kernels_api_whoami},
    {.id = KERNELS_ENDPOINT_ORGANIZATION, .access = KERNELS_ACCESS_OPEN, .answer = kernels_api_organization},
    {.id = KERNELS_ENDPOINT_VALIDATE_YAML, .access = KERNELS_ACCESS_OPEN, .answer = kernels_api_validate_yaml},
    {.id = KERNELS_ENDPOINT_CREATE_REPOSITORY,
     .access = KERNELS_ACCESS_ACCOUNT,
     .answer = kernels_api_create_repository},
    {.id = KERNELS_ENDPOINT_DELETE_REPOSITORY,
     .access = KERNELS_ACCESS_ACCOUNT,
     .answer = kernels_api_delete_repository},
    {.id = KERNELS_ENDPOINT_INFO, .access = KERNELS_ACCESS_READ, .answer = kernels_api_info},
    {.id = KERNELS_ENDPOINT_REFS, .access = KERNELS_ACCESS_READ, .answer = kernels_api_refs},
    {.id = KERNELS_ENDPOINT_TREE, .access = KERNELS_ACCESS_READ, .answer = kernels_api_tree},
    {.id = KERNELS_ENDPOINT_PATHS_INFO, .access = KERNELS_ACCESS_READ, .answer = kernels_api_paths_info},
    {.id = KERNELS_ENDPOINT_CREATE_BRANCH, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_create_branch},
    {.id = KERNELS_ENDPOINT_DELETE_BRANCH, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_delete_branch},
    {.id = KERNELS_ENDPOINT_CREATE_TAG, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_create_tag},
    {.id = KERNELS_ENDPOINT_DELETE_TAG, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_delete_tag},
    {.id = KERNELS_ENDPOINT_PREUPLOAD, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_preupload},
    {.id = KERNELS_ENDPOINT_COMMIT,
     .access = KERNELS_ACCESS_WRITE,
     .begin = kernels_api_commit_begin,
     .receive = kernels_api_commit_receive,
     .answer = kernels_api_commit,
     .dispose = kernels_api_commit_dispose},
    {.id = KERNELS_ENDPOINT_RESOLVE, .access = KERNELS_ACCESS_READ, .answer = kernels_api_resolve},
    {.id = KERNELS_ENDPOINT_LFS_BATCH, .access = KERNELS_ACCESS_READ, .answer = kernels_api_lfs_batch},
    {.id = KERNELS_ENDPOINT_LFS_UPLOAD,
     .access = KERNELS_ACCESS_SIGNED,
     .begin = kernels_api_lfs_upload_begin,
     .receive = kernels_api_lfs_receive,
     .answer = kernels_api_lfs_upload,
     .dispose = kernels_api_lfs_dispose},
    {.id = KERNELS_ENDPOINT_LFS_PART,
     .access = KERNELS_ACCESS_SIGNED,
     .begin = kernels_api_lfs_part_begin,
     .receive = kernels_api_lfs_receive,
     .answer = kernels_api_lfs_part,
     .dispose = kernels_api_lfs_dispose},
    {.id = KERNELS_ENDPOINT_LFS_JOIN, .access = KERNELS_ACCESS_SIGNED, .answer = kernels_api_lfs_join},
    {.id = KERNELS_ENDPOINT_LFS_VERIFY, .access = KERNELS_ACCESS_WRITE, .answer = kernels_api_lfs_verify},
    {.id = KERNELS_ENDPOINT_LFS_DOWNLOAD, .access = KERNELS_ACCESS_SIGNED, .answer = kernels_api_lfs_download},
    {.id = KERNELS_ENDPOINT_INDEX, .access = KERNELS_ACCESS_OPEN, .answer = kernels_api_index},
    {.id = KERNELS_ENDPOINT_STYLE, .access = KERNELS_ACCESS_OPEN, .answer = kernels_api_style},
    {.id = KERNELS_ENDPOINT_PAGE, .access = KERNELS_ACCESS_READ, .answer = kernels_api_page},
};

_Static_assert(sizeof endpoints / sizeof endpoints[0] == KERNELS_ENDPOINT_COUNT, "every endpoint has one row");

const kernels_endpoint *kernels_endpoint_find(kernels_endpoint_id id) {
    for (size_t i = 0; i < KERNELS_ENDPOINT_COUNT; i++) {
        if (endpoints[i].id == id) {
            return &endpoints[i];
        }
    }
    return NULL;
}
