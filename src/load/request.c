/* SPDX-License-Identifier: Apache-2.0 */
/* From the caller's options to what one call asks for. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/node.h"

kernels_status kernels_request_make(kernels_context *context, const kernels_load_options *options,
                                    kernels_request *request, kernels_error *error) {
    static const kernels_load_options defaults = {0};
    options = options != NULL ? options : &defaults;
    kernels_failure_clear(&context->failure);
    *request =
        (kernels_request){.context = context,
                          .trust_all = options->trust_remote_code,
                          .trusted = options->trusted,
                          .trusted_count = options->trusted != NULL ? options->trusted_count : 0,
                          .any_version = !options->has_version && options->version == 0 && options->revision == NULL,
                          .cache_only = options->cache_only || kernels_hub_is_offline(context->hub),
                          .for_native = !options->for_python,
                          .no_verify = options->no_verify,
                          .no_hint = options->no_hint,
                          .commit = options->commit,
                          .locks = options->locks,
                          .overrides = getenv("LOCAL_KERNELS")};
    return kernels_system_select_backend(&context->system, options->backend, &request->system, error);
}

kernels_status kernels_request_check_version(const kernels_load_options *options, kernels_error *error) {
    bool has_version = options->has_version || options->version > 0;
    if (has_version && options->revision != NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "Only one of version and revision can be specified");
    }
    if (!has_version && options->revision == NULL && options->locks == NULL) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "A kernel version or revision must be specified");
    }
    return KERNELS_OK;
}

bool kernels_request_trusts(const kernels_request *request, const char *repo_id) {
    bool trusted = request->trust_all;
    for (size_t i = 0; i < request->trusted_count && !trusted; i++) {
        trusted = strcmp(request->trusted[i], repo_id) == 0;
    }
    return trusted;
}

/* An answer of the last day is good enough for what is in the cache; before a download it is asked for anew. */
kernels_status kernels_request_check_trust(const kernels_request *request, const char *repo_id,
                                           bool *ask_before_download, kernels_error *error) {
    kernels_hub *hub = request->context->hub;
    if (kernels_request_trusts(request, repo_id)) {
        return KERNELS_OK;
    }
    if (request->cache_only) {
        kernels_context_warn(request->context, KERNELS_WARNING_TRUST,
                             "Skipping publisher trust check for '%s' because the Hub is in offline mode.", repo_id);
        return KERNELS_OK;
    }
    if (ask_before_download != NULL && kernels_hub_remembers_publisher(hub, repo_id)) {
        *ask_before_download = true;
        return KERNELS_OK;
    }
    return kernels_hub_check_publisher(hub, repo_id, error);
}
