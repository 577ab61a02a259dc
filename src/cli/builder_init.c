/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder init */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/view.h"
#include "build/init.h"
#include "cli/builder_commands.h"
#include "hub/hub.h"

#define OUTPUT_LIMIT ((size_t)64 * 1024)

static const char *const backend_names[] = {"all",    "cann", "cpu", "cuda", "metal",
                                            "neuron", "rocm", "tpu", "xpu",  NULL};

static const kernels_option options[] = {
    {.name = "license",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "LICENSE",
     .help = "licence id for build.toml (default: Apache-2.0)"},
    {.name = "name",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "OWNER/REPO",
     .help = "repository on the Hub; the kernel's names come from REPO"},
    {.name = "backends",
     .type = KERNELS_OPTION_GREEDY,
     .value_name = "BACKEND",
     .choices = backend_names,
     .ignore_case = true,
     .help = "backends of the kernel, one or more (default: metal on macOS, else cuda)"},
    {.name = "overwrite", .type = KERNELS_OPTION_FLAG, .help = "replace files that are there already"},
    {.name = NULL},
};

static const kernels_positional positionals[] = {
    {.name = "PATH", .help = "folder of the project, or OWNER/REPO when --name is absent"},
    {.name = NULL},
};

/* Owner and repository as heap text. */
typedef struct identity {
    char *owner, *repository;
    const char *directory; /* NULL = by the name */
} identity;

static int usage(kernels_terminal *terminal, const char *message) {
    (void)kernels_terminal_failure(terminal, "%s", message);
    return KERNELS_EXIT_USAGE;
}

/* ---- backends ---- */

static void add_backend(kernels_init_options *init, kernels_backend *backends, kernels_backend backend) {
    for (size_t i = 0; i < init->backend_count; i++) {
        if (backends[i] == backend) {
            return;
        }
    }
    backends[init->backend_count++] = backend;
}

/* backends has room for all. */
static void choose_backends(const kernels_arguments *arguments, kernels_init_options *init, kernels_backend *backends) {
    static const kernels_backend compiled[] = {KERNELS_BACKEND_CPU, KERNELS_BACKEND_CUDA, KERNELS_BACKEND_METAL,
                                               KERNELS_BACKEND_ROCM, KERNELS_BACKEND_XPU};
    kernels_option_list list = kernels_arguments_list(arguments, "backends");
    init->backends = backends;
    for (size_t i = 0; i < list.count; i++) {
        kernels_backend backend;
        if (strcmp(list.values[i], "all") == 0) {
            (void)fprintf(stderr, "all: the backends whose kernels are compiled: cpu, cuda, metal, rocm, xpu\n");
            memcpy(backends, compiled, sizeof compiled);
            init->backend_count = sizeof compiled / sizeof *compiled;
            return;
        }
        if (!kernels_backend_parse_any_case(kernels_view_of(list.values[i]), &backend, NULL)) {
            add_backend(init, backends, backend);
        }
    }
    if (!list.count) {
#ifdef __APPLE__
        add_backend(init, backends, KERNELS_BACKEND_METAL);
#else
        add_backend(init, backends, KERNELS_BACKEND_CUDA);
#endif
    }
}

/* ---- whose kernel it is ---- */

static kernels_status ask_owner(identity *who, kernels_error *error) {
    kernels_hub *hub = NULL;
    kernels_status status = kernels_hub_new(NULL, &hub, error);
    status = status ? status : kernels_hub_whoami(hub, &who->owner, error);
    kernels_hub_free(hub);
    return status ? kernels_wrap(error, status,
                                 "you are not logged in to the Hub, so that the owner of the kernel is unknown: give "
                                 "it with --name OWNER/REPO")
                  : KERNELS_OK;
}

/* Without --name: PATH as OWNER/REPO, else the user of the token and the name of the folder. */
static kernels_status identify_by_path(const char *path, identity *who, kernels_error *error) {
    if (path && kernels_init_split_name(kernels_view_of(path), &who->owner, &who->repository)) {
        return KERNELS_OK;
    }
    kernels_view last = kernels_path_name(path ? path : ".");
    bool is_here = kernels_view_equal_text(last, ".") || kernels_view_equal_text(last, "..");
    KERNELS_CLEANUP_FREE char *absolute =
        is_here ? kernels_path_resolve(path ? path : ".") : kernels_path_absolute(path);
    if (!absolute) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "%s is not a directory", path ? path : ".");
    }
    kernels_view name = kernels_path_name(absolute);
    who->directory = path ? path : ".";
    who->repository = kernels_strndup(name.data, name.size);
    return ask_owner(who, error);
}

static kernels_status init(const kernels_arguments *arguments, identity *who, kernels_init_result *result,
                           kernels_error *error) {
    kernels_backend backends[KERNELS_BACKEND_COUNT];
    kernels_init_options init_options = {.license = kernels_arguments_text(arguments, "license"),
                                         .overwrite = kernels_arguments_flag(arguments, "overwrite")};
    choose_backends(arguments, &init_options, backends);
    if (!kernels_arguments_text(arguments, "name")) {
        KERNELS_TRY(identify_by_path(kernels_arguments_positional(arguments, 0), who, error));
    }
    if (!who->owner || !who->repository) {
        return kernels_fail_no_memory(error);
    }
    init_options.owner = who->owner;
    init_options.repository = who->repository;
    init_options.directory = who->directory;
    return kernels_init_project(&init_options, result, error);
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_init_result result = {0};
    identity who = {0};
    const char *name = kernels_arguments_text(arguments, "name");
    if (name) {
        who.directory = kernels_arguments_positional(arguments, 0);
        if (!kernels_init_split_name(kernels_view_of(name), &who.owner, &who.repository)) {
            return usage(payload, "--name: expected OWNER/REPO with exactly one \"/\"");
        }
    }
    kernels_status status = init(arguments, &who, &result, &error);
    kernels_free(who.owner);
    kernels_free(who.repository);
    if (status) {
        return kernels_terminal_fail(payload, &error);
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
    kernels_buffer_printf(&out, "Initialized `%s` at %s\n", result.repo_id, result.directory);
    kernels_init_result_dispose(&result);
    return kernels_terminal_print(payload, kernels_buffer_view(&out));
}

const kernels_command kernels_builder_init_command = {
    .name = "init",
    .summary = "Make a new kernel project",
    .description =
        "Writes a project that builds as it is, makes a git repository and stages the files. Nothing is written when "
        "one of the files is there already, unless --overwrite is given.\n\n"
        "Projects for tpu, neuron and cann are available now: kernels of Python files, for TPU in Pallas with an "
        "aot.toml that has them compiled ahead of time.\n\n"
        "--backends takes all words up to the next option: PATH must come before it.",
    .options = options,
    .positionals = positionals,
    .examples = "kernel-builder init --name someone/row-softmax --backends tpu",
    .run = run,
};
