/* SPDX-License-Identifier: Apache-2.0 */
/* What is allowed in a build.toml but hardly meant. */
#ifndef KERNELS_SRC_BUILD_CONFIG_WARNINGS_H
#define KERNELS_SRC_BUILD_CONFIG_WARNINGS_H

#include "base/buffer.h"
#include "kernels/data.h"

/* One line each. */
void kernels_config_warnings(const char *kernel_dir, const kernels_build *build, kernels_buffer *out);

#endif
