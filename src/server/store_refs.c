/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "server/store_internal.h"

/* ---- listing ---- */

static bool is_listed_ref(const char *name) {
    kernels_view view = kernels_view_of(name);
    return kernels_view_starts_with(view, KERNELS_VIEW("refs/heads/")) ||
           kernels_view_starts_with(view, KERNELS_VIEW("refs/tags/")) ||
           kernels_view_starts_with(view, KERNELS_VIEW("refs/pr/"));
}

static int compare_refs(const void *a, const void *b) {
    return strcmp(((const kernels_store_ref *)a)->name, ((const kernels_store_ref *)b)->name);
}

/* ---- names of commits ---- */

static bool origin_of(git_repository *git, const git_oid *id, char origin[KERNELS_COMMIT_ID_SIZE]) {
    git_commit *commit = NULL;
    git_buf field = {0};
    bool found = git_commit_lookup(&commit, git, id) == 0 &&
                 git_commit_header_field(&field, commit, KERNELS_STORE_ORIGIN_HEADER) == 0 &&
                 kernels_view_is_hex((kernels_view){field.ptr, field.size}, KERNELS_COMMIT_ID_SIZE - 1);
    if (found) {
        memcpy(origin, field.ptr, KERNELS_COMMIT_ID_SIZE - 1);
        origin[KERNELS_COMMIT_ID_SIZE - 1] = '\0';
    }
    git_buf_dispose(&field);
    git_commit_free(commit);
    return found;
}

static bool find_mirrored(git_repository *git, const char *origin, git_oid *commit) {
    char name[sizeof KERNELS_STORE_ORIGIN_REF + KERNELS_COMMIT_ID_SIZE];
    snprintf(name, sizeof name, KERNELS_STORE_ORIGIN_REF "%.40s", origin);
    return git_reference_name_to_id(commit, git, name) == 0;
}

void kernels_repository_name_commit(git_repository *git, const git_oid *commit, char id[KERNELS_COMMIT_ID_SIZE]) {
    git_oid back;
    /* a commit that only claims an origin keeps its own name */
    if (!origin_of(git, commit, id) || !find_mirrored(git, id, &back) || !git_oid_equal(&back, commit)) {
        git_oid_tostr(id, KERNELS_COMMIT_ID_SIZE, commit);
    }
}

bool kernels_repository_find_commit(git_repository *git, const char *id, git_oid *commit) {
    git_commit *object = NULL;
    if (strlen(id) != GIT_OID_HEXSZ || git_oid_fromstr(commit, id) != 0) {
        return false;
    }
    bool found = git_commit_lookup(&object, git, commit) == 0;
    git_commit_free(object);
    return found || find_mirrored(git, id, commit);
}

/* Commit that a reference leads to, through annotated tags. */
static int peel_to_commit(git_repository *git, const char *name, char commit[KERNELS_COMMIT_ID_SIZE]) {
    git_reference *reference = NULL;
    git_object *object = NULL;
    int code = git_reference_lookup(&reference, git, name);
    if (code == 0) {
        code = git_reference_peel(&object, reference, GIT_OBJECT_COMMIT);
    }
    if (code == 0) {
        kernels_repository_name_commit(git, git_object_id(object), commit);
    }
    git_object_free(object);
    git_reference_free(reference);
    return code;
}

static kernels_status collect_refs(kernels_repository *repository, git_strarray *names, kernels_arena *arena,
                                   kernels_store_ref **refs, size_t *count, kernels_error *error) {
    if (names->count > KERNELS_STORE_REFS_LIMIT) {
        return kernels_fail(error, KERNELS_INTERNAL, "the repository has %zu references, more than %zu", names->count,
                            KERNELS_STORE_REFS_LIMIT);
    }
    kernels_store_ref *list = kernels_arena_array(arena, names->count + 1, sizeof *list);
    size_t used = 0;
    for (size_t i = 0; list != NULL && i < names->count; i++) {
        /* a reference may vanish between listing and reading: it is left out */
        if (!is_listed_ref(names->strings[i]) ||
            peel_to_commit(repository->git, names->strings[i], list[used].commit) != 0) {
            continue;
        }
        list[used].name = kernels_arena_copy_text(arena, kernels_view_of(names->strings[i]));
        if (list[used].name == NULL) {
            return kernels_fail_no_memory(error);
        }
        used++;
    }
    if (list == NULL) {
        return kernels_fail_no_memory(error);
    }
    qsort(list, used, sizeof *list, compare_refs);
    *refs = list;
    *count = used;
    return KERNELS_OK;
}

