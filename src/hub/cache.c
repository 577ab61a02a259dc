/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/hub_private.h"
#include "hub/repo_url.h"
#include "hub/tree_cache.h"

#define REF_SIZE_LIMIT ((size_t)1024)
#define CACHED_VERSION_LIMIT ((size_t)100000)

/* ---- names ---- */

char *kernels_cache_folder_name(kernels_repository_type type, const char *repo_id) {
    kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_add_text(&name, kernels_repository_type_plural(type));
    kernels_view rest = kernels_view_of(repo_id);
    kernels_view part;
    while (kernels_view_split(&rest, '/', &part)) {
        kernels_buffer_add_text(&name, "--");
        kernels_buffer_add_view(&name, part);
    }
    return kernels_buffer_take(&name);
}

char *kernels_cache_repository(const char *cache, kernels_repository_type type, const char *repo_id) {
    KERNELS_CLEANUP_FREE char *name = kernels_cache_folder_name(type, repo_id);
    return name ? kernels_path_join(cache, name) : NULL;
}

char *kernels_cache_snapshot_path(const char *repository, const char *commit) {
    return kernels_path_join3(repository, "snapshots", commit);
}

char *kernels_cache_pointer_target(const char *path, const char *blob) {
    kernels_buffer target = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_add_text(&target, "../../");
    for (const char *c = path; *c; c++) {
        if (*c == '/') {
            kernels_buffer_add_text(&target, "../");
        }
    }
    kernels_buffer_printf(&target, "blobs/%s", blob);
    return kernels_buffer_take(&target);
}

/* ---- refs ---- */

static kernels_status fail_not_cached(kernels_error *error, const char *revision, const char *repository) {
    return kernels_fail(error, KERNELS_NOT_CACHED, "revision '%s' is not in the local cache (%s)", revision,
                        repository);
}

/* *found: the file is there and holds a commit. Other tools may have left a newline behind it. */
static kernels_status read_commit_file(const char *path, char commit[65], bool *found, kernels_error *error) {
    char *data = NULL;
    size_t size = 0;
    *found = false;
    if (!kernels_file_is_regular(path)) {
        return KERNELS_OK;
    }
    kernels_status status = kernels_file_read(path, REF_SIZE_LIMIT, &data, &size, NULL);
    if (status != KERNELS_OK) {
        return status == KERNELS_NO_MEMORY ? kernels_fail_no_memory(error) : KERNELS_OK;
    }
    kernels_view text = kernels_view_trim_ascii((kernels_view){data, size});
    if (kernels_object_name_is_valid(text)) {
        memcpy(commit, text.data, text.size);
        commit[text.size] = '\0';
        *found = true;
    }
    kernels_free(data);
    return KERNELS_OK;
}

kernels_status kernels_cache_read_ref(const char *repository, const char *revision, char commit[65],
                                      kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3(repository, "refs", revision);
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    bool found = false;
    KERNELS_TRY(read_commit_file(path, commit, &found, error));
    return found ? KERNELS_OK : fail_not_cached(error, revision, repository);
}

/* Byte for byte: a reader that does not trim would take the newline of an older file for part of the commit. */
static bool holds_exactly(const char *path, const char *commit) {
    char *data = NULL;
    size_t size = 0;
    if (!kernels_file_is_regular(path) || kernels_file_read(path, REF_SIZE_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return false;
    }
    bool same = kernels_view_equal_text((kernels_view){data, size}, commit);
    kernels_free(data);
    return same;
}

/* <path>.<8 hex>.tmp: the form that other tools know to ignore. */
static char *temporary_ref(const char *path) {
    char random[9];
    if (kernels_random_hex(random, 8, NULL) != KERNELS_OK) {
        return NULL;
    }
    kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&name, "%s.%s.tmp", path, random);
    return kernels_buffer_take(&name);
}

kernels_status kernels_cache_write_ref(const char *repository, const char *revision, const char *commit,
                                       kernels_error *error) {
    KERNELS_TRY(kernels_revision_check(revision, error));
    if (kernels_object_name_is_valid(kernels_view_of(revision))) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3(repository, "refs", revision);
    KERNELS_CLEANUP_FREE char *parent = path ? kernels_path_parent(path) : NULL;
    KERNELS_CLEANUP_FREE char *temporary = path ? temporary_ref(path) : NULL;
    if (!parent || !temporary) {
        return kernels_fail_no_memory(error);
    }
    if (holds_exactly(path, commit)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_make_directories(parent, error));
    kernels_file_writer *writer = NULL;
    const kernels_file_writer_options options = {.temporary_path = temporary};
    KERNELS_TRY(kernels_file_writer_open(path, &options, &writer, error));
    kernels_status status = kernels_file_writer_write(writer, commit, strlen(commit), error);
    if (status != KERNELS_OK) {
        kernels_file_writer_abort(writer);
        return status;
    }
    return kernels_file_writer_commit(writer, error);
}

