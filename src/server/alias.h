/* SPDX-License-Identifier: Apache-2.0 */
/* Repositories that were renamed: requests for the old name are sent to the new one. Pure. */
#ifndef KERNELS_SRC_SERVER_ALIAS_H
#define KERNELS_SRC_SERVER_ALIAS_H

#include "base/arena.h"
#include "kernels/base.h"

/* Each text is OLD=NEW, both OWNER/NAME. KERNELS_USAGE. */
kernels_status kernels_aliases_check(const char *const *aliases, size_t count, kernels_error *error);
/* Where a request goes that names `repository` as OLD: its target with NEW instead. NULL: no alias. */
const char *kernels_alias_location(const char *const *aliases, size_t count, kernels_view repository,
                                   kernels_view raw_target, kernels_arena *arena);

#endif
