/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage of the embedded hub: bare git repositories and content-addressed large files below one folder.
 *
 *     DIR/kernels/<owner>/<name>.git   one repository a kernel (DIR/models/... for the older type)
 *     DIR/lfs/<sha256>                 contents of large files, each once
 *     DIR/parts/                       pieces of large files that are on their way
 *     DIR/tmp/                         repositories being made or removed; emptied when the store is opened
 *     DIR/lock                         held while a server owns the store
 *
 * A kernels_store is shared by all threads; a kernels_repository belongs to one thread at a time.
 */
#ifndef KERNELS_SRC_SERVER_STORE_H
#define KERNELS_SRC_SERVER_STORE_H

#include "base/arena.h"
#include "hub/hub.h"
#include "kernels/base.h"

#define KERNELS_COMMIT_ID_SIZE 41 /* 40 hex digits and a NUL */
#define KERNELS_SHA256_HEX_SIZE 65

/* Bounds of one repository. */
#define KERNELS_STORE_ENTRIES_LIMIT ((size_t)200000)
#define KERNELS_STORE_DEPTH_LIMIT 64
#define KERNELS_STORE_REFS_LIMIT ((size_t)100000)
#define KERNELS_REVISION_LIMIT 255
/* Of one store. */
#define KERNELS_STORE_REPOSITORIES_LIMIT ((size_t)100000)

typedef struct kernels_store kernels_store;
typedef struct kernels_repository kernels_repository;

/* Makes the folders, takes the lock (KERNELS_CONFLICT when another server holds it) and removes what a killed
 * server left behind. */
kernels_status kernels_store_open(const char *directory, kernels_store **store, kernels_error *error);
void kernels_store_close(kernels_store *store);

/* ---- repositories (store.c) ---- */

/* A new repository whose branch main has one commit with an empty tree. KERNELS_ALREADY_EXISTS when taken. */
kernels_status kernels_store_create_repository(kernels_store *store, kernels_repository_type type, kernels_view id,
                                               bool is_private, kernels_error *error);
kernels_status kernels_store_delete_repository(kernels_store *store, kernels_repository_type type, kernels_view id,
                                               kernels_error *error);
/* Ids of all repositories of a type, ascending; in the arena. */
kernels_status kernels_store_repositories(const kernels_store *store, kernels_repository_type type,
                                          kernels_arena *arena, const char ***ids, size_t *count, kernels_error *error);
/* true when `owner` has a repository of any type */
bool kernels_store_has_owner(const kernels_store *store, kernels_view owner);

/* KERNELS_REPOSITORY_NOT_FOUND when absent or when the id is malformed. */
kernels_status kernels_repository_open(kernels_store *store, kernels_repository_type type, kernels_view id,
                                       kernels_repository **repository, kernels_error *error);
void kernels_repository_close(kernels_repository *repository);
bool kernels_repository_is_private(const kernels_repository *repository);

/* Path of the bare repository of an id; heap text. The id must have passed kernels_repository_id_check. */
char *kernels_store_repository_path(const kernels_store *store, kernels_repository_type type, kernels_view id);

/* ---- references (store_refs.c) ---- */

typedef struct kernels_store_ref {
    const char *name; /* "refs/heads/main" */
    char commit[KERNELS_COMMIT_ID_SIZE];
} kernels_store_ref;

/* All branches, tags and pull requests, ascending by name; in the arena. */
kernels_status kernels_repository_refs(kernels_repository *repository, kernels_arena *arena, kernels_store_ref **refs,
                                       size_t *count, kernels_error *error);
/* Branch, tag, full commit id or unique prefix of one, "refs/heads/x", "refs/tags/x", "refs/pr/N".
 * KERNELS_REVISION_NOT_FOUND otherwise. No other revision syntax of git is understood. */
kernels_status kernels_repository_resolve(kernels_repository *repository, kernels_view revision,
                                          char commit[KERNELS_COMMIT_ID_SIZE], kernels_error *error);
/* Commit time in seconds since 1970 (UTC). */
kernels_status kernels_repository_commit_time(kernels_repository *repository, const char *commit, int64_t *time,
                                              kernels_error *error);