kernels_status kernels_repository_refs(kernels_repository *repository, kernels_arena *arena, kernels_store_ref **refs,
                                       size_t *count, kernels_error *error) {
    git_strarray names = {0};
    if (git_reference_list(&names, repository->git) != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot list the references");
    }
    kernels_status status = collect_refs(repository, &names, arena, refs, count, error);
    git_strarray_dispose(&names);
    return status;
}

/* ---- revisions ---- */

static kernels_status revision_not_found(kernels_view revision, kernels_error *error) {
    return kernels_fail(error, KERNELS_REVISION_NOT_FOUND, "Invalid rev id: %.*s", KERNELS_VIEW_ARGS(revision));
}

/* Writes prefix + revision; false when it cannot be a reference name. */
static bool make_ref_name(const char *prefix, kernels_view revision, char name[KERNELS_REF_NAME_SIZE]) {
    int valid = 0;
    if (revision.size == 0 || revision.size > KERNELS_REVISION_LIMIT ||
        memchr(revision.data, '\0', revision.size) != NULL || !kernels_view_is_utf8(revision)) {
        return false;
    }
    snprintf(name, KERNELS_REF_NAME_SIZE, "%s%.*s", prefix, KERNELS_VIEW_ARGS(revision));
    return git_reference_name_is_valid(&valid, name) == 0 && valid == 1;
}

static bool resolve_commit_id(kernels_repository *repository, kernels_view revision,
                              char commit[KERNELS_COMMIT_ID_SIZE]) {
    git_oid oid;
    git_commit *object = NULL;
    if (revision.size < GIT_OID_MINPREFIXLEN || revision.size > GIT_OID_HEXSZ ||
        !kernels_view_is_hex(revision, revision.size) || git_oid_fromstrn(&oid, revision.data, revision.size) != 0) {
        return false;
    }
    if (revision.size == GIT_OID_HEXSZ) {
        char id[KERNELS_COMMIT_ID_SIZE];
        git_oid_tostr(id, sizeof id, &oid); /* in lower case */
        if (!kernels_repository_find_commit(repository->git, id, &oid)) {
            return false;
        }
    } else if (git_commit_lookup_prefix(&object, repository->git, &oid, revision.size) != 0) {
        return false;
    } else {
        git_oid_cpy(&oid, git_commit_id(object));
        git_commit_free(object);
    }
    kernels_repository_name_commit(repository->git, &oid, commit);
    return true;
}

kernels_status kernels_repository_resolve(kernels_repository *repository, kernels_view revision,
                                          char commit[KERNELS_COMMIT_ID_SIZE], kernels_error *error) {
    char name[KERNELS_REF_NAME_SIZE];
    if (kernels_view_starts_with(revision, KERNELS_VIEW("refs/"))) {
        if (make_ref_name("", revision, name) && is_listed_ref(name) &&
            peel_to_commit(repository->git, name, commit) == 0) {
            return KERNELS_OK;
        }
        return revision_not_found(revision, error);
    }
    static const char *const prefixes[] = {"refs/heads/", "refs/tags/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (make_ref_name(prefixes[i], revision, name) && peel_to_commit(repository->git, name, commit) == 0) {
            return KERNELS_OK;
        }
    }
    return resolve_commit_id(repository, revision, commit) ? KERNELS_OK : revision_not_found(revision, error);
}

kernels_status kernels_repository_load_commit(kernels_repository *repository, const char *id, git_commit **commit,
                                              kernels_error *error) {
    git_oid oid;
    if (!kernels_repository_find_commit(repository->git, id, &oid) ||
        git_commit_lookup(commit, repository->git, &oid) != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot read commit %s", id);
    }
    return KERNELS_OK;
}

kernels_status kernels_repository_commit_time(kernels_repository *repository, const char *commit, int64_t *time,
                                              kernels_error *error) {
    git_commit *object = NULL;
    KERNELS_TRY(kernels_repository_load_commit(repository, commit, &object, error));
    *time = git_commit_time(object);
    git_commit_free(object);
    return KERNELS_OK;
}

