/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder check-tpu: exported TPU kernels through the TPU compiler, without a TPU. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "build/environment.h"
#include "build/kernel_dir.h"
#include "build/tpu_check.h"
#include "cli/builder_commands.h"
#include "kernels/resolve.h"

#define OUTPUT_LIMIT ((size_t)256 * 1024 * 1024)
#define TIMEOUT_MAX 86400

typedef struct check_command {
    kernels_terminal *terminal;
    const char *kernel_dir;
    kernels_tpu_check_options options;
    kernels_environment environment; /* all NULL when there is none */
    kernels_system system;           /* for its site-packages, when there is no environment */
    bool json;
    kernels_buffer out;
    kernels_json_writer writer;
    size_t checked;
    bool passed;
} check_command;

static void print_line(void *payload, const char *line) {
    (void)payload;
    (void)fprintf(stderr, "%s\n", line);
}

static void remember_line(void *payload, const char *line) {
    kernels_buffer *text = payload;
    kernels_buffer_printf(text, "%s\n", line);
}

/* What jax and the plugins are taken from: the build environment when it was made, else the Python in use. */
static void find_python(check_command *command) {
    if (kernels_environment_find(NULL, &command->environment, NULL) == KERNELS_OK) {
        command->options.python = command->environment.python;
        command->options.site_packages = command->environment.site_packages;
    } else if (kernels_system_detect(NULL, &command->system, NULL) == KERNELS_OK) {
        command->options.site_packages = command->system.site_packages;
    }
}

/* The compiler's own words are shown with --verbose, or behind the report when something failed. */
static kernels_status check_variant(check_command *command, const kernels_built_variant *variant,
                                    kernels_error *error) {
    kernels_buffer said KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
    kernels_tpu_check_options options = command->options;
    kernels_tpu_report report;
    options.variant_dir = variant->path;
    if (options.log == NULL) {
        options.log = remember_line;
        options.payload = &said;
    }
    KERNELS_TRY(kernels_tpu_check(&options, &report, error));
    command->checked++;
    command->passed = command->passed && report.passed;
    if (command->json) {
        kernels_tpu_report_json(&report, variant->name, &command->writer);
    } else {
        kernels_tpu_report_table(&report, variant->name, &command->out);
    }
    if (!report.passed && said.size > 0) {
        (void)fprintf(stderr, "%s", kernels_buffer_text(&said));
    }
    kernels_tpu_report_dispose(&report);
    return KERNELS_OK;
}

static kernels_status check_all(check_command *command, const kernels_built *built, kernels_error *error) {
    for (size_t i = 0; i < built->count; i++) {
        if (!kernels_tpu_check_is_wanted(built->variants[i].path)) {
            continue;
        }
        kernels_status status = check_variant(command, &built->variants[i], error);
        if (status != KERNELS_OK) {
            status = status == KERNELS_INTERRUPTED ? status : KERNELS_CHECK_FAILED;
            return kernels_wrap(error, status, "variant %s cannot be checked", built->variants[i].name);
        }
    }
    return kernels_buffer_status(&command->out, error);
}

static void begin_output(check_command *command) {
    if (command->json) {
        kernels_json_writer_init(&command->writer, &command->out, 2, false);
        kernels_json_begin_object(&command->writer);
        kernels_json_key(&command->writer, "variants");
        kernels_json_begin_array(&command->writer);
    }
}

static void end_output(check_command *command) {
    if (command->json) {
        kernels_json_end_array(&command->writer);
        kernels_json_key(&command->writer, "passed");
        kernels_json_boolean(&command->writer, command->passed);
        kernels_json_end_object(&command->writer);
        kernels_buffer_add_char(&command->out, '\n');
    } else if (command->checked == 0) {
        kernels_buffer_add_text(&command->out, "No variant holds aot/: nothing to check.\n");
    } else {
        kernels_buffer_printf(&command->out, "%s\n", command->passed ? "All checks passed." : "Checks failed.");
    }
}

