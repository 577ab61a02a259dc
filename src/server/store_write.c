/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "server/lfs_pointer.h"
#include "server/store_internal.h"

/* Contents up to this size never touch a temporary file. */
#define BLOB_IN_MEMORY ((size_t)1024 * 1024)
/* Times a commit is made again because somebody outside this process moved the branch. */
#define COMMIT_ATTEMPTS 8
/* Paths are at most 1024 bytes (kernels_path_unsafe_reason), a slash may follow. */
#define PATH_CAPACITY 1040
#define PULL_REQUEST_LIMIT UINT64_C(1000000)

/* ---- blobs ---- */

struct kernels_blob_writer {
    kernels_repository *repository;
    kernels_buffer start;    /* the content, until it is too large */
    git_writestream *stream; /* then all of it, in a temporary file of libgit2 */
};

kernels_status kernels_blob_writer_new(kernels_repository *repository, kernels_blob_writer **writer,
                                       kernels_error *error) {
    kernels_blob_writer *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    made->repository = repository;
    made->start = KERNELS_BUFFER_INIT(BLOB_IN_MEMORY);
    *writer = made;
    return KERNELS_OK;
}

static kernels_status write_to_stream(kernels_blob_writer *writer, const void *data, size_t size,
                                      kernels_error *error) {
    return writer->stream->write(writer->stream, data, size) == 0
               ? KERNELS_OK
               : kernels_store_fail(error, KERNELS_IO, "cannot store a file");
}

static kernels_status switch_to_stream(kernels_blob_writer *writer, kernels_error *error) {
    if (git_blob_create_from_stream(&writer->stream, writer->repository->git, NULL) != 0) {
        writer->stream = NULL;
        return kernels_store_fail(error, KERNELS_IO, "cannot store a file");
    }
    kernels_view start = kernels_buffer_view(&writer->start);
    kernels_status status = start.size > 0 ? write_to_stream(writer, start.data, start.size, error) : KERNELS_OK;
    kernels_buffer_dispose(&writer->start);
    writer->start = KERNELS_BUFFER_INIT(BLOB_IN_MEMORY);
    return status;
}

kernels_status kernels_blob_writer_add(kernels_blob_writer *writer, const void *data, size_t size,
                                       kernels_error *error) {
    if (writer->stream == NULL && size > BLOB_IN_MEMORY - writer->start.size) {
        KERNELS_TRY(switch_to_stream(writer, error));
    }
    if (writer->stream != NULL) {
        return write_to_stream(writer, data, size, error);
    }
    kernels_buffer_add(&writer->start, data, size);
    return kernels_buffer_status(&writer->start, error);
}

kernels_status kernels_blob_writer_finish(kernels_blob_writer *writer, char oid[KERNELS_COMMIT_ID_SIZE],
                                          kernels_error *error) {
    git_oid id;
    int code;
    if (writer->stream != NULL) {
        code = git_blob_create_from_stream_commit(&id, writer->stream); /* frees the stream in any case */
        writer->stream = NULL;
    } else {
        code = git_blob_create_from_buffer(&id, writer->repository->git, kernels_buffer_text(&writer->start),
                                           writer->start.size);
    }
    kernels_buffer_reset(&writer->start);
    if (code != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot store a file");
    }
    git_oid_tostr(oid, KERNELS_COMMIT_ID_SIZE, &id);
    return KERNELS_OK;
}

void kernels_blob_writer_free(kernels_blob_writer *writer) {
    if (writer == NULL) {
        return;
    }
    if (writer->stream != NULL) {
        writer->stream->free(writer->stream);
    }
    kernels_buffer_dispose(&writer->start);
    kernels_free(writer);
}

kernels_status kernels_repository_add_pointer(kernels_repository *repository, const char *sha256, uint64_t size,
                                              char oid[KERNELS_COMMIT_ID_SIZE], kernels_error *error) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_LFS_POINTER_LIMIT);
    git_oid id;
    kernels_lfs_pointer_print(&text, sha256, size);
    kernels_status status = kernels_buffer_status(&text, error);
    if (status == KERNELS_OK &&
        git_blob_create_from_buffer(&id, repository->git, kernels_buffer_text(&text), text.size) != 0) {
        status = kernels_store_fail(error, KERNELS_IO, "cannot store a file");
    }
    if (status == KERNELS_OK) {
        git_oid_tostr(oid, KERNELS_COMMIT_ID_SIZE, &id);
    }
    kernels_buffer_dispose(&text);
    return status;
}

/* ---- applying changes ---- */

static kernels_status delete_missing(const char *path, kernels_error *error) {
    return kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%s cannot be deleted: it does not exist on this revision",
                        path);
}

