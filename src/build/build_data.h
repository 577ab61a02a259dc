/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the source tree that are compiled into the program: locks and the exporter. */
#ifndef KERNELS_SRC_BUILD_BUILD_DATA_H
#define KERNELS_SRC_BUILD_BUILD_DATA_H

#include "build/embedded.h"

extern const kernels_embedded_file kernels_build_data[];
extern const size_t kernels_build_data_count;

/* Text of "data/locks/jax.x86_64-linux.toml"; data NULL = there is none of that name. */
kernels_view kernels_build_data_find(const char *path);

#endif
