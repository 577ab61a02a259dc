/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/store_internal.h"

/* Enough for the connections that work at the same time; further ones open for themselves. */
#define SLOTS ((size_t)64)

typedef struct slot {
    char *path; /* NULL: free */
    git_repository *git;
} slot;

struct kernels_pool {
    pthread_mutex_t mutex;
    uint64_t generation;
    slot slots[SLOTS];
    size_t next; /* to be replaced when all are taken */
};

static void empty_slot(slot *s) {
    git_repository_free(s->git);
    kernels_free(s->path);
    *s = (slot){0};
}

kernels_pool *kernels_pool_new(void) {
    kernels_pool *pool = kernels_calloc(1, sizeof *pool);
    if (pool != NULL && pthread_mutex_init(&pool->mutex, NULL) != 0) {
        kernels_free(pool);
        return NULL;
    }
    return pool;
}

void kernels_pool_free(kernels_pool *pool) {
    if (pool != NULL) {
        kernels_pool_forget(pool);
        pthread_mutex_destroy(&pool->mutex);
        kernels_free(pool);
    }
}

git_repository *kernels_pool_take(kernels_pool *pool, const char *path, uint64_t *generation) {
    git_repository *found = NULL;
    pthread_mutex_lock(&pool->mutex);
    *generation = pool->generation;
    for (size_t i = 0; i < SLOTS && found == NULL; i++) {
        if (pool->slots[i].path != NULL && strcmp(pool->slots[i].path, path) == 0) {
            found = pool->slots[i].git;
            pool->slots[i].git = NULL;
            empty_slot(&pool->slots[i]);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return found;
}

void kernels_pool_give(kernels_pool *pool, char *path, git_repository *git, uint64_t generation) {
    slot replaced = {.path = path, .git = git};
    pthread_mutex_lock(&pool->mutex);
    if (generation == pool->generation) {
        size_t i = 0;
        while (i < SLOTS && pool->slots[i].path != NULL) {
            i++;
        }
        if (i == SLOTS) {
            i = pool->next++ % SLOTS;
        }
        replaced = pool->slots[i];
        pool->slots[i] = (slot){.path = path, .git = git};
    }
    pthread_mutex_unlock(&pool->mutex);
    empty_slot(&replaced);
}

void kernels_pool_forget(kernels_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->generation++;
    for (size_t i = 0; i < SLOTS; i++) {
        empty_slot(&pool->slots[i]);
    }
    pthread_mutex_unlock(&pool->mutex);
}
