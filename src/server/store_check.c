/* SPDX-License-Identifier: Apache-2.0 */
#include "server/store_check.h"

#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/view.h"
#include "server/store_internal.h"

/* Larger blobs are hashed piece by piece. */
#define OBJECT_AT_ONCE ((size_t)1024 * 1024)
#define BLOCK ((size_t)128 * 1024)
#define ID_ARENA_LIMIT ((size_t)64 * 1024 * 1024)

typedef struct checker {
    kernels_store *store;
    void (*problem)(void *payload, const char *text);
    void *payload;
    kernels_check_result *result;
    const char *where; /* the repository */
    kernels_repository *repository;
    git_odb *odb;
} checker;

static void report(checker *c, const char *format, ...) KERNELS_PRINTF(2, 3);
static void report(checker *c, const char *format, ...) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    va_list arguments;
    kernels_buffer_printf(&text, "%s: ", c->where);
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    c->result->problems++;
    c->problem(c->payload, kernels_buffer_text(&text));
    kernels_buffer_dispose(&text);
}

/* ---- objects ---- */

static void need_object(checker *c, const git_oid *from, const git_oid *to) {
    if (!git_odb_exists(c->odb, to)) {
        char a[GIT_OID_HEXSZ + 1], b[GIT_OID_HEXSZ + 1];
        report(c, "object %s points to %s, which is missing", git_oid_tostr(a, sizeof a, from),
               git_oid_tostr(b, sizeof b, to));
    }
}

static void check_tree(checker *c, const git_oid *id) {
    git_tree *tree = NULL;
    if (git_tree_lookup(&tree, c->repository->git, id) != 0) {
        char hex[GIT_OID_HEXSZ + 1];
        report(c, "folder %s cannot be read", git_oid_tostr(hex, sizeof hex, id));
        return;
    }
    for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        if (git_tree_entry_filemode(entry) != GIT_FILEMODE_COMMIT) { /* a submodule lives elsewhere */
            need_object(c, id, git_tree_entry_id(entry));
        }
    }
    git_tree_free(tree);
}

static void check_commit(checker *c, const git_oid *id) {
    git_commit *commit = NULL;
    if (git_commit_lookup(&commit, c->repository->git, id) != 0) {
        char hex[GIT_OID_HEXSZ + 1];
        report(c, "commit %s cannot be read", git_oid_tostr(hex, sizeof hex, id));
        return;
    }
    need_object(c, id, git_commit_tree_id(commit));
    for (unsigned i = 0; i < git_commit_parentcount(commit); i++) {
        need_object(c, id, git_commit_parent_id(commit, i));
    }
    git_commit_free(commit);
}

static kernels_status hash_blob(checker *c, const char *hex, uint64_t size, kernels_digest *digest,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *block = kernels_malloc(BLOCK);
    kernels_blob_reader *reader = NULL;
    kernels_hash *hash = NULL;
    if (block == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_hash_new(KERNELS_HASH_GIT_BLOB, size, &hash, error));
    kernels_status status = kernels_blob_reader_open(c->repository, hex, 0, &reader, error);
    size_t got = 1;
    while (status == KERNELS_OK && got > 0) {
        status = kernels_blob_reader_read(reader, block, BLOCK, &got, error);
        if (status == KERNELS_OK) {
            status = kernels_hash_update(hash, block, got, error);
        }
    }
    kernels_blob_reader_close(reader);
    if (status == KERNELS_OK) {
        status = kernels_hash_digest(hash, digest, error);
    }
    kernels_hash_free(hash);
    return status;
}

static void check_large_blob(checker *c, const char *hex, uint64_t size) {
    kernels_digest digest;
    if (hash_blob(c, hex, size, &digest, NULL) != KERNELS_OK) {
        report(c, "object %s cannot be read", hex);
    } else if (!kernels_digest_equal_hex(&digest, kernels_view_of(hex))) {
        report(c, "object %s has another content than its name says", hex);
    }
}

static int check_object(const git_oid *id, void *payload) {
    checker *c = payload;
    char hex[GIT_OID_HEXSZ + 1];
    size_t size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    git_odb_object *object = NULL;
    c->result->objects++;
    git_oid_tostr(hex, sizeof hex, id);
    if (git_odb_read_header(&size, &type, c->odb, id) != 0) {
        report(c, "object %s cannot be read", hex);
    } else if (type == GIT_OBJECT_BLOB && size > OBJECT_AT_ONCE) {
        check_large_blob(c, hex, size);
    } else if (git_odb_read(&object, c->odb, id) != 0) { /* compares content and name */
        report(c, "object %s is damaged", hex);
    } else if (type == GIT_OBJECT_TREE) {
        check_tree(c, id);
    } else if (type == GIT_OBJECT_COMMIT) {
        check_commit(c, id);
    }
    git_odb_object_free(object);
    return 0;
}

/* ---- repositories ---- */

