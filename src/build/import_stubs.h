/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import stubs: torch wheels for CUDA load only where NVIDIA's libraries are (more than 2 GB), even on machines
 * without a GPU. For those that an environment leaves out, libraries of the same name that define what torch asks them
 * for are written beside torch's own. Calling one of their functions ends the process with a message that names it.
 */
#ifndef KERNELS_SRC_BUILD_IMPORT_STUBS_H
#define KERNELS_SRC_BUILD_IMPORT_STUBS_H

#include "kernels/base.h"

typedef struct kernels_import_stubs {
    size_t libraries, symbols; /* written */
    uint64_t bytes;
} kernels_import_stubs;

/* Looks at <site_packages>/torch/lib and writes there. Without torch, or with everything it needs, nothing is written.
 * The CUDA runtime is never replaced: it has to take up the device code of torch's libraries when they are loaded. */
kernels_status kernels_import_stubs_write(const char *site_packages, kernels_import_stubs *written,
                                          kernels_error *error);

#endif
