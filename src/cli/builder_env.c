/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder env: the build environments in the store. */
#include <stdio.h>

#include "build/environment.h"
#include "cli/builder_commands.h"

static void print_progress(void *payload, const char *message) {
    (void)payload;
    (void)fprintf(stderr, "%s\n", message);
}

static kernels_environment_options read_options(const kernels_arguments *arguments) {
    return (kernels_environment_options){
        .name = kernels_arguments_positional(arguments, 0),
        .store = kernels_arguments_text(arguments, "store"),
        .progress = print_progress,
    };
}

static int finish(kernels_terminal *terminal, kernels_status status, kernels_environment *environment,
                  kernels_error *error) {
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(terminal, error);
    }
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_printf(&text, "%s\n", environment->directory);
    kernels_environment_dispose(environment);
    return kernels_terminal_print(terminal, kernels_buffer_view(&text));
}

static int run_fetch(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment = {0};
    kernels_option_list licences = kernels_arguments_list(arguments, "accept-licence");
    kernels_environment_options options = read_options(arguments);
    options.licences = licences.values;
    options.licence_count = licences.count;
    options.wheel_dir = kernels_arguments_text(arguments, "wheel-dir");
    kernels_terminal_hold_signals();
    kernels_status status = kernels_environment_provide(&options, &environment, &error);
    return finish(payload, status, &environment, &error);
}

static int run_path(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_environment environment = {0};
    kernels_environment_options options = read_options(arguments);
    kernels_status status = kernels_environment_find(&options, &environment, &error);
    return finish(payload, status, &environment, &error);
}

#define STORE_OPTION                                                           \
    {                                                                          \
        .name = "store", .type = KERNELS_OPTION_TEXT, .value_name = "DIR",     \
        .help = "Folder of the store (default: KERNEL_BUILDER_STORE, else "    \
                "XDG_CACHE_HOME/kernel-builder, else ~/.cache/kernel-builder)" \
    }

static const char *const environment_names[] = {"jax", "torch-tpu", NULL};

static const kernels_positional name_positional[] = {
    {.name = "NAME", .help = "Which environment: jax (default) or torch-tpu", .choices = environment_names},
    {.name = NULL},
};

static const kernels_option fetch_options[] = {
    {.name = "accept-licence",
     .type = KERNELS_OPTION_LIST,
     .value_name = "NAME",
     .help = "Accept the licence of this package, for example libtpu"},
    {.name = "wheel-dir",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "DIR",
     .help = "Take wheels from this folder when they are there (default: KERNEL_BUILDER_WHEEL_DIR)"},
    STORE_OPTION,
    {.name = NULL},
};

static const kernels_option path_options[] = {
    STORE_OPTION,
    {.name = NULL},
};

static const kernels_command fetch_command = {
    .name = "fetch",
    .summary = "Make the environment if it is not in the store, and print its folder",
    .options = fetch_options,
    .positionals = name_positional,
    .examples = "kernel-builder env fetch jax --accept-licence libtpu\n"
                "kernel-builder env fetch torch-tpu --accept-licence libtpu --accept-licence nvidia-cuda-runtime",
    .run = run_fetch,
};

static const kernels_command path_command = {
    .name = "path",
    .summary = "Print the folder of an environment that is in the store",
    .options = path_options,
    .positionals = name_positional,
    .run = run_path,
};

static const kernels_command *const subcommands[] = {&fetch_command, &path_command, NULL};

const kernels_command kernels_builder_env_command = {
    .name = "env",
    .summary = "Build environments: Python with exactly locked wheels",
    .description =
        "An environment is a Python virtual environment made from a lock: every wheel has one version and "
        "one SHA-256. `jax` has jax, libtpu (the TPU compiler) and an XLA CPU plugin. `torch-tpu` has torch and "
        "torch_tpu in addition; import stubs stand in for NVIDIA's libraries, which torch demands when it is "
        "imported, so that it computes on CPU and TPU only.",
    .subcommands = subcommands,
};