/* A file may not silently replace a folder, nor stand where another file needs a folder. */
static bool collides(git_index *index, const char *path) {
    char parent[PATH_CAPACITY];
    size_t position;
    snprintf(parent, sizeof parent, "%s/", path);
    if (git_index_find_prefix(&position, index, parent) == 0) {
        return true;
    }
    for (char *slash = strrchr(parent, '/'); slash != NULL; slash = strrchr(parent, '/')) {
        *slash = '\0';
        if (strcmp(parent, path) != 0 && git_index_get_bypath(index, parent, 0) != NULL) {
            return true;
        }
    }
    return false;
}

static kernels_status put_file(git_index *index, const kernels_change *change, kernels_error *error) {
    const git_index_entry *old = git_index_get_bypath(index, change->path, 0);
    git_index_entry entry = {.path = change->path, .mode = old != NULL ? old->mode : GIT_FILEMODE_BLOB};
    if (old == NULL && collides(index, change->path)) {
        return kernels_fail(error, KERNELS_BAD_REQUEST,
                            "%s is both a file and a folder; delete the old one in the same commit, before this",
                            change->path);
    }
    if (old == NULL && git_index_entrycount(index) >= KERNELS_STORE_ENTRIES_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "a repository holds at most %zu files", KERNELS_STORE_ENTRIES_LIMIT);
    }
    if (git_oid_fromstr(&entry.id, change->oid) != 0 || git_index_add(index, &entry) != 0) {
        return kernels_store_fail(error, KERNELS_BAD_REQUEST, "cannot add %s", change->path);
    }
    return KERNELS_OK;
}

static kernels_status delete_folder(git_index *index, const char *path, kernels_error *error) {
    char prefix[PATH_CAPACITY];
    size_t position;
    snprintf(prefix, sizeof prefix, "%s/", path);
    if (git_index_find_prefix(&position, index, prefix) != 0) {
        return delete_missing(path, error);
    }
    return git_index_remove_directory(index, path, 0) == 0
               ? KERNELS_OK
               : kernels_store_fail(error, KERNELS_IO, "cannot delete %s", path);
}

static kernels_status apply_change(git_index *index, const kernels_change *change, kernels_error *error) {
    switch (change->type) {
    case KERNELS_CHANGE_PUT:
        return put_file(index, change, error);
    case KERNELS_CHANGE_DELETE_FILE:
        return git_index_remove(index, change->path, 0) == 0 ? KERNELS_OK : delete_missing(change->path, error);
    case KERNELS_CHANGE_DELETE_FOLDER:
        return delete_folder(index, change->path, error);
    }
    return kernels_fail(error, KERNELS_INTERNAL, "unknown kind of change");
}

static kernels_status apply_to_index(kernels_repository *repository, const git_tree *base, git_index *index,
                                     const kernels_change *changes, size_t count, git_oid *tree_id,
                                     kernels_error *error) {
    if (base != NULL && git_index_read_tree(index, base) != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot read the head of the branch");
    }
    for (size_t i = 0; i < count; i++) {
        KERNELS_TRY(apply_change(index, &changes[i], error));
    }
    return git_index_write_tree_to(tree_id, index, repository->git) == 0
               ? KERNELS_OK
               : kernels_store_fail(error, KERNELS_IO, "cannot write the new tree");
}

kernels_status kernels_store_make_tree(kernels_repository *repository, const git_tree *base,
                                       const kernels_change *changes, size_t count, git_oid *tree_id,
                                       kernels_error *error) {
    git_index *index = NULL;
    if (git_index_new(&index) != 0) {
        return kernels_store_fail(error, KERNELS_NO_MEMORY, "cannot make an index");
    }
    kernels_status status = apply_to_index(repository, base, index, changes, count, tree_id, error);
    git_index_free(index);
    return status;
}

/* ---- commits ---- */

static int write_commit(git_repository *git, const char *author, const char *message, const git_oid *tree_id,
                        git_commit *parent, git_oid *id) {
    git_signature *signature = NULL;
    git_tree *tree = NULL;
    char mail[160];
    const git_commit *parents[] = {parent};
    snprintf(mail, sizeof mail, "%s@localhost", author);
    int code = git_signature_now(&signature, author, mail);
    if (code == 0) {
        code = git_tree_lookup(&tree, git, tree_id);
    }
    if (code == 0) {
        code = git_commit_create(id, git, NULL, signature, signature, NULL, message, tree, parent != NULL ? 1 : 0,
                                 parents);
    }
    git_tree_free(tree);
    git_signature_free(signature);
    return code;
}

kernels_status kernels_store_first_commit(git_repository *git, kernels_error *error) {
    git_treebuilder *builder = NULL;
    git_reference *reference = NULL;
    git_oid tree_id, commit_id;
    int code = git_treebuilder_new(&builder, git, NULL);
    if (code == 0) {
        code = git_treebuilder_write(&tree_id, builder);
    }
    git_treebuilder_free(builder);
    if (code == 0) {
        code = write_commit(git, "kernels", "initial commit\n", &tree_id, NULL, &commit_id);
    }
    if (code == 0) {
        code = git_reference_create(&reference, git, "refs/heads/main", &commit_id, 0, "create");
    }
    git_reference_free(reference);
    return code == 0 ? KERNELS_OK : kernels_store_fail(error, KERNELS_IO, "cannot make the first commit");
}

