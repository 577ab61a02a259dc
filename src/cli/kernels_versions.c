/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels versions`: which versions a kernel has and which of their builds fit this machine, with the reasons. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "cli/context.h"
#include "cli/kernels_commands.h"
#include "cli/published.h"
#include "load/versions.h"

typedef struct versions_run {
    kernels_terminal *terminal;
    kernels_context *context;
    const char *repo_id;
    bool json;
    kernels_buffer out;
    kernels_json_writer writer;
} versions_run;

/* Why a version has no decisions to show; NULL = it has. */
static const char *reason_for_nothing(const versions_run *run, kernels_status status,
                                      const kernels_published *published) {
    if (status == KERNELS_NOT_CACHED) {
        return "not cached";
    }
    bool no_build = published->candidates.arena == NULL;
    return no_build && !kernels_hub_is_offline(run->context->hub) ? "no build variants" : NULL;
}

static void write_decision(kernels_json_writer *writer, const kernels_decision *decision, bool preferred) {
    char name[KERNELS_VARIANT_NAME_MAX + 1];
    kernels_variant_print(&decision->variant, name);
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "name", name);
    kernels_json_member_boolean(writer, "compatible", decision->accepted);
    kernels_json_member_boolean(writer, "preferred", preferred);
    kernels_json_member_text(writer, "reason", decision->reason);
    kernels_json_end_object(writer);
}

static void write_json(versions_run *run, const kernels_cached_version *version, const kernels_decisions *decisions) {
    kernels_json_writer *writer = &run->writer;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer ref = KERNELS_BUFFER_INIT(64);
    kernels_buffer_printf(&ref, "refs/heads/v%" PRIu64, version->version);
    kernels_json_begin_object(writer);
    kernels_json_member_unsigned(writer, "version", version->version);
    kernels_json_member_text(writer, "ref", kernels_buffer_text(&ref));
    kernels_json_member_text(writer, "commit", version->commit);
    kernels_json_key(writer, "variants");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < decisions->count; i++) {
        write_decision(writer, &decisions->items[i], i == 0 && decisions->items[i].accepted);
    }
    kernels_json_end_array(writer);
    kernels_json_end_object(writer);
}

static kernels_status write_text(versions_run *run, const kernels_cached_version *version, const char *nothing,
                                 const kernels_decisions *decisions, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *trace = kernels_decisions_trace(decisions);
    if (trace == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_buffer_printf(&run->out, "Version %" PRIu64 ":\n\n%s\n", version->version,
                          nothing != NULL ? nothing : trace);
    return KERNELS_OK;
}

static kernels_status show_version(versions_run *run, const kernels_cached_version *version, kernels_error *error) {
    kernels_published published = {0};
    kernels_decisions decisions = {0};
    kernels_status status =
        kernels_published_open(run->context, run->repo_id, version->commit, false, &published, error);
    if (status != KERNELS_OK && status != KERNELS_NOT_CACHED) {
        return status;
    }
    const char *nothing = reason_for_nothing(run, status, &published);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer origin = KERNELS_BUFFER_INIT(4096);
    kernels_buffer_printf(&origin, "Repository %s (revision: refs/heads/v%" PRIu64 ")", run->repo_id, version->version);
    const kernels_choice_options choice = {0};
    status = kernels_candidates_resolve(run->context, &published.candidates, kernels_context_system(run->context),
                                        &choice, kernels_buffer_text(&origin), &decisions, error);
    if (status == KERNELS_OK && run->json) {
        write_json(run, version, &decisions);
    } else if (status == KERNELS_OK) {
        status = write_text(run, version, nothing, &decisions, error);
    }
    kernels_decisions_dispose(&decisions);
    kernels_published_dispose(&published);
    return status;
}

static kernels_status show_none(versions_run *run, kernels_error *error) {
    if (kernels_hub_is_offline(run->context->hub)) {
        return kernels_fail(error, KERNELS_NOT_CACHED,
                            "No version of %s is in the local cache, and offline mode is on: the Hub was not asked",
                            run->repo_id);
    }
    if (!run->json) {
        kernels_buffer_printf(&run->out, "Repository does not support kernel versions: %s\n", run->repo_id);
    }
    return KERNELS_OK;
}

static kernels_status show_all(versions_run *run, kernels_error *error) {
    kernels_versions versions = {0};
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(run->repo_id), error));
    KERNELS_TRY(kernels_versions_list(run->context, run->repo_id, &versions, error));
    kernels_status status = versions.count == 0 ? show_none(run, error) : KERNELS_OK;
    kernels_json_writer_init(&run->writer, &run->out, 2, true);
    if (run->json) {
        kernels_json_begin_array(&run->writer);
    }
    for (size_t i = 0; i < versions.count && status == KERNELS_OK; i++) {
        status = show_version(run, &versions.items[i], error);
    }
    if (run->json) {
        kernels_json_end_array(&run->writer);
        kernels_buffer_add_char(&run->out, '\n');
    }
    kernels_versions_dispose(&versions);
    return status == KERNELS_OK ? kernels_buffer_status(&run->out, error) : status;
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    versions_run run = {.terminal = payload,
                        .repo_id = kernels_arguments_positional(arguments, 0),
                        .json = kernels_arguments_flag(arguments, "json"),
                        .out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT)};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_terminal_context_new_for(run.terminal, kernels_arguments_text(arguments, "system"),
                                                             NULL, &run.context, &error);
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(run.terminal, &error);
    }
    status = show_all(&run, &error);
    int code = status == KERNELS_OK ? kernels_terminal_print(run.terminal, kernels_buffer_view(&run.out))
                                    : kernels_terminal_fail(run.terminal, &error);
    kernels_error_dispose(&error);
    kernels_buffer_dispose(&run.out);
    kernels_terminal_context_free(run.terminal, run.context);
    return code;
}

static const kernels_option options[] = {
    {.name = "json", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "Print a JSON list."},
    KERNELS_OPTION_SYSTEM,
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "REPO_ID", .help = "Repository of the kernel, OWNER/NAME.", .required = true},
    {0},
};

const kernels_command kernels_command_versions = {
    .name = "versions",
    .summary = "List the versions of a kernel and which of their builds fit this machine.",
    .description =
        "For every version the build variants are listed in order of preference, those that do not fit with\n"
        "their reason. Offline the cache is shown.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels versions kernels-community/relu\n",
    .run = run_command,
};