void kernels_cache_tag(const char *cache) {
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This file is a cache directory tag created by kernels.\n"
                               "# For information about cache directory tags, see:\n"
                               "#\thttps://bford.info/cachedir/\n";
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(cache, "CACHEDIR.TAG");
    if (path && !kernels_file_exists(path)) {
        (void)kernels_file_write(path, kernels_view_of(text), 0, NULL);
    }
}

/* ---- what is there ---- */

void kernels_cache_keep_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id, const char *commit,
                             const kernels_tree *tree) {
    KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, type, repo_id);
    KERNELS_CLEANUP_FREE char *snapshot = repository ? kernels_cache_snapshot_path(repository, commit) : NULL;
    kernels_error error = KERNELS_ERROR_INIT;
    if (snapshot && !tree->from_cache && kernels_file_is_directory(snapshot) &&
        kernels_tree_cache_write(repository, commit, tree, &error) != KERNELS_OK) {
        kernels_hub_log(hub, KERNELS_LOG_DEBUG, "listing of %s not kept: %s", commit, kernels_error_message(&error));
    }
    kernels_error_dispose(&error);
}

kernels_status kernels_cache_snapshot(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                      const char *revision, char commit[65], char **snapshot, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, revision, error));
    KERNELS_TRY(kernels_cache_guard(hub, error));
    KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, type, repo_id);
    if (!repository) {
        return kernels_fail_no_memory(error);
    }
    char found[65];
    if (kernels_object_name_is_valid(kernels_view_of(revision))) {
        memcpy(found, revision, strlen(revision) + 1);
    } else {
        KERNELS_TRY(kernels_cache_read_ref(repository, revision, found, error));
    }
    char *folder = kernels_cache_snapshot_path(repository, found);
    if (!folder) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_directory(folder)) {
        kernels_free(folder);
        return fail_not_cached(error, revision, repository);
    }
    if (commit) {
        memcpy(commit, found, sizeof(found));
    }
    *snapshot = folder;
    return KERNELS_OK;
}

/* "v" and a decimal number without leading zero. */
static bool parse_version(const char *name, uint64_t *version) {
    kernels_view digits = kernels_view_of(name + (name[0] == 'v'));
    return name[0] == 'v' && (digits.size == 1 || (digits.size > 1 && digits.data[0] != '0')) &&
           kernels_view_to_u64(digits, version);
}

typedef struct version_list {
    kernels_cached_version *items;
    size_t count, capacity;
} version_list;

static bool has_version(const version_list *list, uint64_t version) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].version == version) {
            return true;
        }
    }
    return false;
}

