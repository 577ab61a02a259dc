/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket. */
#ifndef KERNELS_SRC_SERVER_LISTENER_H
#define KERNELS_SRC_SERVER_LISTENER_H

#include "kernels/base.h"

/* "[::1]:65535" and longer addresses */
#define KERNELS_AUTHORITY_SIZE 80

typedef struct kernels_listener {
    int socket;
    bool is_ipv6;
    bool is_loopback;
    char authority[KERNELS_AUTHORITY_SIZE]; /* "127.0.0.1:8080", "[::1]:8080" */
} kernels_listener;

/* true when host is a numeric loopback address or "localhost". */
bool kernels_host_is_loopback(const char *host);
/* Binds and listens. KERNELS_ADDRESS_IN_USE, KERNELS_PERMISSION, KERNELS_USAGE (no address). */
kernels_status kernels_listener_open(const char *host, uint16_t port, kernels_listener *listener, kernels_error *error);

#endif
