/* SPDX-License-Identifier: Apache-2.0 */
/* The folders in which builds work, below the store. */
#ifndef KERNELS_SRC_BUILD_SCRATCH_H
#define KERNELS_SRC_BUILD_SCRATCH_H

#include "kernels/base.h"

/* No build works longer without a change in its folder; what a killed one left is then removed by the next. */
#define KERNELS_SCRATCH_AGE_SECONDS (24 * 3600)

/* Makes build-XXXXXX below the folder "work" of the store; heap text. */
kernels_status kernels_scratch_new(const char *store, char **path, kernels_error *error);

#endif
