/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs, split strictly: http and https only, no user information, no characters on which two parsers
 * could disagree. What this file accepts is what decides where a token goes. Pure.
 */
#ifndef KERNELS_SRC_HUB_URL_H
#define KERNELS_SRC_HUB_URL_H

#include "kernels/base.h"

/* Longest URL we send or follow, bytes. */
#define KERNELS_URL_LIMIT ((size_t)16 * 1024)

typedef struct kernels_url {
    bool secure;        /* https */
    kernels_view host;  /* as written, "[::1]" with its brackets */
    uint16_t port;      /* the default one when none is written */
    kernels_view path;  /* from the first "/"; may be empty */
    kernels_view query; /* without "?"; data NULL when there is none */
} kernels_url;

/* The views point into text. */
kernels_status kernels_url_parse(kernels_view text, kernels_url *url, kernels_error *error);
/* Same scheme, host (ASCII case ignored) and port. */
bool kernels_url_same_origin(const kernels_url *a, const kernels_url *b);
/* Absolute form of a reference (Location, Link) met in the answer to base. The fragment is dropped.
 * Heap text. */
kernels_status kernels_url_resolve(const char *base, kernels_view reference, char **url, kernels_error *error);
/* The URL without its query, for messages and logs: a query may hold a signature. */
kernels_view kernels_url_without_query(const char *url);

#endif