static int run_command(check_command *command) {
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_built built = {0};
    kernels_terminal_hold_signals();
    find_python(command);
    begin_output(command);
    kernels_status status = kernels_built_find(command->kernel_dir, &built, &error);
    if (status == KERNELS_OK) {
        status = check_all(command, &built, &error);
    }
    kernels_built_dispose(&built);
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(command->terminal, &error);
    }
    end_output(command);
    int printed = kernels_terminal_print(command->terminal, kernels_buffer_view(&command->out));
    return printed == 0 && command->passed ? KERNELS_EXIT_OK : KERNELS_EXIT_FAILURE;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_option_list generations = kernels_arguments_list(arguments, "generation");
    check_command command = {
        .terminal = payload,
        .json = kernels_arguments_flag(arguments, "json"),
        .passed = true,
        .out = KERNELS_BUFFER_INIT(OUTPUT_LIMIT),
        .options =
            {
                .generations = generations.values,
                .generation_count = generations.count,
                .libtpu = kernels_arguments_text(arguments, "libtpu"),
                .cpu_plugin = kernels_arguments_text(arguments, "plugin"),
                .timeout_seconds =
                    (unsigned)kernels_arguments_integer(arguments, "timeout", KERNELS_TPU_COMPILE_TIMEOUT),
                .no_compare = kernels_arguments_flag(arguments, "no-compare"),
                .log = kernels_arguments_flag(arguments, "verbose") ? print_line : NULL,
            },
    };
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_builder_directory(arguments, 0, &command.kernel_dir, &error) != KERNELS_OK) {
        return kernels_terminal_fail(payload, &error);
    }
    command.options.source_dir = command.kernel_dir;
    int code = run_command(&command);
    kernels_environment_dispose(&command.environment);
    kernels_buffer_dispose(&command.out);
    return code;
}

static const char *const generation_names[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x", NULL};

static const kernels_option options[] = {
    {.name = "generation",
     .type = KERNELS_OPTION_LIST,
     .value_name = "G",
     .choices = generation_names,
     .help = "Compile for this TPU generation instead of those the kernel lists"},
    {.name = "libtpu",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .help = "The TPU compiler, libtpu.so (default: PJRT_NAMES_AND_LIBRARY_PATHS, TPU_LIBRARY_PATH, the build "
             "environment or Python in use, the system)"},
    {.name = "plugin",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "FILE",
     .help = "XLA CPU plugin that the numbers are computed on (default: the same search)"},
    {.name = "timeout",
     .type = KERNELS_OPTION_INTEGER,
     .value_name = "S",
     .minimum = 1,
     .maximum = TIMEOUT_MAX,
     .help = "Seconds that one compile or comparison may take (default 60)"},
    {.name = "no-compare", .type = KERNELS_OPTION_FLAG, .help = "Compile only, compare no numbers"},
    {.name = "json", .type = KERNELS_OPTION_FLAG, .help = "Print the report as JSON"},
    {.name = "verbose", .type = KERNELS_OPTION_FLAG, .help = "Show what the compiler and the exporter say"},
    {.name = NULL},
};

const kernels_command kernels_builder_check_tpu_command = {
    .name = "check-tpu",
    .summary = "Compile exported TPU kernels for each TPU generation and check their numbers, without a TPU",
    .description =
        "Looks at every built variant that holds aot/. Every function is compiled by libtpu for every shape and TPU "
        "generation it lists; what the compiler says of code size, memory and work is shown, and a kernel that needs "
        "more VMEM than there is fails with the bytes it wanted and those there are.\n\n"
        "Then the function runs on an XLA CPU plugin and is compared with the author's reference function (aot.toml) "
        "within the author's tolerance. That needs the build environment (kernel-builder env fetch jax); without it "
        "the comparison is skipped.",
    .options = options,
    .positionals = kernels_builder_kernel_dir,
    .examples = "kernel-builder check-tpu examples/kernels/relu-tpu\nkernel-builder check-tpu --generation v6e --json",
    .run = run,
};
