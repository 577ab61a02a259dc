/* SPDX-License-Identifier: Apache-2.0 */
#include "server/alias.h"

#include "base/error.h"
#include "base/view.h"
#include "kernels/data.h"

static bool split(const char *alias, kernels_view *from, kernels_view *to) {
    kernels_view text = kernels_view_of(alias);
    size_t sign = kernels_view_find(text, '=');
    if (sign == SIZE_MAX) {
        return false;
    }
    *from = kernels_view_slice(text, 0, sign);
    *to = kernels_view_slice(text, sign + 1, text.size);
    return true;
}

kernels_status kernels_aliases_check(const char *const *aliases, size_t count, kernels_error *error) {
    for (size_t i = 0; i < count; i++) {
        kernels_view from, to;
        if (!split(aliases[i], &from, &to) || kernels_repository_id_check(from, NULL) != KERNELS_OK ||
            kernels_repository_id_check(to, NULL) != KERNELS_OK || kernels_view_equal(from, to)) {
            return kernels_fail(error, KERNELS_USAGE, "expected OLD=NEW with two names OWNER/NAME, found \"%s\"",
                                aliases[i]);
        }
    }
    return KERNELS_OK;
}

/* Index of "/<name>" in the path of a target, where a segment begins; SIZE_MAX: not there as it is written. */
static size_t find_name(kernels_view target, kernels_view name) {
    kernels_view path = kernels_view_slice(target, 0, kernels_view_find(target, '?'));
    for (size_t i = 0; i + 1 + name.size <= path.size; i++) {
        if (path.data[i] == '/' && kernels_view_equal(kernels_view_slice(path, i + 1, i + 1 + name.size), name)) {
            return i + 1;
        }
    }
    return SIZE_MAX;
}

const char *kernels_alias_location(const char *const *aliases, size_t count, kernels_view repository,
                                   kernels_view raw_target, kernels_arena *arena) {
    for (size_t i = 0; i < count; i++) {
        kernels_view from, to;
        if (!split(aliases[i], &from, &to) || !kernels_view_equal(from, repository)) {
            continue;
        }
        size_t start = find_name(raw_target, from);
        if (start == SIZE_MAX) {
            return NULL;
        }
        kernels_view before = kernels_view_slice(raw_target, 0, start);
        kernels_view after = kernels_view_slice(raw_target, start + from.size, raw_target.size);
        return kernels_arena_printf(arena, "%.*s%.*s%.*s", KERNELS_VIEW_ARGS(before), KERNELS_VIEW_ARGS(to),
                                    KERNELS_VIEW_ARGS(after));
    }
    return NULL;
}
