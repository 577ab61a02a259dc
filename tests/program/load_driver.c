/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads one kernel through the public C API and prints what came of it, for the whole-program tests:
 *
 *     load_driver [option...] REPO_ID_OR_FOLDER
 *     --version N, --revision R, --backend B, --local, --native, --trust, --trusted REPO_ID, --lock FILE, --cache-only,
 *     --no-verify, --repeat
 *
 * Success: lines "path: ...", "variant: ...", ... on standard output. Failure: "STATUS: message" on standard error
 * with its causes, exit 1. Warnings: "warning: ..." on standard error.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/load.h"

static void print_warning(void *payload, const char *category, const char *message) {
    (void)payload;
    (void)category;
    (void)fprintf(stderr, "warning: %s\n", message);
}

static int fail(kernels_error *error) {
    for (const kernels_error *e = error; e != NULL; e = e->cause) {
        (void)fprintf(stderr, "%s: %s\n", kernels_status_name(e->status), kernels_error_message(e));
    }
    kernels_error_dispose(error);
    return 1;
}

/* All that the context has loaded, in its order. */
static void print_registry(const kernels_context *context) {
    size_t count = 0;
    const kernels_kernel *const *kernels = kernels_context_kernels(context, &count);
    (void)printf("loaded:");
    for (size_t i = 0; i < count; i++) {
        (void)printf(" %s", kernels_kernel_metadata(kernels[i])->name);
    }
    (void)printf("\n");
}

static void print_kernel(const kernels_kernel *kernel) {
    const char *repo_id = kernels_kernel_repo_id(kernel);
    const char *revision = kernels_kernel_revision(kernel);
    (void)printf("name: %s\n", kernels_kernel_metadata(kernel)->name);
    (void)printf("path: %s\n", kernels_kernel_path(kernel));
    (void)printf("variant: %s\n", kernels_kernel_variant(kernel));
    (void)printf("repo_id: %s\n", repo_id != NULL ? repo_id : "-");
    (void)printf("revision: %s\n", revision != NULL ? revision : "-");
    (void)printf("verified: %s\n", kernels_kernel_is_verified(kernel) ? "yes" : "no");
    char *trace = kernels_decisions_trace(kernels_kernel_decisions(kernel));
    (void)printf("trace:\n%s\n", trace);
    kernels_string_free(trace);
}

typedef struct command_line {
    kernels_load_options options;
    const char *kernel;
    bool is_local;
    bool twice; /* in one context */
    const char *trusted[8];
    const char *lock;
} command_line;

static uint64_t parse_number(const char *text) {
    kernels_version version = {0};
    (void)kernels_version_parse((kernels_view){text, strlen(text)}, &version, NULL);
    return version.parts[0];
}

static command_line parse(int argc, char **argv) {
    command_line line = {.kernel = "", .options.for_python = true};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--version") == 0 && i + 1 < argc) {
            line.options.has_version = true;
            line.options.version = parse_number(argv[++i]);
        } else if (strcmp(word, "--revision") == 0 && i + 1 < argc) {
            line.options.revision = argv[++i];
        } else if (strcmp(word, "--backend") == 0 && i + 1 < argc) {
            line.options.backend = argv[++i];
        } else if (strcmp(word, "--local") == 0) {
            line.is_local = true;
        } else if (strcmp(word, "--native") == 0) {
            line.options.for_python = false;
        } else if (strcmp(word, "--trust") == 0) {
            line.options.trust_remote_code = true;
        } else if (strcmp(word, "--trusted") == 0 && i + 1 < argc && line.options.trusted_count < 8) {
            line.trusted[line.options.trusted_count++] = argv[++i];
        } else if (strcmp(word, "--lock") == 0 && i + 1 < argc) {
            line.lock = argv[++i];
        } else if (strcmp(word, "--cache-only") == 0) {
            line.options.cache_only = true;
        } else if (strcmp(word, "--no-verify") == 0) {
            line.options.no_verify = true;
        } else if (strcmp(word, "--repeat") == 0) {
            line.twice = true;
        } else {
            line.kernel = word;
        }
    }
    return line;
}

static int load(kernels_context *context, const command_line *line) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_kernel *kernel = NULL;
    kernels_status status = line->is_local ? kernels_load_local(context, line->kernel, &line->options, &kernel, &error)
                                           : kernels_load(context, line->kernel, &line->options, &kernel, &error);
    if (status != KERNELS_OK) {
        return fail(&error);
    }
    print_registry(context);
    print_kernel(kernel);
    kernels_kernel_free(kernel);
    return 0;
}

int main(int argc, char **argv) {
    command_line line = parse(argc, argv);
    kernels_locks locks = {0};
    line.options.trusted = line.trusted;
    const kernels_context_options context_options = {.warning = print_warning};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_context *context = NULL;
    if (kernels_context_new(&context_options, &context, &error) != KERNELS_OK) {
        return fail(&error);
    }
    if (line.lock != NULL && kernels_locks_read(line.lock, &locks, &error) != KERNELS_OK) {
        kernels_context_free(context);
        return fail(&error);
    }
    line.options.locks = line.lock != NULL ? &locks : NULL;
    int code = load(context, &line);
    if (code == 0 && line.twice) {
        code = load(context, &line);
    }
    kernels_locks_dispose(&locks);
    kernels_context_free(context);
    return code;
}