/* prefix: "refs/heads/" or "refs/tags/". KERNELS_ALREADY_EXISTS; KERNELS_BAD_REQUEST for a bad name. */
kernels_status kernels_repository_create_ref(kernels_repository *repository, const char *prefix, kernels_view name,
                                             const char *commit, kernels_error *error);
/* KERNELS_REVISION_NOT_FOUND when absent; main cannot be deleted (KERNELS_FORBIDDEN). */
kernels_status kernels_repository_delete_ref(kernels_repository *repository, const char *prefix, kernels_view name,
                                             kernels_error *error);

/* ---- trees and contents (store_tree.c) ---- */

typedef struct kernels_store_entry {
    const char *path; /* from the root */
    bool is_directory;
    uint64_t size;                            /* of the file, for large files of their content; 0 for folders */
    char oid[KERNELS_COMMIT_ID_SIZE];         /* git blob or tree id */
    char lfs_sha256[KERNELS_SHA256_HEX_SIZE]; /* "" = not a large file */
    uint64_t pointer_size;                    /* of a large file: size of the blob that points to it */
} kernels_store_entry;

/* Why a path must not be used in a repository, or NULL: kernels_path_unsafe_reason and no ".git". */
const char *kernels_store_path_unsafe_reason(kernels_view path);

/* One file or folder; path "" is the root. KERNELS_ENTRY_NOT_FOUND. */
kernels_status kernels_repository_entry(kernels_repository *repository, const char *commit, kernels_view path,
                                        kernels_arena *arena, kernels_store_entry *entry, kernels_error *error);
/* Files and folders below the folder `path`, from number `offset` on, at most `limit` of them.
 * *more says whether others follow. KERNELS_ENTRY_NOT_FOUND when path is no folder. */
typedef struct kernels_store_page {
    kernels_store_entry *entries;
    size_t count;
    bool more;
} kernels_store_page;
kernels_status kernels_repository_list(kernels_repository *repository, const char *commit, kernels_view path,
                                       bool recursive, size_t offset, size_t limit, kernels_arena *arena,
                                       kernels_store_page *page, kernels_error *error);

/* Reads one blob from front to back in bounded memory (packed ones: as a whole). */
typedef struct kernels_blob_reader kernels_blob_reader;
kernels_status kernels_blob_reader_open(kernels_repository *repository, const char *oid, uint64_t skip,
                                        kernels_blob_reader **reader, kernels_error *error);
/* Up to `size` bytes; *got 0 at the end. */
kernels_status kernels_blob_reader_read(kernels_blob_reader *reader, void *data, size_t size, size_t *got,
                                        kernels_error *error);
void kernels_blob_reader_close(kernels_blob_reader *reader);

/* ---- writing (store_write.c) ---- */

/* Adds one blob in bounded memory, whatever its size. */
typedef struct kernels_blob_writer kernels_blob_writer;
kernels_status kernels_blob_writer_new(kernels_repository *repository, kernels_blob_writer **writer,
                                       kernels_error *error);
kernels_status kernels_blob_writer_add(kernels_blob_writer *writer, const void *data, size_t size,
                                       kernels_error *error);
/* Stores the blob and makes the writer ready for the next one. */
kernels_status kernels_blob_writer_finish(kernels_blob_writer *writer, char oid[KERNELS_COMMIT_ID_SIZE],
                                          kernels_error *error);
void kernels_blob_writer_free(kernels_blob_writer *writer);
/* The blob that points to a large file. */
kernels_status kernels_repository_add_pointer(kernels_repository *repository, const char *sha256, uint64_t size,
                                              char oid[KERNELS_COMMIT_ID_SIZE], kernels_error *error);

typedef enum kernels_change_type {
    KERNELS_CHANGE_PUT,
    KERNELS_CHANGE_DELETE_FILE,
    KERNELS_CHANGE_DELETE_FOLDER,
} kernels_change_type;

typedef struct kernels_change {
    kernels_change_type type;
    const char *path;
    char oid[KERNELS_COMMIT_ID_SIZE]; /* PUT: the blob, already stored */
} kernels_change;

