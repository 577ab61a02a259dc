/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts off connections that take too long over the head of a request: the HTTP library only notices silence, not a byte
 * now and then. One thread; the other functions may be called by any.
 */
#ifndef KERNELS_SRC_SERVER_WATCH_H
#define KERNELS_SRC_SERVER_WATCH_H

#include "kernels/base.h"

typedef struct kernels_watch kernels_watch;
typedef struct kernels_watched kernels_watched; /* a connection */

kernels_status kernels_watch_start(kernels_watch **watch, kernels_error *error);
void kernels_watch_stop(kernels_watch *watch); /* all connections have been removed; NULL allowed */

/* NULL: out of memory; then nobody watches. Must be removed before the socket is closed. */
kernels_watched *kernels_watch_add(kernels_watch *watch, int socket);
void kernels_watch_remove(kernels_watch *watch, kernels_watched *watched); /* NULL allowed */
/* Cut off in that many seconds; 0: not any more. */
void kernels_watch_set(kernels_watch *watch, kernels_watched *watched, unsigned seconds); /* NULL allowed */

#endif