/* refs/<name>, when it is a version that the list lacks. */
static kernels_status add_version(version_list *list, const char *refs, const char *name, kernels_error *error) {
    kernels_cached_version version = {0};
    bool found = false;
    if (!parse_version(name, &version.version) || has_version(list, version.version)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(refs, name);
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(read_commit_file(path, version.commit, &found, error));
    if (!found) {
        return KERNELS_OK;
    }
    if (!kernels_grow((void **)&list->items, &list->capacity, list->count, sizeof(version), CACHED_VERSION_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    list->items[list->count] = version;
    list->count++;
    return KERNELS_OK;
}

static kernels_status add_versions(version_list *list, const char *refs, kernels_error *error) {
    kernels_listing listing;
    if (!kernels_file_is_directory(refs)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_list(refs, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        status = add_version(list, refs, listing.entries[i].path, error);
    }
    kernels_listing_dispose(&listing);
    return status;
}

static int compare_versions(const void *a, const void *b) {
    uint64_t first = ((const kernels_cached_version *)a)->version;
    uint64_t second = ((const kernels_cached_version *)b)->version;
    return (first > second) - (first < second);
}

kernels_status kernels_cache_versions(kernels_hub *hub, const char *repo_id, kernels_cached_version **versions,
                                      size_t *count, kernels_error *error) {
    static const kernels_repository_type types[] = {KERNELS_REPOSITORY_KERNEL, KERNELS_REPOSITORY_MODEL};
    KERNELS_TRY(kernels_hub_check_names(repo_id, NULL, error));
    version_list list = {0};
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < 2 && status == KERNELS_OK; i++) {
        KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, types[i], repo_id);
        KERNELS_CLEANUP_FREE char *refs = repository ? kernels_path_join(repository, "refs") : NULL;
        status = refs ? add_versions(&list, refs, error) : kernels_fail_no_memory(error);
    }
    if (status != KERNELS_OK) {
        kernels_free(list.items);
        return status;
    }
    if (list.count > 0) {
        qsort(list.items, list.count, sizeof(*list.items), compare_versions);
    }
    *versions = list.items;
    *count = list.count;
    return KERNELS_OK;
}

/* ---- is a variant complete? ---- */

#define MISSING_SHOWN 3

typedef struct completeness {
    const char *snapshot;
    kernels_buffer missing; /* the first names, for the message */
    size_t missing_count;
} completeness;

static kernels_status check_file(completeness *c, const char *path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(c->snapshot, path);
    if (!full) {
        return kernels_fail_no_memory(error);
    }
    if (kernels_file_is_regular(full)) {
        return KERNELS_OK;
    }
    if (c->missing_count < MISSING_SHOWN) {
        kernels_buffer_printf(&c->missing, "%s%s", c->missing_count ? ", " : "", path);
    }
    c->missing_count++;
    return KERNELS_OK;
}

/* What the loader never asks for: *.pyc, and what lies in a __pycache__ folder. */
static bool is_bytecode(kernels_view path) {
    return kernels_view_ends_with(path, KERNELS_VIEW(".pyc")) ||
           kernels_view_contains(path, KERNELS_VIEW("/__pycache__/"));
}

static kernels_status check_by_listing(completeness *c, const kernels_tree *tree, kernels_error *error) {
    for (size_t i = 0; i < tree->count; i++) {
        if (!is_bytecode(kernels_view_of(tree->entries[i].path))) {
            KERNELS_TRY(check_file(c, tree->entries[i].path, error));
        }
    }
    return KERNELS_OK;
}

/* metadata.json must be there; when it holds a digest, so must be each file that it names. */
static kernels_status check_by_metadata(completeness *c, const char *folder, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *name = kernels_path_join(folder, "metadata.json");
    KERNELS_CLEANUP_FREE char *path = name ? kernels_path_join(c->snapshot, name) : NULL;
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    kernels_metadata metadata;
    KERNELS_TRY(check_file(c, name, error));
    if (c->missing_count > 0 || kernels_metadata_read(path, &metadata, NULL) != KERNELS_OK) {
        return KERNELS_OK; /* whoever loads it reports what is wrong with the file */
    }
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; metadata.has_digest && i < metadata.digest.count && status == KERNELS_OK; i++) {
        const char *file = metadata.digest.files[i].path;
        KERNELS_CLEANUP_FREE char *below = kernels_path_join(folder, file);
        bool safe = kernels_repo_path_unsafe_reason(kernels_view_of(file)) == NULL;
        status = !below ? kernels_fail_no_memory(error) : safe ? check_file(c, below, error) : KERNELS_OK;
    }
    kernels_metadata_dispose(&metadata);
    return status;
}

static kernels_status check_variant(completeness *c, const char *repository, const char *commit, const char *folder,
                                    kernels_error *error) {
    kernels_tree tree;
    if (kernels_tree_cache_read(repository, commit, folder, &tree)) {
        kernels_status status = check_by_listing(c, &tree, error);
        kernels_tree_dispose(&tree);
        return status;
    }
    return check_by_metadata(c, folder, error);
}

kernels_status kernels_cache_check_variant(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                           const char *commit, const char *variant, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    KERNELS_TRY(kernels_cache_snapshot(hub, type, repo_id, commit, NULL, &snapshot, error));
    KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, type, repo_id);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer folder = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&folder, "build/%s", variant);
    if (!repository || folder.failure != KERNELS_OK) {
        return kernels_fail_no_memory(error);
    }
    completeness c = {.snapshot = snapshot, .missing = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT)};
    kernels_status status = check_variant(&c, repository, commit, kernels_buffer_text(&folder), error);
    if (status == KERNELS_OK && c.missing_count > 0) {
        status = kernels_fail(error, KERNELS_NOT_CACHED,
                              "the cached kernel '%s' lacks %zu of the files of variant %s: %s%s; load it once online",
                              repo_id, c.missing_count, variant, kernels_buffer_text(&c.missing),
                              c.missing_count > MISSING_SHOWN ? ", ..." : "");
    }
    kernels_buffer_dispose(&c.missing);
    return status;
}