static kernels_status check_parent(git_repository *git, const char *parent, const git_oid *head, kernels_error *error) {
    git_oid wanted;
    if (parent == NULL || (kernels_repository_find_commit(git, parent, &wanted) && git_oid_equal(&wanted, head))) {
        return KERNELS_OK;
    }
    kernels_status status = kernels_fail(error, KERNELS_CONFLICT,
                                         "A commit has happened since %s; read the new head and try again", parent);
    if (error != NULL) {
        error->http_status = 412;
    }
    return status;
}

/* A commit on top of `head`, or `head` itself when it shows the same files already: a client that sends a commit again
 * because it did not hear the answer adds nothing. No reference knows the commit yet. */
static kernels_status commit_on_top(kernels_repository *repository, const git_oid *head,
                                    const kernels_commit_request *request, git_oid *id, kernels_error *error) {
    git_commit *parent = NULL;
    git_tree *base = NULL;
    git_oid tree_id;
    if (git_commit_lookup(&parent, repository->git, head) != 0 || git_commit_tree(&base, parent) != 0) {
        git_commit_free(parent);
        return kernels_store_fail(error, KERNELS_IO, "cannot read the head of the branch");
    }
    kernels_status status =
        kernels_store_make_tree(repository, base, request->changes, request->change_count, &tree_id, error);
    if (status == KERNELS_OK && git_oid_equal(&tree_id, git_tree_id(base))) {
        git_oid_cpy(id, head);
    } else if (status == KERNELS_OK &&
               write_commit(repository->git, request->author, request->message, &tree_id, parent, id) != 0) {
        status = kernels_store_fail(error, KERNELS_IO, "cannot write the commit");
    }
    git_tree_free(base);
    git_commit_free(parent);
    return status;
}

static kernels_status branch_busy(const char *name, kernels_error *error) {
    return kernels_fail(error, KERNELS_CONFLICT, "The reference %s is being changed by somebody else; try again", name);
}

static kernels_status commit_to_branch(kernels_repository *repository, const kernels_commit_request *request,
                                       kernels_commit_outcome *outcome, kernels_error *error) {
    char name[KERNELS_REF_NAME_SIZE];
    git_oid head, id;
    for (int attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
        git_reference *reference = NULL;
        KERNELS_TRY(kernels_repository_find_head(repository, request->revision, name, sizeof name, &head, error));
        KERNELS_TRY(check_parent(repository->git, request->parent, &head, error));
        KERNELS_TRY(commit_on_top(repository, &head, request, &id, error));
        int code = git_reference_create_matching(&reference, repository->git, name, &id, 1, &head, "commit");
        git_reference_free(reference);
        if (code == 0) {
            kernels_repository_name_commit(repository->git, &id, outcome->commit);
            outcome->pull_request = 0;
            return KERNELS_OK;
        }
        if (code != GIT_EMODIFIED && code != GIT_ELOCKED) {
            return kernels_store_fail(error, KERNELS_IO, "cannot move %s", name);
        }
    }
    return branch_busy(name, error);
}

static kernels_status commit_to_pull_request(kernels_repository *repository, const kernels_commit_request *request,
                                             kernels_commit_outcome *outcome, kernels_error *error) {
    char base[KERNELS_COMMIT_ID_SIZE], name[KERNELS_REF_NAME_SIZE];
    git_oid head, id;
    git_reference *reference = NULL;
    KERNELS_TRY(kernels_repository_resolve(repository, request->revision, base, error));
    if (!kernels_repository_find_commit(repository->git, base, &head)) {
        return kernels_store_fail(error, KERNELS_INTERNAL, "cannot find commit %s", base);
    }
    KERNELS_TRY(check_parent(repository->git, request->parent, &head, error));
    KERNELS_TRY(commit_on_top(repository, &head, request, &id, error));
    int code = GIT_EEXISTS;
    uint64_t number = 0;
    while (code == GIT_EEXISTS && number < PULL_REQUEST_LIMIT) {
        snprintf(name, sizeof name, "refs/pr/%" PRIu64, ++number);
        code = git_reference_create(&reference, repository->git, name, &id, 0, "pull request");
    }
    git_reference_free(reference);
    if (code != 0) {
        return kernels_store_fail(error, KERNELS_IO, "cannot make a pull request");
    }
    kernels_repository_name_commit(repository->git, &id, outcome->commit);
    outcome->pull_request = number;
    return KERNELS_OK;
}

kernels_status kernels_repository_commit(kernels_repository *repository, const kernels_commit_request *request,
                                         kernels_commit_outcome *outcome, kernels_error *error) {
    pthread_mutex_lock(repository->mutex);
    kernels_status status = request->create_pr ? commit_to_pull_request(repository, request, outcome, error)
                                               : commit_to_branch(repository, request, outcome, error);
    pthread_mutex_unlock(repository->mutex);
    return status;
}
