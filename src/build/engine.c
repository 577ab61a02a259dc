/* SPDX-License-Identifier: Apache-2.0 */
#include "build/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "build/card.h"
#include "build/config_warnings.h"
#include "build/environment.h"
#include "build/git.h"
#include "build/identity.h"
#include "build/kernel_dir.h"
#include "build/plan.h"
#include "build/project.h"
#include "build/registration_check.h"
#include "build/report.h"
#include "build/scratch.h"
#include "build/sources.h"
#include "build/variant_build.h"
#include "kernels/resolve.h"

#define WARNINGS_LIMIT ((size_t)1024 * 1024)
#define MESSAGE_LIMIT ((size_t)16 * 1024)

typedef struct engine {
    const kernels_builder_options *options;
    kernels_error *error;
    kernels_build build;
    kernels_plan plan;
    char *python_name;
    char *store;
    char *scratch;    /* below the store */
    char *source_dir; /* scratch/src */
    char *bundle_dir; /* scratch/bundle */
    kernels_paths sources;
    char source_digest[KERNELS_DIGEST_HEX_SIZE];
    char bundle_digest[KERNELS_DIGEST_HEX_SIZE];
    char unique_id[KERNELS_BUILD_ID_SIZE];
    kernels_git_state git;
    kernels_build_report report;
} engine;

static void say(const engine *run, kernels_build_message type, const char *format, ...) KERNELS_PRINTF(3, 4);
static void say(const engine *run, kernels_build_message type, const char *format, ...) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(MESSAGE_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (run->options->message) {
        run->options->message(run->options->payload, type, kernels_buffer_text(&text));
    }
}

static void warn_lines(const engine *run, const kernels_buffer *lines) {
    kernels_view rest = kernels_view_trim_ascii(kernels_buffer_view(lines)), line;
    while (rest.size && kernels_view_split(&rest, '\n', &line)) {
        say(run, KERNELS_BUILD_WARNING, "%.*s", KERNELS_VIEW_ARGS(line));
    }
}

/* ---- what is to be built ---- */

static kernels_status read_build(engine *run) {
    char *warning = NULL;
    KERNELS_TRY(kernels_build_read(run->options->kernel_dir, &run->build, &warning, run->error));
    if (warning) {
        say(run, KERNELS_BUILD_WARNING, "%s", warning);
    }
    kernels_string_free(warning);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer warnings = KERNELS_BUFFER_INIT(WARNINGS_LIMIT);
    kernels_config_warnings(run->options->kernel_dir, &run->build, &warnings);
    warn_lines(run, &warnings);
    KERNELS_TRY(kernels_build_check_python_depends(&run->build, run->error));
    run->python_name = kernels_name_to_python(kernels_view_of(run->build.name));
    return run->python_name ? KERNELS_OK : kernels_fail_no_memory(run->error);
}

static kernels_status make_plan(engine *run) {
    kernels_system system;
    KERNELS_TRY(kernels_system_detect(NULL, &system, run->error));
    KERNELS_TRY(kernels_plan_make(&run->build, system.os, system.cpu, &run->plan, run->error));
    if (run->options->variant) {
        KERNELS_TRY(kernels_plan_select(&run->plan, run->options->variant, run->error));
    }
    if (!run->plan.count) {
        return kernels_fail(run->error, KERNELS_NO_VARIANT,
                            "none of the backends of %s can be built on this system (%s, %s)", run->build.name,
                            system.os, system.cpu);
    }
    return KERNELS_OK;
}

/* A real file or folder named result is the user's: it is not touched. */
static kernels_status check_result_link(const engine *run) {
    KERNELS_CLEANUP_FREE char *link = kernels_path_join(run->options->kernel_dir, "result");
    if (!link) {
        return kernels_fail_no_memory(run->error);
    }
    if (kernels_file_exists(link) && !kernels_file_is_link(link)) {
        return kernels_fail(run->error, KERNELS_ALREADY_EXISTS,
                            "%s is in the way: the build makes a link of that name; move it away", link);
    }
    return KERNELS_OK;
}

/* ---- sources ---- */

