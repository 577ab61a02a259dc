/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder build, build-and-copy */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "build/engine.h"
#include "cli/builder_commands.h"

static const char *const environments[] = {"jax", "torch-tpu", "host", NULL};

#define COMMON_OPTIONS                                                                                          \
    {.name = "env",                                                                                             \
     .type = KERNELS_OPTION_CHOICE,                                                                             \
     .value_name = "ENV",                                                                                       \
     .choices = environments,                                                                                   \
     .help = "where jax comes from to export TPU kernels: the locked environment `jax` (default), `torch-tpu` " \
             "(the same, and TPU kernels are imported with torch), or the interpreter on PATH (`host`)"},       \
        {.name = "accept-licence",                                                                              \
         .type = KERNELS_OPTION_LIST,                                                                           \
         .value_name = "NAME",                                                                                  \
         .help = "accept the licence of a package of the environment (libtpu); repeatable"},                    \
        {.name = "no-check-tpu",                                                                                \
         .type = KERNELS_OPTION_FLAG,                                                                           \
         .help = "do not compile exported kernels with the TPU compiler after the build"},                      \
        {.name = "store",                                                                                       \
         .type = KERNELS_OPTION_TEXT,                                                                           \
         .value_name = "DIR",                                                                                   \
         .help = "folder of results, logs and environments (default: $KERNEL_BUILDER_STORE, see ENVIRONMENT)"}, \
        {.name = "print-build-logs",                                                                            \
         .short_name = 'L',                                                                                     \
         .type = KERNELS_OPTION_FLAG,                                                                           \
         .help = "show the build's log while it runs, each line with its variant before it"},                   \
    {                                                                                                           \
        .name = NULL                                                                                            \
    }

static const kernels_option build_options[] = {
    {.name = "variant",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "VARIANT",
     .help = "build only this variant (default: all that list-variants names)"},
    COMMON_OPTIONS,
};

static const kernels_option copy_options[] = {COMMON_OPTIONS};

static void show(void *payload, kernels_build_message type, const char *text) {
    kernels_terminal *terminal = payload;
    kernels_terminal_end_progress(terminal);
    if (type == KERNELS_BUILD_WARNING) {
        kernels_terminal_warning(terminal, text);
    } else {
        (void)fprintf(stderr, "%s\n", text);
    }
}

static kernels_build_environment environment_of(const char *name) {
    switch (name ? name[0] : 'j') {
    case 'h':
        return KERNELS_BUILD_ENVIRONMENT_HOST;
    case 't':
        return KERNELS_BUILD_ENVIRONMENT_TORCH_TPU;
    default:
        return KERNELS_BUILD_ENVIRONMENT_JAX;
    }
}

static kernels_status build(const kernels_arguments *arguments, kernels_terminal *terminal, const char **directory,
                            char **result, kernels_error *error) {
    KERNELS_TRY(kernels_builder_directory(arguments, 0, directory, error));
    kernels_option_list licences = kernels_arguments_list(arguments, "accept-licence");
    kernels_builder_options options = {
        .kernel_dir = *directory,
        .store = kernels_arguments_text(arguments, "store"),
        .environment = environment_of(kernels_arguments_text(arguments, "env")),
        .licences = licences.values,
        .licence_count = licences.count,
        .no_check_tpu = kernels_arguments_flag(arguments, "no-check-tpu"),
        .stream_logs = kernels_arguments_flag(arguments, "print-build-logs"),
        .message = show,
        .payload = terminal,
    };
    if (kernels_arguments_command(arguments) == &kernels_builder_build_command) {
        options.variant = kernels_arguments_text(arguments, "variant");
    }
    kernels_terminal_hold_signals(); /* a Ctrl-C then ends the step at hand, and what it made is cleared up */
    return kernels_builder_build(&options, result, error);
}

static int run_build(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    const char *directory = NULL;
    char *result = NULL;
    if (build(arguments, payload, &directory, &result, &error)) {
        return kernels_terminal_fail(payload, &error);
    }
    (void)fprintf(stderr, "Built %s/result -> %s\n", directory, result);
    kernels_free(result);
    return KERNELS_EXIT_OK;
}

static int run_build_and_copy(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    const char *directory = NULL;
    char *result = NULL;
    kernels_status status = build(arguments, payload, &directory, &result, &error);
    status = status ? status : kernels_builder_copy_result(result, directory, &error);
    kernels_free(result);
    if (status) {
        return kernels_terminal_fail(payload, &error);
    }
    (void)fprintf(stderr, "Built %s/result and copied it to %s/build\n", directory, directory);
    return KERNELS_EXIT_OK;
}

const kernels_command kernels_builder_build_command = {
    .name = "build",
    .summary = "Build the kernel's variants into KERNEL_DIR/result",
    .description =
        "Copies the sources that build.toml names, checks the layout of the package and the registration of its ops, "
        "makes every variant, exports and compiles TPU kernels that have an aot.toml, and records the digest of every "
        "file. KERNEL_DIR/result becomes a link to the finished result; build-report.json beside the folder that it "
        "points to tells what was checked.\n\n"
        "This version builds kernels of Python files ([torch-noarch] in build.toml).",
    .options = build_options,
    .positionals = kernels_builder_kernel_dir,
    .examples = "kernel-builder build --accept-licence libtpu\n"
                "kernel-builder build --env torch-tpu --accept-licence libtpu --accept-licence nvidia-cuda-runtime\n"
                "kernel-builder build my-kernel --variant torch-tpu -L",
    .run = run_build,
};

const kernels_command kernels_builder_build_and_copy_command = {
    .name = "build-and-copy",
    .summary = "Build all variants and copy them to KERNEL_DIR/build",
    .description = "As build; then every entry of the result replaces the one of the same name in KERNEL_DIR/build. "
                   "Other entries of that folder stay.",
    .options = copy_options,
    .positionals = kernels_builder_kernel_dir,
    .run = run_build_and_copy,
};
