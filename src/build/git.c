/* SPDX-License-Identifier: Apache-2.0 */
#include "build/git.h"

#include <git2.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

static const char *last_message(void) {
    const git_error *last = git_error_last();
    return last && last->message ? last->message : "unknown failure of libgit2";
}

static kernels_status not_found(kernels_git_state *state, const char *why) {
    *state = (kernels_git_state){0};
    snprintf(state->reason, sizeof state->reason, "%s", why);
    return KERNELS_OK;
}

/* ---- state ---- */

static int read_ids(git_repository *repository, kernels_git_state *state) {
    git_object *commit = NULL, *tree = NULL;
    int failure = git_revparse_single(&commit, repository, "HEAD^{commit}");
    failure = failure ? failure : git_object_peel(&tree, commit, GIT_OBJECT_TREE);
    if (!failure) {
        git_oid_tostr(state->commit, sizeof state->commit, git_object_id(commit));
        git_oid_tostr(state->tree, sizeof state->tree, git_object_id(tree));
    }
    git_object_free(tree);
    git_object_free(commit);
    return failure;
}

static int read_dirty(git_repository *repository, kernels_git_state *state) {
    git_status_options options;
    git_status_list *list = NULL;
    git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION);
    options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
    options.flags = GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
    int failure = git_status_list_new(&list, repository, &options);
    state->dirty = !failure && git_status_list_entrycount(list) > 0;
    git_status_list_free(list);
    return failure;
}

/* The kernel's folder relative to the work tree, "" for the work tree itself. NULL: it is not below it. */
static char *folder_in_work_tree(git_repository *repository, const char *directory) {
    KERNELS_CLEANUP_FREE char *root = kernels_path_resolve(git_repository_workdir(repository));
    KERNELS_CLEANUP_FREE char *folder = kernels_path_resolve(directory);
    if (!root || !folder) {
        return NULL;
    }
    size_t size = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(folder, root, size) != 0 || (folder[size] != '/' && folder[size] != '\0')) {
        return NULL;
    }
    return kernels_strdup(folder[size] ? folder + size + 1 : "");
}

static int read_untracked(git_repository *repository, const char *directory, const char *const *files, size_t count,
                          kernels_git_state *state) {
    git_index *index = NULL;
    int failure = git_repository_index(&index, repository);
    KERNELS_CLEANUP_FREE char *folder = folder_in_work_tree(repository, directory);
    for (size_t i = 0; i < count && !failure; i++) {
        KERNELS_CLEANUP_FREE char *below = folder && *folder ? kernels_path_join(folder, files[i]) : NULL;
        const char *path = below ? below : files[i];
        state->is_untracked |= !folder || !git_index_get_bypath(index, path, 0);
    }
    git_index_free(index);
    return failure;
}

static kernels_status read_repository(git_repository *repository, const char *directory, const char *const *files,
                                      size_t count, kernels_git_state *state) {
    if (git_repository_is_bare(repository)) {
        return not_found(state, "the repository has no work tree");
    }
    int unborn = git_repository_head_unborn(repository);
    if (unborn == 1) {
        return not_found(state, "the repository has no commit yet");
    }
    if (unborn || read_ids(repository, state) || read_dirty(repository, state) ||
        read_untracked(repository, directory, files, count, state)) {
        return not_found(state, last_message());
    }
    state->found = true;
    return KERNELS_OK;
}

kernels_status kernels_git_read(const char *directory, const char *const *files, size_t file_count,
                                kernels_git_state *state, kernels_error *error) {
    git_repository *repository = NULL;
    *state = (kernels_git_state){0};
    if (git_libgit2_init() < 0) {
        return kernels_fail(error, KERNELS_INTERNAL, "libgit2 does not start: %s", last_message());
    }
    int failure = git_repository_open_ext(&repository, directory, GIT_REPOSITORY_OPEN_CROSS_FS, NULL);
    kernels_status status = failure == GIT_ENOTFOUND ? not_found(state, "the folder is not in a git repository")
                            : failure                ? not_found(state, last_message())
                                                     : read_repository(repository, directory, files, file_count, state);
    git_repository_free(repository);
    git_libgit2_shutdown();
    return status;
}

/* ---- init ---- */

static int init_and_add(const char *directory) {
    git_repository *repository = NULL;
    git_index *index = NULL;
    char everything[] = "*";
    char *patterns[] = {everything};
    git_strarray all = {patterns, 1};
    int failure = git_repository_init(&repository, directory, 0);
    failure = failure ? failure : git_repository_index(&index, repository);
    failure = failure ? failure : git_index_add_all(index, &all, GIT_INDEX_ADD_DEFAULT, NULL, NULL);
    failure = failure ? failure : git_index_write(index);
    git_index_free(index);
    git_repository_free(repository);
    return failure;
}

kernels_status kernels_git_init(const char *directory, kernels_error *error) {
    if (git_libgit2_init() < 0) {
        return kernels_fail(error, KERNELS_INTERNAL, "libgit2 does not start: %s", last_message());
    }
    kernels_status status = KERNELS_OK;
    if (init_and_add(directory)) {
        status = kernels_fail(error, KERNELS_IO, "cannot make a git repository in %s: %s", directory, last_message());
    }
    git_libgit2_shutdown();
    return status;
}

/* ---- differences ---- */

/* Without git's own lines before "---". */
static kernels_status take_patch(git_patch *patch, char **difference, kernels_error *error) {
    git_buf text = {0};
    if (git_patch_to_buf(&text, patch)) {
        return kernels_fail(error, KERNELS_NO_MEMORY, "cannot print a difference: %s", last_message());
    }
    const char *begin = strstr(text.ptr, "\n--- ");
    *difference = kernels_strdup(begin ? begin + 1 : "");
    git_buf_dispose(&text);
    return *difference ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_git_diff(const char *name, kernels_view before, kernels_view after, char **difference,
                                kernels_error *error) {
    git_patch *patch = NULL;
    if (git_libgit2_init() < 0) {
        return kernels_fail(error, KERNELS_INTERNAL, "libgit2 does not start: %s", last_message());
    }
    kernels_status status =
        git_patch_from_buffers(&patch, before.data, before.size, name, after.data, after.size, name, NULL)
            ? kernels_fail(error, KERNELS_INTERNAL, "cannot compare two texts: %s", last_message())
            : take_patch(patch, difference, error);
    git_patch_free(patch);
    git_libgit2_shutdown();
    return status;
}
