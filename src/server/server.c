/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "kernels/data.h"
#include "server/alias.h"
#include "server/connection.h"
#include "server/listener.h"

#define CONNECTIONS_LIMIT 512u
/* Head of a request, and the buffer its body passes through. */
#define CONNECTION_MEMORY ((size_t)128 * 1024)
#define PEM_LIMIT ((size_t)1024 * 1024)
#define STOP_MS 30000
#define STOP_STEP_MS 20

struct kernels_server {
    kernels_service service;
    kernels_transport transport;
    kernels_listener listener;
    struct MHD_Daemon *daemon;
    char *certificate, *key; /* PEM texts; NULL: plain HTTP */
    char url[KERNELS_AUTHORITY_SIZE + 8];
};

/* ---- options ---- */

static kernels_status check_repositories(const kernels_server_options *options, kernels_error *error) {
    for (size_t i = 0; i < options->private_count; i++) {
        const char *id = options->private_repositories[i];
        if (kernels_repository_id_check((kernels_view){id, strlen(id)}, NULL) != KERNELS_OK) {
            return kernels_fail(error, KERNELS_USAGE, "expected OWNER/NAME as private repository, found \"%s\"", id);
        }
    }
    return kernels_aliases_check(options->aliases, options->alias_count, error);
}

static kernels_status check_options(const kernels_server_options *options, kernels_error *error) {
    if (options->directory == NULL || options->host == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "a folder and an address are needed");
    }
    if (options->page_size == 0 || options->page_size > KERNELS_SERVER_PAGE_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_USAGE, "a page must have 1 to %d entries", KERNELS_SERVER_PAGE_SIZE_LIMIT);
    }
    if (options->timeout == 0 || options->timeout > KERNELS_SERVER_TIMEOUT_LIMIT || options->lfs_part_size == 0) {
        return kernels_fail(error, KERNELS_USAGE, "the time limit must be 1 to %d seconds, a part 1 byte or more",
                            KERNELS_SERVER_TIMEOUT_LIMIT);
    }
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL)) {
        return kernels_fail(error, KERNELS_USAGE, "HTTPS needs both --tls-cert and --tls-key");
    }
    return check_repositories(options, error);
}

static kernels_status check_accounts(const kernels_server_options *options, const kernels_auth *auth,
                                     kernels_error *error) {
    if (kernels_auth_has_accounts(auth)) {
        return KERNELS_OK;
    }
    if (options->private_count > 0) {
        return kernels_fail(error, KERNELS_USAGE, "private repositories need accounts: give --token NAME:TOKEN");
    }
    return kernels_host_is_loopback(options->host)
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_USAGE,
                              "%s is no loopback address: make an account with --add-token NAME or give --token "
                              "NAME:TOKEN, so that not everybody on the network can write, or listen on 127.0.0.1",
                              options->host);
}

/* ---- starting ---- */

static kernels_status fill_service(const kernels_server_options *options, kernels_service *service,
                                   kernels_error *error) {
    service->trusted = options->trusted;
    service->trusted_count = options->trusted_count;
    service->private_repositories = options->private_repositories;
    service->private_count = options->private_count;
    service->aliases = options->aliases;
    service->alias_count = options->alias_count;
    service->lfs_part_size = options->lfs_part_size;
    service->timeout = options->timeout;
    service->scheme = options->tls_certificate != NULL ? "https" : "http";
    service->read_only = options->read_only;
    service->cdn = options->cdn;
    service->lfs_threshold = options->lfs_threshold;
    service->page_size = options->page_size;
    service->max_body = options->max_body;
    KERNELS_TRY(kernels_auth_new(options->tokens, options->token_count, options->directory, &service->auth, error));
    KERNELS_TRY(check_accounts(options, service->auth, error));
    return options->faults_file != NULL ? kernels_faults_read(options->faults_file, &service->faults, error)
                                        : KERNELS_OK;
}

static kernels_status read_certificate(const kernels_server_options *options, kernels_server *server,
                                       kernels_error *error) {
    size_t size;
    if (options->tls_certificate == NULL) {
        return KERNELS_OK;
    }
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        return kernels_fail(error, KERNELS_USAGE, "this build's libmicrohttpd does not speak HTTPS");
    }
    KERNELS_TRY(kernels_file_read(options->tls_certificate, PEM_LIMIT, &server->certificate, &size, error));
    return kernels_file_read(options->tls_key, PEM_LIMIT, &server->key, &size, error);
}

static kernels_status start_daemon(kernels_server *server, kernels_error *error) {
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
    bool secure = server->certificate != NULL;
    struct MHD_OptionItem tls[] = {
        {secure ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, server->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
        {MHD_OPTION_END, 0, NULL},
    };
    flags |= server->listener.is_ipv6 ? MHD_USE_IPv6 : 0;
    flags |= secure ? MHD_USE_TLS : 0;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, kernels_connection_handle, &server->transport, MHD_OPTION_LISTEN_SOCKET,
        server->listener.socket, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_LIMIT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, server->service.timeout, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, kernels_connection_first_line, &server->transport, MHD_OPTION_NOTIFY_COMPLETED,
        kernels_connection_completed, &server->transport, MHD_OPTION_NOTIFY_CONNECTION, kernels_connection_notify,
        &server->transport, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (server->daemon == NULL) {
        return secure ? kernels_fail(error, KERNELS_USAGE,
                                     "cannot start the HTTPS server: are certificate and key in PEM form, and do they "
                                     "belong together?")
                      : kernels_fail(error, KERNELS_INTERNAL, "cannot start the HTTP server");
    }
    return KERNELS_OK;
}

static kernels_status start(const kernels_server_options *options, kernels_server *server, kernels_error *error) {
    KERNELS_TRY(check_options(options, error));
    KERNELS_TRY(fill_service(options, &server->service, error));
    KERNELS_TRY(read_certificate(options, server, error));
    KERNELS_TRY(kernels_listener_open(options->host, options->port, &server->listener, error));
    /* last, so that a server that cannot listen makes no folder */
    KERNELS_TRY(kernels_store_open(options->directory, &server->service.store, error));
    server->service.authority = server->listener.authority;
    server->transport.service = &server->service;
    server->transport.access_log = options->access_log;
    server->transport.payload = options->payload;
    atomic_init(&server->transport.running, 0);
    atomic_init(&server->transport.stopping, false);
    snprintf(server->url, sizeof server->url, "%s://%s", server->service.scheme, server->listener.authority);
    KERNELS_TRY(kernels_watch_start(&server->transport.watch, error));
    return start_daemon(server, error);
}

static void free_server(kernels_server *server) {
    if (server->listener.socket >= 0) {
        close(server->listener.socket);
    }
    kernels_watch_stop(server->transport.watch);
    kernels_free(server->certificate);
    kernels_free(server->key);
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
