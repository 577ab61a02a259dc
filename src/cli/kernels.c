/* SPDX-License-Identifier: Apache-2.0 */
/* The program `kernels`. */
#include "cli/kernels_commands.h"

static const kernels_command *const commands[] = {
    &kernels_command_check,     &kernels_command_download,
    &kernels_command_info,      &kernels_command_inspect,
    &kernels_command_versions,  &kernels_command_lock,
    &kernels_command_benchmark, &kernels_command_cache,
    &kernels_command_run,       &kernels_command_mirror,
    &kernels_command_serve,     &kernels_command_completions,
    &kernels_command_man,       NULL,
};

static const char environment[] = "KERNELS_CACHE  Folder of the cache (default: that of the Hub's tools).\n"
                                  "KERNELS_COMPILED_CACHE  Folder of programs that `run` compiled before (default: "
                                  "~/.cache/kernels/compiled); empty: none are kept.\n"
                                  "KERNELS_PYTHON  Interpreter whose packages (torch, libtpu, plugins) are looked at.\n"
                                  "LOCAL_KERNELS  Folders that stand in for kernels: repo_id=path:repo_id=path.\n"
                                  "HF_ENDPOINT  URL of the Hub.\n"
                                  "HF_HOME, HF_HUB_CACHE  Where the Hub's tools keep their files.\n"
                                  "HF_HUB_OFFLINE  1: no request is made, the cache must do.\n"
                                  "HF_TOKEN, HF_TOKEN_PATH  The token for the Hub, or the file that holds it.\n"
                                  "NO_COLOR  Not empty: no colour.\n";

int main(int argc, char **argv) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer version = KERNELS_BUFFER_INIT(256);
    kernels_buffer_printf(&version, "kernels %s", kernels_library_version());
    const kernels_program program = {
        .name = "kernels",
        .summary = "Find, inspect, run and serve compute kernels of the Kernel Hub.",
        .version_line = kernels_buffer_text(&version),
        .commands = commands,
        .prefixes = true,
        .environment = environment,
    };
    kernels_terminal terminal;
    kernels_terminal_init(&terminal, program.name);
    return kernels_program_main(&program, argc, argv, &terminal);
}
