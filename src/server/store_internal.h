/* SPDX-License-Identifier: Apache-2.0 */
/* What the files store*.c share. Only they know libgit2. */
#ifndef KERNELS_SRC_SERVER_STORE_INTERNAL_H
#define KERNELS_SRC_SERVER_STORE_INTERNAL_H

#include <git2.h>
#include <pthread.h>

#include "base/error.h"
#include "base/file.h"
#include "server/storage.h"
#include "server/store.h"

/* Writers of one repository take turns; repositories share a small set of mutexes. */
#define KERNELS_STORE_MUTEXES 64
/* Long enough for any prefix of ours and a revision of KERNELS_REVISION_LIMIT bytes. */
#define KERNELS_REF_NAME_SIZE (KERNELS_REVISION_LIMIT + 32)

/* Folder in a repository: names of the large files it may use. */
#define KERNELS_STORE_GRANTS "large-files"

typedef struct kernels_pool kernels_pool;

struct kernels_store {
    char *directory;
    kernels_storage *storage; /* groups "lfs" and "parts" */
    char *temporary_directory;
    kernels_pool *pool;
    kernels_file_lock *lock;
    pthread_mutex_t mutexes[KERNELS_STORE_MUTEXES];
    size_t mutex_count; /* initialised */
    bool git_started;
};

struct kernels_repository {
    kernels_store *store;
    char *path;
    git_repository *git;
    uint64_t generation;    /* of the pool when it was opened */
    pthread_mutex_t *mutex; /* taken around every change of a reference */
};

/* Repositories that were opened and may be used again (store_pool.c): opening one costs more than a small answer. */
kernels_pool *kernels_pool_new(void);
void kernels_pool_free(kernels_pool *pool); /* NULL allowed */
/* An open repository of that path, or NULL. generation is to be kept for kernels_pool_give. */
git_repository *kernels_pool_take(kernels_pool *pool, const char *path, uint64_t *generation);
/* Takes the repository and the path over. */
void kernels_pool_give(kernels_pool *pool, char *path, git_repository *git, uint64_t generation);
/* A repository was deleted: what was opened before is not handed out any more. */
void kernels_pool_forget(kernels_pool *pool);

/* kernels_fail with libgit2's last message appended; disk-full and permission errors get their own status. */
kernels_status kernels_store_fail(kernels_error *error, kernels_status status, const char *format, ...)
    KERNELS_PRINTF(3, 4);
pthread_mutex_t *kernels_store_mutex(kernels_store *store, const char *repository_path);
/* Removes what a killed server left: lock files of references, half-written files. */
kernels_status kernels_store_recover(kernels_store *store, kernels_error *error);
/* Addresses of parts end with the server that handed them out, so what is left of an earlier one is useless. */
kernels_status kernels_store_lfs_forget_parts(const kernels_store *store, kernels_error *error);
/* Full reference name that a commit to `revision` changes, or KERNELS_REVISION_NOT_FOUND. */
kernels_status kernels_repository_find_head(kernels_repository *repository, kernels_view revision, char *name,
                                            size_t name_size, git_oid *commit, kernels_error *error);
kernels_status kernels_repository_load_commit(kernels_repository *repository, const char *id, git_commit **commit,
                                              kernels_error *error);
/*
 * A mirrored commit is called by the id that it has at its origin, so that locks and caches hold on both sides. The id
 * stands in a header of the commit, and the reference refs/mirror/<id> leads back; only the mirror makes either.
 */
#define KERNELS_STORE_ORIGIN_HEADER "mirrored-from"
#define KERNELS_STORE_ORIGIN_REF "refs/mirror/"
/* The object that a commit id means outside. false: none. */
bool kernels_repository_find_commit(git_repository *git, const char *id, git_oid *commit);
/* What a commit is called outside. */
void kernels_repository_name_commit(git_repository *git, const git_oid *commit, char id[KERNELS_COMMIT_ID_SIZE]);
/* `base` (NULL: nothing) with the changes applied in order. */
kernels_status kernels_store_make_tree(kernels_repository *repository, const git_tree *base,
                                       const kernels_change *changes, size_t count, git_oid *tree_id,
                                       kernels_error *error);
/* First commit of a new repository: an empty tree on main. */
kernels_status kernels_store_first_commit(git_repository *git, kernels_error *error);

#endif
