/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder check-config */
#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "build/config_warnings.h"
#include "cli/builder_commands.h"

#define OUTPUT_LIMIT ((size_t)1024 * 1024)

static const kernels_option options[] = {
    {.name = "json",
     .type = KERNELS_OPTION_FLAG,
     .help = "print {\"valid\", \"error\", \"warnings\", and what was read} to standard output"},
    {.name = NULL},
};

/* Reads build.toml; warnings gets one line each. */
static kernels_status check(const char *directory, kernels_build *build, kernels_buffer *warnings,
                            kernels_error *error) {
    char *warning = NULL;
    KERNELS_TRY(kernels_build_read(directory, build, &warning, error));
    if (warning) {
        kernels_buffer_printf(warnings, "%s\n", warning);
    }
    kernels_string_free(warning);
    kernels_config_warnings(directory, build, warnings);
    return kernels_build_check_python_depends(build, error);
}

static void print_build(kernels_json_writer *json, const kernels_build *build) {
    static const char *const kinds[] = {"torch", "torch-noarch", "tvm-ffi"};
    kernels_json_member_text(json, "name", build->name);
    kernels_json_member_unsigned(json, "version", build->version);
    kernels_json_member_unsigned(json, "edition", build->edition);
    kernels_json_member_text(json, "license", build->license);
    kernels_json_member_text(json, "framework", kinds[build->kind]);
    kernels_json_key(json, "backends");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < build->backend_count; i++) {
        kernels_json_text(json, kernels_backend_name(build->backends[i]));
    }
    kernels_json_end_array(json);
    kernels_json_member_text(json, "repo_id", build->hub_repo_id);
}

static void print_json(const kernels_build *build, const kernels_buffer *warnings, const char *failure,
                       kernels_buffer *out) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, out, 2, false);
    kernels_json_begin_object(&json);
    kernels_json_member_boolean(&json, "valid", failure == NULL);
    kernels_json_member_text(&json, "error", failure);
    kernels_json_key(&json, "warnings");
    kernels_json_begin_array(&json);
    kernels_view rest = kernels_view_trim_ascii(kernels_buffer_view(warnings)), line;
    while (rest.size && kernels_view_split(&rest, '\n', &line)) {
        kernels_json_string(&json, line);
    }
    kernels_json_end_array(&json);
    if (!failure) {
        print_build(&json, build);
    }
    kernels_json_end_object(&json);
    kernels_buffer_add_char(out, '\n');
}

static void show_warnings(kernels_terminal *terminal, const kernels_buffer *warnings) {
    kernels_view rest = kernels_view_trim_ascii(kernels_buffer_view(warnings)), line;
    while (rest.size && kernels_view_split(&rest, '\n', &line)) {
        KERNELS_CLEANUP_FREE char *text = kernels_strndup(line.data, line.size);
        kernels_terminal_warning(terminal, text ? text : "");
    }
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    const char *directory = NULL;
    kernels_build build = {0};
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer warnings = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
    if (kernels_builder_directory(arguments, 0, &directory, &error)) {
        return kernels_terminal_fail(payload, &error);
    }
    kernels_status status = check(directory, &build, &warnings, &error);
    int code = status ? KERNELS_EXIT_FAILURE : KERNELS_EXIT_OK;
    if (kernels_arguments_flag(arguments, "json")) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
        print_json(&build, &warnings, status ? kernels_error_message(&error) : NULL, &out);
        int printed = kernels_terminal_print(payload, kernels_buffer_view(&out));
        code = printed ? printed : code;
        kernels_error_dispose(&error);
    } else {
        show_warnings(payload, &warnings);
        code = status ? kernels_terminal_fail(payload, &error) : KERNELS_EXIT_OK;
    }
    kernels_build_dispose(&build);
    return code;
}

const kernels_command kernels_builder_check_config_command = {
    .name = "check-config",
    .summary = "Check build.toml",
    .description =
        "Silent when the file is right. Otherwise the message names file, line, column and key, exit code 1.",
    .options = options,
    .positionals = kernels_builder_kernel_dir,
    .run = run,
};
