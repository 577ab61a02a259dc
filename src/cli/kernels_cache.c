/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels cache`: what the cache holds of kernels, whether it is intact, and removing what nobody needs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/view.h"
#include "cli/kernels_commands.h"
#include "cli/size_text.h"
#include "hub/cache_scan.h"

#define SECONDS_PER_MINUTE 60

typedef struct cache_run {
    kernels_terminal *terminal;
    const kernels_arguments *arguments;
    kernels_hub *hub;
    const char *cache;
    bool json;
    kernels_buffer out;
    kernels_json_writer writer;
    kernels_cache_check check;
    kernels_cache_pruning pruning;
} cache_run;

typedef kernels_status repository_function(cache_run *run, kernels_scanned_repository *repository,
                                           kernels_error *error);

/* ---- each kernel ---- */

static kernels_status for_one(cache_run *run, const char *repo_id, repository_function *function,
                              kernels_error *error) {
    kernels_scanned_repository repository;
    KERNELS_TRY(kernels_scan_repository(run->cache, repo_id, &repository, error));
    kernels_status status = function(run, &repository, error);
    kernels_scanned_repository_dispose(&repository);
    return status;
}

/* Those named on the command line, else all. */
static kernels_status for_each(cache_run *run, repository_function *function, kernels_error *error) {
    size_t named = kernels_arguments_positional_count(run->arguments);
    for (size_t i = 0; i < named; i++) {
        KERNELS_TRY(for_one(run, kernels_arguments_positional(run->arguments, i), function, error));
    }
    if (named > 0) {
        return KERNELS_OK;
    }
    char **names = NULL;
    size_t count = 0;
    KERNELS_TRY(kernels_scan_names(run->cache, &names, &count, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < count && status == KERNELS_OK; i++) {
        status = for_one(run, names[i], function, error);
    }
    kernels_scan_names_free(names, count);
    return status;
}

static void key_number(cache_run *run, const char *key, uint64_t value) {
    kernels_json_key(&run->writer, key);
    kernels_json_unsigned(&run->writer, value);
}

static void key_text(cache_run *run, const char *key, const char *value) {
    kernels_json_key(&run->writer, key);
    kernels_json_text(&run->writer, value);
}

/* ---- ls ---- */

static void write_refs(cache_run *run, const kernels_scanned_repository *r, const char *commit) {
    kernels_json_key(&run->writer, "refs");
    kernels_json_begin_array(&run->writer);
    for (size_t i = 0; i < r->ref_count; i++) {
        if (!r->refs[i].is_temporary && strcmp(r->refs[i].commit, commit) == 0) {
            kernels_json_text(&run->writer, r->refs[i].name);
        }
    }
    kernels_json_end_array(&run->writer);
}

static void write_snapshot(cache_run *run, const kernels_scanned_repository *r,
                           const kernels_scanned_snapshot *snapshot) {
    kernels_json_begin_object(&run->writer);
    key_text(run, "commit", snapshot->commit);
    write_refs(run, r, snapshot->commit);
    kernels_json_key(&run->writer, "variants");
    kernels_json_begin_array(&run->writer);
    for (size_t i = 0; i < snapshot->variant_count; i++) {
        kernels_json_text(&run->writer, snapshot->variants[i]);
    }
    kernels_json_end_array(&run->writer);
    key_number(run, "files", snapshot->file_count);
    key_number(run, "bytes", snapshot->bytes);
    kernels_json_key(&run->writer, "modified");
    kernels_json_signed(&run->writer, snapshot->modified);
    key_text(run, "path", snapshot->path);
    kernels_json_end_object(&run->writer);
}

static void print_snapshot(cache_run *run, const kernels_scanned_repository *r,
                           const kernels_scanned_snapshot *snapshot) {
    char size[KERNELS_SIZE_TEXT];
    kernels_size_text(size, snapshot->bytes);
    kernels_buffer_printf(&run->out, "  %.12s", snapshot->commit);
    for (size_t i = 0; i < r->ref_count; i++) {
        if (!r->refs[i].is_temporary && strcmp(r->refs[i].commit, snapshot->commit) == 0) {
            kernels_buffer_printf(&run->out, " %s", r->refs[i].name);
        }
    }
    kernels_buffer_printf(&run->out, "  %zu files, %s", snapshot->file_count, size);
    for (size_t i = 0; i < snapshot->variant_count; i++) {
        kernels_buffer_printf(&run->out, "%s%s", i == 0 ? ": " : ", ", snapshot->variants[i]);
    }
    kernels_buffer_add_char(&run->out, '\n');
}

static kernels_status list_one(cache_run *run, kernels_scanned_repository *r, kernels_error *error) {
    (void)error;
    if (!run->json) {
        char size[KERNELS_SIZE_TEXT];
        kernels_size_text(size, r->bytes);
        kernels_buffer_printf(&run->out, "%s  %s\n", r->repo_id, size);
        for (size_t i = 0; i < r->snapshot_count; i++) {
            print_snapshot(run, r, &r->snapshots[i]);
        }
        return KERNELS_OK;
    }
    kernels_json_begin_object(&run->writer);
    key_text(run, "repo_id", r->repo_id);
    key_text(run, "path", r->path);
    key_number(run, "bytes", r->bytes);
    kernels_json_key(&run->writer, "snapshots");
    kernels_json_begin_array(&run->writer);
    for (size_t i = 0; i < r->snapshot_count; i++) {
        write_snapshot(run, r, &r->snapshots[i]);
    }
    kernels_json_end_array(&run->writer);
    kernels_json_end_object(&run->writer);
    return KERNELS_OK;
}

static kernels_status list(cache_run *run, kernels_error *error) {
    kernels_json_begin_array(&run->writer);
    KERNELS_TRY(for_each(run, list_one, error));
    kernels_json_end_array(&run->writer);
    return KERNELS_OK;
}

/* ---- verify ---- */

static void note_problem(void *payload, const char *repo_id, const char *path, const char *text) {
    cache_run *run = payload;
    if (!run->json) {
        kernels_buffer_printf(&run->out, "%s: %s: %s\n", repo_id, path, text);
        return;
    }
    kernels_json_begin_object(&run->writer);
    key_text(run, "repo_id", repo_id);
    key_text(run, "path", path);
    key_text(run, "problem", text);
    kernels_json_end_object(&run->writer);
}

static void show_progress(void *payload, const char *file, uint64_t done, uint64_t total) {
    const cache_run *run = payload;
    kernels_terminal_progress(run->terminal, file, done, total);
}

static bool is_cancelled(void *payload) {
    const cache_run *run = payload;
    return kernels_terminal_cancelled(run->terminal);
}

static kernels_status verify_one(cache_run *run, kernels_scanned_repository *r, kernels_error *error) {
    return kernels_cache_verify(r, &run->check, error);
}

static kernels_status verify(cache_run *run, kernels_error *error) {
    kernels_cache_check *check = &run->check;
    *check = (kernels_cache_check){
        .problem = note_problem, .progress = show_progress, .cancelled = is_cancelled, .payload = run};
    run->terminal->work = "Checking";
    kernels_json_begin_object(&run->writer);
    kernels_json_key(&run->writer, "problems");
    kernels_json_begin_array(&run->writer);
    KERNELS_TRY(for_each(run, verify_one, error));
    kernels_json_end_array(&run->writer);
    key_number(run, "files", check->files);
    key_number(run, "bytes", check->bytes);
    key_number(run, "unchecked", check->unchecked);
    kernels_json_end_object(&run->writer);
    if (!run->json) {
        char size[KERNELS_SIZE_TEXT];
        kernels_size_text(size, check->bytes);
        kernels_buffer_printf(&run->out, "%" PRIu64 " files, %s: %zu problems", check->files, size, check->problems);
        if (check->unchecked > 0) {
            kernels_buffer_printf(&run->out, "; %zu files have no id to compare with", check->unchecked);
        }
        kernels_buffer_add_char(&run->out, '\n');
    }
    return KERNELS_OK;
}

/* ---- prune ---- */

static void note_removed(void *payload, const char *repo_id, const char *path, uint64_t bytes, const char *reason) {
    cache_run *run = payload;
    if (!run->json) {
        char size[KERNELS_SIZE_TEXT];
        kernels_size_text(size, bytes);
        kernels_buffer_printf(&run->out, "%s: %s (%s): %s\n", repo_id, path, size, reason);
        return;
    }
    kernels_json_begin_object(&run->writer);
    key_text(run, "repo_id", repo_id);
    key_text(run, "path", path);
    key_number(run, "bytes", bytes);
    key_text(run, "reason", reason);
    kernels_json_end_object(&run->writer);
}

static kernels_status prune_one(cache_run *run, kernels_scanned_repository *r, kernels_error *error) {
    return kernels_cache_prune(run->cache, r, &run->pruning, error);
}

static kernels_status prune(cache_run *run, kernels_error *error) {
    int64_t minutes = kernels_arguments_integer(run->arguments, "older-than", 60);
    run->pruning = (kernels_cache_pruning){.dry_run = kernels_arguments_flag(run->arguments, "dry-run"),
                                           .detached = kernels_arguments_flag(run->arguments, "detached"),
                                           .min_age = (uint64_t)minutes * SECONDS_PER_MINUTE,
                                           .removed = note_removed,
                                           .payload = run};
    kernels_json_begin_object(&run->writer);
    kernels_json_key(&run->writer, "removed");
    kernels_json_begin_array(&run->writer);
    KERNELS_TRY(for_each(run, prune_one, error));
    kernels_json_end_array(&run->writer);
    key_number(run, "bytes", run->pruning.bytes);
    kernels_json_key(&run->writer, "dry_run");
    kernels_json_boolean(&run->writer, run->pruning.dry_run);
    kernels_json_end_object(&run->writer);
    if (!run->json) {
        char size[KERNELS_SIZE_TEXT];
        kernels_size_text(size, run->pruning.bytes);
        if (run->pruning.count == 0) {
            kernels_buffer_add_text(&run->out, "nothing to remove\n");
        } else {
            kernels_buffer_printf(&run->out, "%zu %s, %s %s\n", run->pruning.count,
                                  run->pruning.count == 1 ? "entry" : "entries", size,
                                  run->pruning.dry_run ? "would be removed" : "removed");
        }
    }
    return KERNELS_OK;
}

/* ---- the commands ---- */

static int run_on_cache(const kernels_arguments *arguments, void *payload,
                        kernels_status (*work)(cache_run *run, kernels_error *error)) {
    cache_run run = {.terminal = payload,
                     .arguments = arguments,
                     .json = kernels_arguments_flag(arguments, "json"),
                     .out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT)};
    kernels_buffer ignored = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_terminal_hold_signals();
    kernels_status status =
        kernels_hub_new(&(kernels_hub_options){.no_token = true, .offline = true}, &run.hub, &error);
    kernels_json_writer_init(&run.writer, run.json ? &run.out : &ignored, 2, true);
    if (status == KERNELS_OK) {
        run.cache = kernels_hub_cache_directory(run.hub);
        status = work(&run, &error);
    }
    if (run.json) {
        kernels_buffer_add_char(&run.out, '\n');
    }
    status = status == KERNELS_OK ? kernels_buffer_status(&run.out, &error) : status;
    int code = status == KERNELS_OK ? kernels_terminal_print(run.terminal, kernels_buffer_view(&run.out))
                                    : kernels_terminal_fail(run.terminal, &error);
    kernels_error_dispose(&error);
    kernels_hub_free(run.hub);
    kernels_buffer_dispose(&ignored);
    kernels_buffer_dispose(&run.out);
    kernels_terminal_release_signals();
    return code != KERNELS_EXIT_OK ? code : run.check.problems > 0 ? KERNELS_EXIT_FAILURE : KERNELS_EXIT_OK;
}

static int run_list(const kernels_arguments *arguments, void *payload) {
    return run_on_cache(arguments, payload, list);
}

static int run_verify(const kernels_arguments *arguments, void *payload) {
    return run_on_cache(arguments, payload, verify);
}

static int run_prune(const kernels_arguments *arguments, void *payload) {
    return run_on_cache(arguments, payload, prune);
}

#define JSON_OPTION \
    { .name = "json", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "Print JSON." }

static const kernels_option plain_options[] = {JSON_OPTION, {0}};

static const kernels_option prune_options[] = {
    {.name = "dry-run", .type = KERNELS_OPTION_FLAG, .exact_name = true, .help = "Say what would go, remove nothing."},
    {.name = "detached",
     .type = KERNELS_OPTION_FLAG,
     .exact_name = true,
     .help = "Remove commits too that no version or branch in the cache names; kernels of lock files are such."},
    {.name = "older-than",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "MINUTES",
     .maximum = 60 * 24 * 365,
     .exact_name = true,
     .help = "Leave alone what is younger, since a download may be at it (default 60)."},
    JSON_OPTION,
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "REPO_ID", .help = "Only these kernels (default: all).", .repeatable = true},
    {0},
};

static const kernels_command list_command = {
    .name = "ls",
    .summary = "List the kernels in the cache, their commits and variants.",
    .options = plain_options,
    .positionals = positionals,
    .run = run_list,
};

static const kernels_command verify_command = {
    .name = "verify",
    .summary = "Hash every cached file and compare it with its id.",
    .description = "Nothing is changed. The exit code is 1 if there is a problem.",
    .options = plain_options,
    .positionals = positionals,
    .run = run_verify,
};

static const kernels_command prune_command = {
    .name = "prune",
    .summary = "Remove what no snapshot needs: remains of downloads that died, content without links.",
    .options = prune_options,
    .positionals = positionals,
    .run = run_prune,
};

static const kernels_command *const subcommands[] = {&list_command, &verify_command, &prune_command, NULL};

const kernels_command kernels_command_cache = {
    .name = "cache",
    .summary = "Look at the cache of kernels, check it, clear it up.",
    .description = "The cache is shared with the other tools of the Hub; only kernels are looked at and touched.",
    .examples = "kernels cache ls\nkernels cache verify kernels-community/relu\nkernels cache prune --dry-run\n",
    .subcommands = subcommands,
};
