/* SPDX-License-Identifier: Apache-2.0 */
/* A folder on this machine: the variant that fits, below it or below its build/, or the folder itself. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "load/node.h"

/* Looks at the sub-folders of one folder. No fitting one: the decisions say why, and path stays NULL. */
static kernels_status try_base(const kernels_request *request, kernels_load_node *node, const char *base,
                               const kernels_choice_options *choice, kernels_error *error) {
    kernels_candidates candidates = {0};
    KERNELS_TRY(kernels_candidates_from_folder(base, &candidates, error));
    kernels_decisions_dispose(&node->decisions);
    kernels_status status = kernels_candidates_resolve(request->context, &candidates, &request->system, choice, NULL,
                                                       &node->decisions, error);
    kernels_candidates_dispose(&candidates);
    if (status != KERNELS_OK || node->decisions.accepted_count == 0) {
        return status;
    }
    kernels_load_node_choose(node);
    node->path = kernels_path_join(base, node->variant);
    return node->path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* The folder itself is a variant: taken whatever it is called, no test of compatibility. */
static kernels_status try_folder_itself(kernels_load_node *node, const char *folder, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *metadata = kernels_path_join(folder, "metadata.json");
    if (metadata == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_regular(metadata)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *resolved = kernels_path_resolve(folder);
    kernels_view name = kernels_path_name(resolved != NULL ? resolved : folder);
    size_t size = name.size < KERNELS_VARIANT_NAME_MAX ? name.size : KERNELS_VARIANT_NAME_MAX;
    for (size_t i = 0; i < size; i++) {
        node->variant[i] = name.data[i];
    }
    node->variant[size] = '\0';
    node->path = kernels_strdup(folder);
    return node->path != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_locate_folder(const kernels_request *request, kernels_load_node *node, const char *folder,
                                     const kernels_choice_options *choice, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *build = kernels_path_join(folder, "build");
    if (build == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(try_base(request, node, folder, choice, error));
    if (node->path == NULL) {
        KERNELS_TRY(try_base(request, node, build, choice, error));
    }
    if (node->path == NULL) {
        KERNELS_TRY(try_folder_itself(node, folder, error));
    }
    if (node->path != NULL) {
        return kernels_load_node_read_metadata(node, node->path, error);
    }
    KERNELS_CLEANUP_FREE char *trace = kernels_decisions_trace(&node->decisions);
    if (trace == NULL) {
        return kernels_fail_no_memory(error);
    }
    const char *reason = node->decisions.count > 0     ? ":\n\n"
                         : kernels_file_exists(folder) ? ", which has no variant folders and no metadata.json"
                                                       : ", which does not exist";
    kernels_failure_set(&request->context->failure, folder, NULL, &node->decisions);
    kernels_fail(error, KERNELS_NO_VARIANT,
                 "Cannot find a build variant for this system in %s. Could not find kernel in %s%s%s", folder, folder,
                 reason, trace);
    kernels_error_set_subject(error, folder);
    return KERNELS_NO_VARIANT;
}
