/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/file.h"
#include "cli/builder_commands.h"

const kernels_positional kernels_builder_kernel_dir[] = {
    {.name = "KERNEL_DIR", .help = "folder with the kernel's build.toml (default: the current folder)"},
    {.name = NULL},
};

kernels_status kernels_builder_directory(const kernels_arguments *arguments, size_t index, const char **directory,
                                         kernels_error *error) {
    const char *given = kernels_arguments_positional(arguments, index);
    *directory = given ? given : ".";
    if (!kernels_file_is_directory(*directory)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s is not a directory", *directory);
    }
    return KERNELS_OK;
}
