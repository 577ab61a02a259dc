/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded hub: a Hub-compatible HTTP server over a folder of git repositories and large files.
 *
 *     kernels_server_options options = KERNELS_SERVER_OPTIONS_INIT;
 *     options.directory = "hub";
 *     KERNELS_TRY(kernels_server_start(&options, &server, error));
 *     puts(kernels_server_url(server));
 *     ...
 *     kernels_server_stop(server);
 *
 * Starting makes threads: block the signals that you wait for before. SIGPIPE must be ignored by the process.
 */
#ifndef KERNELS_SRC_SERVER_SERVER_H
#define KERNELS_SRC_SERVER_SERVER_H

#include "kernels/base.h"

#define KERNELS_SERVER_PAGE_SIZE 1000
#define KERNELS_SERVER_PAGE_SIZE_LIMIT 10000
#define KERNELS_SERVER_PART (UINT64_C(1024) * 1024 * 1024)
#define KERNELS_SERVER_TIMEOUT 60
#define KERNELS_SERVER_TIMEOUT_LIMIT 86400
#define KERNELS_SERVER_MAX_BODY (UINT64_C(64) * 1024 * 1024 * 1024)

typedef struct kernels_server kernels_server;

/* Texts and lists must stay valid while the server runs. */
typedef struct kernels_server_options {
    const char *directory;     /* made when absent */
    const char *host;          /* IPv4 or IPv6 address, or "localhost" */
    uint16_t port;             /* 0: any free one */
    const char *const *tokens; /* NAME:TOKEN or NAME:TOKEN:ro, beside those of the folder's file of tokens
                                  (token_file.h); no accounts at all: everybody may write */
    size_t token_count;
    const char *const *trusted; /* names of trusted publishers */
    size_t trusted_count;
    const char *const *private_repositories; /* OWNER/NAME; needs tokens */
    size_t private_count;
    const char *const *aliases; /* OLD=NEW: renamed repositories */
    size_t alias_count;
    const char *tls_certificate; /* files in PEM form, both or none: then the server speaks HTTPS */
    const char *tls_key;
    bool read_only;
    bool cdn;                /* large files are answered by a redirect to another origin */
    uint64_t lfs_threshold;  /* clients send files of this size as large files; UINT64_MAX: none */
    uint64_t lfs_part_size;  /* larger ones come in parts of this size from clients that can */
    unsigned timeout;        /* seconds: silence, the head of a request, a body below 1 KiB/s */
    size_t page_size;        /* entries of one page of a listing */
    uint64_t max_body;       /* bytes of one request */
    const char *faults_file; /* faults.h; NULL: none */
    /* One JSON object a request, without newline. Called by any thread. May be NULL. */
    void (*access_log)(void *payload, kernels_view line);
    void *payload;
} kernels_server_options;

#define KERNELS_SERVER_OPTIONS_INIT                                  \
    ((kernels_server_options){.host = "127.0.0.1",                   \
                              .lfs_threshold = UINT64_MAX,           \
                              .lfs_part_size = KERNELS_SERVER_PART,  \
                              .timeout = KERNELS_SERVER_TIMEOUT,     \
                              .page_size = KERNELS_SERVER_PAGE_SIZE, \
                              .max_body = KERNELS_SERVER_MAX_BODY})

/* KERNELS_USAGE: options that do not fit together, among them an address that is not loopback without accounts.
 * KERNELS_ADDRESS_IN_USE: the port is taken. KERNELS_CONFLICT: the folder is served by another process. */
kernels_status kernels_server_start(const kernels_server_options *options, kernels_server **server,
                                    kernels_error *error);
/* "http://127.0.0.1:8080" */
const char *kernels_server_url(const kernels_server *server);
/* Takes no new connections, lets running requests end (for at most 30 s), then frees everything. */
void kernels_server_stop(kernels_server *server);

#endif
