/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels info`: what a kernel says of itself, in a local folder or on the Hub. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "cli/context.h"
#include "cli/kernels_commands.h"
#include "cli/kernels_info_explain.h"
#include "cli/kernels_info_system.h"
#include "cli/published.h"
#include "load/versions.h"

typedef struct info_run {
    kernels_terminal *terminal;
    const char *kernel;
    const char *revision; /* NULL = not given */
    bool has_version;
    int64_t version;
    bool json;
    bool explain;
    const char *system_file, *backend; /* for the explanation; NULL = this machine, as detected */
} info_run;

/* What is printed. */
typedef struct info_result {
    const char *path; /* a local folder; else: */
    const char *repo_id, *revision;
    char commit[65];
    bool has_metadata;
    kernels_metadata metadata;
    const char **backends; /* ascending, each once */
    size_t backend_count;
    bool is_explained;
    kernels_explanation explanation;
    kernels_arena *arena;
} info_result;

/* ---- gathering ---- */

/* "./a//b/" -> "a/b", "" -> ".": as Python's Path writes it. */
static char *normalise_path(const char *text) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_view rest = kernels_view_of(text);
    if (kernels_view_starts_with(rest, KERNELS_VIEW("/"))) {
        kernels_buffer_add_char(&out, '/');
    }
    kernels_view part;
    while (rest.size > 0 && kernels_view_split(&rest, '/', &part)) {
        if (part.size == 0 || kernels_view_equal_text(part, ".")) {
            continue;
        }
        if (out.size > 0 && out.data[out.size - 1] != '/') {
            kernels_buffer_add_char(&out, '/');
        }
        kernels_buffer_add_view(&out, part);
    }
    if (out.size == 0) {
        kernels_buffer_add_char(&out, '.');
    }
    char *taken = kernels_buffer_take(&out);
    kernels_buffer_dispose(&out);
    return taken;
}

/* Names of the backends of all variants, sorted, each once; *variant_count: how many names are variant names. */
static kernels_status collect_backends(const kernels_candidates *candidates, info_result *result, size_t *variant_count,
                                       kernels_error *error) {
    result->backends = kernels_arena_array(result->arena, candidates->count + 1, sizeof *result->backends);
    if (result->backends == NULL) {
        return kernels_fail_no_memory(error);
    }
    *variant_count = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        kernels_variant variant;
        if (kernels_variant_parse(kernels_view_of(candidates->items[i].name), &variant, NULL) != KERNELS_OK) {
            continue;
        }
        bool noarch = variant.framework == KERNELS_FRAMEWORK_TORCH_NOARCH;
        const char *name = noarch ? variant.noarch_name : kernels_backend_name(variant.backend);
        result->backends[*variant_count] = kernels_arena_copy_text(result->arena, kernels_view_of(name));
        if (result->backends[(*variant_count)++] == NULL) {
            return kernels_fail_no_memory(error);
        }
    }
    qsort(result->backends, *variant_count, sizeof *result->backends, kernels_compare_texts);
    for (size_t i = 0; i < *variant_count; i++) {
        if (i == 0 || strcmp(result->backends[i], result->backends[result->backend_count - 1]) != 0) {
            result->backends[result->backend_count++] = result->backends[i];
        }
    }
    return KERNELS_OK;
}

static bool is_variant_name(const char *name) {
    kernels_variant variant;
    return kernels_variant_parse(kernels_view_of(name), &variant, NULL) == KERNELS_OK;
}

static kernels_status explain(const info_run *run, kernels_context *context, const char *commit,
                              const kernels_candidates *candidates, info_result *result, kernels_error *error) {
    const kernels_explain_request request = {.context = context,
                                             .system_file = run->system_file,
                                             .backend = run->backend,
                                             .repo_id = result->repo_id,
                                             .commit = commit,
                                             .candidates = candidates};
    if (!run->explain) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_explain(&request, &result->explanation, error));
    result->is_explained = true;
    return KERNELS_OK;
}

/* ---- a local folder ---- */

/* metadata.json of the first variant that has one; what cannot be read is an error. */
static kernels_status read_local_metadata(const char *build, const kernels_candidates *candidates, info_result *result,
                                          kernels_error *error) {
    for (size_t i = 0; i < candidates->count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join3(build, candidates->items[i].name, "metadata.json");
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        if (is_variant_name(candidates->items[i].name) && kernels_file_exists(path)) {
            KERNELS_TRY(kernels_metadata_read(path, &result->metadata, error));
            result->has_metadata = true;
            return KERNELS_OK;
        }
    }
    return KERNELS_OK;
}

/* Explaining wants to know the machine, which is all that the context is for. */
static kernels_status explain_local(const info_run *run, const kernels_candidates *candidates, info_result *result,
                                    kernels_error *error) {
    kernels_context *context = NULL;
    if (!run->explain) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_terminal_context_new_for(run->terminal, run->system_file, NULL, &context, error));
    kernels_status status = explain(run, context, NULL, candidates, result, error);
    kernels_terminal_context_free(run->terminal, context);
    return status;
}

static kernels_status gather_local(const info_run *run, const char *path, info_result *result, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *build =
        strcmp(path, ".") == 0 ? kernels_strdup("build") : kernels_path_join(path, "build");
    if (build == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_candidates candidates = {0};
    size_t variants = 0;
    KERNELS_TRY(kernels_candidates_from_folder(build, &candidates, error));
    kernels_status status = collect_backends(&candidates, result, &variants, error);
    if (status == KERNELS_OK && variants == 0) {
        status = kernels_fail(error, KERNELS_NO_VARIANT, "No build variants found in: %s", build);
    }
    if (status == KERNELS_OK) {
        status = read_local_metadata(build, &candidates, result, error);
    }
    if (status == KERNELS_OK) {
        status = explain_local(run, &candidates, result, error);
    }
    kernels_candidates_dispose(&candidates);
    result->path = path;
    return status;
}

/* ---- the Hub ---- */

/* Which revision is meant: the option, else the newest version, else "main". */
static kernels_status choose_revision(const info_run *run, kernels_context *context, info_result *result,
                                      char commit[65], kernels_error *error) {
    commit[0] = '\0';
    if (run->revision != NULL) {
        result->revision = run->revision;
        return KERNELS_OK;
    }
    if (run->has_version && run->version < 0) {
        return kernels_fail(error, KERNELS_VERSION_NOT_FOUND,
                            "Version %" PRId64 " not found, available versions: none is negative", run->version);
    }
    kernels_versions versions = {0};
    const kernels_cached_version *found = NULL;
    KERNELS_TRY(kernels_versions_list(context, run->kernel, &versions, error));
    kernels_status status = KERNELS_OK;
    if (run->has_version) {
        status = kernels_versions_find(context, &versions, run->kernel, (uint64_t)run->version, &found, error);
    } else if (versions.count > 0) {
        found = &versions.items[versions.count - 1];
    }
    if (status == KERNELS_OK) {
        result->revision = found == NULL ? "main" : kernels_arena_printf(result->arena, "v%" PRIu64, found->version);
        memcpy(commit, found != NULL ? found->commit : "", found != NULL ? sizeof found->commit : 1);
        status = result->revision != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
    }
    kernels_versions_dispose(&versions);
    return status;
}

/* Metadata that cannot be used is passed over; failures of the way to it are not. */
static bool is_unusable(kernels_status status) { return kernels_status_category(status) == KERNELS_CATEGORY_DATA; }

static kernels_status read_published_metadata(kernels_context *context, const kernels_published *published,
                                              info_result *result, kernels_error *error) {
    const kernels_candidates *candidates = &published->candidates;
    bool is_commit = kernels_object_id_is_valid(kernels_view_of(result->revision));
    const char *ref = is_commit ? NULL : result->revision;
    for (size_t i = 0; i < candidates->count && !result->has_metadata; i++) {
        if (!is_variant_name(candidates->items[i].name)) {
            continue;
        }
        bool found = false;
        kernels_status status = kernels_published_metadata(context, published, candidates->items[i].name, ref,
                                                           &result->metadata, &found, error);
        if (status != KERNELS_OK && !is_unusable(status)) {
            return status;
        }
        result->has_metadata = status == KERNELS_OK && found;
        kernels_error_dispose(error);
    }
    if (!result->has_metadata) {
        kernels_terminal_warning(context->payload, "no variant has a usable metadata.json");
    }
    return KERNELS_OK;
}

static kernels_status gather_published(const info_run *run, kernels_context *context, info_result *result,
                                       kernels_error *error) {
    char commit[65];
    size_t variants = 0;
    result->repo_id = run->kernel;
    KERNELS_TRY(kernels_repository_id_check(kernels_view_of(run->kernel), error));
    KERNELS_TRY(choose_revision(run, context, result, commit, error));
    kernels_published published = {0};
    KERNELS_TRY(kernels_published_open(context, run->kernel, commit[0] != '\0' ? commit : result->revision, true,
                                       &published, error));
    kernels_status status = collect_backends(&published.candidates, result, &variants, error);
    if (status == KERNELS_OK && variants == 0) {
        status = kernels_fail(error, KERNELS_NO_VARIANT, "No build variants found in %s (revision: %s)", run->kernel,
                              result->revision);
    }
    if (status == KERNELS_OK) {
        status = read_published_metadata(context, &published, result, error);
    }
    if (status == KERNELS_OK) {
        memcpy(result->commit, published.commit, sizeof result->commit);
        status = explain(run, context, result->commit, &published.candidates, result, error);
    }
    kernels_published_dispose(&published);
    return status;
}

/* ---- printing ---- */

static const char *minver_text(const info_result *result, char text[KERNELS_VERSION_TEXT_SIZE]) {
    if (!result->has_metadata || result->metadata.minver.count == 0) {
        return NULL;
    }
    kernels_version_print(&result->metadata.minver, text);
    return text;
}

static void add_line(kernels_buffer *out, const char *label, const char *value) {
    kernels_buffer_printf(out, "%s: %s\n", label, value != NULL ? value : "-");
}

static void add_list(kernels_buffer *out, const char *label, const char *const *items, size_t count) {
    kernels_buffer_printf(out, "%s: %s", label, count == 0 ? "-" : "");
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_printf(out, "%s%s", i > 0 ? ", " : "", items[i]);
    }
    kernels_buffer_add_char(out, '\n');
}

static void print_text(const info_result *result, kernels_buffer *out) {
    const kernels_metadata *metadata = &result->metadata; /* zero when there is none */
    char minver[KERNELS_VERSION_TEXT_SIZE];
    if (result->path != NULL) {
        add_line(out, "Path", result->path);
    } else {
        add_line(out, "Repository", result->repo_id);
        add_line(out, "Revision", result->revision);
    }
    add_line(out, "Name", metadata->name);
    if (result->has_metadata) {
        kernels_buffer_printf(out, "Version: %" PRIu64 "\n", metadata->version);
    } else {
        add_line(out, "Version", NULL);
    }
    add_line(out, "Minimum kernels version", minver_text(result, minver));
    add_line(out, "License", metadata->license);
    add_line(out, "Upstream", metadata->upstream);
    add_line(out, "Source", metadata->source);
    add_list(out, "Python dependencies", metadata->python_depends.items, metadata->python_depends.count);
    add_list(out, "Backends", result->backends, result->backend_count);
    if (result->is_explained) {
        kernels_explanation_print(&result->explanation, out);
    }
}

static void write_list(kernels_json_writer *writer, const char *key, const char *const *items, size_t count) {
    kernels_json_key(writer, key);
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        kernels_json_text(writer, items[i]);
    }
    kernels_json_end_array(writer);
}

static void print_json(const info_result *result, kernels_buffer *out) {
    const kernels_metadata *metadata = &result->metadata;
    kernels_json_writer writer;
    char minver[KERNELS_VERSION_TEXT_SIZE];
    kernels_json_writer_init(&writer, out, 2, true);
    kernels_json_begin_object(&writer);
    if (result->path != NULL) {
        kernels_json_member_text(&writer, "path", result->path);
    } else {
        kernels_json_member_text(&writer, "repo_id", result->repo_id);
        kernels_json_member_text(&writer, "revision", result->revision);
    }
    if (result->has_metadata) {
        kernels_json_member_text(&writer, "name", metadata->name);
        kernels_json_member_unsigned(&writer, "version", metadata->version);
        kernels_json_member_text(&writer, "kernels_minver", minver_text(result, minver));
        kernels_json_member_text(&writer, "license", metadata->license);
        kernels_json_member_text(&writer, "upstream", metadata->upstream);
        kernels_json_member_text(&writer, "source", metadata->source);
        write_list(&writer, "python_depends", metadata->python_depends.items, metadata->python_depends.count);
    }
    write_list(&writer, "backends", result->backends, result->backend_count);
    if (result->is_explained) { /* what the released program does not print goes into one member */
        kernels_json_key(&writer, "extra");
        kernels_explanation_write(&result->explanation, &writer);
    }
    kernels_json_end_object(&writer);
    kernels_buffer_add_char(out, '\n');
}

static int print_result(const info_run *run, const info_result *result) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    if (run->json) {
        print_json(result, &out);
    } else {
        print_text(result, &out);
    }
    kernels_error error = KERNELS_ERROR_INIT;
    int code = kernels_buffer_status(&out, &error) == KERNELS_OK
                   ? kernels_terminal_print(run->terminal, kernels_buffer_view(&out))
                   : kernels_terminal_fail(run->terminal, &error);
    kernels_buffer_dispose(&out);
    return code;
}

/* ---- the command ---- */

static kernels_status gather_online(const info_run *run, info_result *result, kernels_error *error) {
    kernels_context *context = NULL;
    KERNELS_TRY(kernels_terminal_context_new_for(run->terminal, run->system_file, NULL, &context, error));
    kernels_status status = gather_published(run, context, result, error);
    kernels_terminal_context_free(run->terminal, context);
    return status;
}

static int show(const info_run *run) {
    kernels_error error = KERNELS_ERROR_INIT;
    info_result result = {.arena = kernels_arena_new(0)};
    KERNELS_CLEANUP_FREE char *path = normalise_path(run->kernel);
    kernels_status status = KERNELS_OK;
    if (result.arena == NULL || path == NULL) {
        status = kernels_fail_no_memory(&error);
    } else if (!kernels_file_is_directory(path)) {
        status =
            run->revision != NULL && run->has_version
                ? kernels_fail(&error, KERNELS_INVALID_ARGUMENT, "Only one of --revision or --version can be specified")
                : gather_online(run, &result, &error);
    } else {
        status = run->revision != NULL || run->has_version
                     ? kernels_fail(&error, KERNELS_INVALID_ARGUMENT,
                                    "--revision and --version cannot be used with a local path")
                     : gather_local(run, path, &result, &error);
    }
    int code = status == KERNELS_OK ? print_result(run, &result) : kernels_terminal_fail(run->terminal, &error);
    if (result.has_metadata) {
        kernels_metadata_dispose(&result.metadata);
    }
    kernels_explanation_dispose(&result.explanation);
    kernels_arena_free(result.arena);
    return code;
}

static int fail_usage(const kernels_arguments *arguments, kernels_terminal *terminal, const char *reason) {
    kernels_buffer usage = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_options_usage(&usage, kernels_arguments_program(arguments), kernels_arguments_command(arguments));
    (void)fputs(kernels_buffer_text(&usage), stderr);
    kernels_buffer_dispose(&usage);
    (void)kernels_terminal_failure(terminal, "%s", reason);
    return KERNELS_EXIT_USAGE;
}

/* What does not go together; NULL = nothing. */
static const char *find_contradiction(const info_run *run, bool system) {
    bool of_machine = run->kernel == NULL;
    if (of_machine && !system) {
        return "argument KERNEL is missing";
    }
    if (of_machine && (run->revision != NULL || run->has_version || run->explain || run->backend != NULL)) {
        return "--system without a KERNEL stands alone, or with --json";
    }
    if (!of_machine && !run->explain && (system || run->backend != NULL)) {
        return "--system FILE and --backend say for which machine to explain: give --explain too";
    }
    return !of_machine && system && run->system_file == NULL ? "--system needs a FILE where there is a KERNEL" : NULL;
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    const info_run run = {.terminal = payload,
                          .kernel = kernels_arguments_positional(arguments, 0),
                          .revision = kernels_arguments_text(arguments, "revision"),
                          .has_version = kernels_arguments_given(arguments, "version"),
                          .version = kernels_arguments_integer(arguments, "version", 0),
                          .json = kernels_arguments_flag(arguments, "json"),
                          .explain = kernels_arguments_flag(arguments, "explain"),
                          .system_file = kernels_arguments_text(arguments, "system"),
                          .backend = kernels_arguments_text(arguments, "backend")};
    const char *contradiction = find_contradiction(&run, kernels_arguments_given(arguments, "system"));
    if (contradiction != NULL) {
        return fail_usage(arguments, run.terminal, contradiction);
    }
    return run.kernel != NULL ? show(&run) : kernels_info_system(run.terminal, run.system_file, run.json);
}

static const kernels_option options[] = {
    {.name = "revision",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "REVISION",
     .help = "Branch, tag or commit on the Hub (default: the newest version)."},
    {.name = "version",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .help = "Version on the Hub (default: the newest)."},
    {.name = "json", .type = KERNELS_OPTION_FLAG, .help = "Print a JSON object."},
    {.name = "explain",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Also print which build variant this machine gets and why, why it does not get the others, which other "
             "versions fit it, and what it is."},
    {.name = "backend",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "NAME",
     .exact_name = true,
     .help = "With --explain: for this backend (default: the detected one)."},
    {.name = "system",
     .type = KERNELS_OPTION_MAYBE,
     .value_name = "FILE",
     .exact_name = true,
     .help = "Without a KERNEL: print what this machine is, where each fact is known from and where plugins are looked "
             "for; with --json as a file that --system reads. With --explain: for the machine that FILE describes."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "KERNEL", .help = "Folder of a kernel, or its repository OWNER/NAME.", .may_be_empty = true},
    {0},
};

const kernels_command kernels_command_info = {
    .name = "info",
    .summary = "Show what a kernel says of itself.",
    .description = "A folder on this machine wins over a repository of the same name.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels info kernels-community/relu\n"
                "kernels info ./my-kernel --json\n"
                "kernels info --system\n"
                "kernels info kernels-community/relu --version 1 --explain\n"
                "kernels info kernels-community/relu --explain --system other-machine.json\n",
    .run = run_command,
};
