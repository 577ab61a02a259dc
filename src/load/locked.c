/* SPDX-License-Identifier: Apache-2.0 */
/* Commits from a lock file, in place of what the Hub says a version or revision is now. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "load/node.h"

static kernels_status fail_not_locked(const kernels_load_node *node, bool any_version, kernels_error *error) {
    char label[1024];
    kernels_load_node_label(node, label, sizeof label);
    kernels_fail(error, KERNELS_NOT_LOCKED,
                 "Kernel %s is not locked. Please run `kernels lock <project>` to lock it and all that it depends on.",
                 any_version ? node->repo_id : label);
    kernels_error_set_subject(error, node->repo_id);
    return KERNELS_NOT_LOCKED;
}

/* ---- which of several versions of one kernel ---- */

static bool depends_on(const kernels_metadata *metadata, const kernels_dependency *dependency) {
    for (size_t i = 0; i < metadata->kernel_depends_count; i++) {
        if (kernels_dependency_compare(&metadata->kernel_depends[i], dependency) == 0) {
            return true;
        }
    }
    return false;
}

/* Does a variant of the locked kernel that is in the cache depend on it? */
static bool needs(kernels_context *context, const kernels_lock *lock, const kernels_dependency *dependency) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    kernels_candidates candidates = {0};
    if (kernels_cache_snapshot(context->hub, KERNELS_REPOSITORY_KERNEL, lock->dependency.repo_id, lock->commit, NULL,
                               &snapshot, NULL) != KERNELS_OK) {
        return false;
    }
    KERNELS_CLEANUP_FREE char *build = kernels_path_join(snapshot, "build");
    if (build == NULL || kernels_candidates_from_folder(build, &candidates, NULL) != KERNELS_OK) {
        return false;
    }
    bool found = false;
    for (size_t i = 0; i < candidates.count && !found; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join3(build, candidates.items[i].name, "metadata.json");
        kernels_metadata metadata;
        if (path != NULL && kernels_metadata_read(path, &metadata, NULL) == KERNELS_OK) {
            found = depends_on(&metadata, dependency);
            kernels_metadata_dispose(&metadata);
        }
    }
    kernels_candidates_dispose(&candidates);
    return found;
}

static bool is_needed(kernels_context *context, const kernels_locks *locks, const kernels_lock *lock) {
    for (size_t i = 0; i < locks->count; i++) {
        if (&locks->items[i] != lock && needs(context, &locks->items[i], &lock->dependency)) {
            return true;
        }
    }
    return false;
}

/* A number is higher than any revision; locks are ascending, so the later one of two is. */
static bool is_higher(const kernels_lock *lock, const kernels_lock *than) {
    return lock->dependency.revision == NULL || than->dependency.revision != NULL;
}

/* The one that nothing else in the lock needs was asked for by the project itself. */
static const kernels_lock *choose(kernels_context *context, const kernels_locks *locks, const char *repo_id) {
    const kernels_lock *unneeded = NULL, *highest = NULL;
    size_t count = 0, unneeded_count = 0;
    for (size_t i = 0; i < locks->count; i++) {
        const kernels_lock *lock = &locks->items[i];
        if (strcmp(lock->dependency.repo_id, repo_id) == 0) {
            highest = highest == NULL || is_higher(lock, highest) ? lock : highest;
            count++;
        }
    }
    for (size_t i = 0; i < locks->count && count > 1; i++) {
        const kernels_lock *lock = &locks->items[i];
        if (strcmp(lock->dependency.repo_id, repo_id) == 0 && !is_needed(context, locks, lock)) {
            unneeded = lock;
            unneeded_count++;
        }
    }
    if (count > 1 && unneeded_count != 1) {
        kernels_context_warn(context, KERNELS_WARNING_VERSIONS,
                             "The lock has %zu versions of '%s', and it is not known which one the project asks for; "
                             "the highest one is used (commit %s)",
                             count, repo_id, highest->commit);
    }
    return unneeded_count == 1 ? unneeded : highest;
}

/* ---- the lock of a node ---- */

/* Older files know the repository alone: any version of it. */
static const kernels_lock *find(const kernels_locks *locks, const kernels_load_node *node) {
    const kernels_dependency wanted = {.repo_id = node->repo_id, .version = node->version, .revision = node->revision};
    for (size_t i = 0; i < locks->count; i++) {
        const kernels_dependency *locked = &locks->items[i].dependency;
        if (locks->older ? strcmp(locked->repo_id, node->repo_id) == 0
                         : kernels_dependency_compare(locked, &wanted) == 0) {
            return &locks->items[i];
        }
    }
    return NULL;
}

kernels_status kernels_locked_find(const kernels_request *request, kernels_load_node *node, bool is_root,
                                   kernels_error *error) {
    bool any_version = is_root && request->any_version;
    const kernels_lock *lock = any_version && !request->locks->older
                                   ? choose(request->context, request->locks, node->repo_id)
                                   : find(request->locks, node);
    if (lock == NULL || lock->commit == NULL) {
        return fail_not_locked(node, any_version, error);
    }
    memcpy(node->commit, lock->commit, strlen(lock->commit) + 1);
    node->locked = true;
    if (!any_version || request->locks->older) {
        return KERNELS_OK;
    }
    node->version = lock->dependency.version;
    node->revision = kernels_strdup(lock->dependency.revision);
    return node->revision != NULL || lock->dependency.revision == NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}