static kernels_status identify(engine *run) {
    KERNELS_TRY(kernels_git_read(run->options->kernel_dir, (const char *const *)run->sources.items, run->sources.count,
                                 &run->git, run->error));
    KERNELS_TRY(kernels_paths_digest(&run->sources, run->source_dir, run->source_digest, run->error));
    bool dirty = run->git.dirty || run->git.is_untracked;
    if (run->git.found) {
        kernels_build_id_from_git(&run->git, KERNELS_BUILD_ID_COMMIT, dirty, run->unique_id);
    } else {
        kernels_build_id_from_digest(run->source_digest, run->unique_id);
        say(run, KERNELS_BUILD_WARNING, "%s: the unique id comes from the sources, and no provenance is recorded",
            run->git.reason);
    }
    return KERNELS_OK;
}

static kernels_status generate(engine *run) {
    kernels_file_set files = {0};
    kernels_provenance provenance = {.builder_version = kernels_library_version()};
    if (run->git.found) {
        provenance.kernel = (kernels_git_status){run->git.commit, run->git.dirty || run->git.is_untracked};
    }
    kernels_status status = kernels_project_make(&run->build, run->unique_id, &provenance, &files, run->error);
    status = status ? status : kernels_file_set_write(&files, run->source_dir, run->error);
    kernels_file_set_dispose(&files);
    return status;
}

static kernels_status check_sources(engine *run) {
    bool for_tpu = false;
    for (size_t i = 0; i < run->plan.count; i++) {
        for_tpu |= run->plan.variants[i].backend == KERNELS_BACKEND_TPU;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer warnings = KERNELS_BUFFER_INIT(WARNINGS_LIMIT);
    KERNELS_TRY(kernels_sources_check_layout(run->source_dir, &run->build, run->error));
    kernels_status status =
        kernels_registration_check(run->source_dir, run->python_name, for_tpu, &warnings, run->error);
    warn_lines(run, &warnings);
    return status;
}

static kernels_status prepare_sources(engine *run) {
    KERNELS_TRY(kernels_paths_copy(&run->sources, run->options->kernel_dir, run->source_dir, 0, run->error));
    KERNELS_TRY(check_sources(run));
    KERNELS_TRY(identify(run));
    return generate(run);
}

/* ---- variants ---- */

static void record_sources(engine *run, kernels_variant_report *report) {
    kernels_report_check(report, "layout", KERNELS_CHECK_PASSED, NULL);
    kernels_report_check(report, "registration", KERNELS_CHECK_PASSED, NULL);
    if (!run->git.found) {
        kernels_report_reason(report, "the sources are not in a git repository");
    } else if (run->git.dirty || run->git.is_untracked) {
        kernels_report_reason(report, "the sources differ from the commit");
    }
}

static kernels_status write_log(const engine *run, const kernels_variant_log *log, char **path) {
    KERNELS_CLEANUP_FREE char *directory = kernels_path_join(run->store, "log");
    char name[KERNELS_VARIANT_NAME_MAX * 2 + 8];
    snprintf(name, sizeof name, "%s-%s.log", run->build.name, log->variant);
    *path = directory ? kernels_path_join(directory, name) : NULL;
    if (!*path) {
        return KERNELS_NO_MEMORY;
    }
    KERNELS_TRY(kernels_make_directories(directory, NULL));
    return kernels_file_write(*path, kernels_buffer_view(&log->text), 0, NULL);
}

/* A log that cannot be written is no reason to fail; the message just does not name it. */
static kernels_status finish_log(engine *run, kernels_variant_build *job, kernels_status status) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    bool written = write_log(run, job->log, &path) == KERNELS_OK;
    if (!status) {
        return KERNELS_OK;
    }
    kernels_view tail = run->options->stream_logs ? (kernels_view){0} : kernels_variant_log_tail(job->log);
    return kernels_wrap(run->error, status, "%s: step %s failed%s%s%s%.*s", job->variant.name, job->step,
                        written ? ", log: " : "", written ? path : "", tail.size ? "\n" : "",
                        KERNELS_VIEW_ARGS(kernels_view_trim_ascii(tail)));
}

static void stream_line(void *payload, const char *line) {
    const engine *run = payload;
    run->options->message(run->options->payload, KERNELS_BUILD_LOG, line);
}

