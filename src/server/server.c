/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernels/data.h"
#include "server/connection.h"
#include "server/listener.h"

#define CONNECTIONS_LIMIT 512u
/* Head of a request, and the buffer its body passes through. */
#define CONNECTION_MEMORY ((size_t)128 * 1024)
#define STOP_MS 30000
#define STOP_STEP_MS 20

struct kernels_server {
    kernels_service service;
    kernels_transport transport;
    kernels_listener listener;
    struct MHD_Daemon *daemon;
    char url[KERNELS_AUTHORITY_SIZE + 8];
};

/* ---- options ---- */

static kernels_status check_repositories(const kernels_server_options *options, kernels_error *error) {
    if (options->private_count > 0 && options->token_count == 0) {
        return kernels_fail(error, KERNELS_USAGE, "private repositories need accounts: give --token NAME:TOKEN");
    }
    for (size_t i = 0; i < options->private_count; i++) {
        const char *id = options->private_repositories[i];
        if (kernels_repository_id_check((kernels_view){id, strlen(id)}, NULL) != KERNELS_OK) {
            return kernels_fail(error, KERNELS_USAGE, "expected OWNER/NAME as private repository, found \"%s\"", id);
        }
    }
    return KERNELS_OK;
}

static kernels_status check_options(const kernels_server_options *options, kernels_error *error) {
    if (options->directory == NULL || options->host == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "a folder and an address are needed");
    }
    if (!kernels_host_is_loopback(options->host) && options->token_count == 0) {
        return kernels_fail(error, KERNELS_USAGE,
                            "%s is no loopback address: give at least one --token NAME:TOKEN, so that not everybody "
                            "on the network can write, or listen on 127.0.0.1",
                            options->host);
    }
    if (options->page_size == 0 || options->page_size > KERNELS_SERVER_PAGE_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_USAGE, "a page must have 1 to %d entries", KERNELS_SERVER_PAGE_SIZE_LIMIT);
    }
    return check_repositories(options, error);
}

/* ---- starting ---- */

static kernels_status fill_service(const kernels_server_options *options, kernels_service *service,
                                   kernels_error *error) {
    service->trusted = options->trusted;
    service->trusted_count = options->trusted_count;
    service->private_repositories = options->private_repositories;
    service->private_count = options->private_count;
    service->read_only = options->read_only;
    service->cdn = options->cdn;
    service->lfs_threshold = options->lfs_threshold;
    service->page_size = options->page_size;
    service->max_body = options->max_body;
    KERNELS_TRY(kernels_auth_new(options->tokens, options->token_count, &service->auth, error));
    return options->faults_file != NULL ? kernels_faults_read(options->faults_file, &service->faults, error)
                                        : KERNELS_OK;
}

static kernels_status start_daemon(kernels_server *server, kernels_error *error) {
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
    if (server->listener.is_ipv6) {
        flags |= MHD_USE_IPv6;
    }
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, kernels_connection_handle, &server->transport, MHD_OPTION_LISTEN_SOCKET,
        server->listener.socket, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_LIMIT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)KERNELS_IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_URI_LOG_CALLBACK, kernels_connection_first_line, &server->transport, MHD_OPTION_NOTIFY_COMPLETED,
        kernels_connection_completed, &server->transport, MHD_OPTION_END);
    if (server->daemon == NULL) {
        return kernels_fail(error, KERNELS_INTERNAL, "cannot start the HTTP server");
    }
    return KERNELS_OK;
}

static kernels_status start(const kernels_server_options *options, kernels_server *server, kernels_error *error) {
    KERNELS_TRY(check_options(options, error));
    KERNELS_TRY(fill_service(options, &server->service, error));
    KERNELS_TRY(kernels_listener_open(options->host, options->port, &server->listener, error));
    /* last, so that a server that cannot listen makes no folder */
    KERNELS_TRY(kernels_store_open(options->directory, &server->service.store, error));
    server->service.authority = server->listener.authority;
    server->transport.service = &server->service;
    server->transport.access_log = options->access_log;
    server->transport.payload = options->payload;
    atomic_init(&server->transport.running, 0);
    atomic_init(&server->transport.stopping, false);
    memcpy(server->url, "http://", 7);
    memcpy(server->url + 7, server->listener.authority, strlen(server->listener.authority) + 1);
    return start_daemon(server, error);
}

static void free_server(kernels_server *server) {
    if (server->listener.socket >= 0) {
        close(server->listener.socket);
    }
    kernels_auth_free(server->service.auth);
    kernels_faults_free(server->service.faults);
    kernels_store_close(server->service.store);
    kernels_free(server);
}

kernels_status kernels_server_start(const kernels_server_options *options, kernels_server **server,
                                    kernels_error *error) {
    kernels_server *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    made->listener.socket = -1;
    kernels_status status = start(options, made, error);
    if (status != KERNELS_OK) {
        free_server(made);
        return status;
    }
    *server = made;
    return KERNELS_OK;
}

const char *kernels_server_url(const kernels_server *server) { return server->url; }

/* ---- stopping ---- */

void kernels_server_stop(kernels_server *server) {
    if (server == NULL) {
        return;
    }
    atomic_store(&server->transport.stopping, true);
    (void)MHD_quiesce_daemon(server->daemon); /* gives the listening socket back to us */
    for (unsigned waited = 0; waited < STOP_MS && atomic_load(&server->transport.running) > 0; waited += STOP_STEP_MS) {
        kernels_clock_sleep_ms(STOP_STEP_MS);
    }
    MHD_stop_daemon(server->daemon);
    free_server(server);
}
