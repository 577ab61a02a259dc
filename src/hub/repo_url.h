/* SPDX-License-Identifier: Apache-2.0 */
/* Where things of a repository live on a Hub. Each function gives heap text, NULL = no memory. */
#ifndef KERNELS_SRC_HUB_REPO_URL_H
#define KERNELS_SRC_HUB_REPO_URL_H

#include "hub/hub.h"

/* The Hub everybody means without a custom endpoint. */
#define KERNELS_HUB_PUBLIC_ENDPOINT "https://huggingface.co"
#define KERNELS_HUB_STAGING_ENDPOINT "https://hub-ci.huggingface.co"

const char *kernels_repository_type_name(kernels_repository_type type);   /* "kernel" */
const char *kernels_repository_type_plural(kernels_repository_type type); /* "kernels": API paths, cache folders */
const char *kernels_repository_type_prefix(kernels_repository_type type); /* "kernels/", "": file and web paths */

/* {endpoint}/api/{plural}/{id}[/{action}[/{revision}]]; action and revision may be NULL. */
char *kernels_repo_api_url(const char *endpoint, kernels_repository_type type, const char *repo_id, const char *action,
                           const char *revision);
/* {endpoint}/{prefix}{id}/resolve/{revision}/{path} */
char *kernels_repo_file_url(const char *endpoint, kernels_repository_type type, const char *repo_id,
                            const char *revision, const char *path);
/* {endpoint}/{prefix}{id}.git/info/lfs/objects/batch */
char *kernels_repo_lfs_url(const char *endpoint, kernels_repository_type type, const char *repo_id);

/* May a token for `endpoint` go to `url`? Only to the endpoint's own origin and to the Hub's. */
bool kernels_repo_url_may_have_token(const char *endpoint, const char *url);
/* May what was sent to `from` (with its token) follow a redirect to `to`? */
bool kernels_repo_url_same_or_hub(const char *endpoint, const char *from, const char *to);

/* Why a path of a repository must not become a file below a folder, or NULL when it is safe. */
const char *kernels_repo_path_unsafe_reason(kernels_view path);
/* KERNELS_UNSAFE_NAME for text that is no branch, tag, commit or ref: empty, over 255 bytes, control
 * characters, "..". */
kernels_status kernels_revision_check(const char *revision, kernels_error *error);
/* 40 or 64 lower-case hex digits: a commit, a blob. */
bool kernels_object_name_is_valid(kernels_view text);

#endif
