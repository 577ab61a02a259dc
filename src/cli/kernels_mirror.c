/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels mirror`: a program of its own, so that `kernels` does not load libgit2. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "cli/mirror_options.h"
#include "cli/terminal.h"
#include "server/mirror.h"

/* Named on the command line and found as dependencies. */
#define REPOSITORIES_LIMIT ((size_t)10000)

typedef struct source {
    const char *endpoint; /* NULL: that of the environment */
    const char *repo_id;
} source;

typedef struct mirror_run {
    kernels_terminal *terminal;
    kernels_store *store;
    char *cache;
    kernels_repository_type type;
    bool with_dependencies;
    kernels_arena *arena;
    source *sources; /* done and to be done */
    size_t count, capacity;
    const char *endpoint; /* of the one at work */
    kernels_status failure;
} mirror_run;

/* ---- the list ---- */

static bool same_endpoint(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static kernels_status add_source(mirror_run *run, const char *endpoint, kernels_view repo_id, kernels_error *error) {
    KERNELS_TRY(kernels_repository_id_check(repo_id, error));
    for (size_t i = 0; i < run->count; i++) {
        if (same_endpoint(run->sources[i].endpoint, endpoint) &&
            kernels_view_equal_text(repo_id, run->sources[i].repo_id)) {
            return KERNELS_OK;
        }
    }
    const char *copy = kernels_arena_copy_text(run->arena, repo_id);
    if (copy == NULL ||
        !kernels_grow((void **)&run->sources, &run->capacity, run->count, sizeof *run->sources, REPOSITORIES_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    run->sources[run->count++] = (source){endpoint, copy};
    return KERNELS_OK;
}

/* "OWNER/NAME", or "https://host/OWNER/NAME" with or without "kernels/" before the owner. */
static kernels_status add_argument(mirror_run *run, const char *text, kernels_error *error) {
    kernels_view view = kernels_view_of(text);
    if (!kernels_view_contains(view, KERNELS_VIEW("://"))) {
        return add_source(run, NULL, view, error);
    }
    size_t slash = kernels_view_find_last(view, '/');
    slash = kernels_view_find_last(kernels_view_slice(view, 0, slash), '/');
    kernels_view endpoint = kernels_view_slice(view, 0, slash);
    if (kernels_view_ends_with(endpoint, KERNELS_VIEW("/kernels"))) {
        endpoint = kernels_view_slice(endpoint, 0, endpoint.size - strlen("/kernels"));
    }
    const char *copy = kernels_arena_copy_text(run->arena, endpoint);
    if (copy == NULL) {
        return kernels_fail_no_memory(error);
    }
    return add_source(run, copy, kernels_view_slice(view, slash + 1, view.size), error);
}

static void add_dependency(void *payload, const char *repo_id) {
    mirror_run *run = payload;
    if (run->with_dependencies && run->failure == KERNELS_OK) {
        run->failure = add_source(run, run->endpoint, kernels_view_of(repo_id), NULL);
    }
}

/* ---- one repository ---- */

static kernels_status open_hub(mirror_run *run, const source *from, kernels_hub **hub, kernels_error *error) {
    kernels_hub_options options = {.cache_directory = run->cache,
                                   .progress = kernels_terminal_progress,
                                   .cancelled = kernels_terminal_cancelled,
                                   .payload = run->terminal};
    KERNELS_TRY(kernels_hub_new(&options, hub, error));
    if (from->endpoint == NULL || strcmp(from->endpoint, kernels_hub_endpoint(*hub)) == 0) {
        return KERNELS_OK;
    }
    kernels_hub_free(*hub);
    options.endpoint = from->endpoint;
    options.no_token = true; /* it belongs to the hub of the environment */
    return kernels_hub_new(&options, hub, error);
}

static kernels_status mirror_one(mirror_run *run, const source *from, kernels_error *error) {
    kernels_hub *hub = NULL;
    kernels_mirror_result result;
    KERNELS_TRY(open_hub(run, from, &hub, error));
    const kernels_mirror_options options = {.store = run->store,
                                            .hub = hub,
                                            .type = run->type,
                                            .repo_id = from->repo_id,
                                            .dependency = add_dependency,
                                            .payload = run};
    run->endpoint = from->endpoint;
    kernels_status status = kernels_mirror_repository(&options, &result, error);
    kernels_hub_free(hub);
    kernels_terminal_end_progress(run->terminal);
    if (status == KERNELS_OK) {
        printf("%s: %zu references, %zu new commits, %zu new files, %llu bytes\n", from->repo_id, result.references,
               result.new_commits, result.new_files, (unsigned long long)result.new_bytes);
    }
    return status;
}

static kernels_status mirror_all(mirror_run *run, const kernels_arguments *arguments, kernels_error *error) {
    const char *directory = kernels_arguments_text(arguments, "to");
    if (directory == NULL) {
        return kernels_fail(error, KERNELS_USAGE, "say where the copy goes: --to DIR");
    }
    for (size_t i = 0; i < kernels_arguments_positional_count(arguments); i++) {
        KERNELS_TRY(add_argument(run, kernels_arguments_positional(arguments, i), error));
    }
    KERNELS_TRY(kernels_store_open(directory, &run->store, error));
    run->cache = kernels_path_join3(directory, "tmp", "mirror");
    if (run->cache == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < run->count; i++) {
        const source from = run->sources[i]; /* the list may move while it grows */
        KERNELS_TRY(mirror_one(run, &from, error));
        if (run->failure != KERNELS_OK) {
            return kernels_fail(error, run->failure, "%s depends on a kernel that cannot be named or on too many",
                                from.repo_id);
        }
    }
    return kernels_remove_tree(run->cache, error);
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    const char *type = kernels_arguments_text(arguments, "repo-type");
    mirror_run run = {.terminal = payload, .arena = kernels_arena_new(0)};
    run.type = type != NULL && strcmp(type, "model") == 0 ? KERNELS_REPOSITORY_MODEL : KERNELS_REPOSITORY_KERNEL;
    run.with_dependencies = !kernels_arguments_flag(arguments, "no-dependencies");
    kernels_terminal_hold_signals();
    kernels_status status = run.arena != NULL ? mirror_all(&run, arguments, &error) : kernels_fail_no_memory(&error);
    kernels_terminal_end_progress(run.terminal);
    kernels_store_close(run.store);
    kernels_free(run.cache);
    kernels_free(run.sources);
    kernels_arena_free(run.arena);
    int code = status == KERNELS_OK ? KERNELS_EXIT_OK : kernels_terminal_fail(run.terminal, &error);
    kernels_terminal_release_signals();
    return code;
}

static const kernels_command command = {
    .name = "mirror",
    .summary = kernels_mirror_summary,
    .description = kernels_mirror_description,
    .options = kernels_mirror_options_table,
    .positionals = kernels_mirror_positionals,
    .examples = kernels_mirror_examples,
    .run = run_command,
};

int main(int argc, char **argv) {
    static const kernels_command *const commands[] = {&command, NULL};
    const kernels_program program = {.name = "kernels mirror",
                                     .summary = kernels_mirror_summary,
                                     .version_line = kernels_library_version(),
                                     .commands = commands,
                                     .single = true,
                                     .prefixes = true};
    kernels_terminal terminal;
    kernels_terminal_init(&terminal, "kernels mirror");
    return kernels_program_main(&program, argc, argv, &terminal);
}
