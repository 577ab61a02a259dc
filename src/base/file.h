/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders. This is the one module that creates files: a new file is written under a
 * temporary name in its own folder, hashed while it is written, synced and renamed, so that nobody
 * ever sees half of it and a failed or killed writer leaves at most a `.<name>.<random>.tmp`.
 */
#ifndef KERNELS_SRC_BASE_FILE_H
#define KERNELS_SRC_BASE_FILE_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "kernels/base.h"

/* ---- reading ---- */

/* Whole file as heap memory with a NUL behind it (not counted); a file larger than limit bytes is
 * KERNELS_LIMIT. Errors name the path and set it as subject. */
kernels_status kernels_file_read(const char *path, size_t limit, char **data, size_t *size, kernels_error *error);

bool kernels_file_exists(const char *path);       /* anything, links followed */
bool kernels_file_is_regular(const char *path);   /* links followed */
bool kernels_file_is_directory(const char *path); /* links followed */
bool kernels_file_is_link(const char *path);
kernels_status kernels_file_size(const char *path, uint64_t *size, kernels_error *error);

/* Hash of a whole file, streamed. size may be NULL. For KERNELS_HASH_GIT_BLOB the size is read first. */
kernels_status kernels_file_hash(const char *path, kernels_hash_algorithm algorithm, kernels_digest *digest,
                                 uint64_t *size, kernels_error *error);

/* The same for many files, one after the other: memory and hash are made once. For one thread. */
typedef struct kernels_file_hasher kernels_file_hasher;
kernels_status kernels_file_hasher_new(kernels_hash_algorithm algorithm, kernels_file_hasher **hasher,
                                       kernels_error *error);
kernels_status kernels_file_hasher_run(kernels_file_hasher *hasher, const char *path, kernels_digest *digest,
                                       uint64_t *size, kernels_error *error);
void kernels_file_hasher_free(kernels_file_hasher *hasher); /* NULL allowed */

/* ---- listing ---- */

typedef enum kernels_entry_type {
    KERNELS_ENTRY_FILE,
    KERNELS_ENTRY_DIRECTORY,
    KERNELS_ENTRY_LINK, /* only where links are not followed */
    KERNELS_ENTRY_OTHER
} kernels_entry_type;

typedef struct kernels_entry {
    char *path; /* relative to the listed folder, parts joined by "/" */
    kernels_entry_type type;
    bool is_link; /* a symbolic link, whatever type says */
} kernels_entry;

typedef struct kernels_listing {
    kernels_entry *entries; /* ascending by bytes of path */
    size_t count;
} kernels_listing;

/* Most entries and depth a listing may have before it is KERNELS_LIMIT. */
#define KERNELS_LISTING_LIMIT ((size_t)1000000)
#define KERNELS_LISTING_DEPTH_LIMIT 64

typedef enum kernels_list_flags {
    KERNELS_LIST_CHILDREN = 0,     /* direct children only */
    KERNELS_LIST_RECURSIVE = 1,    /* all levels; links to directories are never entered */
    KERNELS_LIST_FOLLOW_LINKS = 2, /* type = type of the link's target; a dangling link is an error */
} kernels_list_flags;

kernels_status kernels_list(const char *directory, unsigned flags, kernels_listing *listing, kernels_error *error);
void kernels_listing_dispose(kernels_listing *listing);

/* ---- creating ---- */

typedef struct kernels_file_writer kernels_file_writer;

typedef struct kernels_file_writer_options {
    unsigned mode;                            /* permission bits before umask; 0 = 0666 */
    bool no_sync;                             /* skip fsync: only for content that can be made again */
    bool exclusive;                           /* commit fails with KERNELS_ALREADY_EXISTS when the name is taken */
    const kernels_hash_algorithm *algorithms; /* hashed on the way, may be NULL */
    size_t algorithm_count;                   /* <= KERNELS_FILE_WRITER_HASHES */
    uint64_t git_blob_size;                   /* total size, needed when KERNELS_HASH_GIT_BLOB is among them */
    const char *temporary_path;               /* exact temporary name (the Hub cache fixes its form); NULL = chosen */
} kernels_file_writer_options;