/* Commits go to branches and pull requests, named short or in full. */
kernels_status kernels_repository_find_head(kernels_repository *repository, kernels_view revision, char *name,
                                            size_t name_size, git_oid *commit, kernels_error *error) {
    char full[KERNELS_REF_NAME_SIZE];
    bool is_full = kernels_view_starts_with(revision, KERNELS_VIEW("refs/heads/")) ||
                   kernels_view_starts_with(revision, KERNELS_VIEW("refs/pr/"));
    if (!make_ref_name(is_full ? "" : "refs/heads/", revision, full)) {
        return revision_not_found(revision, error);
    }
    int code = git_reference_name_to_id(commit, repository->git, full);
    if (code == GIT_ENOTFOUND) {
        return revision_not_found(revision, error);
    }
    if (code != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot read %s", full);
    }
    snprintf(name, name_size, "%s", full);
    return KERNELS_OK;
}

kernels_status kernels_repository_check_writable(kernels_repository *repository, kernels_view revision,
                                                 kernels_error *error) {
    char name[KERNELS_REF_NAME_SIZE];
    git_oid commit;
    return kernels_repository_find_head(repository, revision, name, sizeof name, &commit, error);
}

/* ---- making and deleting ---- */

static kernels_status check_new_name(const char *prefix, kernels_view name, char full[KERNELS_REF_NAME_SIZE],
                                     kernels_error *error) {
    /* a branch that looks like a commit id, or begins with "refs/", could never be asked for by its name */
    bool ambiguous = kernels_view_is_hex(name, GIT_OID_HEXSZ) ||
                     kernels_view_starts_with(name, KERNELS_VIEW("refs/")) || kernels_view_equal_text(name, "HEAD");
    if (ambiguous || kernels_view_starts_with(name, KERNELS_VIEW("-")) || !make_ref_name(prefix, name, full)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST, "Invalid reference name: %.*s", KERNELS_VIEW_ARGS(name));
    }
    return KERNELS_OK;
}

kernels_status kernels_repository_create_ref(kernels_repository *repository, const char *prefix, kernels_view name,
                                             const char *commit, kernels_error *error) {
    char full[KERNELS_REF_NAME_SIZE];
    git_oid oid;
    git_reference *reference = NULL;
    KERNELS_TRY(check_new_name(prefix, name, full, error));
    if (!kernels_repository_find_commit(repository->git, commit, &oid)) {
        return kernels_store_fail(error, KERNELS_INTERNAL, "cannot find commit %s", commit);
    }
    pthread_mutex_lock(repository->mutex);
    int code = git_reference_create(&reference, repository->git, full, &oid, 0, "create");
    pthread_mutex_unlock(repository->mutex);
    git_reference_free(reference);
    if (code == GIT_EEXISTS) {
        return kernels_fail(error, KERNELS_ALREADY_EXISTS, "Reference already exists");
    }
    if (code != 0) {
        /* mostly "a" beside "a/b", which git cannot hold */
        return kernels_store_fail(error, KERNELS_CONFLICT, "cannot make the reference %s", full);
    }
    return KERNELS_OK;
}

kernels_status kernels_repository_delete_ref(kernels_repository *repository, const char *prefix, kernels_view name,
                                             kernels_error *error) {
    char full[KERNELS_REF_NAME_SIZE];
    git_reference *reference = NULL;
    if (!make_ref_name(prefix, name, full)) {
        return revision_not_found(name, error);
    }
    if (strcmp(full, "refs/heads/main") == 0) {
        return kernels_fail(error, KERNELS_FORBIDDEN, "The branch main cannot be deleted");
    }
    pthread_mutex_lock(repository->mutex);
    int code = git_reference_lookup(&reference, repository->git, full);
    if (code == 0) {
        code = git_reference_delete(reference);
    }
    pthread_mutex_unlock(repository->mutex);
    git_reference_free(reference);
    if (code == GIT_ENOTFOUND) {
        return revision_not_found(name, error);
    }
    return code == 0 ? KERNELS_OK : kernels_store_fail(error, KERNELS_IO, "cannot delete %s", full);
}
