/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder update-build */
#include "base/error.h"
#include "base/view.h"
#include "build/config_update.h"
#include "cli/builder_commands.h"

static const kernels_option options[] = {
    {.name = "check", .type = KERNELS_OPTION_FLAG, .help = "write nothing; exit code 1 when the file is not current"},
    {.name = "license",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "ID",
     .help = "licence id of the Hub, for a file that has none"},
    {.name = NULL},
};

/* Shows what changes, and changes it. */
static int carry_out(const kernels_arguments *arguments, const char *directory, const kernels_config_update *update,
                     kernels_terminal *terminal) {
    kernels_error error = KERNELS_ERROR_INIT;
    if (!update->text) {
        return KERNELS_EXIT_OK;
    }
    int printed = kernels_terminal_print(terminal, kernels_view_of(update->difference));
    if (printed) {
        return printed;
    }
    if (kernels_arguments_flag(arguments, "check")) {
        return kernels_terminal_failure(terminal,
                                        "%s/build.toml is of edition %u: run `kernel-builder update-build` to bring it "
                                        "to edition 5",
                                        directory, update->edition);
    }
    return kernels_config_update_write(directory, update, &error) ? kernels_terminal_fail(terminal, &error)
                                                                  : KERNELS_EXIT_OK;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    const char *directory = NULL;
    kernels_config_update update;
    if (kernels_builder_directory(arguments, 0, &directory, &error) ||
        kernels_config_update_make(directory, kernels_arguments_text(arguments, "license"), &update, &error)) {
        return kernels_terminal_fail(payload, &error);
    }
    int code = carry_out(arguments, directory, &update, payload);
    kernels_config_update_dispose(&update);
    return code;
}

const kernels_command kernels_builder_update_build_command = {
    .name = "update-build",
    .summary = "Bring build.toml to the current edition",
    .description =
        "Prints what changes as a diff and replaces the file in one step. Comments, order and layout of everything "
        "that stays are kept. A file of edition 5 is left alone; files of editions 1 to 4 say no edition.",
    .options = options,
    .positionals = kernels_builder_kernel_dir,
    .examples = "kernel-builder update-build\nkernel-builder update-build --check my-kernel",
    .run = run,
};
