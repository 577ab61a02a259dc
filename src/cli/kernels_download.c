/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels download`: the kernels of a project's kernels.lock, or one kernel with all that it depends on, into the
 * cache or into a folder that is carried elsewhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "cli/context.h"
#include "cli/kernels_commands.h"
#include "cli/size_text.h"
#include "load/obtain.h"

#define LOCK_NAME "kernels.lock"

typedef struct download_run {
    kernels_terminal *terminal;
    kernels_context *context;
    const char *what; /* project folder, or repository */
    const char *revision, *folder, *system_file;
    bool has_version, all_variants, json, quiet;
    uint64_t version;
    const kernels_dependency *dependency; /* of the lock entry at hand */
    kernels_buffer out;
    kernels_json_writer writer;
    size_t kernels, files, failures;
    uint64_t bytes;
} download_run;

/* ---- telling ---- */

static void tell_begin(void *payload, const char *repo_id, const char *commit) {
    download_run *run = payload;
    if (!run->quiet) {
        kernels_terminal_end_progress(run->terminal);
        (void)fprintf(stderr, "Downloading kernel: %s (revision: %s)\n", repo_id, commit);
    }
}

static void write_asked_for(download_run *run) {
    if (run->dependency == NULL) {
        return;
    }
    if (run->dependency->revision != NULL) {
        kernels_json_key(&run->writer, "revision");
        kernels_json_text(&run->writer, run->dependency->revision);
    } else {
        kernels_json_key(&run->writer, "version");
        kernels_json_unsigned(&run->writer, run->dependency->version);
    }
}

static void begin_entry(download_run *run, const char *repo_id, const char *commit) {
    kernels_json_begin_object(&run->writer);
    kernels_json_key(&run->writer, "repo_id");
    kernels_json_text(&run->writer, repo_id);
    write_asked_for(run);
    kernels_json_key(&run->writer, "commit");
    kernels_json_text(&run->writer, commit);
}

static void tell_done(void *payload, const kernels_obtained *obtained) {
    download_run *run = payload;
    run->kernels++;
    run->files += obtained->files;
    run->bytes += obtained->bytes;
    if (!run->json) {
        return;
    }
    begin_entry(run, obtained->repo_id, obtained->commit);
    kernels_json_key(&run->writer, "path");
    kernels_json_text(&run->writer, obtained->snapshot);
    kernels_json_key(&run->writer, "variants");
    kernels_json_begin_array(&run->writer);
    for (size_t i = 0; i < obtained->variant_count; i++) {
        kernels_json_text(&run->writer, obtained->variants[i]);
    }
    kernels_json_end_array(&run->writer);
    kernels_json_key(&run->writer, "files");
    kernels_json_unsigned(&run->writer, obtained->files);
    kernels_json_key(&run->writer, "bytes");
    kernels_json_unsigned(&run->writer, obtained->bytes);
    kernels_json_key(&run->writer, "error");
    kernels_json_null(&run->writer);
    kernels_json_end_object(&run->writer);
}

static void tell_failure(download_run *run, const char *repo_id, const char *commit, kernels_error *error) {
    run->failures++;
    kernels_terminal_error(run->terminal, error);
    if (run->json) {
        begin_entry(run, repo_id, commit);
        kernels_json_key(&run->writer, "error");
        kernels_json_text(&run->writer, kernels_error_message(error));
        kernels_json_end_object(&run->writer);
    }
    kernels_error_dispose(error);
}

static void tell_summary(download_run *run) {
    uint64_t fetched_files, fetched_bytes;
    char all[KERNELS_SIZE_TEXT], fetched[KERNELS_SIZE_TEXT];
    if (!run->terminal->is_terminal || run->quiet || run->kernels == 0) {
        return;
    }
    kernels_hub_fetched(run->context->hub, &fetched_files, &fetched_bytes);
    kernels_size_text(all, run->bytes);
    kernels_size_text(fetched, fetched_bytes);
    kernels_terminal_end_progress(run->terminal);
    (void)fprintf(stderr, "%zu %s, %zu files, %s; ", run->kernels, run->kernels == 1 ? "kernel" : "kernels", run->files,
                  all);
    if (fetched_files == 0) {
        (void)fputs("all were cached\n", stderr);
    } else if (fetched_files >= run->files) {
        (void)fputs("all fetched\n", stderr);
    } else {
        (void)fprintf(stderr, "%" PRIu64 " files (%s) fetched, the others were cached\n", fetched_files, fetched);
    }
}

/* ---- a project ---- */

/* What is wrong with one repository does not stop the others; what is wrong with us does. */
static bool stops_all(kernels_status status) {
    switch (status) {
    case KERNELS_INTERRUPTED:
    case KERNELS_NO_MEMORY:
    case KERNELS_NO_SPACE:
    case KERNELS_IO:
    case KERNELS_NETWORK:
    case KERNELS_OFFLINE:
    case KERNELS_MISSING_DEPENDENCY:
        return true;
    default:
        return false;
    }
}

/* In a folder that is carried elsewhere the version must be found without the Hub. */
static const char *ref_of(const download_run *run, const kernels_locks *locks, const kernels_lock *lock, char *text,
                          size_t size) {
    if (run->folder == NULL || locks->older) {
        return NULL;
    }
    if (lock->dependency.revision != NULL) {
        return kernels_view_is_hex(kernels_view_of(lock->dependency.revision), 40) ? NULL : lock->dependency.revision;
    }
    (void)snprintf(text, size, "v%" PRIu64, lock->dependency.version);
    return text;
}

static kernels_status obtain_locked(download_run *run, const kernels_locks *locks, const kernels_lock *lock,
                                    kernels_error *error) {
    char ref[32];
    const kernels_obtain_options options = {.all_variants = run->all_variants,
                                            .ref = ref_of(run, locks, lock, ref, sizeof ref),
                                            .done = tell_done,
                                            .payload = run};
    const char *repo_id = lock->dependency.repo_id;
    kernels_error failure = KERNELS_ERROR_INIT;
    run->dependency = locks->older ? NULL : &lock->dependency;
    tell_begin(run, repo_id, lock->commit);
    kernels_status status = kernels_obtain(run->context, repo_id, 0, lock->commit, &options, &failure);
    if (status == KERNELS_OK || stops_all(status)) {
        kernels_error_move(error, &failure);
        return status;
    }
    tell_failure(run, repo_id, lock->commit, &failure);
    return KERNELS_OK;
}

static kernels_status obtain_project(download_run *run, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(run->what, LOCK_NAME);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_ENTRY_NOT_FOUND, "No kernels.lock file found in: %s", run->what);
    }
    kernels_locks locks = {0};
    KERNELS_TRY(kernels_locks_read(path, &locks, error));
    if (locks.older) {
        kernels_terminal_warning(run->terminal, "kernels.lock was written by kernels < 0.17, run `kernels lock` again");
    }
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < locks.count && status == KERNELS_OK; i++) {
        status = obtain_locked(run, &locks, &locks.items[i], error);
    }
    kernels_locks_dispose(&locks);
    return status;
}

/* ---- a repository ---- */

static kernels_status obtain_repository(download_run *run, kernels_error *error) {
    const kernels_obtain_options options = {.all_variants = run->all_variants,
                                            .dependencies = true,
                                            .begin = tell_begin,
                                            .done = tell_done,
                                            .payload = run};
    return kernels_obtain(run->context, run->what, run->version, run->revision, &options, error);
}

/* ---- the command ---- */

static int finish(download_run *run, kernels_status status, kernels_error *error) {
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(run->terminal, error);
    }
    tell_summary(run);
    if (run->json) {
        kernels_json_end_array(&run->writer);
        kernels_buffer_add_char(&run->out, '\n');
        int code = kernels_terminal_print(run->terminal, kernels_buffer_view(&run->out));
        return code != KERNELS_EXIT_OK ? code : run->failures > 0 ? KERNELS_EXIT_FAILURE : KERNELS_EXIT_OK;
    }
    return run->failures > 0 ? KERNELS_EXIT_FAILURE : KERNELS_EXIT_OK;
}

static int obtain(download_run *run) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status =
        kernels_terminal_context_new_for(run->terminal, run->system_file, run->folder, &run->context, &error);
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(run->terminal, &error);
    }
    kernels_json_writer_init(&run->writer, &run->out, 2, true);
    kernels_json_begin_array(&run->writer);
    status = run->has_version || run->revision != NULL ? obtain_repository(run, &error) : obtain_project(run, &error);
    int code = finish(run, status, &error);
    kernels_error_dispose(&error);
    kernels_terminal_context_free(run->terminal, run->context);
    return code;
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    int64_t version = kernels_arguments_integer(arguments, "version", 0);
    download_run run = {.terminal = payload,
                        .what = kernels_arguments_positional(arguments, 0),
                        .revision = kernels_arguments_text(arguments, "revision"),
                        .folder = kernels_arguments_text(arguments, "to"),
                        .system_file = kernels_arguments_text(arguments, "system"),
                        .has_version = kernels_arguments_given(arguments, "version"),
                        .version = (uint64_t)version,
                        .all_variants = kernels_arguments_flag(arguments, "all-variants"),
                        .json = kernels_arguments_flag(arguments, "json"),
                        .quiet = kernels_arguments_flag(arguments, "quiet"),
                        .out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT)};
    if (run.has_version && run.revision != NULL) {
        return kernels_terminal_failure(run.terminal, "Only one of --revision or --version can be specified");
    }
    if (run.folder != NULL && run.folder[0] == '\0') {
        return kernels_terminal_failure(run.terminal, "--to names no folder: it is empty");
    }
    run.terminal->remedy_for = KERNELS_NO_VARIANT;
    run.terminal->remedy = "For another machine, pass --all-variants, or its description with --system FILE.";
    bool of_lock = !run.has_version && run.revision == NULL; /* the released program prints one line a kernel */
    run.terminal->progress = run.quiet ? KERNELS_PROGRESS_NONE
                             : of_lock ? KERNELS_PROGRESS_BARS
                                       : KERNELS_PROGRESS_FILES;
    int code = obtain(&run);
    kernels_buffer_dispose(&run.out);
    return code;
}

static const kernels_option options[] = {
    {.name = "all-variants",
     .type = KERNELS_OPTION_FLAG,
     .help = "All build variants, not only the one that fits this machine best."},
    {.name = "version",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "N",
     .maximum = INT64_MAX,
     .exact_name = true,
     .help = "WHAT is a repository: this version of it, and all that it depends on."},
    {.name = "revision",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "REVISION",
     .exact_name = true,
     .help = "WHAT is a repository: this branch, tag or commit of it, and all that it depends on."},
    {.name = "to",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "DIR",
     .exact_name = true,
     .help = "Fill this folder instead of the cache. On a machine without network set KERNELS_CACHE to it and "
             "HF_HUB_OFFLINE=1."},
    KERNELS_OPTION_SYSTEM,
    {.name = "json",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Print a JSON list of what was obtained."},
    {.name = "quiet", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "No progress and no list of files."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "WHAT",
     .help = "Folder of a project with a kernels.lock; with --version or --revision a repository OWNER/NAME.",
     .required = true},
    {0},
};

const kernels_command kernels_command_download = {
    .name = "download",
    .summary = "Download the kernels that a project has locked, or one kernel, without running anything.",
    .description =
        "Every file is compared with its id while it comes in, every variant with its digest. What the cache has is\n"
        "not fetched again. A kernel without a fitting variant, or one that is gone, does not stop the others; the "
        "exit\n"
        "code is then 1.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels download my-project\n"
                "kernels download kernels-community/relu --version 1\n"
                "kernels download my-project --all-variants --to /media/stick/kernels\n",
    .run = run_command,
};
