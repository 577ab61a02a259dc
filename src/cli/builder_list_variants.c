/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder list-variants */
#include "base/error.h"
#include "build/plan.h"
#include "cli/builder_commands.h"
#include "kernels/resolve.h"

#define OUTPUT_LIMIT ((size_t)64 * 1024)

static kernels_status list(const kernels_arguments *arguments, kernels_terminal *terminal, kernels_buffer *out,
                           kernels_error *error) {
    const char *directory = NULL;
    char *warning = NULL;
    kernels_build build;
    kernels_system system;
    kernels_plan plan;
    KERNELS_TRY(kernels_builder_directory(arguments, 0, &directory, error));
    KERNELS_TRY(kernels_system_detect(NULL, &system, error));
    KERNELS_TRY(kernels_build_read(directory, &build, &warning, error));
    if (warning) {
        kernels_terminal_warning(terminal, warning);
    }
    kernels_string_free(warning);
    kernels_status status = kernels_plan_make(&build, system.os, system.cpu, &plan, error);
    kernels_build_dispose(&build);
    for (size_t i = 0; !status && i < plan.count; i++) {
        kernels_buffer_printf(out, "%s\n", plan.variants[i].name);
    }
    return status;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_error error = KERNELS_ERROR_INIT;
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer out = KERNELS_BUFFER_INIT(OUTPUT_LIMIT);
    if (list(arguments, payload, &out, &error)) {
        return kernels_terminal_fail(payload, &error);
    }
    return kernels_terminal_print(payload, kernels_buffer_view(&out));
}

const kernels_command kernels_builder_list_variants_command = {
    .name = "list-variants",
    .summary = "Print the variants that can be built on this system, one a line",
    .positionals = kernels_builder_kernel_dir,
    .run = run,
};
