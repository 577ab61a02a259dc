/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder check-abi */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "build/kernel_dir.h"
#include "cli/abi_command.h"
#include "cli/builder_commands.h"

/* The folder itself may be a variant. */
static kernels_status add_itself(kernels_abi_scan *scan, const char *directory, bool *is_variant,
                                 kernels_error *error) {
    KERNELS_CLEANUP_FREE char *metadata = kernels_path_join(directory, "metadata.json");
    KERNELS_CLEANUP_FREE char *real = kernels_path_absolute(directory);
    if (metadata == NULL || real == NULL) {
        return kernels_fail_no_memory(error);
    }
    *is_variant = kernels_file_is_regular(metadata);
    return *is_variant ? kernels_abi_scan_variant(scan, directory, kernels_path_name(real).data, directory, error)
                       : KERNELS_OK;
}

static kernels_status add_variants(kernels_abi_scan *scan, const char *directory, const kernels_built *built,
                                   kernels_error *error) {
    /* `result` is a link into the store: what lies there belongs to the kernel. */
    const char *root = kernels_file_is_link(built->directory) ? built->directory : directory;
    for (size_t i = 0; i < built->count; i++) {
        KERNELS_TRY(kernels_abi_scan_variant(scan, built->variants[i].path, built->variants[i].name, root, error));
    }
    return KERNELS_OK;
}

static kernels_status collect(const kernels_arguments *arguments, kernels_abi_scan *scan, kernels_error *error) {
    const char *directory = NULL;
    kernels_built built;
    bool is_variant = false;
    KERNELS_TRY(kernels_builder_directory(arguments, 0, &directory, error));
    kernels_status status = kernels_built_find(directory, &built, error);
    if (status == KERNELS_NOT_FOUND) {
        kernels_error failed = KERNELS_ERROR_INIT;
        status = add_itself(scan, directory, &is_variant, &failed);
        if (status == KERNELS_OK && !is_variant) {
            return KERNELS_NOT_FOUND;
        }
        kernels_error_move(error, &failed);
        return status;
    }
    if (status == KERNELS_OK) {
        status = add_variants(scan, directory, &built, error);
        kernels_built_dispose(&built);
    }
    return status;
}

static int run(const kernels_arguments *arguments, void *payload) {
    return kernels_abi_command_run(arguments, payload, collect);
}

const kernels_command kernels_builder_check_abi_command = {
    .name = "check-abi",
    .summary = "Check that the libraries of all built variants load everywhere they claim to",
    .description = kernels_abi_description,
    .options = kernels_abi_options,
    .positionals = kernels_builder_kernel_dir,
    .examples = "kernel-builder check-abi --manylinux manylinux_2_34\n",
    .run = run,
};
