/* SPDX-License-Identifier: Apache-2.0 */
/* Locking: the tree of dependencies, walked depth first without recursion, each kernel asked for once. */
#include "kernels/lock.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "load/lock_find.h"

typedef struct lock_node {
    kernels_dependency key;
    char commit[65];
    const kernels_dependency *depends;
    size_t depends_count, next; /* next: the one to go to */
    bool on_path;               /* between a root and the kernel at hand */
} lock_node;

typedef struct lock_walk {
    kernels_context *context;
    kernels_arena *arena; /* nodes and what they refer to */
    lock_node *nodes[KERNELS_LOCK_KERNELS_MAX];
    size_t count;
    lock_node *path[KERNELS_LOCK_DEPTH_MAX];
    size_t depth;
} lock_walk;

static lock_node *find_node(const lock_walk *walk, const kernels_dependency *key) {
    for (size_t i = 0; i < walk->count; i++) {
        if (kernels_dependency_compare(&walk->nodes[i]->key, key) == 0) {
            return walk->nodes[i];
        }
    }
    return NULL;
}

static kernels_status fill_node(lock_walk *walk, lock_node *node, kernels_error *error) {
    KERNELS_TRY(kernels_lock_find_commit(walk->context, &node->key, node->commit, error));
    return kernels_lock_find_depends(walk->context, &node->key, node->commit, walk->arena, &node->depends,
                                     &node->depends_count, error);
}

static kernels_status add_node(lock_walk *walk, const kernels_dependency *key, lock_node **added,
                               kernels_error *error) {
    if (walk->count == KERNELS_LOCK_KERNELS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu kernels in one lock", KERNELS_LOCK_KERNELS_MAX);
    }
    lock_node *node = kernels_arena_allocate(walk->arena, sizeof *node);
    if (node == NULL) {
        return kernels_fail_no_memory(error);
    }
    node->key = *key;
    kernels_status status = fill_node(walk, node, error);
    if (status != KERNELS_OK && walk->depth > 0) {
        char label[KERNELS_LOCK_LABEL_SIZE];
        kernels_lock_label(key, label);
        return kernels_wrap(error, status, "Cannot lock %s, a dependency of %s", label,
                            walk->path[walk->depth - 1]->key.repo_id);
    }
    walk->nodes[walk->count++] = node;
    *added = node;
    return status;
}

/* Goes to a kernel unless it is locked already. */
static kernels_status enter(lock_walk *walk, const kernels_dependency *key, kernels_error *error) {
    lock_node *node = find_node(walk, key);
    if (node != NULL) {
        return node->on_path
                   ? kernels_fail(error, KERNELS_SCHEMA, "Cyclic kernel dependency detected: %s", key->repo_id)
                   : KERNELS_OK;
    }
    if (walk->depth == KERNELS_LOCK_DEPTH_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "expected kernel dependencies at most %zu deep",
                            KERNELS_LOCK_DEPTH_MAX);
    }
    KERNELS_TRY(add_node(walk, key, &node, error));
    node->on_path = true;
    walk->path[walk->depth++] = node;
    return KERNELS_OK;
}

static kernels_status walk_from(lock_walk *walk, const kernels_dependency *root, kernels_error *error) {
    KERNELS_TRY(enter(walk, root, error));
    while (walk->depth > 0) {
        lock_node *top = walk->path[walk->depth - 1];
        if (top->next == top->depends_count) {
            top->on_path = false;
            walk->depth--;
        } else {
            KERNELS_TRY(enter(walk, &top->depends[top->next++], error));
        }
    }
    return KERNELS_OK;
}

static kernels_status make_locks(const lock_walk *walk, kernels_locks *locks, kernels_error *error) {
    kernels_lock *items = kernels_calloc(walk->count, sizeof *items);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < walk->count; i++) {
        items[i] = (kernels_lock){.dependency = walk->nodes[i]->key, .commit = walk->nodes[i]->commit};
    }
    kernels_status status = kernels_locks_make(KERNELS_LOCK_KERNELS, items, walk->count, locks, error);
    kernels_free(items);
    return status;
}

kernels_status kernels_lock_dependencies(kernels_context *context, const kernels_dependency *dependencies, size_t count,
                                         kernels_locks *locks, kernels_error *error) {
    KERNELS_TRY(kernels_lock_check(context, dependencies, count, error));
    lock_walk *walk = kernels_calloc(1, sizeof *walk);
    kernels_status status = KERNELS_OK;
    if (walk == NULL || (walk->arena = kernels_arena_new(0)) == NULL) {
        kernels_free(walk);
        return kernels_fail_no_memory(error);
    }
    walk->context = context;
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = walk_from(walk, &dependencies[i], error);
    }
    if (status == KERNELS_OK) {
        status = make_locks(walk, locks, error);
    }
    kernels_arena_free(walk->arena);
    kernels_free(walk);
    return status;
}
