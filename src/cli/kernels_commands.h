/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of the program `kernels`, one file each. The payload of their run functions is a
 * kernels_terminal. */
#ifndef KERNELS_SRC_CLI_KERNELS_COMMANDS_H
#define KERNELS_SRC_CLI_KERNELS_COMMANDS_H

#include "base/options.h"
#include "cli/terminal.h"

extern const kernels_command kernels_command_benchmark;   /* kernels_benchmark.c */
extern const kernels_command kernels_command_check;       /* kernels_check.c */
extern const kernels_command kernels_command_download;    /* kernels_download.c */
extern const kernels_command kernels_command_cache;       /* kernels_cache.c */
extern const kernels_command kernels_command_info;        /* kernels_info.c */
extern const kernels_command kernels_command_inspect;     /* kernels_inspect.c */
extern const kernels_command kernels_command_versions;    /* kernels_versions.c */
extern const kernels_command kernels_command_lock;        /* kernels_lock.c */
extern const kernels_command kernels_command_run;         /* kernels_run.c */
extern const kernels_command kernels_command_mirror;      /* kernels_mirror_command.c */
extern const kernels_command kernels_command_serve;       /* kernels_serve_command.c */
extern const kernels_command kernels_command_completions; /* kernels_completions.c */
extern const kernels_command kernels_command_man;         /* kernels_man.c */

#endif
