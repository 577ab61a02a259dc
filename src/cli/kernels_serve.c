/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels serve`: a program of its own, so that `kernels` does not load libgit2 and libmicrohttpd. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/serve_options.h"
#include "server/server.h"

static int report(kernels_error *error) {
    for (const kernels_error *e = error; e != NULL; e = e->cause) {
        fprintf(stderr, e == error ? "error: %s\n" : "  because: %s\n", kernels_error_message(e));
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

static int serve(const kernels_arguments *arguments, void *payload) {
    const kernels_server_options chosen = read_options(arguments);
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_server *server = NULL;
    sigset_t signals;
    int received;
    (void)payload;
    /* before any thread exists, so that all of them inherit it and only sigwait sees the signals */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    if (kernels_server_start(&chosen, &server, &error) != KERNELS_OK) {
        return report(&error);
    }
    printf("%s\n", kernels_server_url(server));
    fflush(stdout);
    sigwait(&signals, &received);
    kernels_server_stop(server);
    return KERNELS_EXIT_OK;
}

static const kernels_command command = {
    .name = "serve",
    .summary = kernels_serve_summary,
    .description = kernels_serve_description,
    .options = kernels_serve_options,
    .positionals = kernels_serve_positionals,
    .examples = kernels_serve_examples,
    .run = serve,
};

int main(int argc, char **argv) {
    static const kernels_command *const commands[] = {&command, NULL};
    const kernels_program program = {.name = "kernels serve",
                                     .summary = kernels_serve_summary,
                                     .version_line = kernels_library_version(),
                                     .commands = commands,
                                     .single = true,
                                     .prefixes = true};
    return kernels_program_main(&program, argc, argv, NULL);
}
