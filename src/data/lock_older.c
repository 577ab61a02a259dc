/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the lock files of releases before 0.17. Reading them is part of lock.c. */
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/metadata.h"

/* A file of a variant, its path relative to it. */
typedef struct variant_file {
    kernels_view variant;
    const char *path;
    const char *id;
    size_t index; /* in the listing */
} variant_file;

typedef struct variant_group {
    kernels_older_variant value;
    size_t first; /* smallest index of its files */
} variant_group;

/* Only build/torch<something>/<path> counts: of tvm-ffi variants this form knows nothing. */
static bool split_path(const kernels_older_file *file, variant_file *result) {
    kernels_view path = kernels_view_of(file->path);
    if (!kernels_view_starts_with(path, KERNELS_VIEW("build/torch"))) {
        return false;
    }
    path = kernels_view_slice(path, 6, path.size);
    size_t slash = kernels_view_find(path, '/');
    if (slash == SIZE_MAX || kernels_is_bytecode(path)) {
        return false;
    }
    *result = (variant_file){kernels_view_slice(path, 0, slash), file->path + 6 + slash + 1, file->id, 0};
    return true;
}

static int compare_files(const void *a, const void *b) {
    const variant_file *left = a, *right = b;
    int order = kernels_view_compare(left->variant, right->variant);
    order = order != 0 ? order : strcmp(left->path, right->path);
    return order != 0 ? order : strcmp(left->id, right->id);
}

static int compare_groups(const void *a, const void *b) {
    const variant_group *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static kernels_status hash_variant(const variant_file *files, size_t count, kernels_digest *digest,
                                   kernels_error *error) {
    kernels_buffer bytes = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    bool hex = true;
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_add_text(&bytes, files[i].path);
        hex = kernels_object_id_is_valid(kernels_view_of(files[i].id)) &&
              kernels_decode_hex(&bytes, kernels_view_of(files[i].id)) && hex;
    }
    kernels_status status = kernels_buffer_status(&bytes, error);
    if (status == KERNELS_OK && !hex) {
        status = kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                              "expected the id of each file as 40 or 64 hexadecimal digits");
    }
    if (status == KERNELS_OK) {
        status = kernels_hash_bytes(KERNELS_HASH_SHA256, bytes.data, bytes.size, digest, error);
    }
    kernels_buffer_dispose(&bytes);
    return status;
}

/* files: those of one variant, sorted */
static kernels_status make_group(kernels_arena *arena, const variant_file *files, size_t count, variant_group *group,
                                 kernels_error *error) {
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    KERNELS_TRY(hash_variant(files, count, &digest, error));
    kernels_digest_hex(&digest, hex);
    group->value.name = kernels_arena_copy_text(arena, files[0].variant);
    group->value.hash = kernels_arena_printf(arena, "sha256-%s", hex);
    group->first = files[0].index;
    for (size_t i = 1; i < count; i++) {
        group->first = files[i].index < group->first ? files[i].index : group->first;
    }
    return group->value.name && group->value.hash ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status make_groups(kernels_arena *arena, const variant_file *files, size_t count, variant_group *groups,
                                  size_t *used, kernels_error *error) {
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        for (end = begin; end < count && kernels_view_equal(files[end].variant, files[begin].variant); end++) {
        }
        KERNELS_TRY(make_group(arena, &files[begin], end - begin, &groups[(*used)++], error));
    }
    qsort(groups, *used, sizeof(*groups), compare_groups);
    return KERNELS_OK;
}

/* files: sorted; the variants are stored in the order of the listing. */
static kernels_status store_variants(kernels_older_lock *lock, const variant_file *files, size_t count,
                                     kernels_error *error) {
    size_t used = 0;
    KERNELS_CLEANUP_FREE variant_group *groups = kernels_calloc(count + 1, sizeof(*groups));
    if (!groups) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(make_groups(lock->owner, files, count, groups, &used, error));
    kernels_older_variant *items = kernels_arena_array(lock->owner, used, sizeof(*items));
    if (!items && used > 0) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < used; i++) {
        items[i] = groups[i].value;
    }
    lock->variants = items;
    lock->variant_count = used;
    return KERNELS_OK;
}

static kernels_status fill_lock(kernels_older_lock *lock, const char *repo_id, const char *sha,
                                const kernels_older_file *files, size_t count, kernels_error *error) {
    KERNELS_CLEANUP_FREE variant_file *sorted = kernels_calloc(count + 1, sizeof(*sorted));
    lock->repo_id = kernels_arena_copy_text(lock->owner, kernels_view_of(repo_id));
    lock->sha = kernels_arena_copy_text(lock->owner, kernels_view_of(sha));
    if (!sorted || !lock->repo_id || !lock->sha) {
        return kernels_fail_no_memory(error);
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (split_path(&files[i], &sorted[used])) {
            sorted[used++].index = i;
        }
    }
    qsort(sorted, used, sizeof(*sorted), compare_files);
    return store_variants(lock, sorted, used, error);
}

kernels_status kernels_older_lock_make(const char *repo_id, const char *sha, const kernels_older_file *files,
                                       size_t count, kernels_older_lock *lock, kernels_error *error) {
    if (count > KERNELS_VARIANT_FILES_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu files, found %zu", KERNELS_VARIANT_FILES_MAX,
                            count);
    }
    kernels_older_lock result = {.owner = kernels_arena_new(0)};
    kernels_status status =
        result.owner ? fill_lock(&result, repo_id, sha, files, count, error) : kernels_fail_no_memory(error);
    if (status != KERNELS_OK) {
        kernels_older_lock_dispose(&result);
        return status;
    }
    *lock = result;
    return KERNELS_OK;
}

void kernels_older_lock_dispose(kernels_older_lock *lock) {
    if (lock) {
        kernels_arena_free(lock->owner);
        *lock = (kernels_older_lock){0};
    }
}

static void write_older_lock(kernels_json_writer *writer, const kernels_older_lock *lock) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "repo_id", lock->repo_id);
    kernels_json_member_text(writer, "sha", lock->sha);
    kernels_json_key(writer, "variants");
    kernels_json_begin_object(writer);
    for (size_t i = 0; i < lock->variant_count; i++) {
        kernels_json_key(writer, lock->variants[i].name);
        kernels_json_begin_object(writer);
        kernels_json_member_text(writer, "hash", lock->variants[i].hash);
        kernels_json_member_text(writer, "hash_type", "git_lfs_concat");
        kernels_json_end_object(writer);
    }
    kernels_json_end_object(writer);
    kernels_json_end_object(writer);
}

kernels_status kernels_older_locks_print(const kernels_older_lock *locks, size_t count, char **text,
                                         kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, true);
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        write_older_lock(&writer, &locks[i]);
    }
    kernels_json_end_array(&writer);
    return kernels_give_text(&out, text, error);
}
