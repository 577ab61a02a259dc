/* SPDX-License-Identifier: Apache-2.0 */
#include "server/range.h"

#include "base/view.h"

static kernels_range_result last_bytes(kernels_view count_text, uint64_t size, uint64_t *first, uint64_t *length) {
    uint64_t count;
    if (!kernels_view_to_u64(count_text, &count)) {
        return KERNELS_RANGE_WHOLE;
    }
    if (count == 0 || size == 0) {
        return KERNELS_RANGE_UNSATISFIABLE;
    }
    *length = count < size ? count : size;
    *first = size - *length;
    return KERNELS_RANGE_PART;
}

kernels_range_result kernels_range_parse(const char *header, uint64_t size, uint64_t *first, uint64_t *length) {
    const kernels_view unit = KERNELS_VIEW("bytes=");
    kernels_view text = kernels_view_of(header);
    if (!kernels_view_starts_with(text, unit)) {
        return KERNELS_RANGE_WHOLE;
    }
    text = kernels_view_slice(text, unit.size, text.size);
    size_t dash = kernels_view_find(text, '-');
    if (dash == SIZE_MAX) {
        return KERNELS_RANGE_WHOLE;
    }
    kernels_view from = kernels_view_slice(text, 0, dash), to = kernels_view_slice(text, dash + 1, text.size);
    if (from.size == 0) {
        return last_bytes(to, size, first, length);
    }
    uint64_t begin, end = UINT64_MAX;
    if (!kernels_view_to_u64(from, &begin) || (to.size > 0 && !kernels_view_to_u64(to, &end)) || end < begin) {
        return KERNELS_RANGE_WHOLE;
    }
    if (begin >= size) {
        return KERNELS_RANGE_UNSATISFIABLE;
    }
    *first = begin;
    *length = (end >= size ? size - 1 : end) - begin + 1;
    return KERNELS_RANGE_PART;
}
