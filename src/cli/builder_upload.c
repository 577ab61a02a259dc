/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder upload */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "build/publish.h"
#include "cli/builder_commands.h"

#define OUTPUT_LIMIT ((size_t)1024 * 1024)

static const char *const repo_types[] = {"kernel", "model", NULL};

static const kernels_option options[] = {
    {.name = "repo-id",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "ID",
     .help = "repository (default: general.hub.repo-id of build.toml)"},
    {.name = "branch",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "BRANCH",
     .help = "branch for the builds (default: general.hub.branch, else v<version> of the variants)"},
    {.name = "private", .type = KERNELS_OPTION_FLAG, .help = "make the repository private when it is created"},
    {.name = "repo-type",
     .type = KERNELS_OPTION_CHOICE,
     .value_name = "TYPE",
     .choices = repo_types,
     .help = "type of the repository (default: kernel)"},
    {.name = "create-pr", .type = KERNELS_OPTION_FLAG, .help = "open pull requests instead of committing"},
    {.name = "dry-run", .type = KERNELS_OPTION_FLAG, .help = "print what would be changed and change nothing"},
    {.name = "output-json",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .help = "write status, repository, branch and addresses to this file"},
    {.name = "quiet", .short_name = 'q', .type = KERNELS_OPTION_FLAG, .help = "no progress bars"},
    {.name = NULL},
};

static void show_note(void *payload, const char *text) {
    kernels_terminal_end_progress(payload);
    (void)fprintf(stderr, "%s\n", text);
}

/* ---- results ---- */

static void print_json(const kernels_publish_result *result, kernels_buffer *out) {
    kernels_json_writer json;
    bool uploaded = result->commits && !result->pull_request_count;
    kernels_json_writer_init(&json, out, 2, false);
    kernels_json_begin_object(&json);
    kernels_json_key(&json, "status");
    kernels_json_text(&json, result->pull_request_count ? "pull_request_created"
                             : uploaded                 ? "uploaded"
                                                        : "no_changes");
    kernels_json_member_text(&json, "repo_id", result->repo_id);
    kernels_json_member_text(&json, "branch", result->branch);
    kernels_json_member_text(&json, "url", uploaded ? result->url : NULL);
    kernels_json_key(&json, "pull_requests");
    kernels_json_begin_array(&json);
    for (size_t i = 0; i < result->pull_request_count; i++) {
        kernels_json_begin_object(&json);
        kernels_json_member_text(&json, "branch", result->pull_requests[i].branch);
        kernels_json_member_text(&json, "url", result->pull_requests[i].url);
        kernels_json_end_object(&json);
    }
    kernels_json_end_array(&json);
    kernels_json_end_object(&json);
    kernels_buffer_add_char(out, '\n');
}

static kernels_status write_json(const kernels_arguments *arguments, const kernels_publish_result *result,
                                 kernels_error *error) {
    const char *path = kernels_arguments_text(arguments, "output-json");
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
    if (!path) {
        return KERNELS_OK;
    }
    print_json(result, &text);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return kernels_file_write(path, kernels_buffer_view(&text), 0, error);
}

static int report(kernels_terminal *terminal, const kernels_publish_result *result, bool dry_run) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    if (dry_run && result->plan.size) {
        return kernels_terminal_print(terminal, kernels_buffer_view(&result->plan));
    }
    if (!result->commits) {
        show_note(terminal, "No changes to upload.");
        return KERNELS_EXIT_OK;
    }
    for (size_t i = 0; i < result->pull_request_count; i++) {
        kernels_buffer_printf(&out, "Pull request created: %s\n", result->pull_requests[i].url);
    }
    if (!result->pull_request_count) {
        kernels_buffer_add_text(&out, "Kernel uploaded: ");
        kernels_buffer_add_text(&out, result->url);
        kernels_buffer_add_char(&out, '\n');
    }
    return kernels_terminal_print(terminal, kernels_buffer_view(&out));
}

/* ---- the command ---- */

static kernels_status upload(const kernels_arguments *arguments, kernels_terminal *terminal, bool is_kernel,
                             kernels_publish_result *result, kernels_error *error) {
    const char *directory = NULL;
    kernels_hub *hub = NULL;
    kernels_hub_options hub_options = {.payload = terminal, .cancelled = kernels_terminal_cancelled};
    if (!kernels_arguments_flag(arguments, "quiet")) {
        hub_options.progress = kernels_terminal_progress;
    }
    KERNELS_TRY(kernels_builder_directory(arguments, 0, &directory, error));
    KERNELS_TRY(kernels_hub_new(&hub_options, &hub, error));
    kernels_publish_options publish_options = {
        .kernel_dir = directory,
        .repo_id = kernels_arguments_text(arguments, "repo-id"),
        .branch = kernels_arguments_text(arguments, "branch"),
        .is_private = kernels_arguments_flag(arguments, "private"),
        .type = is_kernel ? KERNELS_REPOSITORY_KERNEL : KERNELS_REPOSITORY_MODEL,
        .create_pr = kernels_arguments_flag(arguments, "create-pr"),
        .dry_run = kernels_arguments_flag(arguments, "dry-run"),
        .note = show_note,
        .warning = kernels_terminal_warning,
        .payload = terminal,
    };
    kernels_terminal_hold_signals();
    kernels_status status = kernels_publish(hub, &publish_options, result, error);
    kernels_terminal_end_progress(terminal);
    kernels_hub_free(hub);
    return status;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_publish_result result = {0};
    const char *type = kernels_arguments_text(arguments, "repo-type");
    bool is_kernel = !type || strcmp(type, "kernel") == 0;
    bool dry_run = kernels_arguments_flag(arguments, "dry-run");
    if (dry_run && kernels_arguments_given(arguments, "output-json")) {
        (void)kernels_terminal_failure(payload, "--dry-run changes nothing that --output-json could tell of");
        return KERNELS_EXIT_USAGE;
    }
    kernels_status status = upload(arguments, payload, is_kernel, &result, &error);
    if (!status && !dry_run) {
        status = write_json(arguments, &result, &error);
    }
    int code = status ? kernels_terminal_fail(payload, &error) : report(payload, &result, dry_run);
    kernels_terminal_release_signals();
    kernels_publish_result_dispose(&result);
    return code;
}

const kernels_command kernels_builder_upload_command = {
    .name = "upload",
    .summary = "Publish the built variants",
    .description =
        "Takes the variants in KERNEL_DIR/result, else KERNEL_DIR/build, else KERNEL_DIR, and commits them below "
        "build/ of the version's branch, together with benchmarks; the rendered card becomes README.md of main. Files "
        "of these variants that are not built any more are deleted, other variants stay. What is there already is not "
        "sent again, and nothing is committed when nothing changed.",
    .options = options,
    .positionals = kernels_builder_kernel_dir,
    .examples = "kernel-builder upload\nkernel-builder upload my-kernel --dry-run",
    .run = run,
};
