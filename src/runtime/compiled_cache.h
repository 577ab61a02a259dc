/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs kept between processes, so that the second one need not wait for the compiler.
 *
 *     $KERNELS_COMPILED_CACHE, else $XDG_CACHE_HOME/kernels/compiled, else ~/.cache/kernels/compiled
 *
 * One file a program; its name is the hash of all that decides on the machine code. It can be deleted at any time. An
 * empty KERNELS_COMPILED_CACHE switches it off.
 */
#ifndef KERNELS_SRC_RUNTIME_COMPILED_CACHE_H
#define KERNELS_SRC_RUNTIME_COMPILED_CACHE_H

#include "kernels/base.h"

/* Largest compiled program that is kept. */
#define KERNELS_COMPILED_SIZE_LIMIT ((size_t)256 * 1024 * 1024)

/* Where the program with this SHA-256 (hex) is kept once that plugin has compiled it here; heap text. *path is NULL
 * when there is no cache. */
kernels_status kernels_compiled_cache_path(const char *plugin, const char *program_sha256, char **path,
                                           kernels_error *error);
/* KERNELS_NOT_CACHED: absent, damaged, or not in this user's hands alone. contents (heap) holds bytes. */
kernels_status kernels_compiled_cache_read(const char *path, char **contents, kernels_view *bytes,
                                           kernels_error *error);
kernels_status kernels_compiled_cache_write(const char *path, kernels_view bytes, kernels_error *error);

#endif
