/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text. Functions that give a char * return heap memory (kernels_free), NULL = no memory. */
#ifndef KERNELS_SRC_BASE_PATH_H
#define KERNELS_SRC_BASE_PATH_H

#include "kernels/base.h"

/* Longest path we build or accept, bytes. */
#define KERNELS_PATH_LIMIT 4096

char *kernels_path_join(const char *directory, const char *name); /* absolute name wins */
char *kernels_path_join3(const char *a, const char *b, const char *c);
char *kernels_path_parent(const char *path);      /* "a/b" -> "a", "a" -> ".", "/" -> "/" */
kernels_view kernels_path_name(const char *path); /* last component, "" for "/" */
bool kernels_path_is_absolute(const char *path);
/* Against the current directory, textual. Where that is gone the path stays as it is: using it says what is wrong. */
char *kernels_path_absolute(const char *path);
char *kernels_path_resolve(const char *path); /* realpath; NULL also when it does not exist */
/* Expands a leading "~" or "~/" by HOME and $NAME / ${NAME} by the environment (unset: kept). */
char *kernels_path_expand(const char *path);

/* Why a relative path that came from outside (a server, an archive, a manifest) must not be used
 * below a folder, or NULL when it is safe: no empty, "." or ".." component, not absolute, no drive
 * letter, no backslash, no control characters, component <= 255 bytes, whole <= 1024 bytes, UTF-8. */
const char *kernels_path_unsafe_reason(kernels_view relative_path);

#endif
