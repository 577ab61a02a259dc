/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/hub_private.h"
#include "hub/printable.h"
#include "hub/repo_url.h"
#include "hub/tree_cache.h"
#include "hub/url.h"

/* ---- one page ---- */

kernels_status kernels_tree_builder_init(kernels_tree_builder *builder, kernels_error *error) {
    *builder = (kernels_tree_builder){.arena = kernels_arena_new(0)};
    return builder->arena ? KERNELS_OK : kernels_fail_no_memory(error);
}

void kernels_tree_builder_dispose(kernels_tree_builder *builder) {
    kernels_arena_free(builder->arena);
    kernels_free(builder->entries);
    *builder = (kernels_tree_builder){0};
}

static kernels_status fail_entry(kernels_error *error, kernels_status status, const char *name, kernels_view path,
                                 const char *reason) {
    char shown[KERNELS_PRINTABLE_SIZE];
    kernels_printable(shown, path);
    return kernels_fail(error, status, "%s: the listing names '%s', which is refused: %s", name, shown, reason);
}

/* An absent id stays "". */
static kernels_status read_id(const kernels_node *node, const char *key, const char *name, kernels_view path,
                              char id[65], kernels_error *error) {
    const kernels_node *member = kernels_node_find(node, key);
    if (!member || member->type == KERNELS_NODE_NULL) {
        return KERNELS_OK;
    }
    kernels_view text = kernels_node_text(member);
    if (!kernels_object_name_is_valid(text)) {
        return fail_entry(error, KERNELS_UNSAFE_NAME, name, path, "its id is not 40 or 64 lower-case hex digits");
    }
    memcpy(id, text.data, text.size);
    id[text.size] = '\0';
    return KERNELS_OK;
}

static kernels_status read_size(const kernels_node *node, const char *name, kernels_view path, uint64_t *size,
                                kernels_error *error) {
    const kernels_node *member = kernels_node_find(node, "size");
    if (!kernels_node_is(member, KERNELS_NODE_UNSIGNED)) {
        return fail_entry(error, KERNELS_SCHEMA, name, path, "it has no size");
    }
    *size = member->as.unsigned_value;
    return KERNELS_OK;
}

static kernels_status read_file_members(const kernels_node *node, const char *name, kernels_view path,
                                        kernels_tree_entry *entry, kernels_error *error) {
    const kernels_node *lfs = kernels_node_find(node, "lfs");
    KERNELS_TRY(read_size(node, name, path, &entry->size, error));
    if (!kernels_node_is(lfs, KERNELS_NODE_OBJECT)) {
        return KERNELS_OK;
    }
    KERNELS_TRY(read_id(lfs, "oid", name, path, entry->lfs_sha256, error));
    if (strlen(entry->lfs_sha256) != 64) {
        return fail_entry(error, KERNELS_SCHEMA, name, path, "its large-file id is not a SHA-256");
    }
    return read_size(lfs, name, path, &entry->size, error);
}

static kernels_status add_entry(kernels_tree_builder *builder, const kernels_node *node, const char *name,
                                kernels_error *error) {
    kernels_view path, type;
    KERNELS_TRY(kernels_hub_text_member(node, "path", name, &path, error));
    KERNELS_TRY(kernels_hub_text_member(node, "type", name, &type, error));
    const char *reason = kernels_repo_path_unsafe_reason(path);
    if (reason) {
        return fail_entry(error, KERNELS_UNSAFE_NAME, name, path, reason);
    }
    kernels_tree_entry entry = {.is_directory = kernels_view_equal_text(type, "directory")};
    if (!entry.is_directory && !kernels_view_equal_text(type, "file")) {
        builder->skipped++;
        return KERNELS_OK;
    }
    KERNELS_TRY(read_id(node, "oid", name, path, entry.oid, error));
    if (!entry.is_directory) {
        KERNELS_TRY(read_file_members(node, name, path, &entry, error));
    }
    entry.path = kernels_arena_copy_text(builder->arena, path);
    if (builder->count >= KERNELS_TREE_ENTRY_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: the listing has more than %zu entries", name,
                            KERNELS_TREE_ENTRY_LIMIT);
    }
    if (!entry.path || !kernels_grow((void **)&builder->entries, &builder->capacity, builder->count, sizeof(entry),
                                     KERNELS_TREE_ENTRY_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    builder->entries[builder->count] = entry;
    builder->count++;
    return KERNELS_OK;
}

kernels_status kernels_tree_builder_add(kernels_tree_builder *builder, const kernels_node *page, const char *name,
                                        kernels_error *error) {
    if (!kernels_node_is(page, KERNELS_NODE_ARRAY)) {
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected a list of files, found %s", name,
                            page ? kernels_node_type_name(page->type) : "nothing");
    }
    for (size_t i = 0; i < page->count; i++) {
        KERNELS_TRY(add_entry(builder, page->as.items[i], name, error));
    }
    return KERNELS_OK;
}

/* ---- the whole ---- */

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const kernels_tree_entry *)a)->path, ((const kernels_tree_entry *)b)->path);
}

/* Is a folder above this entry listed as a file? */
static bool is_below_a_file(const kernels_tree_builder *builder, const kernels_tree_entry *entry, char *scratch) {
    for (size_t i = 0; entry->path[i]; i++) {
        scratch[i] = '\0';
        if (entry->path[i] == '/') {
            kernels_tree_entry key = {.path = scratch};
            const kernels_tree_entry *parent =
                bsearch(&key, builder->entries, builder->count, sizeof(key), compare_entries);
            if (parent && !parent->is_directory) {
                return true;
            }
        }
        scratch[i] = entry->path[i];
    }
    return false;
}

