/* SPDX-License-Identifier: Apache-2.0 */
/* One batch of a commit on its way: what each file is, which way its content goes. Private to upload.c, preupload.c
 * and lfs.c. */
#ifndef KERNELS_SRC_HUB_UPLOAD_H
#define KERNELS_SRC_HUB_UPLOAD_H

#include "base/hash.h"
#include "hub/hub_private.h"

/* Files or objects in one question to the Hub: its own limit. */
#define KERNELS_UPLOAD_GROUP 256u

typedef struct kernels_upload_file {
    const kernels_operation *operation; /* an addition */
    uint64_t size;
    bool is_large;   /* goes to the large-file store */
    bool dropped;    /* the Hub has it already, or does not want it */
    char sha256[65]; /* of large files */
} kernels_upload_file;

typedef struct kernels_upload {
    kernels_hub *hub;
    kernels_repository_type type;
    const char *repo_id;
    const char *revision; /* branch, or refs/pr/N */
    bool create_pr;       /* this commit opens a pull request */
    kernels_upload_file *files;
    size_t count;
    size_t unchanged; /* dropped since the content is there */
} kernels_upload;

/* Asks the Hub how each file is stored, and drops those whose content is there. */
kernels_status kernels_preupload(kernels_upload *upload, kernels_error *error);
/* Sends the content of the large files that the Hub lacks. */
kernels_status kernels_lfs_upload(kernels_upload *upload, kernels_error *error);

/* Hash of an addition's content, lower-case hex. */
kernels_status kernels_upload_hash(const kernels_upload_file *file, kernels_hash_algorithm algorithm, char hex[65],
                                   kernels_error *error);
void kernels_upload_report(const kernels_upload *upload, const kernels_upload_file *file);

#endif