#define KERNELS_FILE_WRITER_HASHES 3

/* Starts a new file that will become `path`; its folder must exist. Nothing but a plain file, or a link to one, is
 * ever replaced. options may be NULL. */
kernels_status kernels_file_writer_open(const char *path, const kernels_file_writer_options *options,
                                        kernels_file_writer **writer, kernels_error *error);
kernels_status kernels_file_writer_write(kernels_file_writer *writer, const void *data, size_t size,
                                         kernels_error *error);
/* The same at any offset, for content that comes in several pieces at once. What follows on without a gap is hashed at
 * once; for the rest kernels_file_writer_take_in must be called when the gap before it is filled. Writing once more
 * what was hashed already starts the hashes from the beginning, so that they always speak of what the file holds. */
kernels_status kernels_file_writer_write_at(kernels_file_writer *writer, uint64_t offset, const void *data, size_t size,
                                            kernels_error *error);
/* Bytes up to `end` are all there: reads back and hashes those that were not hashed yet. */
kernels_status kernels_file_writer_take_in(kernels_file_writer *writer, uint64_t end, kernels_error *error);
/* Throws away what was written and starts again (a server that ignored a range). */
kernels_status kernels_file_writer_restart(kernels_file_writer *writer, kernels_error *error);
/* Bytes from the beginning without a gap: what the digests are about. */
uint64_t kernels_file_writer_size(const kernels_file_writer *writer);
/* Digest of what was written so far for one of the algorithms asked for. */
kernels_status kernels_file_writer_digest(kernels_file_writer *writer, kernels_hash_algorithm algorithm,
                                          kernels_digest *digest, kernels_error *error);
/* Sync, close, rename to the final name, sync the folder. Frees the writer in any case; on failure
 * nothing is left behind. */
kernels_status kernels_file_writer_commit(kernels_file_writer *writer, kernels_error *error);
/* Removes the temporary file and frees the writer. NULL allowed. */
void kernels_file_writer_abort(kernels_file_writer *writer);

/* The three steps in one, for content in memory. mode 0 = 0666. */
kernels_status kernels_file_write(const char *path, kernels_view content, unsigned mode, kernels_error *error);
/* Atomic copy through the writer; mode 0 = that of the source. */
kernels_status kernels_file_copy(const char *from, const char *to, unsigned mode, kernels_error *error);

kernels_status kernels_make_directory(const char *path, kernels_error *error);   /* exists: fine */
kernels_status kernels_make_directories(const char *path, kernels_error *error); /* with parents */
/* Makes or atomically replaces the symbolic link at `path`. */
kernels_status kernels_make_link(const char *target, const char *path, kernels_error *error);
/* Renames within one file system, replacing. */
kernels_status kernels_rename(const char *from, const char *to, kernels_error *error);
/* A new private folder `<parent or $TMPDIR or /tmp>/<prefix>XXXXXX`, mode 0700. Heap text. */
kernels_status kernels_make_temporary_directory(const char *parent, const char *prefix, char **path,
                                                kernels_error *error);
kernels_status kernels_remove_file(const char *path, kernels_error *error); /* absent: fine */
/* Removes a folder and all below it; links are removed, never followed. Absent: fine. */
kernels_status kernels_remove_tree(const char *path, kernels_error *error);

/* ---- locks between processes ---- */

typedef struct kernels_file_lock kernels_file_lock;
/* Best effort flock(LOCK_EX) on `path` (created, mode 0664, never deleted). A file system without
 * locks gives KERNELS_OK and a lock that does nothing. timeout_ms < 0 waits for ever. */
kernels_status kernels_file_lock_take(const char *path, int timeout_ms, kernels_file_lock **lock, kernels_error *error);
void kernels_file_lock_release(kernels_file_lock *lock); /* NULL allowed */

#endif