static kernels_status check_paths(const kernels_tree_builder *builder, kernels_error *error) {
    char scratch[1025]; /* a checked path has at most 1024 bytes */
    for (size_t i = 0; i < builder->count; i++) {
        const kernels_tree_entry *entry = &builder->entries[i];
        if (i > 0 && strcmp(entry->path, builder->entries[i - 1].path) == 0) {
            return fail_entry(error, KERNELS_UNSAFE_NAME, "tree", kernels_view_of(entry->path),
                              "it stands there twice");
        }
        if (is_below_a_file(builder, entry, scratch)) {
            return fail_entry(error, KERNELS_UNSAFE_NAME, "tree", kernels_view_of(entry->path),
                              "a folder of its path is listed as a file");
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_tree_builder_finish(kernels_tree_builder *builder, kernels_tree *tree, kernels_error *error) {
    if (builder->count > 0) {
        qsort(builder->entries, builder->count, sizeof(*builder->entries), compare_entries);
    }
    KERNELS_TRY(check_paths(builder, error));
    kernels_tree_entry *kept = kernels_arena_array(builder->arena, builder->count + 1, sizeof(*kept));
    if (!kept) {
        return kernels_fail_no_memory(error);
    }
    if (builder->count > 0) {
        memcpy(kept, builder->entries, builder->count * sizeof(*kept));
    }
    *tree = (kernels_tree){.entries = kept, .count = builder->count, .owner = builder->arena};
    builder->arena = NULL;
    kernels_tree_builder_dispose(builder);
    return KERNELS_OK;
}

void kernels_tree_dispose(kernels_tree *tree) {
    kernels_arena_free(tree->owner);
    *tree = (kernels_tree){0};
}

/* ---- asking the Hub ---- */

static kernels_status first_url(const kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                const char *revision, const char *path, bool recursive, char **url,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *base = kernels_repo_api_url(hub->config.endpoint, type, repo_id, "tree", revision);
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_URL_LIMIT);
    kernels_buffer_add_text(&text, base ? base : "");
    if (path && path[0]) {
        kernels_buffer_add_char(&text, '/');
        kernels_encode_percent(&text, kernels_view_of(path), true);
    }
    kernels_buffer_printf(&text, "?recursive=%s&expand=false", recursive ? "true" : "false");
    *url = base ? kernels_buffer_take(&text) : NULL;
    kernels_buffer_dispose(&text);
    return *url ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* FNV-1a: pages are told apart by their URLs; a chance collision only ends a listing with an error. */
static uint64_t hash_url(const char *url) {
    uint64_t hash = 14695981039346656037u;
    for (const char *c = url; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    return hash;
}

/* Has a page been read already? A cursor that comes back would never end. */
static bool is_repeated(uint64_t *seen, unsigned pages, const char *url) {
    seen[pages] = hash_url(url);
    for (unsigned i = 0; i < pages; i++) {
        if (seen[i] == seen[pages]) {
            return true;
        }
    }
    return false;
}

static kernels_status read_pages(kernels_hub *hub, char **url, kernels_tree_builder *builder, kernels_error *error) {
    uint64_t seen[KERNELS_TREE_PAGE_LIMIT];
    for (unsigned pages = 0; *url; pages++) {
        if (pages == KERNELS_TREE_PAGE_LIMIT) {
            return kernels_fail(error, KERNELS_LIMIT, "%s: the listing has more than %u pages", *url,
                                KERNELS_TREE_PAGE_LIMIT);
        }
        if (is_repeated(seen, pages, *url)) {
            return kernels_fail(error, KERNELS_HTTP, "%s: the pages of the listing go in a circle", *url);
        }
        kernels_document document;
        char *next = NULL;
        KERNELS_TRY(kernels_hub_get_json(hub, *url, KERNELS_HUB_PAGE_LIMIT, &document, &next, error));
        kernels_status status = kernels_tree_builder_add(builder, document.root, *url, error);
        kernels_document_dispose(&document);
        kernels_free(*url);
        *url = next;
        KERNELS_TRY(status);
    }
    return KERNELS_OK;
}

static bool find_in_cache(const kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                          const char *revision, const char *path, kernels_tree *tree) {
    if (!kernels_object_name_is_valid(kernels_view_of(revision))) {
        return false;
    }
    KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, type, repo_id);
    return repository && kernels_tree_cache_read(repository, revision, path, tree);
}

kernels_status kernels_cache_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                  const char *commit, const char *path, kernels_tree *tree, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, commit, error));
    return find_in_cache(hub, type, repo_id, commit, path, tree)
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_NOT_CACHED, "the cache has no listing of '%s' at %s", repo_id, commit);
}

kernels_status kernels_hub_tree(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                const char *revision, const char *path, bool recursive, kernels_tree *tree,
                                kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, revision, error));
    const char *reason = path && path[0] ? kernels_repo_path_unsafe_reason(kernels_view_of(path)) : NULL;
    if (reason) {
        return fail_entry(error, KERNELS_UNSAFE_NAME, "tree", kernels_view_of(path), reason);
    }
    if (recursive && find_in_cache(hub, type, repo_id, revision, path, tree)) {
        return KERNELS_OK;
    }
    char *url = NULL;
    KERNELS_TRY(first_url(hub, type, repo_id, revision, path, recursive, &url, error));
    kernels_tree_builder builder;
    kernels_status status = kernels_tree_builder_init(&builder, error);
    if (status == KERNELS_OK) {
        status = read_pages(hub, &url, &builder, error);
    }
    kernels_free(url);
    if (builder.skipped > 0) {
        kernels_hub_log(hub, KERNELS_LOG_WARNING, "%s: ignored %zu links or submodules", repo_id, builder.skipped);
    }
    if (status == KERNELS_OK) {
        status = kernels_tree_builder_finish(&builder, tree, error);
    }
    kernels_tree_builder_dispose(&builder);
    return status;
}
