/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request line, split and percent-decoded. Pure; everything lives in the given arena. */
#ifndef KERNELS_SRC_SERVER_TARGET_H
#define KERNELS_SRC_SERVER_TARGET_H

#include "base/arena.h"
#include "kernels/base.h"

#define KERNELS_TARGET_SIZE_LIMIT ((size_t)16 * 1024)
#define KERNELS_TARGET_SEGMENTS_LIMIT 96
#define KERNELS_TARGET_QUERY_LIMIT 32

typedef struct kernels_query_item {
    kernels_view name, value;
} kernels_query_item;

typedef struct kernels_target {
    kernels_view raw_path;                                /* as sent, without the query */
    kernels_view segments[KERNELS_TARGET_SEGMENTS_LIMIT]; /* decoded after splitting: may hold "/" */
    size_t segment_count;
    kernels_query_item query[KERNELS_TARGET_QUERY_LIMIT];
    size_t query_count;
} kernels_target;

/* KERNELS_BAD_REQUEST: not an absolute path, malformed escapes, a NUL or control character, text that is not UTF-8,
 * or more parts than the limits. */
kernels_status kernels_target_parse(kernels_view raw, kernels_arena *arena, kernels_target *target,
                                    kernels_error *error);
/* Value of the first item of that name; data NULL when absent. */
kernels_view kernels_target_query(const kernels_target *target, const char *name);
/* "1" or "true", any case */
bool kernels_target_query_is_true(const kernels_target *target, const char *name);
/* One percent-decoded text. data NULL: malformed. */
kernels_view kernels_target_decode(kernels_view raw, kernels_arena *arena);

#endif
