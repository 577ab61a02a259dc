/* SPDX-License-Identifier: Apache-2.0 */
/* LOCAL_KERNELS: folders that stand in for kernels of the Hub, "repo=path:repo=path". */
#ifndef KERNELS_SRC_LOAD_OVERRIDES_H
#define KERNELS_SRC_LOAD_OVERRIDES_H

#include "kernels/base.h"

/* Path for a repository id (heap text, "." for an empty one), or NULL when the text names none. The last of several
 * entries wins. The whole text is checked: an entry without "=" is KERNELS_INVALID_ARGUMENT. text NULL: no
 * overrides. */
kernels_status kernels_overrides_find(const char *text, const char *repo_id, char **path, kernels_error *error);

#endif
