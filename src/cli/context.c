/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/context.h"

#include "base/error.h"
#include "resolve/system_json.h"

/* People read the text; what it is about is for programs. */
static void forward_warning(void *payload, const char *category, const char *message) {
    (void)category;
    kernels_terminal_warning(payload, message);
}

static kernels_status make_context(kernels_terminal *terminal, const kernels_system *system, const char *cache,
                                   kernels_context **context, kernels_error *error) {
    const kernels_context_options options = {
        .cache_directory = cache,
        .system = system,
        .warning = forward_warning,
        .progress = kernels_terminal_progress,
        .cancelled = kernels_terminal_cancelled,
        .payload = terminal,
    };
    kernels_terminal_hold_signals();
    kernels_status status = kernels_context_new(&options, context, error);
    if (status != KERNELS_OK) {
        kernels_terminal_release_signals();
    }
    return status;
}

kernels_status kernels_terminal_context_new(kernels_terminal *terminal, const char *cache, kernels_context **context,
                                            kernels_error *error) {
    return make_context(terminal, NULL, cache, context, error);
}

kernels_status kernels_terminal_context_new_for(kernels_terminal *terminal, const char *system_file, const char *cache,
                                                kernels_context **context, kernels_error *error) {
    kernels_system system;
    if (system_file == NULL) {
        return make_context(terminal, NULL, cache, context, error);
    }
    KERNELS_TRY(kernels_system_read(system_file, &system, error));
    return make_context(terminal, &system, cache, context, error);
}

void kernels_terminal_context_free(kernels_terminal *terminal, kernels_context *context) {
    kernels_context_free(context);
    kernels_terminal_end_progress(terminal);
    kernels_terminal_release_signals();
}
