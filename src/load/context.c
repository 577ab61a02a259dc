/* SPDX-License-Identifier: Apache-2.0 */
#include "load/context.h"

#include <stdarg.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "load/registry.h"
#include "resolve/user_agent.h"

#define WARNING_LIMIT ((size_t)64 * 1024)

static void forward_log(void *payload, kernels_log_level level, const char *message) {
    kernels_context *context = payload;
    if (level == KERNELS_LOG_WARNING) {
        kernels_context_warn(context, KERNELS_WARNING_HUB, "%s", message);
    }
}

static void forward_progress(void *payload, const char *file, uint64_t done, uint64_t total) {
    kernels_context *context = payload;
    if (context->progress != NULL) {
        context->progress(context->payload, file, done, total);
    }
}

static bool forward_cancelled(void *payload) {
    kernels_context *context = payload;
    return context->cancelled != NULL && context->cancelled(context->payload);
}

static kernels_status open_hub(kernels_context *context, const kernels_context_options *options, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer client = KERNELS_BUFFER_INIT(WARNING_LIMIT);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer agent = KERNELS_BUFFER_INIT(WARNING_LIMIT);
    kernels_system_client(&context->system, &client);
    KERNELS_TRY(kernels_buffer_status(&client, error));
    if (client.size > 0 && context->system.torch_text[0] != '\0') { /* clients in Python name torch before all else */
        kernels_buffer_printf(&agent, "torch/%s; ", context->system.torch_text);
    }
    if (options->user_agent != NULL && options->user_agent[0] != '\0') {
        kernels_buffer_printf(&agent, "%s; ", options->user_agent);
    }
    kernels_system_user_agent(&context->system, &agent);
    KERNELS_TRY(kernels_buffer_status(&agent, error));
    const kernels_hub_options hub_options = {
        .endpoint = options->endpoint,
        .cache_directory = options->cache_directory,
        .token = options->token,
        .offline = options->offline,
        .online = options->online,
        .telemetry = options->telemetry,
        .no_telemetry = options->no_telemetry,
        .user_agent = kernels_buffer_text(&agent),
        .client = kernels_buffer_text(&client),
        .progress = forward_progress,
        .log = forward_log,
        .cancelled = forward_cancelled,
        .payload = context,
    };
    return kernels_hub_new(&hub_options, &context->hub, error);
}

kernels_status kernels_context_new(const kernels_context_options *options, kernels_context **context,
                                   kernels_error *error) {
    const kernels_context_options defaults = {0};
    options = options != NULL ? options : &defaults;
    kernels_context *made = kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        return kernels_fail_no_memory(error);
    }
    made->warning = options->warning;
    made->progress = options->progress;
    made->cancelled = options->cancelled;
    made->payload = options->payload;
    kernels_status status = KERNELS_OK;
    if (options->system != NULL) {
        made->system = *options->system;
    } else {
        made->system_is_detected = true;
        const kernels_system_options system_options = {.site_packages = options->site_packages};
        status = kernels_system_detect(&system_options, &made->system, error);
    }
    if (status == KERNELS_OK) {
        status = open_hub(made, options, error);
    }
    if (status != KERNELS_OK) {
        kernels_context_free(made);
        return status;
    }
    *context = made;
    return KERNELS_OK;
}

void kernels_context_free(kernels_context *context) {
    if (context != NULL) {
        kernels_registry_dispose(context);
        kernels_failure_clear(&context->failure);
        kernels_commit_trees_dispose(&context->trees);
        kernels_hub_free(context->hub);
        kernels_free(context);
    }
}

const kernels_system *kernels_context_system(const kernels_context *context) { return &context->system; }

bool kernels_context_is_offline(const kernels_context *context) { return kernels_hub_is_offline(context->hub); }

const char *kernels_context_endpoint(const kernels_context *context) { return kernels_hub_endpoint(context->hub); }

const char *kernels_context_cache_directory(const kernels_context *context) {
    return kernels_hub_cache_directory(context->hub);
}

uint64_t kernels_context_requests(const kernels_context *context) { return kernels_hub_request_count(context->hub); }

const kernels_no_variant *kernels_context_no_variant(const kernels_context *context) {
    return context->failure.is_set ? &context->failure.data : NULL;
}

void kernels_context_warn(kernels_context *context, const char *category, const char *format, ...) {
    if (context->warning == NULL) {
        return;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(WARNING_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (text.failure == KERNELS_OK) {
        context->warning(context->payload, category, kernels_buffer_text(&text));
    }
}
