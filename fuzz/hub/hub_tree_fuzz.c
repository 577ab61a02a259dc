/* SPDX-License-Identifier: Apache-2.0 */
/* Target: listings, of a Hub and of trees/<commit>.json. Invariant: every accepted path is safe and stands once. */
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "hub/repo_url.h"
#include "hub/tree.h"
#include "hub/tree_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const kernels_tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        if (kernels_repo_path_unsafe_reason(kernels_view_of(tree->entries[i].path)) ||
            (i > 0 && strcmp(tree->entries[i - 1].path, tree->entries[i].path) >= 0)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_view text = {(const char *)data, size};
    kernels_tree tree;
    if (kernels_tree_cache_parse(text, NULL, &tree)) {
        check(&tree);
        kernels_tree_dispose(&tree);
    }
    kernels_document document;
    kernels_tree_builder builder;
    if (kernels_json_parse(text, "page", &document, NULL) != KERNELS_OK) {
        return 0;
    }
    if (kernels_tree_builder_init(&builder, NULL) == KERNELS_OK) {
        if (kernels_tree_builder_add(&builder, document.root, "page", NULL) == KERNELS_OK &&
            kernels_tree_builder_finish(&builder, &tree, NULL) == KERNELS_OK) {
            check(&tree);
            kernels_tree_dispose(&tree);
        }
        kernels_tree_builder_dispose(&builder);
    }
    kernels_document_dispose(&document);
    return 0;
}
