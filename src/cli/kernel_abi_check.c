/* SPDX-License-Identifier: Apache-2.0 */
/* The program `kernel-abi-check`: libraries, folders and wheels against what they promise. */
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "cli/abi_command.h"

/* A folder with a metadata.json is a build variant and named after it. */
static kernels_status add_folder(kernels_abi_scan *scan, const char *path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *metadata = kernels_path_join(path, "metadata.json");
    KERNELS_CLEANUP_FREE char *real = kernels_path_absolute(path);
    if (metadata == NULL || real == NULL) {
        return kernels_fail_no_memory(error);
    }
    return kernels_file_is_regular(metadata)
               ? kernels_abi_scan_variant(scan, path, kernels_path_name(real).data, path, error)
               : kernels_abi_scan_folder(scan, path, path, error);
}

static kernels_status collect(const kernels_arguments *arguments, kernels_abi_scan *scan, kernels_error *error) {
    size_t count = kernels_arguments_positional_count(arguments);
    if (count == 0) {
        return kernels_fail(error, KERNELS_USAGE, "nothing to check: name a library, a folder or a wheel");
    }
    for (size_t i = 0; i < count; i++) {
        const char *path = kernels_arguments_positional(arguments, i);
        if (kernels_file_is_directory(path)) {
            KERNELS_TRY(add_folder(scan, path, error));
        } else if (kernels_view_ends_with(kernels_view_of(path), KERNELS_VIEW(".whl"))) {
            KERNELS_TRY(kernels_abi_scan_wheel(scan, path, error));
        } else {
            KERNELS_TRY(kernels_abi_scan_file(scan, path, error));
        }
    }
    return KERNELS_OK;
}

static int run(const kernels_arguments *arguments, void *payload) {
    return kernels_abi_command_run(arguments, payload, collect);
}

static const kernels_positional positionals[] = {
    {.name = "OBJECT", .help = "library, folder (all libraries below it) or wheel", .repeatable = true},
    {0},
};

static const kernels_command command = {
    .name = "kernel-abi-check",
    .summary = "Check what compiled libraries demand of the machine they are loaded on",
    .description = kernels_abi_description,
    .options = kernels_abi_options,
    .positionals = positionals,
    .examples = "kernel-abi-check build/torch211-cxx11-cpu-x86_64-linux\n"
                "kernel-abi-check --manylinux manylinux_2_34 --json _relu.abi3.so\n",
    .run = run,
};

static const kernels_command *const commands[] = {&command, NULL};

int main(int argc, char **argv) {
    char version_line[64];
    (void)snprintf(version_line, sizeof version_line, "kernel-abi-check %s", kernels_library_version());
    const kernels_program program = {
        .name = "kernel-abi-check",
        .summary = "Check what compiled libraries demand of the machine they are loaded on",
        .version_line = version_line,
        .commands = commands,
        .single = true,
        .version_short = 'V',
    };
    kernels_terminal terminal;
    kernels_terminal_init(&terminal, program.name);
    return kernels_program_main(&program, argc, argv, &terminal);
}
