/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define BACKLOG 512

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

/* Numeric addresses only: a name could mean several, and looking it up could ask strangers. */
static bool parse_host(const char *host, uint16_t port, address *parsed, socklen_t *size) {
    memset(parsed, 0, sizeof *parsed);
    if (strcmp(host, "localhost") == 0) {
        host = "127.0.0.1";
    }
    if (inet_pton(AF_INET, host, &parsed->v4.sin_addr) == 1) {
        parsed->v4.sin_family = AF_INET;
        parsed->v4.sin_port = htons(port);
        *size = sizeof parsed->v4;
        return true;
    }
    memset(parsed, 0, sizeof *parsed);
    if (inet_pton(AF_INET6, host, &parsed->v6.sin6_addr) == 1) {
        parsed->v6.sin6_family = AF_INET6;
        parsed->v6.sin6_port = htons(port);
        *size = sizeof parsed->v6;
        return true;
    }
    return false;
}

static bool is_loopback(const address *a) {
    if (a->any.sa_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    }
    return (ntohl(a->v4.sin_addr.s_addr) >> 24) == 127;
}

bool kernels_host_is_loopback(const char *host) {
    address parsed;
    socklen_t size;
    return parse_host(host, 0, &parsed, &size) && is_loopback(&parsed);
}

static void print_authority(const address *a, char authority[KERNELS_AUTHORITY_SIZE]) {
    char text[INET6_ADDRSTRLEN] = "";
    if (a->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof text);
        snprintf(authority, KERNELS_AUTHORITY_SIZE, "[%s]:%u", text, (unsigned)ntohs(a->v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof text);
        snprintf(authority, KERNELS_AUTHORITY_SIZE, "%s:%u", text, (unsigned)ntohs(a->v4.sin_port));
    }
}

static kernels_status listen_failed(const char *host, uint16_t port, int number, kernels_error *error) {
    if (number == EADDRINUSE) {
        return kernels_fail(error, KERNELS_ADDRESS_IN_USE,
                            "port %u of %s is already in use; choose another with --port, or 0 for any free one",
                            (unsigned)port, host);
    }
    return kernels_fail_errno(error, number, "cannot listen on port %u of %s", (unsigned)port, host);
}

kernels_status kernels_listener_open(const char *host, uint16_t port, kernels_listener *listener,
                                     kernels_error *error) {
    address wanted, bound;
    socklen_t size = 0, bound_size = sizeof bound;
    const int on = 1;
    if (!parse_host(host, port, &wanted, &size)) {
        return kernels_fail(error, KERNELS_USAGE, "expected an IPv4 or IPv6 address or \"localhost\", found \"%s\"",
                            host);
    }
    int opened = socket(wanted.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (opened < 0) {
        return listen_failed(host, port, errno, error);
    }
    if (setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(opened, &wanted.any, size) != 0 ||
        listen(opened, BACKLOG) != 0 || getsockname(opened, &bound.any, &bound_size) != 0) {
        int number = errno;
        close(opened);
        return listen_failed(host, port, number, error);
    }
    listener->socket = opened;
    listener->is_ipv6 = wanted.any.sa_family == AF_INET6;
    listener->is_loopback = is_loopback(&wanted);
    print_authority(&bound, listener->authority);
    return KERNELS_OK;
}
