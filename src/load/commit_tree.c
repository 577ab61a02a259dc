/* SPDX-License-Identifier: Apache-2.0 */
#include "load/commit_tree.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "hub/repo_url.h"

kernels_status kernels_commit_check(const char *commit, kernels_error *error) {
    return kernels_object_name_is_valid(kernels_view_of(commit))
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                              "expected a commit (40 or 64 lower-case hex digits), found '%s'", commit);
}

static kernels_commit_tree *find(const kernels_commit_trees *trees, const char *repo_id, const char *commit) {
    for (size_t i = 0; i < KERNELS_COMMIT_TREES; i++) {
        kernels_commit_tree *tree = trees->items[i];
        if (tree != NULL && strcmp(tree->commit, commit) == 0 && strcmp(tree->repo_id, repo_id) == 0) {
            return tree;
        }
    }
    return NULL;
}

static void remember(kernels_commit_trees *trees, kernels_commit_tree *tree) {
    if (tree->tree.count > KERNELS_COMMIT_TREE_ENTRIES) {
        return;
    }
    kernels_commit_tree_release(trees->items[trees->next]);
    tree->references++;
    trees->items[trees->next] = tree;
    trees->next = (trees->next + 1) % KERNELS_COMMIT_TREES;
}

kernels_status kernels_commit_tree_get(kernels_commit_trees *trees, kernels_hub *hub, const char *repo_id,
                                       const char *commit, bool cache_only, kernels_commit_tree **tree,
                                       kernels_error *error) {
    kernels_commit_tree *made = find(trees, repo_id, commit);
    if (made != NULL) {
        made->references++;
        *tree = made;
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_commit_check(commit, error));
    made = kernels_calloc(1, sizeof *made);
    if (made == NULL || (made->repo_id = kernels_strdup(repo_id)) == NULL) {
        kernels_free(made);
        return kernels_fail_no_memory(error);
    }
    made->references = 1;
    memcpy(made->commit, commit, strlen(commit) + 1);
    kernels_status status =
        cache_only
            ? kernels_cache_tree(hub, KERNELS_REPOSITORY_KERNEL, repo_id, commit, "build", &made->tree, error)
            : kernels_hub_tree(hub, KERNELS_REPOSITORY_KERNEL, repo_id, commit, "build", true, &made->tree, error);
    if (status != KERNELS_OK) {
        kernels_commit_tree_release(made);
        return status;
    }
    remember(trees, made);
    *tree = made;
    return KERNELS_OK;
}

void kernels_commit_tree_release(kernels_commit_tree *tree) {
    if (tree != NULL && --tree->references == 0) {
        kernels_tree_dispose(&tree->tree);
        kernels_free(tree->repo_id);
        kernels_free(tree);
    }
}

void kernels_commit_trees_dispose(kernels_commit_trees *trees) {
    for (size_t i = 0; i < KERNELS_COMMIT_TREES; i++) {
        kernels_commit_tree_release(trees->items[i]);
    }
    *trees = (kernels_commit_trees){0};
}
