/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables of the Hub's tools, read once into plain values. */
#ifndef KERNELS_SRC_HUB_CONFIG_H
#define KERNELS_SRC_HUB_CONFIG_H

#include "kernels/base.h"

/* Value of a variable or NULL; tests give their own. */
typedef const char *kernels_environment_function(void *payload, const char *name);
/* The process's environment; payload is not used. */
const char *kernels_environment_of_process(void *payload, const char *name);

typedef struct kernels_hub_config {
    char *endpoint;     /* no trailing slash */
    char *home;         /* HF_HOME */
    char *hub_cache;    /* HF_HUB_CACHE */
    char *cache;        /* KERNELS_CACHE, else hub_cache */
    char *token_path;   /* HF_TOKEN_PATH */
    char *state;        /* what we remember for this user: $XDG_CACHE_HOME/kernels, else ~/.cache/kernels */
    char *origin;       /* HF_HUB_USER_AGENT_ORIGIN, or NULL */
    char *ca_file;      /* SSL_CERT_FILE, or NULL */
    char *ca_directory; /* SSL_CERT_DIR, or NULL */
    char *http_proxy;   /* HTTP_PROXY, or NULL: the one proxy variable that libcurl does not read itself */
    bool offline;
    bool no_telemetry;
    bool no_symlinks;
    bool no_progress;
    bool no_implicit_token;
    bool strict_cache;         /* KERNELS_VERIFY=1: a cache into which others can write is refused */
    unsigned metadata_timeout; /* HF_HUB_ETAG_TIMEOUT, seconds */
    unsigned download_timeout; /* HF_HUB_DOWNLOAD_TIMEOUT, seconds */
} kernels_hub_config;

/* KERNELS_INVALID_ARGUMENT names a variable whose value cannot be used. */
kernels_status kernels_hub_config_read(kernels_environment_function *environment, void *payload,
                                       kernels_hub_config *config, kernels_error *error);
void kernels_hub_config_dispose(kernels_hub_config *config);

/* Trailing slashes removed, checked to be a usable URL; heap text. `source` says where it came from. */
kernels_status kernels_hub_endpoint_check(const char *text, const char *source, char **endpoint, kernels_error *error);

#endif
