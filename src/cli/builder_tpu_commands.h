/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of kernel-builder that belong to TPU kernels and their environment. The payload of their run
 * functions is a kernels_terminal. */
#ifndef KERNELS_SRC_CLI_BUILDER_TPU_COMMANDS_H
#define KERNELS_SRC_CLI_BUILDER_TPU_COMMANDS_H

#include "base/options.h"

extern const kernels_command kernels_command_check_tpu;  /* builder_check_tpu.c */
extern const kernels_command kernels_command_env;        /* builder_env.c */
extern const kernels_command kernels_command_tpu_worker; /* builder_tpu_worker.c, hidden */

#endif
