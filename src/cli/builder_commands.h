/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of the program `kernel-builder`, one file each. The payload of their run functions is a
 * kernels_terminal. */
#ifndef KERNELS_SRC_CLI_BUILDER_COMMANDS_H
#define KERNELS_SRC_CLI_BUILDER_COMMANDS_H

#include "base/options.h"
#include "cli/terminal.h"

extern const kernels_command kernels_builder_init_command;           /* builder_init.c */
extern const kernels_command kernels_builder_build_command;          /* builder_build.c */
extern const kernels_command kernels_builder_build_and_copy_command; /* builder_build.c */
extern const kernels_command kernels_builder_upload_command;         /* builder_upload.c */
extern const kernels_command kernels_builder_check_abi_command;      /* builder_check_abi.c */
extern const kernels_command kernels_builder_check_config_command;   /* builder_check_config.c */
extern const kernels_command kernels_builder_check_tpu_command;      /* builder_check_tpu.c */
extern const kernels_command kernels_builder_tpu_worker_command;     /* builder_tpu_worker.c, hidden */
extern const kernels_command kernels_builder_list_variants_command;  /* builder_list_variants.c */
extern const kernels_command kernels_builder_hash_command;           /* builder_hash.c */
extern const kernels_command kernels_builder_update_build_command;   /* builder_update_build.c */
extern const kernels_command kernels_builder_env_command;            /* builder_env.c */
extern const kernels_command kernels_builder_man_command;
extern const kernels_command kernels_builder_completions_command; /* builder_completions.c */
extern const kernels_command kernels_builder_fill_card_command;   /* builder_fill_card.c */

/* For positionals: [KERNEL_DIR] and nothing else. */
extern const kernels_positional kernels_builder_kernel_dir[];

/* The KERNEL_DIR argument at index, "." when it is absent. A path that is no directory is an error. */
kernels_status kernels_builder_directory(const kernels_arguments *arguments, size_t index, const char **directory,
                                         kernels_error *error);

#endif
