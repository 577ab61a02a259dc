/* SPDX-License-Identifier: Apache-2.0 */
/* The files that turn a kernel's sources into a project of their own: packaging, metadata, `_ops.py`. */
#ifndef KERNELS_SRC_BUILD_PROJECT_H
#define KERNELS_SRC_BUILD_PROJECT_H

#include "build/file_set.h"
#include "kernels/data.h"

/* All files of a [torch-noarch] kernel, sorted by path. provenance may be NULL. Unknown Python dependencies of any
 * backend are an error. Other frameworks: KERNELS_UNSUPPORTED. */
kernels_status kernels_project_make(const kernels_build *build, const char *unique_id,
                                    const kernels_provenance *provenance, kernels_file_set *files,
                                    kernels_error *error);

#endif
