/* SPDX-License-Identifier: Apache-2.0 */
/* Between the HTTP library and requests: the only file besides server.c that knows libmicrohttpd. */
#ifndef KERNELS_SRC_SERVER_CONNECTION_H
#define KERNELS_SRC_SERVER_CONNECTION_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "server/request.h"
#include "server/watch.h"

typedef struct kernels_transport {
    const kernels_service *service;
    void (*access_log)(void *payload, kernels_view line); /* may be NULL */
    void *payload;
    kernels_watch *watch;
    atomic_uint running; /* requests between first line and end */
    atomic_bool stopping;
} kernels_transport;

/* The callbacks for MHD_start_daemon; `cls` is the kernels_transport. */
void *kernels_connection_first_line(void *cls, const char *target, struct MHD_Connection *connection);
enum MHD_Result kernels_connection_handle(void *cls, struct MHD_Connection *connection, const char *url,
                                          const char *method, const char *version, const char *data, size_t *size,
                                          void **state);
void kernels_connection_completed(void *cls, struct MHD_Connection *connection, void **state,
                                  enum MHD_RequestTerminationCode reason);
void kernels_connection_notify(void *cls, struct MHD_Connection *connection, void **state,
                               enum MHD_ConnectionNotificationCode code);

#endif
