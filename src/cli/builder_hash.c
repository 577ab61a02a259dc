/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder hash */
#include <stdio.h>

#include "base/error.h"
#include "build/kernel_dir.h"
#include "cli/builder_commands.h"

static void show(void *payload, const char *path) {
    (void)payload;
    (void)fprintf(stderr, "Hashing %s\n", path);
}

static kernels_status hash(const kernels_arguments *arguments, kernels_terminal *terminal, kernels_error *error) {
    const kernels_hash_listener listener = {show, kernels_terminal_warning, terminal};
    const char *directory = NULL;
    kernels_built built;
    KERNELS_TRY(kernels_builder_directory(arguments, 0, &directory, error));
    KERNELS_TRY(kernels_built_find(directory, &built, error));
    kernels_status status = kernels_built_hash(&built, &listener, error);
    kernels_built_dispose(&built);
    return status;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    return hash(arguments, payload, &error) ? kernels_terminal_fail(payload, &error) : KERNELS_EXIT_OK;
}

const kernels_command kernels_builder_hash_command = {
    .name = "hash",
    .summary = "Record the digest of every built variant in its metadata.json",
    .description = "Looks for variants in KERNEL_DIR/result, then KERNEL_DIR/build, then KERNEL_DIR. A metadata.json "
                   "that already holds the right digest is not written.",
    .positionals = kernels_builder_kernel_dir,
    .run = run,
};
