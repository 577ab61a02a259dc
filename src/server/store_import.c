/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "server/store_internal.h"

#define REF_SIZE (sizeof KERNELS_STORE_ORIGIN_REF + KERNELS_COMMIT_ID_SIZE)
#define COMMIT_LIMIT ((size_t)64 * 1024)

bool kernels_repository_has_blob(kernels_repository *repository, const char *oid) {
    git_oid id;
    git_odb *odb = NULL;
    bool found = git_oid_fromstr(&id, oid) == 0 && git_repository_odb(&odb, repository->git) == 0 &&
                 git_odb_exists(odb, &id) == 1;
    git_odb_free(odb);
    return found;
}

static bool origin_ref(const char *origin, char name[REF_SIZE]) {
    snprintf(name, REF_SIZE, KERNELS_STORE_ORIGIN_REF "%.40s", origin);
    return kernels_view_is_hex(kernels_view_of(origin), KERNELS_COMMIT_ID_SIZE - 1);
}

static bool find_origin(kernels_repository *repository, const char *origin, git_oid *id) {
    char name[REF_SIZE];
    return origin_ref(origin, name) && git_reference_name_to_id(id, repository->git, name) == 0;
}

bool kernels_repository_has_origin(kernels_repository *repository, const char *origin) {
    git_oid id;
    return find_origin(repository, origin, &id);
}

/* ---- the commit ---- */

/* The text of a commit with one header more, behind those that git knows. */
static int write_with_origin(git_repository *git, kernels_view text, const char *origin, git_oid *id) {
    const kernels_view end = KERNELS_VIEW("\n\n");
    kernels_buffer whole = KERNELS_BUFFER_INIT(COMMIT_LIMIT);
    git_odb *odb = NULL;
    size_t head = 0;
    while (head < text.size && !kernels_view_starts_with(kernels_view_slice(text, head, text.size), end)) {
        head++;
    }
    kernels_buffer_add_view(&whole, kernels_view_slice(text, 0, head));
    kernels_buffer_printf(&whole, "\n" KERNELS_STORE_ORIGIN_HEADER " %s", origin);
    kernels_buffer_add_view(&whole, kernels_view_slice(text, head, text.size));
    int code = whole.failure == KERNELS_OK ? git_repository_odb(&odb, git) : -1;
    if (code == 0) {
        code = git_odb_write(id, odb, whole.data, whole.size, GIT_OBJECT_COMMIT);
    }
    git_odb_free(odb);
    kernels_buffer_dispose(&whole);
    return code;
}

static int write_commit(git_repository *git, const kernels_import *import, const git_oid *tree_id,
                        const git_oid *parent_id, git_oid *id) {
    git_signature *signature = NULL;
    git_tree *tree = NULL;
    git_commit *parent = NULL;
    git_buf text = {0};
    int code = git_signature_now(&signature, "kernels mirror", "kernels@localhost");
    if (code == 0) {
        code = git_tree_lookup(&tree, git, tree_id);
    }
    if (code == 0 && parent_id != NULL) {
        code = git_commit_lookup(&parent, git, parent_id);
    }
    const git_commit *parents[] = {parent};
    if (code == 0) {
        code = git_commit_create_buffer(&text, git, signature, signature, NULL, import->message, tree,
                                        parent != NULL ? 1 : 0, parents);
    }
    if (code == 0) {
        code = write_with_origin(git, (kernels_view){text.ptr, text.size}, import->origin, id);
    }
    git_buf_dispose(&text);
    git_commit_free(parent);
    git_tree_free(tree);
    git_signature_free(signature);
    return code;
}

static kernels_status make_commit(kernels_repository *repository, const kernels_import *import, const git_oid *parent,
                                  git_oid *id, kernels_error *error) {
    char name[REF_SIZE];
    git_oid tree_id;
    git_reference *reference = NULL;
    if (!origin_ref(import->origin, name)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "the id of a commit must have 40 hex digits");
    }
    KERNELS_TRY(kernels_store_make_tree(repository, NULL, import->files, import->file_count, &tree_id, error));
    if (write_commit(repository->git, import, &tree_id, parent, id) != 0 ||
        git_reference_create(&reference, repository->git, name, id, 0, "mirror") != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot write the commit");
    }
    git_reference_free(reference);
    return KERNELS_OK;
}

static kernels_status import_locked(kernels_repository *repository, const kernels_import *import,
                                    kernels_error *error) {
    git_oid id, before;
    git_reference *reference = NULL;
    bool had_one = git_reference_name_to_id(&before, repository->git, import->reference) == 0;
    if (!find_origin(repository, import->origin, &id)) {
        KERNELS_TRY(make_commit(repository, import, had_one ? &before : NULL, &id, error));
    }
    if (git_reference_create(&reference, repository->git, import->reference, &id, 1, "mirror") != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot move %s", import->reference);
    }
    git_reference_free(reference);
    return KERNELS_OK;
}

kernels_status kernels_repository_import(kernels_repository *repository, const kernels_import *import,
                                         kernels_error *error) {
    kernels_view reference = kernels_view_of(import->reference);
    if (!kernels_view_starts_with(reference, KERNELS_VIEW("refs/heads/")) &&
        !kernels_view_starts_with(reference, KERNELS_VIEW("refs/tags/"))) {
        return kernels_fail(error, KERNELS_UNSAFE_NAME, "%s is neither a branch nor a tag", import->reference);
    }
    pthread_mutex_lock(repository->mutex);
    kernels_status status = import_locked(repository, import, error);
    pthread_mutex_unlock(repository->mutex);
    return status;
}