static kernels_status build_variant(engine *run, size_t index) {
    kernels_planned_variant variant = run->plan.variants[index];
    KERNELS_CLEANUP_FREE char *directory = kernels_path_join(run->bundle_dir, variant.name);
    kernels_variant_log log;
    if (!directory) {
        return kernels_fail_no_memory(run->error);
    }
    say(run, KERNELS_BUILD_PROGRESS, "Building %s %s", run->build.name, variant.name);
    kernels_variant_log_init(&log, variant.name);
    if (run->options->stream_logs && run->options->message) {
        log.stream = stream_line;
        log.payload = run;
    }
    kernels_variant_report *report = &run->report.variants[run->report.variant_count++];
    report->name = variant.name;
    record_sources(run, report);
    kernels_variant_build job = {.options = run->options,
                                 .build = &run->build,
                                 .source_dir = run->source_dir,
                                 .variant_dir = directory,
                                 .variant = variant,
                                 .report = report,
                                 .log = &log,
                                 .step = "start"};
    kernels_status status = finish_log(run, &job, kernels_variant_build_run(&job, run->error));
    kernels_variant_log_dispose(&log);
    return status;
}

/* ---- the bundle ---- */

static kernels_status add_benchmarks(engine *run) {
    KERNELS_CLEANUP_FREE char *from = kernels_path_join(run->options->kernel_dir, "benchmarks");
    KERNELS_CLEANUP_FREE char *to = kernels_path_join(run->bundle_dir, "benchmarks");
    kernels_paths all = {0}, wanted = {0};
    if (!from || !to || !kernels_file_is_directory(from)) {
        return from && to ? KERNELS_OK : kernels_fail_no_memory(run->error);
    }
    kernels_status status = kernels_paths_list(from, &all, run->error);
    for (size_t i = 0; i < all.count && !status; i++) {
        if (!strstr(all.items[i], "__pycache__")) {
            status = kernels_paths_add(&wanted, all.items[i], run->error);
        }
    }
    status = status ? status : kernels_paths_copy(&wanted, from, to, 0, run->error);
    kernels_paths_dispose(&all);
    kernels_paths_dispose(&wanted);
    return status;
}

static kernels_status add_card(engine *run) {
    KERNELS_CLEANUP_FREE char *from = kernels_path_join(run->options->kernel_dir, "CARD.md");
    KERNELS_CLEANUP_FREE char *to = kernels_path_join(run->bundle_dir, "CARD.md");
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer card = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    if (!from || !to || !kernels_file_exists(from)) {
        return from && to ? KERNELS_OK : kernels_fail_no_memory(run->error);
    }
    if (!run->build.hub_repo_id) {
        say(run, KERNELS_BUILD_WARNING, "no card: build.toml has no general.hub.repo-id to fill into CARD.md");
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_card_render(run->options->kernel_dir, &run->build, &card, run->error));
    return kernels_file_write(to, kernels_buffer_view(&card), 0, run->error);
}

static kernels_status seal_bundle(engine *run) {
    kernels_paths files = {0};
    kernels_status status = kernels_paths_list(run->bundle_dir, &files, run->error);
    status = status ? status : kernels_paths_digest(&files, run->bundle_dir, run->bundle_digest, run->error);
    status = status ? status : kernels_paths_seal(&files, run->bundle_dir, run->error);
    kernels_paths_dispose(&files);
    return status;
}

static kernels_status digest_bundle(const char *directory, char hex[KERNELS_DIGEST_HEX_SIZE]) {
    kernels_paths files = {0};
    kernels_status status = kernels_paths_list(directory, &files, NULL);
    status = status ? status : kernels_paths_digest(&files, directory, hex, NULL);
    kernels_paths_dispose(&files);
    return status;
}

/* Moves the bundle to its place. One of the same digest that is there and whole is kept. */
static kernels_status place_bundle(engine *run, const char *home, const char *final) {
    char present[KERNELS_DIGEST_HEX_SIZE] = "";
    KERNELS_TRY(kernels_make_directories(home, run->error));
    if (kernels_file_is_directory(final) && !digest_bundle(final, present) &&
        strcmp(present, run->bundle_digest) == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_remove_tree(final, run->error));
    return kernels_rename(run->bundle_dir, final, run->error);
}

static kernels_status write_report(engine *run, const char *home) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(home, KERNELS_REPORT_NAME);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_REPORT_SIZE_LIMIT);
    run->report.kernel = run->build.name;
    run->report.version = run->build.version;
    run->report.unique_id = run->unique_id;
    run->report.source_digest = run->source_digest;
    run->report.bundle_digest = run->bundle_digest;
    kernels_report_print(&run->report, &text);
    KERNELS_TRY(kernels_buffer_status(&text, run->error));
    return path ? kernels_file_write(path, kernels_buffer_view(&text), 0, run->error)
                : kernels_fail_no_memory(run->error);
}

