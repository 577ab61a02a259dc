/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder fill-card (hidden) */
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "build/card.h"
#include "cli/builder_commands.h"

static const kernels_positional positionals[] = {
    {.name = "KERNEL_DIR", .help = "folder with CARD.md and build.toml (default: the current folder)"},
    {.name = "OUTPUT", .help = "file to write (default: standard output)"},
    {.name = NULL},
};

static kernels_status fill(const kernels_arguments *arguments, kernels_terminal *terminal, kernels_buffer *card,
                           kernels_error *error) {
    const char *directory = NULL;
    char *warning = NULL;
    kernels_build build;
    KERNELS_TRY(kernels_builder_directory(arguments, 0, &directory, error));
    KERNELS_TRY(kernels_build_read(directory, &build, &warning, error));
    if (warning) {
        kernels_terminal_warning(terminal, warning);
    }
    kernels_string_free(warning);
    kernels_status status = kernels_card_render(directory, &build, card, error);
    kernels_build_dispose(&build);
    return status;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer card = KERNELS_BUFFER_INIT(KERNELS_CARD_SIZE_LIMIT);
    const char *output = kernels_arguments_positional(arguments, 1);
    kernels_status status = fill(arguments, payload, &card, &error);
    if (!status && output) {
        status = kernels_file_write(output, kernels_buffer_view(&card), 0, &error);
    }
    if (status) {
        return kernels_terminal_fail(payload, &error);
    }
    if (output) {
        (void)fprintf(stderr, "Generated %s\n", output);
        return KERNELS_EXIT_OK;
    }
    return kernels_terminal_print(payload, kernels_buffer_view(&card));
}

const kernels_command kernels_builder_fill_card_command = {
    .name = "fill-card",
    .summary = "Render CARD.md with the facts of the kernel",
    .positionals = positionals,
    .hidden = true,
    .run = run,
};
