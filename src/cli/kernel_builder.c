/* SPDX-License-Identifier: Apache-2.0 */
/* The program `kernel-builder`: for the authors of kernels. */
#include <stdio.h>

#include "cli/builder_commands.h"

static const kernels_command *const commands[] = {
    &kernels_builder_init_command,
    &kernels_builder_build_command,
    &kernels_builder_build_and_copy_command,
    &kernels_builder_upload_command,
    &kernels_builder_check_config_command,
    &kernels_builder_check_abi_command,
    &kernels_builder_check_tpu_command,
    &kernels_builder_env_command,
    &kernels_builder_list_variants_command,
    &kernels_builder_hash_command,
    &kernels_builder_update_build_command,
    &kernels_builder_completions_command,
    &kernels_builder_fill_card_command,
    &kernels_builder_tpu_worker_command,
    &kernels_builder_man_command,
    NULL,
};

static const char environment[] =
    "HF_ENDPOINT  base URL of the Hub (default https://huggingface.co)\n"
    "HF_TOKEN  token for the Hub, instead of the stored one\n"
    "KERNEL_BUILDER_STORE  folder of results, logs and build environments (default: kernel-builder below "
    "$XDG_CACHE_HOME or ~/.cache)\n";

int main(int argc, char **argv) {
    char version_line[64];
    snprintf(version_line, sizeof version_line, "kernel-builder %s", kernels_library_version());
    const kernels_program program = {
        .name = "kernel-builder",
        .summary = "Make, build, check and publish compute kernels",
        .version_line = version_line,
        .commands = commands,
        .version_short = 'V',
        .environment = environment,
    };
    kernels_terminal terminal;
    kernels_terminal_init(&terminal, program.name);
    return kernels_program_main(&program, argc, argv, &terminal);
}
