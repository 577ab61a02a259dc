/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a repository that belong to no variant: benchmark scripts. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "load/node.h"

static kernels_status fail_absent(const char *repo_id, const char *commit, const char *folder, kernels_error *error) {
    kernels_status status =
        kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "%s (revision: %s) has no folder %s", repo_id, commit, folder);
    kernels_error_set_subject(error, repo_id);
    return status;
}

static kernels_status fetch(const kernels_request *request, const char *repo_id, const char *commit, const char *folder,
                            char **snapshot, kernels_error *error) {
    kernels_hub *hub = request->context->hub;
    kernels_tree tree = {0};
    KERNELS_TRY(kernels_hub_tree(hub, KERNELS_REPOSITORY_KERNEL, repo_id, commit, folder, true, &tree, error));
    const kernels_tree_entry **files = kernels_calloc(tree.count + 1, sizeof *files);
    kernels_status status = files != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
    if (status == KERNELS_OK) {
        size_t count = kernels_load_select_files(&tree, folder, files);
        status = count > 0 ? kernels_hub_fetch(hub, KERNELS_REPOSITORY_KERNEL, repo_id, commit, files, count, NULL,
                                               snapshot, error)
                           : fail_absent(repo_id, commit, folder, error);
    }
    kernels_free(files);
    kernels_tree_dispose(&tree);
    return status;
}

kernels_status kernels_install_folder(kernels_context *context, const char *repo_id, const char *commit,
                                      const char *folder, const kernels_load_options *options, char **path,
                                      kernels_error *error) {
    if (context == NULL || repo_id == NULL || commit == NULL || folder == NULL || path == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "context, repo_id, commit, folder and path must be given");
    }
    kernels_request request;
    KERNELS_CLEANUP_FREE char *snapshot = NULL;
    KERNELS_TRY(kernels_request_make(context, options, &request, error));
    KERNELS_TRY(kernels_check_trust(context, repo_id, options, error));
    kernels_status status = request.cache_only ? kernels_cache_snapshot(context->hub, KERNELS_REPOSITORY_KERNEL,
                                                                        repo_id, commit, NULL, &snapshot, error)
                                               : fetch(&request, repo_id, commit, folder, &snapshot, error);
    if (status != KERNELS_OK) {
        return status;
    }
    char *made = kernels_path_join(snapshot, folder);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_directory(made)) {
        kernels_free(made);
        return kernels_fail(error, KERNELS_NOT_CACHED, "the cache does not have %s of '%s' at %s: run it once online",
                            folder, repo_id, commit);
    }
    *path = made;
    return KERNELS_OK;
}
