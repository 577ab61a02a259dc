/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/tree_cache.h"

#include <string.h>

#include "base/buffer.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/hub_private.h"
#include "hub/repo_url.h"
#include "hub/tree.h"

#define FORMAT_VERSION 1
/* What our own listings cover. */
#define OWN_FOLDER "build"
/* Beside build/ in a repository that redirects to another. */
#define STATUS_FILE "kernel-status.toml"

/* ---- reading ---- */

static bool copy_id(const kernels_node *node, const char *key, char id[65]) {
    const kernels_node *member = kernels_node_find(node, key);
    if (!member || member->type == KERNELS_NODE_NULL) {
        return true;
    }
    kernels_view text = kernels_node_text(member);
    if (!kernels_object_name_is_valid(text)) {
        return false;
    }
    memcpy(id, text.data, text.size);
    id[text.size] = '\0';
    return true;
}

static bool has_valid_xet_hash(const kernels_node *node) {
    const kernels_node *hash = kernels_node_find(node, "xet_hash");
    return !hash || hash->type == KERNELS_NODE_NULL || kernels_view_is_hex(kernels_node_text(hash), 64);
}

static bool add_file(kernels_tree_builder *builder, const kernels_member *member) {
    const kernels_node *node = member->value;
    const kernels_node *size = kernels_node_find(node, "size");
    kernels_tree_entry entry = {.path = kernels_arena_copy_text(builder->arena, member->key)};
    if (!entry.path || kernels_repo_path_unsafe_reason(member->key) || !kernels_node_is(size, KERNELS_NODE_UNSIGNED) ||
        !copy_id(node, "blob_id", entry.oid) || !copy_id(node, "lfs_sha256", entry.lfs_sha256) ||
        !has_valid_xet_hash(node) ||
        !kernels_grow((void **)&builder->entries, &builder->capacity, builder->count, sizeof(entry),
                      KERNELS_TREE_ENTRY_LIMIT)) {
        return false;
    }
    entry.size = size->as.unsigned_value;
    builder->entries[builder->count] = entry;
    builder->count++;
    return true;
}

/* "build" has "build/x" below it; "" and NULL have everything. */
static bool is_below(kernels_view path, kernels_view folder) {
    return folder.size == 0 ||
           (path.size > folder.size && kernels_view_starts_with(path, folder) && path.data[folder.size] == '/');
}

static bool read_files(const kernels_node *root, const char *folder, kernels_tree_builder *builder) {
    const kernels_node *version = kernels_node_find(root, "format_version");
    const kernels_node *files = kernels_node_find(root, "files");
    if (!kernels_node_is(version, KERNELS_NODE_UNSIGNED) || version->as.unsigned_value != FORMAT_VERSION ||
        !kernels_node_is(files, KERNELS_NODE_OBJECT)) {
        return false;
    }
    kernels_view wanted = kernels_view_of(folder ? folder : "");
    for (size_t i = 0; i < files->count; i++) {
        if (is_below(files->as.members[i].key, wanted) && !add_file(builder, &files->as.members[i])) {
            return false;
        }
    }
    return true;
}

bool kernels_tree_cache_parse(kernels_view text, const char *path, kernels_tree *tree) {
    kernels_document document;
    kernels_tree_builder builder;
    if (kernels_json_parse(text, "tree cache", &document, NULL) != KERNELS_OK) {
        return false;
    }
    bool read = kernels_tree_builder_init(&builder, NULL) == KERNELS_OK;
    if (read) {
        read = read_files(document.root, path, &builder) &&
               kernels_tree_builder_finish(&builder, tree, NULL) == KERNELS_OK;
        kernels_tree_builder_dispose(&builder);
    }
    if (read) {
        tree->from_cache = true;
        tree->has_status_file = kernels_node_find(kernels_node_find(document.root, "files"), STATUS_FILE) != NULL;
    }
    kernels_document_dispose(&document);
    return read;
}

/* <repository>/<folder>/<commit>.json; heap text, NULL = no memory. */
static char *listing_path(const char *repository, const char *folder, const char *commit) {
    kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/%s/%s.json", repository, folder, commit);
    return kernels_buffer_take(&path);
}

static bool read_listing(const char *repository, const char *folder, const char *commit, const char *path,
                         kernels_tree *tree) {
    KERNELS_CLEANUP_FREE char *file = listing_path(repository, folder, commit);
    char *data = NULL;
    size_t size = 0;
    if (!file || !kernels_file_is_regular(file) ||
        kernels_file_read(file, KERNELS_HUB_PAGE_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return false;
    }
    bool read = kernels_tree_cache_parse((kernels_view){data, size}, path, tree);
    kernels_free(data);
    if (read && tree->count == 0) {
        kernels_tree_dispose(tree);
        return false;
    }
    return read;
}

bool kernels_tree_cache_read(const char *repository, const char *commit, const char *path, kernels_tree *tree) {
    kernels_view wanted = kernels_view_of(path ? path : "");
    bool covered = kernels_view_equal_text(wanted, OWN_FOLDER) || is_below(wanted, KERNELS_VIEW(OWN_FOLDER));
    return read_listing(repository, "trees", commit, path, tree) ||
           (covered && read_listing(repository, KERNELS_CACHE_OWN_FOLDER, commit, path, tree));
}

/* ---- writing ---- */

static void write_entry(kernels_json_writer *json, const kernels_tree_entry *entry) {
    kernels_json_key(json, entry->path);
    kernels_json_begin_object(json);
    kernels_json_member_unsigned(json, "size", entry->size);
    if (entry->oid[0]) {
        kernels_json_member_text(json, "blob_id", entry->oid);
    }
    if (entry->lfs_sha256[0]) {
        kernels_json_member_text(json, "lfs_sha256", entry->lfs_sha256);
        kernels_json_member_unsigned(json, "lfs_size", entry->size);
    }
    kernels_json_end_object(json);
}

static void write_listing(kernels_buffer *text, const kernels_tree *tree) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, text, 0, false);
    kernels_json_begin_object(&json);
    kernels_json_member_unsigned(&json, "format_version", FORMAT_VERSION);
    kernels_json_key(&json, "files");
    kernels_json_begin_object(&json);
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->entries[i].is_directory &&
            is_below(kernels_view_of(tree->entries[i].path), KERNELS_VIEW(OWN_FOLDER))) {
            write_entry(&json, &tree->entries[i]);
        }
    }
    kernels_json_end_object(&json);
    kernels_json_end_object(&json);
}

kernels_status kernels_tree_cache_write(const char *repository, const char *commit, const kernels_tree *tree,
                                        kernels_error *error) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join(repository, KERNELS_CACHE_OWN_FOLDER);
    KERNELS_CLEANUP_FREE char *path = listing_path(repository, KERNELS_CACHE_OWN_FOLDER, commit);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_HUB_PAGE_LIMIT);
    if (!folder || !path) {
        return kernels_fail_no_memory(error);
    }
    write_listing(&text, tree);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    KERNELS_TRY(kernels_make_directory(folder, error));
    return kernels_file_write(path, kernels_buffer_view(&text), 0, error);
}
