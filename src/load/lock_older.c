/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.lock as releases before 0.17 wrote it: the project's own kernels, with hashes of their variants. */
#include "base/error.h"
#include "base/memory.h"
#include "kernels/lock.h"
#include "load/lock_find.h"

static kernels_status hash_tree(const kernels_dependency *key, const char *commit, const kernels_tree *tree,
                                kernels_older_lock *lock, kernels_error *error) {
    kernels_older_file *files = kernels_calloc(tree->count + 1, sizeof *files);
    size_t count = 0;
    if (files == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < tree->count; i++) {
        const kernels_tree_entry *entry = &tree->entries[i];
        if (!entry->is_directory) {
            files[count++] = (kernels_older_file){.path = entry->path,
                                                  .id = entry->lfs_sha256[0] != '\0' ? entry->lfs_sha256 : entry->oid};
        }
    }
    kernels_status status = kernels_older_lock_make(key->repo_id, commit, files, count, lock, error);
    kernels_free(files);
    return status;
}

static kernels_status lock_one(kernels_context *context, const kernels_dependency *key, kernels_older_lock *lock,
                               kernels_error *error) {
    char commit[65];
    kernels_tree tree = {0};
    KERNELS_TRY(kernels_lock_find_commit(context, key, commit, error));
    KERNELS_TRY(kernels_lock_find_tree(context, key, commit, &tree, error));
    kernels_status status = hash_tree(key, commit, &tree, lock, error);
    kernels_tree_dispose(&tree);
    return status;
}

kernels_status kernels_lock_dependencies_older(kernels_context *context, const kernels_dependency *dependencies,
                                               size_t count, char **text, kernels_error *error) {
    KERNELS_TRY(kernels_lock_check(context, dependencies, count, error));
    if (count > KERNELS_LOCK_KERNELS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu kernels in one lock", KERNELS_LOCK_KERNELS_MAX);
    }
    kernels_older_lock *locks = kernels_calloc(count, sizeof *locks);
    if (locks == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = lock_one(context, &dependencies[i], &locks[i], error);
    }
    if (status == KERNELS_OK) {
        status = kernels_older_locks_print(locks, count, text, error);
    }
    for (size_t i = 0; i < count; i++) {
        kernels_older_lock_dispose(&locks[i]);
    }
    kernels_free(locks);
    return status;
}
