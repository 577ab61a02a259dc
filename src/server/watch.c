/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watch.h"

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#define NANOSECONDS UINT64_C(1000000000)

struct kernels_watched {
    int socket;
    uint64_t deadline; /* of the clock; 0 = none */
    kernels_watched *previous, *next;
};

struct kernels_watch {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
    kernels_watched *first;
};

static void cut_late_ones(kernels_watch *watch) {
    uint64_t now = kernels_clock_nanoseconds();
    for (kernels_watched *w = watch->first; w != NULL; w = w->next) {
        if (w->deadline != 0 && now >= w->deadline) {
            w->deadline = 0;
            (void)shutdown(w->socket, SHUT_RDWR); /* the connection's own thread sees the end and closes */
        }
    }
}

static void *run(void *cls) {
    kernels_watch *watch = cls;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&watch->wake, &watch->mutex, &until);
        cut_late_ones(watch);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

kernels_status kernels_watch_start(kernels_watch **watch, kernels_error *error) {
    kernels_watch *started = kernels_calloc(1, sizeof *started);
    if (started == NULL) {
        return kernels_fail_no_memory(error);
    }
    pthread_mutex_init(&started->mutex, NULL);
    pthread_cond_init(&started->wake, NULL);
    if (pthread_create(&started->thread, NULL, run, started) != 0) {
        pthread_cond_destroy(&started->wake);
        pthread_mutex_destroy(&started->mutex);
        kernels_free(started);
        return kernels_fail(error, KERNELS_INTERNAL, "cannot start a thread");
    }
    *watch = started;
    return KERNELS_OK;
}

void kernels_watch_stop(kernels_watch *watch) {
    if (watch == NULL) {
        return;
    }
    pthread_mutex_lock(&watch->mutex);
    watch->stopping = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->mutex);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->mutex);
    kernels_free(watch);
}

kernels_watched *kernels_watch_add(kernels_watch *watch, int socket) {
    kernels_watched *added = kernels_calloc(1, sizeof *added);
    if (added == NULL) {
        return NULL;
    }
    added->socket = socket;
    pthread_mutex_lock(&watch->mutex);
    added->next = watch->first;
    if (watch->first != NULL) {
        watch->first->previous = added;
    }
    watch->first = added;
    pthread_mutex_unlock(&watch->mutex);
    return added;
}

void kernels_watch_remove(kernels_watch *watch, kernels_watched *watched) {
    if (watched == NULL) {
        return;
    }
    pthread_mutex_lock(&watch->mutex);
    if (watched->previous != NULL) {
        watched->previous->next = watched->next;
    } else {
        watch->first = watched->next;
    }
    if (watched->next != NULL) {
        watched->next->previous = watched->previous;
    }
    pthread_mutex_unlock(&watch->mutex);
    kernels_free(watched);
}

void kernels_watch_set(kernels_watch *watch, kernels_watched *watched, unsigned seconds) {
    if (watched != NULL) {
        pthread_mutex_lock(&watch->mutex);
        watched->deadline = seconds > 0 ? kernels_clock_nanoseconds() + seconds * NANOSECONDS : 0;
        pthread_mutex_unlock(&watch->mutex);
    }
}