static void check_references(checker *c) {
    git_strarray names = {0};
    if (git_reference_list(&names, c->repository->git) != 0) {
        report(c, "the references cannot be listed");
        return;
    }
    bool has_main = false;
    for (size_t i = 0; i < names.count; i++) {
        git_reference *reference = NULL;
        git_object *object = NULL;
        c->result->references++;
        has_main = has_main || strcmp(names.strings[i], "refs/heads/main") == 0;
        if (git_reference_lookup(&reference, c->repository->git, names.strings[i]) != 0 ||
            git_reference_peel(&object, reference, GIT_OBJECT_COMMIT) != 0) {
            report(c, "%s leads to no commit", names.strings[i]);
        }
        git_object_free(object);
        git_reference_free(reference);
    }
    if (!has_main) {
        report(c, "the branch main is missing");
    }
    git_strarray_dispose(&names);
}

static kernels_status check_grants(checker *c, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(git_repository_path(c->repository->git), KERNELS_STORE_GRANTS);
    kernels_listing names = {0};
    uint64_t size;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_directory(path)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_list(path, KERNELS_LIST_CHILDREN, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        if (kernels_store_lfs_size(c->store, names.entries[i].path, &size, NULL) != KERNELS_OK) {
            report(c, "large file %s is missing", names.entries[i].path);
        }
    }
    kernels_listing_dispose(&names);
    return KERNELS_OK;
}

static kernels_status check_repository(checker *c, kernels_repository_type type, const char *id, kernels_error *error) {
    c->where = id;
    c->result->repositories++;
    if (kernels_repository_open(c->store, type, kernels_view_of(id), &c->repository, NULL) != KERNELS_OK) {
        report(c, "the repository cannot be opened");
        return KERNELS_OK;
    }
    check_references(c);
    if (git_repository_odb(&c->odb, c->repository->git) != 0 || git_odb_foreach(c->odb, check_object, c) != 0) {
        report(c, "the objects cannot be listed");
    }
    git_odb_free(c->odb);
    c->odb = NULL;
    kernels_status status = check_grants(c, error);
    kernels_repository_close(c->repository);
    return status;
}

static kernels_status check_repositories(checker *c, kernels_repository_type type, kernels_error *error) {
    kernels_arena *arena = kernels_arena_new(ID_ARENA_LIMIT);
    const char **ids = NULL;
    size_t count = 0;
    if (arena == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = kernels_store_repositories(c->store, type, arena, &ids, &count, error);
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = check_repository(c, type, ids[i], error);
    }
    kernels_arena_free(arena);
    return status;
}

/* ---- large files ---- */

/* Through the storage's own reading: what stands behind it does not matter. */
static kernels_status hash_large_file(checker *c, const char *sha256, kernels_digest *digest) {
    int descriptor = -1;
    uint64_t size;
    kernels_hash *hash = NULL;
    KERNELS_CLEANUP_FREE char *block = kernels_malloc(BLOCK);
    KERNELS_TRY(kernels_store_lfs_open(c->store, sha256, &descriptor, &size, NULL));
    kernels_status status = block != NULL ? kernels_hash_new(KERNELS_HASH_SHA256, 0, &hash, NULL) : KERNELS_NO_MEMORY;
    ssize_t got = 1;
    while (status == KERNELS_OK && got > 0) {
        got = read(descriptor, block, BLOCK);
        status = got < 0 ? KERNELS_IO : kernels_hash_update(hash, block, (size_t)got, NULL);
    }
    if (status == KERNELS_OK) {
        status = kernels_hash_digest(hash, digest, NULL);
    }
    kernels_hash_free(hash);
    close(descriptor);
    return status;
}

static void check_large_file(checker *c, const char *name) {
    kernels_digest digest;
    c->result->large_files++;
    if (!kernels_is_sha256(kernels_view_of(name))) {
        report(c, "%s is not the name of a large file", name);
    } else if (hash_large_file(c, name, &digest) != KERNELS_OK) {
        report(c, "%s cannot be read", name);
    } else if (!kernels_digest_equal_hex(&digest, kernels_view_of(name))) {
        report(c, "%s has another content than its name says", name);
    }
}

static kernels_status check_large_files(checker *c, kernels_error *error) {
    kernels_listing names = {0};
    c->where = "lfs";
    KERNELS_TRY(kernels_storage_list(c->store->storage, "lfs", &names, error));
    for (size_t i = 0; i < names.count; i++) {
        check_large_file(c, names.entries[i].path);
    }
    kernels_listing_dispose(&names);
    return KERNELS_OK;
}

kernels_status kernels_store_check(kernels_store *store, void (*problem)(void *payload, const char *text),
                                   void *payload, kernels_check_result *result, kernels_error *error) {
    *result = (kernels_check_result){0};
    checker c = {.store = store, .problem = problem, .payload = payload, .result = result};
    KERNELS_TRY(check_repositories(&c, KERNELS_REPOSITORY_KERNEL, error));
    KERNELS_TRY(check_repositories(&c, KERNELS_REPOSITORY_MODEL, error));
    return check_large_files(&c, error);
}