typedef struct kernels_commit_request {
    kernels_view revision; /* a branch or "refs/pr/N"; with create_pr any revision */
    bool create_pr;
    const kernels_change *changes;
    size_t change_count;
    const char *message;
    const char *parent; /* NULL, or the id that the head must have */
    const char *author;
} kernels_commit_request;

typedef struct kernels_commit_outcome {
    char commit[KERNELS_COMMIT_ID_SIZE];
    uint64_t pull_request; /* 0 = none made */
} kernels_commit_outcome;

/* Applies the changes in order to the head of the revision, all or nothing. KERNELS_ENTRY_NOT_FOUND: a deleted path
 * is not there; KERNELS_CONFLICT with http_status 412: the head is not `parent`. */
kernels_status kernels_repository_commit(kernels_repository *repository, const kernels_commit_request *request,
                                         kernels_commit_outcome *outcome, kernels_error *error);
/* KERNELS_OK when `revision` names something that commits can go to. */
kernels_status kernels_repository_check_writable(kernels_repository *repository, kernels_view revision,
                                                 kernels_error *error);

/* ---- mirrors (store_import.c) ---- */

typedef struct kernels_import {
    const char *reference; /* "refs/heads/v1" */
    const char *origin;    /* id of the commit where it comes from: what it is called here too */
    const kernels_change *files;
    size_t file_count;
    const char *message;
} kernels_import;

/* true when a commit of that origin is here already */
bool kernels_repository_has_origin(kernels_repository *repository, const char *origin);
bool kernels_repository_has_blob(kernels_repository *repository, const char *oid);
/* Makes a commit of exactly these files, unless its origin is here already, and moves the reference to it. What the
 * reference showed before becomes its parent. */
kernels_status kernels_repository_import(kernels_repository *repository, const kernels_import *import,
                                         kernels_error *error);

/* ---- large files (store_lfs.c) ---- */

/* Size of a stored content; KERNELS_NOT_FOUND. sha256 must be 64 lower-case hex digits. */
kernels_status kernels_store_lfs_size(const kernels_store *store, const char *sha256, uint64_t *size,
                                      kernels_error *error);
/* Opens it for reading; descriptor may be NULL. */
kernels_status kernels_store_lfs_open(const kernels_store *store, const char *sha256, int *descriptor, uint64_t *size,
                                      kernels_error *error);

/* Contents are shared, the right to use them is not: a repository has a large file once its content was sent there. */
kernels_status kernels_repository_grant_lfs(kernels_repository *repository, const char *sha256, kernels_error *error);
/* As kernels_store_lfs_size, for what the repository has. */
kernels_status kernels_repository_lfs_size(const kernels_repository *repository, const char *sha256, uint64_t *size,
                                           kernels_error *error);

typedef struct kernels_lfs_writer kernels_lfs_writer;
/* Starts receiving a large file that must have this hash and size. */
kernels_status kernels_lfs_writer_open(const kernels_store *store, const char *sha256, uint64_t size,
                                       kernels_lfs_writer **writer, kernels_error *error);
/* Starts receiving part `number` (from 1) of an upload, a name of lower-case hex digits. */
kernels_status kernels_lfs_writer_open_part(const kernels_store *store, const char *upload, uint64_t number,
                                            uint64_t size, kernels_lfs_writer **writer, kernels_error *error);
kernels_status kernels_lfs_writer_add(kernels_lfs_writer *writer, const void *data, size_t size, kernels_error *error);
/* Frees the writer; sha256 receives what was found. KERNELS_INTEGRITY (nothing stored) when size or hash differ. */
kernels_status kernels_lfs_writer_finish(kernels_lfs_writer *writer, char sha256[KERNELS_SHA256_HEX_SIZE],
                                         kernels_error *error);
void kernels_lfs_writer_abort(kernels_lfs_writer *writer); /* NULL allowed */
/* Makes a large file of parts 1 to count and removes them. KERNELS_BAD_REQUEST: a part is missing; KERNELS_INTEGRITY:
 * together they are something else. */
kernels_status kernels_store_lfs_join(const kernels_store *store, const char *upload, uint64_t count,
                                      const char *sha256, uint64_t size, kernels_error *error);

/* true for exactly 64 lower-case hex digits */
bool kernels_is_sha256(kernels_view text);

#endif