static kernels_status publish_result(engine *run, char **result_dir) {
    KERNELS_TRY(add_benchmarks(run));
    KERNELS_TRY(add_card(run));
    KERNELS_TRY(seal_bundle(run));
    KERNELS_CLEANUP_FREE char *home = kernels_path_join3(run->store, "out", run->bundle_digest);
    KERNELS_CLEANUP_FREE char *final = home ? kernels_path_join(home, "bundle") : NULL;
    KERNELS_CLEANUP_FREE char *link = kernels_path_join(run->options->kernel_dir, "result");
    if (!final || !link) {
        return kernels_fail_no_memory(run->error);
    }
    KERNELS_TRY(place_bundle(run, home, final));
    KERNELS_TRY(write_report(run, home));
    KERNELS_TRY(kernels_make_link(final, link, run->error));
    *result_dir = final;
    final = NULL;
    return KERNELS_OK;
}

/* ---- the whole ---- */

static kernels_status make_scratch(engine *run) {
    KERNELS_CLEANUP_FREE char *given = NULL;
    KERNELS_TRY(kernels_store_directory(run->options->store, &given, run->error));
    run->store = kernels_path_absolute(given); /* the link must not depend on the current folder */
    KERNELS_TRY(run->store ? kernels_scratch_new(run->store, &run->scratch, run->error)
                           : kernels_fail_no_memory(run->error));
    run->source_dir = kernels_path_join(run->scratch, "src");
    run->bundle_dir = kernels_path_join(run->scratch, "bundle");
    if (!run->source_dir || !run->bundle_dir) {
        return kernels_fail_no_memory(run->error);
    }
    return kernels_make_directory(run->bundle_dir, run->error);
}

static kernels_status run_all(engine *run, char **result_dir) {
    KERNELS_TRY(read_build(run));
    KERNELS_TRY(make_plan(run));
    KERNELS_TRY(check_result_link(run));
    KERNELS_TRY(kernels_sources_select(run->options->kernel_dir, &run->build, &run->sources, run->error));
    KERNELS_TRY(make_scratch(run));
    KERNELS_TRY(prepare_sources(run));
    for (size_t i = 0; i < run->plan.count; i++) {
        KERNELS_TRY(build_variant(run, i));
    }
    return publish_result(run, result_dir);
}

kernels_status kernels_builder_build(const kernels_builder_options *options, char **result_dir, kernels_error *error) {
    engine run = {.options = options, .error = error};
    kernels_status status = run_all(&run, result_dir);
    if (run.scratch) {
        (void)kernels_remove_tree(run.scratch, NULL);
    }
    kernels_report_dispose(&run.report);
    kernels_paths_dispose(&run.sources);
    kernels_build_dispose(&run.build);
    kernels_free(run.python_name);
    kernels_free(run.store);
    kernels_free(run.scratch);
    kernels_free(run.source_dir);
    kernels_free(run.bundle_dir);
    return status;
}

/* ---- build-and-copy ---- */

static kernels_status copy_entry(const kernels_entry *entry, const char *from, const char *to, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *source = kernels_path_join(from, entry->path);
    KERNELS_CLEANUP_FREE char *target = kernels_path_join(to, entry->path);
    kernels_paths files = {0};
    if (!source || !target) {
        return kernels_fail_no_memory(error);
    }
    if (entry->type != KERNELS_ENTRY_DIRECTORY) {
        return kernels_file_copy(source, target, 0644, error);
    }
    KERNELS_TRY(kernels_remove_tree(target, error));
    kernels_status status = kernels_paths_list(source, &files, error);
    status = status ? status : kernels_paths_copy(&files, source, target, 0644, error);
    kernels_paths_dispose(&files);
    return status;
}

kernels_status kernels_builder_copy_result(const char *result_dir, const char *kernel_dir, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *target = kernels_path_join(kernel_dir, "build");
    kernels_listing listing;
    KERNELS_TRY(target ? kernels_make_directories(target, error) : kernels_fail_no_memory(error));
    KERNELS_TRY(kernels_list(result_dir, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        status = copy_entry(&listing.entries[i], result_dir, target, error);
    }
    kernels_listing_dispose(&listing);
    return status;
}
