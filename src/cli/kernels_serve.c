/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels serve`: a program of its own, so that `kernels` does not load libgit2 and libmicrohttpd. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/error.h"
#include "cli/serve_options.h"
#include "server/server.h"
#include "server/store_check.h"
#include "server/token_file.h"

#define PROGRAM "kernels serve"

static int report(kernels_error *error) {
    for (const kernels_error *e = error; e != NULL; e = e->cause) {
        fprintf(stderr, e == error ? PROGRAM ": error: %s\n" : "  caused by: %s\n", kernels_error_message(e));
    }
    int code = error->status == KERNELS_USAGE ? KERNELS_EXIT_USAGE : KERNELS_EXIT_FAILURE;
    kernels_error_dispose(error);
    return code;
}

static void write_log_line(void *payload, kernels_view line) {
    fprintf(payload, "%.*s\n", KERNELS_VIEW_ARGS(line)); /* one call, so that lines do not mix */
}

static kernels_server_options read_options(const kernels_arguments *arguments) {
    kernels_server_options chosen = KERNELS_SERVER_OPTIONS_INIT;
    kernels_option_list tokens = kernels_arguments_list(arguments, "token");
    kernels_option_list trusted = kernels_arguments_list(arguments, "trusted");
    kernels_option_list hidden = kernels_arguments_list(arguments, "private");
    const char *host = kernels_arguments_text(arguments, "host");
    chosen.directory = kernels_arguments_positional(arguments, 0);
    chosen.host = host != NULL ? host : chosen.host;
    chosen.port = (uint16_t)kernels_arguments_integer(arguments, "port", 0);
    chosen.tokens = tokens.values;
    chosen.token_count = tokens.count;
    chosen.trusted = trusted.values;
    chosen.trusted_count = trusted.count;
    chosen.private_repositories = hidden.values;
    chosen.private_count = hidden.count;
    kernels_option_list aliases = kernels_arguments_list(arguments, "alias");
    chosen.aliases = aliases.values;
    chosen.alias_count = aliases.count;
    chosen.tls_certificate = kernels_arguments_text(arguments, "tls-cert");
    chosen.tls_key = kernels_arguments_text(arguments, "tls-key");
    chosen.lfs_part_size =
        (uint64_t)kernels_arguments_integer(arguments, "lfs-part-size", (int64_t)KERNELS_SERVER_PART);
    chosen.timeout = (unsigned)kernels_arguments_integer(arguments, "timeout", KERNELS_SERVER_TIMEOUT);
    chosen.read_only = kernels_arguments_flag(arguments, "read-only");
    chosen.cdn = kernels_arguments_flag(arguments, "cdn");
    if (kernels_arguments_given(arguments, "lfs-threshold")) {
        chosen.lfs_threshold = (uint64_t)kernels_arguments_integer(arguments, "lfs-threshold", 0);
    }
    chosen.page_size = (size_t)kernels_arguments_integer(arguments, "page-size", KERNELS_SERVER_PAGE_SIZE);
    chosen.max_body = (uint64_t)kernels_arguments_integer(arguments, "max-body", (int64_t)KERNELS_SERVER_MAX_BODY);
    chosen.faults_file = kernels_arguments_text(arguments, "faults");
    if (kernels_arguments_flag(arguments, "access-log")) {
        chosen.access_log = write_log_line;
        chosen.payload = stderr;
    }
    return chosen;
}

/* Each connection holds a socket and some files; the usual soft limit is made for smaller programs. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int serve(const kernels_server_options *chosen) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_server *server = NULL;
    sigset_t signals;
    int received;
    /* before any thread exists, so that all of them inherit it and only sigwait sees the signals */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    if (kernels_server_start(chosen, &server, &error) != KERNELS_OK) {
        return report(&error);
    }
    printf("%s\n", kernels_server_url(server));
    fflush(stdout);
    sigwait(&signals, &received);
    kernels_server_stop(server);
    return KERNELS_EXIT_OK;
}

/* ---- what does not serve ---- */

static kernels_status change_tokens(const kernels_arguments *arguments, kernels_error *error) {
    const char *directory = kernels_arguments_positional(arguments, 0);
    kernels_option_list added = kernels_arguments_list(arguments, "add-token");
    kernels_option_list removed = kernels_arguments_list(arguments, "remove-token");
    for (size_t i = 0; i < removed.count; i++) {
        KERNELS_TRY(kernels_token_file_remove(directory, removed.values[i], error));
    }
    for (size_t i = 0; i < added.count; i++) {
        char token[KERNELS_NEW_TOKEN_SIZE];
        KERNELS_TRY(kernels_token_file_add(directory, added.values[i], token, error));
        printf("%s\n", token);
    }
    return KERNELS_OK;
}

static void print_problem(void *payload, const char *text) { fprintf(payload, "problem: %s\n", text); }

static kernels_status check(const kernels_arguments *arguments, kernels_error *error) {
    kernels_store *store = NULL;
    kernels_check_result result;
    KERNELS_TRY(kernels_store_open(kernels_arguments_positional(arguments, 0), &store, error));
    kernels_status status = kernels_store_check(store, print_problem, stderr, &result, error);
    kernels_store_close(store);
    KERNELS_TRY(status);
    printf("%zu repositories, %zu references, %zu objects, %zu large files: %zu problems\n", result.repositories,
           result.references, result.objects, result.large_files, result.problems);
    return result.problems == 0
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_INTEGRITY, "the store is damaged: see the problems above");
}

static int run(const kernels_arguments *arguments, void *payload) {
    const kernels_server_options chosen = read_options(arguments);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = KERNELS_OK;
    (void)payload;
    if (kernels_arguments_flag(arguments, "check")) {
        status = check(arguments, &error);
    } else if (kernels_arguments_given(arguments, "add-token") || kernels_arguments_given(arguments, "remove-token")) {
        status = change_tokens(arguments, &error);
    } else {
        return serve(&chosen);
    }
    return status == KERNELS_OK ? KERNELS_EXIT_OK : report(&error);
}

static const kernels_command command = {
    .name = "serve",
    .summary = kernels_serve_summary,
    .description = kernels_serve_description,
    .options = kernels_serve_options,
    .positionals = kernels_serve_positionals,
    .examples = kernels_serve_examples,
    .run = run,
};

int main(int argc, char **argv) {
    static const kernels_command *const commands[] = {&command, NULL};
    const kernels_program program = {.name = PROGRAM,
                                     .summary = kernels_serve_summary,
                                     .version_line = kernels_library_version(),
                                     .commands = commands,
                                     .single = true,
                                     .prefixes = true};
    return kernels_program_main(&program, argc, argv, NULL);
}
