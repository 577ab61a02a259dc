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
    KERNELS_TRY(kernels_hub_fetch(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, files, count, ref,
                                  snapshot, error));
    /* once a part of the snapshot is there, its listing says that it is no more than a part */
    if (!node->listing->kept) {
        kernels_cache_keep_tree(hub, KERNELS_REPOSITORY_KERNEL, node->repo_id, node->commit, &node->tree);
        node->listing->kept = true;
    }
    return KERNELS_OK;
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
    kernels_status status = KERNELS_OK;
    if (count == 0) {
        status = kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%s (revision: %s) has no %s", node->repo_id,
                              node->commit, folder);
        kernels_error_set_subject(error, node->repo_id);
    } else {
        status = kernels_load_node_fetch(request, node, files, count, node->ref, &snapshot, error);
    }
    kernels_free(files);
    if (status != KERNELS_OK) {
        return status;
    }
    node->path = kernels_path_join(snapshot, folder);
    return node->path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- checking ---- */

/* What a file must hash to. */
typedef struct kernels_expected_hash {
    kernels_hash_algorithm algorithm;
    char hex[65]; /* "" = not known */
} kernels_expected_hash;

/* What the listing of the commit says of a file of the variant; NULL without a listing. */
static const kernels_tree_entry *find_listed(const kernels_load_node *node, const char *path) {
    size_t first = 0, end = node->tree.count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = strcmp(node->tree.entries[middle].path, path);
        if (order == 0) {
            return node->tree.entries[middle].is_directory ? NULL : &node->tree.entries[middle];
        }
        *(order < 0 ? &first : &end) = order < 0 ? middle + 1 : middle;
    }
    return NULL;
}

static void expect_id(kernels_view id, kernels_expected_hash *expected) {
    bool is_git = kernels_view_is_hex(id, 40);
    if (is_git || kernels_view_is_hex(id, 64)) {
        expected->algorithm = is_git ? KERNELS_HASH_GIT_BLOB : KERNELS_HASH_SHA256;
        memcpy(expected->hex, id.data, id.size);
        expected->hex[id.size] = '\0';
    }
}

/* The cache keeps a file under its own hash, blobs/<git blob id or SHA-256>, and gives it a name through a link. */
static void expect_blob_name(const char *path, kernels_expected_hash *expected) {
    KERNELS_CLEANUP_FREE char *blob = kernels_file_is_link(path) ? kernels_path_resolve(path) : NULL;
    KERNELS_CLEANUP_FREE char *parent = blob != NULL ? kernels_path_parent(blob) : NULL;
    if (parent != NULL && kernels_view_equal_text(kernels_path_name(parent), "blobs")) {
        expect_id(kernels_path_name(blob), expected);
    }
}

/* The listing is what the Hub said; without one (listed NULL), a file's own name in the cache has to do. */
static kernels_status check_content(const char *path, const kernels_tree_entry *listed, bool *intact,
                                    kernels_error *error) {
    kernels_expected_hash expected = {.hex = ""};
    kernels_digest digest;
    if (listed != NULL) {
        expect_id(kernels_view_of(listed->lfs_sha256[0] != '\0' ? listed->lfs_sha256 : listed->oid), &expected);
    } else {
        expect_blob_name(path, &expected);
    }
    if (expected.hex[0] == '\0') {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_file_hash(path, expected.algorithm, &digest, NULL, error));
    *intact = kernels_digest_equal_hex(&digest, kernels_view_of(expected.hex));
    return KERNELS_OK;
}

static kernels_status check_file(const kernels_load_node *node, const char *name, bool *intact, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(node->path, name);
    KERNELS_CLEANUP_FREE char *listed_path = kernels_path_join3("build", node->variant, name);
    if (path == NULL || listed_path == NULL) {
        return kernels_fail_no_memory(error);
    }
    return check_content(path, find_listed(node, listed_path), intact, error);
}

static kernels_status fail_damaged(const kernels_load_node *node, const char *folder, const kernels_buffer *files,
                                   kernels_error *error) {
    kernels_fail(error, KERNELS_INTEGRITY,
                 "The content of cached files of kernel '%s'%s%s is not what the Hub gave:%s\nRemove them from %s "
                 "together with the "
                 "blobs they link to, and load the kernel again.",
                 node->has_metadata ? node->metadata.name : node->repo_id, node->variant[0] != '\0' ? " variant " : "",
                 node->variant, kernels_buffer_text(files), folder);
    kernels_error_set_subject(error, folder);
    return KERNELS_INTEGRITY;
}

/* Checks files of the variant one by one: all, or metadata.json alone. */
static kernels_status check_files(const kernels_load_node *node, const kernels_listing *listing, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer damaged = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++) {
        bool intact = true;
        if (is_byte_code(kernels_view_of(listing->entries[i].path))) {
            continue; /* Python writes it beside the sources */
        }
        KERNELS_TRY(check_file(node, listing->entries[i].path, &intact, error));
        if (!intact && count++ < NAMED_FILES) {
            kernels_buffer_printf(&damaged, "\n%s", listing->entries[i].path);
        }
    }
    return count > 0 ? fail_damaged(node, node->path, &damaged, error) : KERNELS_OK;
}

static kernels_status check_all_files(const kernels_load_node *node, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(node->path, KERNELS_LIST_RECURSIVE, &listing, error));
    kernels_status status = check_files(node, &listing, error);
    kernels_listing_dispose(&listing);
    return status;
}

/* metadata.json is what the digest does not cover. */
static kernels_status check_metadata(const kernels_load_node *node, kernels_error *error) {
    char name[] = "metadata.json";
    kernels_entry entry = {.path = name, .type = KERNELS_ENTRY_FILE};
    const kernels_listing listing = {&entry, 1};
    return check_files(node, &listing, error);
}

kernels_status kernels_load_node_check_listed(const kernels_load_node *node, const char *snapshot,
                                              const kernels_tree_entry *const *files, size_t count,
                                              kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer damaged = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    size_t damaged_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool intact = true;
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(snapshot, files[i]->path);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(check_content(path, files[i], &intact, error));
        if (!intact && damaged_count++ < NAMED_FILES) {
            kernels_buffer_printf(&damaged, "\n%s", files[i]->path);
        }
    }
    return damaged_count > 0 ? fail_damaged(node, snapshot, &damaged, error) : KERNELS_OK;
}

kernels_status kernels_load_node_check_digest(kernels_load_node *node, kernels_error *error) {
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

kernels_status kernels_load_node_install(const kernels_request *request, kernels_load_node *node,
                                         kernels_error *error) {
    if (node->on_hub) {
        KERNELS_TRY(fetch(request, node, error));
    }
    if (!node->has_metadata) {
        KERNELS_TRY(kernels_load_node_read_metadata(node, node->path, error));
    }
    if (request->no_verify) {
        return KERNELS_OK;
    }
    if (node->metadata.has_digest) {
        KERNELS_TRY(check_metadata(node, error));
        KERNELS_TRY(kernels_load_node_check_digest(node, error));
    } else {
        KERNELS_TRY(check_all_files(node, error));
    }
    node->checked = true;
    return KERNELS_OK;
}
