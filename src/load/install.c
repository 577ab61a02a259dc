/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a variant: fetched from the Hub when the cache lacks them, then each checked. */
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/node.h"

/* Files named in one message. */
#define NAMED_FILES ((size_t)20)

/* ---- fetching ---- */

/* Byte code is no part of a build. */
static bool is_byte_code(kernels_view path) {
    if (kernels_view_ends_with(path, KERNELS_VIEW(".pyc"))) {
        return true;
    }
    kernels_view component;
    while (kernels_view_split(&path, '/', &component)) {
        if (kernels_view_equal_text(component, "__pycache__")) {
            return true;
        }
    }
    return false;
}

size_t kernels_load_select_files(const kernels_tree *tree, const char *folder, const kernels_tree_entry **files) {
    size_t count = 0;
    size_t length = strlen(folder);
    for (size_t i = 0; i < tree->count; i++) {
        const char *path = tree->entries[i].path;
        if (!tree->entries[i].is_directory && strncmp(path, folder, length) == 0 && path[length] == '/' &&
            !is_byte_code(kernels_view_of(path))) {
            files[count++] = &tree->entries[i];
        }
    }
    return count;
}

kernels_status kernels_load_node_fetch(const kernels_request *request, kernels_load_node *node,
                                       const kernels_tree_entry *const *files, size_t count, const char *ref,
                                       char **snapshot, kernels_error *error) {
    kernels_hub *hub = request->context->hub;
    if (node->ask_before_download &&
        !kernels_cache_has_files(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, files, count)) {
        KERNELS_TRY(kernels_hub_check_publisher(hub, node->repo_id, error));
        node->ask_before_download = false;
    }
    return kernels_hub_fetch(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, files, count, ref, snapshot,
                             error);
}

static kernels_status fetch(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *folder = kernels_path_join("build", node->variant);
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    const kernels_tree_entry **files = kernels_calloc(node->tree.count + 1, sizeof *files);
    if (folder == NULL || files == NULL) {
        kernels_free(files);
        return kernels_fail_no_memory(error);
    }
    size_t count = kernels_load_select_files(&node->tree, folder, files);
    kernels_status status = kernels_load_node_fetch(request, node, files, count, node->ref, &snapshot, error);
    kernels_free(files);
    if (status != KERNELS_OK) {
        return status;
    }
    kernels_cache_keep_tree(request->context->hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, &node->tree);
    node->path = kernels_path_join(snapshot, folder);
    return node->path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- checking ---- */

/* The cache keeps a file under its own hash, blobs/<git blob id or SHA-256>, and gives it a name through a link.
 * *checked is false for a file that is no such link. */
static kernels_status check_blob(const char *path, bool *checked, bool *intact, kernels_error *error) {
    *checked = false;
    *intact = true;
    if (!kernels_file_is_link(path)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *blob = kernels_path_resolve(path);
    KERNELS_CLEANUP_FREE char *parent = blob != NULL ? kernels_path_parent(blob) : NULL;
    if (parent == NULL || !kernels_view_equal_text(kernels_path_name(parent), "blobs")) {
        return KERNELS_OK;
    }
    kernels_view id = kernels_path_name(blob);
    bool is_git = kernels_view_is_hex(id, 40);
    if (!is_git && !kernels_view_is_hex(id, 64)) {
        return KERNELS_OK;
    }
    kernels_digest digest;
    KERNELS_TRY(kernels_file_hash(blob, is_git ? KERNELS_HASH_GIT_BLOB : KERNELS_HASH_SHA256, &digest, NULL, error));
    *checked = true;
    *intact = kernels_digest_equal_hex(&digest, id);
    return KERNELS_OK;
}

static kernels_status fail_damaged(const kernels_load_node *node, const kernels_buffer *files, kernels_error *error) {
    kernels_fail(
        error, KERNELS_INTEGRITY,
        "The content of cached files of kernel '%s' variant '%s' is not what the Hub gave:%s\nRemove them from %s "
        "together with the blobs they link to, and load the kernel again.",
        node->has_metadata ? node->metadata.name : node->repo_id, node->variant, kernels_buffer_text(files),
        node->path);
    kernels_error_set_subject(error, node->path);
    return KERNELS_INTEGRITY;
}

/* Checks files of the variant against the names of their blobs: all, or metadata.json alone. */
static kernels_status check_blobs(const kernels_load_node *node, const kernels_listing *listing, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer damaged = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(node->path, listing->entries[i].path);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        bool checked = false;
        bool intact = true;
        KERNELS_TRY(check_blob(path, &checked, &intact, error));
        if (!intact && count++ < NAMED_FILES) {
            kernels_buffer_printf(&damaged, "\n%s", listing->entries[i].path);
        }
    }
    return count > 0 ? fail_damaged(node, &damaged, error) : KERNELS_OK;
}

static kernels_status check_all_blobs(const kernels_load_node *node, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(node->path, KERNELS_LIST_RECURSIVE, &listing, error));
    kernels_status status = check_blobs(node, &listing, error);
    kernels_listing_dispose(&listing);
    return status;
}

/* metadata.json is what the digest does not cover. */
static kernels_status check_metadata_blob(const kernels_load_node *node, kernels_error *error) {
    char name[] = "metadata.json";
    kernels_entry entry = {.path = name, .type = KERNELS_ENTRY_FILE};
    const kernels_listing listing = {&entry, 1};
    return check_blobs(node, &listing, error);
}

static kernels_status check_digest(kernels_load_node *node, kernels_error *error) {
    kernels_variant_digest found = {0};
    KERNELS_TRY(kernels_digest_hash_variant(node->metadata.digest.algorithm, node->path, &found, error));
    kernels_status status = kernels_digest_validate(&node->metadata.digest, &found, NULL, error);
    kernels_variant_digest_dispose(&found);
    if (status != KERNELS_OK) {
        kernels_error inner = KERNELS_ERROR_INIT;
        kernels_error_move(&inner, error);
        kernels_fail(error, status,
                     "Kernel '%s' variant '%s' in %s is not what was built: %s\nRemove these files (in the cache: "
                     "together with the blobs they link to) and load the kernel again.",
                     node->metadata.name, node->variant, node->path, kernels_error_message(&inner));
        kernels_error_set_subject(error, node->path);
        kernels_error_dispose(&inner);
        return status;
    }
    node->verified = true;
    return KERNELS_OK;
}

kernels_status kernels_install(const kernels_request *request, kernels_load_node *node, kernels_error *error) {
    if (node->on_hub) {
        KERNELS_TRY(fetch(request, node, error));
    }
    if (request->no_verify) {
        return KERNELS_OK;
    }
    if (!node->metadata.has_digest) {
        return check_all_blobs(node, error);
    }
    KERNELS_TRY(check_metadata_blob(node, error));
    return check_digest(node, error);
}
