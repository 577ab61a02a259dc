/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_target_parse, kernels_route_find and kernels_range_parse. Input: method, newline, target, newline, Range. */
#include <assert.h>

#include "base/view.h"
#include "server/range.h"
#include "server/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_route(kernels_view method, kernels_view raw) {
    kernels_arena *arena = kernels_arena_new(0);
    kernels_target target;
    kernels_route route;
    if (arena != NULL && kernels_target_parse(raw, arena, &target, NULL) == KERNELS_OK) {
        assert(target.segment_count > 0 && target.segment_count <= KERNELS_TARGET_SEGMENTS_LIMIT);
        if (kernels_route_find(method, &target, arena, &route, NULL) == KERNELS_OK) {
            assert(route.endpoint < KERNELS_ENDPOINT_COUNT);
            assert(kernels_view_is_utf8(route.path) && kernels_view_is_utf8(route.revision));
            assert(kernels_view_find(route.path, '\0') == SIZE_MAX);
        }
    }
    kernels_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_view rest = {(const char *)data, size}, method = {0}, target = {0}, range = {0};
    char header[256];
    uint64_t first, length;
    (void)kernels_view_split(&rest, '\n', &method);
    (void)kernels_view_split(&rest, '\n', &target);
    (void)kernels_view_split(&rest, '\n', &range);
    find_route(method, target);
    size_t used = range.size < sizeof header - 1 ? range.size : sizeof header - 1;
    for (size_t i = 0; i < used; i++) {
        header[i] = range.data[i];
    }
    header[used] = '\0';
    if (kernels_range_parse(header, 1000, &first, &length) == KERNELS_RANGE_PART) {
        assert(length > 0 && first < 1000 && length <= 1000 - first);
    }
    return 0;
}
