/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/tree_cache.h"

#include <string.h>

#include "base/buffer.h"
#include "base/document.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/hub_private.h"
#include "hub/repo_url.h"
#include "hub/tree.h"

#define FORMAT_VERSION 1

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

static bool read_files(const kernels_node *root, kernels_tree_builder *builder) {
    const kernels_node *version = kernels_node_find(root, "format_version");
    const kernels_node *files = kernels_node_find(root, "files");
    if (!kernels_node_is(version, KERNELS_NODE_UNSIGNED) || version->as.unsigned_value != FORMAT_VERSION ||
        !kernels_node_is(files, KERNELS_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < files->count; i++) {
        if (!add_file(builder, &files->as.members[i])) {
            return false;
        }
    }
    return true;
}

bool kernels_tree_cache_parse(kernels_view text, kernels_tree *tree) {
    kernels_document document;
    kernels_tree_builder builder;
    if (kernels_json_parse(text, "tree cache", &document, NULL) != KERNELS_OK) {
        return false;
    }
    bool read = kernels_tree_builder_init(&builder, NULL) == KERNELS_OK;
    if (read) {
        read = read_files(document.root, &builder) && kernels_tree_builder_finish(&builder, tree, NULL) == KERNELS_OK;
        kernels_tree_builder_dispose(&builder);
    }
    kernels_document_dispose(&document);
    return read;
}

bool kernels_tree_cache_read(const char *repository, const char *commit, kernels_tree *tree) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/trees/%s.json", repository, commit);
    char *data = NULL;
    size_t size = 0;
    if (path.failure != KERNELS_OK || !kernels_file_is_regular(kernels_buffer_text(&path)) ||
        kernels_file_read(kernels_buffer_text(&path), KERNELS_HUB_PAGE_LIMIT, &data, &size, NULL) != KERNELS_OK) {
        return false;
    }
    bool read = kernels_tree_cache_parse((kernels_view){data, size}, tree);
    kernels_free(data);
    return read;
}
