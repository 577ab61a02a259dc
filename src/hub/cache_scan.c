/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/cache_scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/repo_url.h"

#define REF_SIZE_LIMIT ((size_t)1024)
#define NAME_LIMIT ((size_t)100000)
#define LINK_LIMIT ((size_t)4096)

#define PREFIX "kernels--"

/* ---- names ---- */

/* "kernels--owner--name" -> "owner/name"; false for the folders of other tools. */
static char *id_of_folder(const char *folder) {
    kernels_view text = kernels_view_of(folder);
    if (!kernels_view_starts_with(text, KERNELS_VIEW(PREFIX))) {
        return NULL;
    }
    kernels_buffer id = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    for (size_t i = sizeof(PREFIX) - 1; i < text.size; i++) {
        bool separator = text.data[i] == '-' && i + 1 < text.size && text.data[i + 1] == '-';
        kernels_buffer_add_char(&id, separator ? '/' : text.data[i]);
        i += separator;
    }
    char *found = kernels_buffer_take(&id);
    if (found && kernels_repository_id_check(kernels_view_of(found), NULL) != KERNELS_OK) {
        kernels_free(found);
        return NULL;
    }
    return found;
}

static kernels_status add_names(const kernels_listing *listing, char **names, size_t *count) {
    for (size_t i = 0; i < listing->count && *count < NAME_LIMIT; i++) {
        char *id = listing->entries[i].type == KERNELS_ENTRY_DIRECTORY ? id_of_folder(listing->entries[i].path) : NULL;
        if (id) {
            names[*count] = id;
            (*count)++;
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_scan_names(const char *cache, char ***names, size_t *count, kernels_error *error) {
    kernels_listing listing = {0};
    *names = NULL;
    *count = 0;
    if (!kernels_file_is_directory(cache)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_list(cache, KERNELS_LIST_CHILDREN, &listing, error));
    *names = kernels_calloc(listing.count + 1, sizeof(**names));
    kernels_status status = *names ? add_names(&listing, *names, count) : kernels_fail_no_memory(error);
    kernels_listing_dispose(&listing);
    return status;
}

void kernels_scan_names_free(char **names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kernels_free(names[i]);
    }
    kernels_free(names);
}

/* ---- one repository ---- */

typedef struct scan {
    kernels_scanned_repository *repository;
    kernels_arena *arena;
} scan;

/* A folder that is not there is an empty one. */
static kernels_status list_folder(const char *path, unsigned flags, kernels_listing *listing, kernels_error *error) {
    *listing = (kernels_listing){0};
    return kernels_file_is_directory(path) ? kernels_list(path, flags, listing, error) : KERNELS_OK;
}

static const char *join(scan *s, const char *folder, const char *name) {
    return kernels_arena_printf(s->arena, "%s/%s", folder, name);
}

static kernels_status read_blobs(scan *s, const char *folder, const kernels_listing *listing, kernels_error *error) {
    kernels_scanned_repository *r = s->repository;
    r->blobs = kernels_arena_array(s->arena, listing->count + 1, sizeof(*r->blobs));
    for (size_t i = 0; r->blobs && i < listing->count; i++) {
        struct stat facts;
        kernels_view name = kernels_view_of(listing->entries[i].path);
        kernels_scanned_blob *blob = &r->blobs[r->blob_count];
        blob->path = join(s, folder, listing->entries[i].path);
        if (!blob->path) {
            return kernels_fail_no_memory(error);
        }
        if (stat(blob->path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            continue;
        }
        blob->is_temporary = kernels_view_ends_with(name, KERNELS_VIEW(".incomplete"));
        blob->name = kernels_arena_copy_text(
            s->arena, blob->is_temporary ? kernels_view_slice(name, 0, kernels_view_find(name, '.')) : name);
        blob->size = (uint64_t)facts.st_size;
        blob->modified = (int64_t)facts.st_mtime;
        r->bytes += blob->size;
        r->blob_count++;
        if (!blob->name) {
            return kernels_fail_no_memory(error);
        }
    }
    return r->blobs ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_refs(scan *s, const char *folder, const kernels_listing *listing, kernels_error *error) {
    kernels_scanned_repository *r = s->repository;
    r->refs = kernels_arena_array(s->arena, listing->count + 1, sizeof(*r->refs));
    for (size_t i = 0; r->refs && i < listing->count; i++) {
        struct stat facts;
        kernels_scanned_ref *ref = &r->refs[r->ref_count];
        ref->name = kernels_arena_copy_text(s->arena, kernels_view_of(listing->entries[i].path));
        ref->path = join(s, folder, listing->entries[i].path);
        if (!ref->name || !ref->path) {
            return kernels_fail_no_memory(error);
        }
        if (stat(ref->path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            continue;
        }
        ref->modified = (int64_t)facts.st_mtime;
        ref->is_temporary = kernels_view_ends_with(kernels_view_of(ref->name), KERNELS_VIEW(".tmp"));
        (void)kernels_cache_read_ref(r->path, ref->name, ref->commit, NULL);
        r->ref_count++;
    }
    return r->refs ? KERNELS_OK : kernels_fail_no_memory(error);
}

static int compare_blobs(const void *a, const void *b) {
    return strcmp(((const kernels_scanned_blob *)a)->name, ((const kernels_scanned_blob *)b)->name);
}

static void mark_used(kernels_scanned_repository *r, const char *name) {
    const kernels_scanned_blob key = {.name = name};
    kernels_scanned_blob *found =
        r->blob_count > 0 ? bsearch(&key, r->blobs, r->blob_count, sizeof(key), compare_blobs) : NULL;
    if (!found) {
        return;
    }
    while (found > r->blobs && strcmp(found[-1].name, name) == 0) {
        found--;
    }
    for (; found < r->blobs + r->blob_count && strcmp(found->name, name) == 0; found++) {
        found->is_used = !found->is_temporary;
    }
}

static kernels_status read_file(scan *s, kernels_scanned_snapshot *snapshot, const kernels_entry *entry,
                                kernels_error *error) {
    kernels_scanned_file *file = &snapshot->files[snapshot->file_count];
    file->name = kernels_arena_copy_text(s->arena, kernels_view_of(entry->path));
    file->path = join(s, snapshot->path, entry->path);
    if (!file->name || !file->path) {
        return kernels_fail_no_memory(error);
    }
    struct stat facts;
    file->is_dangling = stat(file->path, &facts) != 0;
    file->size = file->is_dangling ? 0 : (uint64_t)facts.st_size;
    if (entry->is_link) {
        char target[LINK_LIMIT];
        ssize_t length = readlink(file->path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        file->blob = kernels_arena_copy_text(s->arena, kernels_path_name(target));
        if (!file->blob) {
            return kernels_fail_no_memory(error);
        }
        mark_used(s->repository, file->blob);
    } else {
        s->repository->bytes += file->size;
    }
    snapshot->bytes += file->size;
    snapshot->file_count++;
    return KERNELS_OK;
}

/* Names come ascending, and those of one folder stand together but for names like "torch-cpu-x" between them. */
static kernels_status note_variant(scan *s, kernels_scanned_snapshot *snapshot, const char *path,
                                   kernels_error *error) {
    kernels_view text = kernels_view_of(path);
    if (!kernels_view_starts_with(text, KERNELS_VIEW("build/"))) {
        return KERNELS_OK;
    }
    kernels_view below = kernels_view_slice(text, 6, text.size);
    size_t slash = kernels_view_find(below, '/');
    kernels_view name = kernels_view_slice(below, 0, slash);
    if (slash == SIZE_MAX) {
        return KERNELS_OK;
    }
    for (size_t i = 0; i < snapshot->variant_count; i++) {
        if (kernels_view_equal_text(name, snapshot->variants[i])) {
            return KERNELS_OK;
        }
    }
    snapshot->variants[snapshot->variant_count] = kernels_arena_copy_text(s->arena, name);
    snapshot->variant_count++;
    return snapshot->variants[snapshot->variant_count - 1] ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_snapshot(scan *s, kernels_scanned_snapshot *snapshot, const kernels_listing *listing,
                                    kernels_error *error) {
    struct stat facts;
    snapshot->files = kernels_arena_array(s->arena, listing->count + 1, sizeof(*snapshot->files));
    snapshot->variants = kernels_arena_array(s->arena, listing->count + 1, sizeof(*snapshot->variants));
    if (!snapshot->files || !snapshot->variants) {
        return kernels_fail_no_memory(error);
    }
    snapshot->modified = stat(snapshot->path, &facts) == 0 ? (int64_t)facts.st_mtime : 0;
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->entries[i].type != KERNELS_ENTRY_DIRECTORY) {
            KERNELS_TRY(read_file(s, snapshot, &listing->entries[i], error));
            KERNELS_TRY(note_variant(s, snapshot, listing->entries[i].path, error));
        }
    }
    return KERNELS_OK;
}

static kernels_status read_snapshots(scan *s, const char *folder, const kernels_listing *commits,
                                     kernels_error *error) {
    kernels_scanned_repository *r = s->repository;
    r->snapshots = kernels_arena_array(s->arena, commits->count + 1, sizeof(*r->snapshots));
    if (!r->snapshots) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < commits->count; i++) {
        kernels_listing files;
        if (commits->entries[i].type != KERNELS_ENTRY_DIRECTORY ||
            !kernels_object_name_is_valid(kernels_view_of(commits->entries[i].path))) {
            continue;
        }
        kernels_scanned_snapshot *snapshot = &r->snapshots[r->snapshot_count];
        snapshot->commit = kernels_arena_copy_text(s->arena, kernels_view_of(commits->entries[i].path));
        snapshot->path = join(s, folder, commits->entries[i].path);
        if (!snapshot->commit || !snapshot->path) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(list_folder(snapshot->path, KERNELS_LIST_RECURSIVE, &files, error));
        kernels_status status = read_snapshot(s, snapshot, &files, error);
        kernels_listing_dispose(&files);
        KERNELS_TRY(status);
        r->snapshot_count++;
    }
    return KERNELS_OK;
}

typedef kernels_status read_function(scan *s, const char *folder, const kernels_listing *listing, kernels_error *error);

static kernels_status read_part(scan *s, const char *name, unsigned flags, read_function *read, kernels_error *error) {
    const char *folder = join(s, s->repository->path, name);
    kernels_listing listing;
    if (!folder) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(list_folder(folder, flags, &listing, error));
    kernels_status status = read(s, folder, &listing, error);
    kernels_listing_dispose(&listing);
    return status;
}

static kernels_status read_all(scan *s, kernels_error *error) {
    kernels_scanned_repository *r = s->repository;
    KERNELS_TRY(read_part(s, "blobs", KERNELS_LIST_CHILDREN, read_blobs, error));
    if (r->blob_count > 0) {
        qsort(r->blobs, r->blob_count, sizeof(*r->blobs), compare_blobs);
    }
    KERNELS_TRY(read_part(s, "refs", KERNELS_LIST_RECURSIVE, read_refs, error));
    return read_part(s, "snapshots", KERNELS_LIST_CHILDREN, read_snapshots, error);
}

kernels_status kernels_scan_repository(const char *cache, const char *repo_id, kernels_scanned_repository *repository,
                                       kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(repo_id), error));
    KERNELS_CLEANUP_FREE char *path = kernels_cache_repository(cache, KERNELS_REPOSITORY_KERNEL, repo_id);
    *repository = (kernels_scanned_repository){.arena = path ? kernels_arena_new(0) : NULL};
    if (!repository->arena) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    scan s = {repository, repository->arena};
    repository->path = kernels_arena_copy_text(s.arena, kernels_view_of(path));
    repository->repo_id = kernels_arena_copy_text(s.arena, kernels_view_of(repo_id));
    if (!kernels_file_is_directory(path)) {
        status = kernels_fail(error, KERNELS_NOT_CACHED, "the kernel '%s' is not in the cache %s", repo_id, cache);
    } else {
        status = repository->path && repository->repo_id ? read_all(&s, error) : kernels_fail_no_memory(error);
    }
    if (status != KERNELS_OK) {
        kernels_scanned_repository_dispose(repository);
    }
    return status;
}

void kernels_scanned_repository_dispose(kernels_scanned_repository *repository) {
    kernels_arena_free(repository->arena);
    *repository = (kernels_scanned_repository){0};
}
