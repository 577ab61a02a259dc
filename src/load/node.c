/* SPDX-License-Identifier: Apache-2.0 */
#include "load/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"

kernels_load_node *kernels_load_node_new(const char *repo_id, uint64_t version, const char *revision) {
    kernels_load_node *node = kernels_calloc(1, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    node->repo_id = kernels_strdup(repo_id);
    node->version = version;
    node->revision = kernels_strdup(revision);
    if (node->repo_id == NULL || (revision != NULL && node->revision == NULL)) {
        kernels_load_node_free(node);
        return NULL;
    }
    return node;
}

void kernels_load_node_free(kernels_load_node *node) {
    if (node == NULL) {
        return;
    }
    kernels_free(node->repo_id);
    kernels_free(node->revision);
    kernels_free(node->ref);
    kernels_free(node->path);
    kernels_free(node->metadata_text);
    kernels_versions_dispose(&node->versions);
    kernels_commit_tree_release(node->listing);
    kernels_decisions_dispose(&node->decisions);
    if (node->has_metadata) {
        kernels_metadata_dispose(&node->metadata);
    }
    kernels_free(node);
}

void kernels_load_node_drop_listing(kernels_load_node *node) {
    kernels_commit_tree_release(node->listing);
    node->listing = NULL;
    node->tree = (kernels_tree){0};
}

void kernels_load_node_choose(kernels_load_node *node) {
    const kernels_variant *chosen = &node->decisions.items[0].variant;
    memcpy(node->variant, chosen->name, sizeof node->variant);
    node->noarch_name = chosen->framework == KERNELS_FRAMEWORK_TORCH_NOARCH ? chosen->noarch_name : NULL;
}

kernels_status kernels_load_node_read_metadata(kernels_load_node *node, const char *folder, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, "metadata.json");
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(
        kernels_file_read(path, KERNELS_METADATA_SIZE_LIMIT, &node->metadata_text, &node->metadata_size, error));
    const kernels_view text = {node->metadata_text, node->metadata_size};
    kernels_status status = kernels_metadata_parse(text, path, &node->metadata, error);
    if (status != KERNELS_OK) {
        kernels_error_set_subject(error, path);
        return kernels_wrap(error, status, "Cannot parse metadata of '%s'", node->repo_id);
    }
    node->has_metadata = true;
    return KERNELS_OK;
}

void kernels_load_node_label(const kernels_load_node *node, char *text, size_t size) {
    if (node->revision != NULL) {
        (void)snprintf(text, size, "%s (revision: %s)", node->repo_id, node->revision);
    } else {
        (void)snprintf(text, size, "%s (version %" PRIu64 ")", node->repo_id, node->version);
    }
}
