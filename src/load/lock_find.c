/* SPDX-License-Identifier: Apache-2.0 */
#include "load/lock_find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/lock.h"
#include "load/candidates.h"
#include "load/versions.h"

/* Most dependencies that all variants of one kernel list together, repeats counted. */
#define DEPENDS_LIMIT ((size_t)100000)

void kernels_lock_label(const kernels_dependency *key, char text[KERNELS_LOCK_LABEL_SIZE]) {
    if (key->revision != NULL) {
        (void)snprintf(text, KERNELS_LOCK_LABEL_SIZE, "%s (revision %s)", key->repo_id, key->revision);
    } else {
        (void)snprintf(text, KERNELS_LOCK_LABEL_SIZE, "%s (version %" PRIu64 ")", key->repo_id, key->version);
    }
}

kernels_status kernels_lock_check(const kernels_context *context, const kernels_dependency *dependencies, size_t count,
                                  kernels_error *error) {
    if (context == NULL || (dependencies == NULL && count > 0)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "expected a context and dependencies, found NULL");
    }
    if (count == 0) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "No kernels found to lock.");
    }
    if (kernels_hub_is_offline(context->hub)) {
        return kernels_fail(error, KERNELS_OFFLINE,
                            "Locking asks the Hub which commits the kernels are, but offline mode is on");
    }
    return KERNELS_OK;
}

/* ---- the commit ---- */

static kernels_status find_version(kernels_context *context, const kernels_dependency *key, char commit[65],
                                   kernels_error *error) {
    kernels_versions versions = {0};
    const kernels_cached_version *found = NULL;
    KERNELS_TRY(kernels_versions_list(context, key->repo_id, &versions, error));
    kernels_status status = kernels_versions_find(context, &versions, key->repo_id, key->version, &found, error);
    if (status == KERNELS_OK) {
        memcpy(commit, found->commit, sizeof found->commit);
    }
    kernels_versions_dispose(&versions);
    return status;
}

kernels_status kernels_lock_find_commit(kernels_context *context, const kernels_dependency *key, char commit[65],
                                        kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(key->repo_id), error));
    KERNELS_TRY(kernels_hub_check_publisher(context->hub, key->repo_id, error));
    return key->revision == NULL ? find_version(context, key, commit, error)
                                 : kernels_hub_resolve_revision(context->hub, KERNELS_REPOSITORY_KERNEL, key->repo_id,
                                                                key->revision, commit, error);
}

kernels_status kernels_lock_find_tree(kernels_context *context, const kernels_dependency *key, const char *commit,
                                      kernels_tree *tree, kernels_error *error) {
    kernels_status status =
        kernels_hub_tree(context->hub, KERNELS_REPOSITORY_KERNEL, key->repo_id, commit, "build", true, tree, error);
    return status != KERNELS_ENTRY_NOT_FOUND
               ? status
               : kernels_wrap(error, status, "%s (revision: %s) has no build folder: it is no published kernel",
                              key->repo_id, commit);
}

/* ---- metadata of every variant ---- */

/* The metadata.json of the variants, as far as they have one. */
typedef struct metadata_files {
    const kernels_tree_entry **entries;
    size_t count;
} metadata_files;

static int compare_path(const void *path, const void *entry) {
    return strcmp(path, ((const kernels_tree_entry *)entry)->path);
}

static const kernels_tree_entry *find_file(const kernels_tree *tree, const char *path) {
    const kernels_tree_entry *found =
        tree->count > 0 ? bsearch(path, tree->entries, tree->count, sizeof *tree->entries, compare_path) : NULL;
    return found == NULL || found->is_directory ? NULL : found;
}

static bool is_variant_name(const char *name) {
    kernels_variant variant;
    return kernels_variant_parse(kernels_view_of(name), &variant, NULL) == KERNELS_OK;
}

