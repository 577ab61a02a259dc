/* SPDX-License-Identifier: Apache-2.0 */
#include "load/overrides.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

kernels_status kernels_overrides_find(const char *text, const char *repo_id, char **path, kernels_error *error) {
    *path = NULL;
    if (text == NULL) {
        return KERNELS_OK;
    }
    kernels_view rest = kernels_view_of(text);
    kernels_view entry;
    kernels_view found = {NULL, 0};
    while (kernels_view_split(&rest, ':', &entry)) {
        size_t equals = kernels_view_find(entry, '=');
        if (equals == SIZE_MAX) {
            return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                                "Invalid LOCAL_KERNELS entry: %.*s. Expected format: "
                                "repo_id_1=path_1:repo_id_2=path_2",
                                KERNELS_VIEW_ARGS(entry));
        }
        if (kernels_view_equal_text(kernels_view_slice(entry, 0, equals), repo_id)) {
            found = kernels_view_slice(entry, equals + 1, entry.size);
            found = found.size > 0 ? found : KERNELS_VIEW(".");
        }
    }
    if (found.data != NULL) {
        *path = kernels_strndup(found.data, found.size);
        return *path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
    }
    return KERNELS_OK;
}
