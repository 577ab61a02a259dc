/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a kernel's folder enter a build. Nothing else is visible to it. */
#ifndef KERNELS_SRC_BUILD_SOURCES_H
#define KERNELS_SRC_BUILD_SOURCES_H

#include "build/tree.h"
#include "kernels/data.h"

/* build.toml, every `src` of the framework and the kernels, the files of the extension folder and of tests/ that
 * have an extension of `pyext`, aot.toml and the files it names. Sorted. A listed file that is missing, a path
 * that leaves the folder (by its text or through a link), a missing extension folder: errors. */
kernels_status kernels_sources_select(const char *kernel_dir, const kernels_build *build, kernels_paths *paths,
                                      kernels_error *error);
/* true when the name has one of the extensions that build.toml wants. */
bool kernels_sources_has_extension(const kernels_build *build, const char *name);
/* The package's __init__.py must be there, a file or folder of the package's name inside it must not. */
kernels_status kernels_sources_check_layout(const char *kernel_dir, const kernels_build *build, kernels_error *error);

#endif