static kernels_status add_file(kernels_context *context, const kernels_dependency *key, const char *commit,
                               const kernels_tree *tree, const char *variant, metadata_files *files,
                               kernels_error *error) {
    if (!is_variant_name(variant)) {
        kernels_context_warn(context, KERNELS_WARNING_VARIANTS,
                             "Repository %s (revision: %s) contains an invalid build variant: '%s'", key->repo_id,
                             commit, variant);
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3("build", variant, "metadata.json");
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    const kernels_tree_entry *entry = find_file(tree, path);
    if (entry == NULL) {
        kernels_context_warn(context, KERNELS_WARNING_VARIANTS,
                             "Variant %s of %s (revision: %s) has no metadata.json: what it depends on is not locked",
                             variant, key->repo_id, commit);
        return KERNELS_OK;
    }
    files->entries[files->count++] = entry;
    return KERNELS_OK;
}

static kernels_status select_files(kernels_context *context, const kernels_dependency *key, const char *commit,
                                   const kernels_tree *tree, kernels_arena *arena, metadata_files *files,
                                   kernels_error *error) {
    kernels_candidates candidates = {0};
    KERNELS_TRY(kernels_candidates_from_tree(tree, &candidates, error));
    kernels_status status = KERNELS_OK;
    files->entries = kernels_arena_array(arena, candidates.count + 1, sizeof *files->entries);
    if (files->entries == NULL) {
        status = kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < candidates.count && status == KERNELS_OK; i++) {
        status = add_file(context, key, commit, tree, candidates.items[i].name, files, error);
    }
    kernels_candidates_dispose(&candidates);
    return status;
}

/* ---- what they depend on ---- */

typedef struct depends_list {
    kernels_arena *arena;
    kernels_dependency *items;
    size_t count, capacity;
} depends_list;

static kernels_status add_dependency(depends_list *list, const kernels_dependency *from, kernels_error *error) {
    if (list->count == DEPENDS_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu kernel dependencies of all variants together",
                            DEPENDS_LIMIT);
    }
    if (!kernels_grow((void **)&list->items, &list->capacity, list->count, sizeof *list->items, DEPENDS_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    kernels_dependency *to = &list->items[list->count++];
    *to = *from;
    to->repo_id = kernels_arena_copy_text(list->arena, kernels_view_of(from->repo_id));
    to->revision =
        from->revision == NULL ? NULL : kernels_arena_copy_text(list->arena, kernels_view_of(from->revision));
    bool copied = to->repo_id != NULL && (to->revision != NULL || from->revision == NULL);
    return copied ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_file(const char *snapshot, const char *file, depends_list *list, kernels_error *error) {
    kernels_metadata metadata = {0};
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(snapshot, file);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_metadata_read(path, &metadata, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < metadata.kernel_depends_count && status == KERNELS_OK; i++) {
        status = add_dependency(list, &metadata.kernel_depends[i], error);
    }
    kernels_metadata_dispose(&metadata);
    return status;
}

/* All of one commit in one batch. Once a part of the snapshot is there its listing is kept, so that nobody takes that
 * part for the whole. */
static kernels_status read_files(kernels_context *context, const kernels_dependency *key, const char *commit,
                                 const kernels_tree *tree, const metadata_files *files, depends_list *list,
                                 kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    if (files->count == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_hub_fetch(context->hub, KERNELS_REPOSITORY_KERNEL, key->repo_id, commit, files->entries,
                                  files->count, NULL, &snapshot, error));
    kernels_cache_keep_tree(context->hub, KERNELS_REPOSITORY_KERNEL, key->repo_id, commit, tree);
    for (size_t i = 0; i < files->count; i++) {
        kernels_status status = read_file(snapshot, files->entries[i]->path, list, error);
        if (status != KERNELS_OK) {
            return kernels_wrap(error, status, "Cannot read %s of %s (revision: %s)", files->entries[i]->path,
                                key->repo_id, commit);
        }
    }
    return KERNELS_OK;
}

static int compare_dependencies(const void *a, const void *b) { return kernels_dependency_compare(a, b); }

/* Sorted and each once, in the arena. */
static kernels_status give_unique(const depends_list *list, const kernels_dependency **depends, size_t *count,
                                  kernels_error *error) {
    kernels_dependency *items = kernels_arena_array(list->arena, list->count + 1, sizeof *items);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (list->count > 0) {
        qsort(list->items, list->count, sizeof *list->items, compare_dependencies);
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || kernels_dependency_compare(&items[kept - 1], &list->items[i]) != 0) {
            items[kept++] = list->items[i];
        }
    }
    *depends = items;
    *count = kept;
    return KERNELS_OK;
}

kernels_status kernels_lock_find_depends(kernels_context *context, const kernels_dependency *key, const char *commit,
                                         kernels_arena *arena, const kernels_dependency **depends, size_t *count,
                                         kernels_error *error) {
    kernels_tree tree = {0};
    metadata_files files = {0};
    depends_list list = {.arena = arena};
    KERNELS_TRY(kernels_lock_find_tree(context, key, commit, &tree, error));
    kernels_status status = select_files(context, key, commit, &tree, arena, &files, error);
    if (status == KERNELS_OK) {
        status = read_files(context, key, commit, &tree, &files, &list, error);
    }
    if (status == KERNELS_OK) {
        status = give_unique(&list, depends, count, error);
    }
    kernels_free(list.items);
    kernels_tree_dispose(&tree);
    return status;
}
