/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file of a commit on its way into the cache: a temporary file in blobs/, hashed while it grows, compared with its
 * id, renamed, linked from the snapshot. A large file that takes long comes over several connections, each with a
 * segment of it.
 */
#ifndef KERNELS_SRC_HUB_DOWNLOAD_H
#define KERNELS_SRC_HUB_DOWNLOAD_H

#include "base/file.h"
#include "hub/hub_private.h"

/* Connections that one file may have. */
#define KERNELS_DOWNLOAD_SEGMENTS 4

typedef struct kernels_download kernels_download;

/* What the downloads of one kernels_hub_fetch share. */
typedef struct kernels_downloads {
    kernels_hub *hub;
    kernels_repository_type type;
    const char *repo_id, *commit;
    char *repository, *snapshot, *locks;           /* folders */
    uint64_t done_bytes, total_bytes, last_report; /* progress */
} kernels_downloads;

typedef struct kernels_segment {
    kernels_download *download;
    uint64_t written; /* bytes from its start, which is request.offset */
    kernels_http_sink sink;
    kernels_http_request request;
    bool in_flight;
} kernels_segment;

struct kernels_download {
    kernels_downloads *shared;
    const char *path; /* in the repository */
    char id[65];      /* of the content: name of the blob */
    bool has_size;
    uint64_t size;
    char *pointer; /* file or link in the snapshot */
    char *blob;
    char *url;
    kernels_file_writer *writer;
    kernels_file_lock *lock;
    uint64_t begun;            /* clock time */
    uint64_t waited_before;    /* for the network, when it was begun */
    kernels_segment *segments; /* KERNELS_DOWNLOAD_SEGMENTS of them, while any is on its way */
    size_t segment_count;
};

/* Is the file (or link) there, in the right size? */
bool kernels_download_has(const char *path, bool has_size, uint64_t size);

/* Finds out address, id and size; asks the Hub when the listing had no id. */
kernels_status kernels_download_prepare(kernels_download *download, kernels_error *error);
/* Opens the temporary file; segments[0] is then the request for the whole. */
kernels_status kernels_download_open(kernels_download *download, kernels_error *error);
/* Gives a part of the longest segment to a new connection, if that saves seconds. NULL: not now. */
kernels_segment *kernels_download_split(kernels_download *download);
/* May kernels_download_split give one later? */
bool kernels_download_may_split(const kernels_download *download);
/* A segment has arrived and is not in flight any more. *finished: it was the last, the file is checked and in its
 * place. */
kernels_status kernels_download_segment_done(kernels_segment *segment, bool *finished, kernels_error *error);
/* The blob is there already: the snapshot's entry alone. */
kernels_status kernels_download_link(const kernels_download *download, kernels_error *error);
/* Removes what is half done and gives the lock back. Segments in flight stay valid until kernels_download_dispose. */
void kernels_download_release(kernels_download *download);
void kernels_download_dispose(kernels_download *download);

/* Tells the progress of this file and of the whole, at most every 50 ms unless `always`. */
void kernels_download_report(const kernels_download *download, bool always);

#endif
