/* SPDX-License-Identifier: Apache-2.0 */
#include "server/target.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/view.h"

static bool has_control_characters(kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == 0x7f) {
            return true;
        }
    }
    return false;
}

kernels_view kernels_target_decode(kernels_view raw, kernels_arena *arena) {
    kernels_buffer text = KERNELS_BUFFER_INIT(raw.size + 1);
    kernels_view decoded = {NULL, 0};
    if (kernels_decode_percent(&text, raw) && text.failure == KERNELS_OK) {
        kernels_view view = kernels_buffer_view(&text);
        if (!has_control_characters(view) && kernels_view_is_utf8(view)) {
            decoded = kernels_arena_copy_view(arena, view);
        }
    }
    kernels_buffer_dispose(&text);
    return decoded;
}

static kernels_status malformed(kernels_error *error) {
    return kernels_fail(error, KERNELS_BAD_REQUEST, "The target of the request is malformed");
}

static kernels_status parse_path(kernels_view path, kernels_arena *arena, kernels_target *target,
                                 kernels_error *error) {
    kernels_view rest = kernels_view_slice(path, 1, path.size), piece;
    while (kernels_view_split(&rest, '/', &piece)) {
        if (target->segment_count == KERNELS_TARGET_SEGMENTS_LIMIT) {
            return malformed(error);
        }
        kernels_view segment = kernels_target_decode(piece, arena);
        if (segment.data == NULL) {
            return malformed(error);
        }
        target->segments[target->segment_count++] = segment;
    }
    return KERNELS_OK;
}

static kernels_status parse_query(kernels_view query, kernels_arena *arena, kernels_target *target,
                                  kernels_error *error) {
    kernels_view rest = query, piece;
    while (query.size > 0 && kernels_view_split(&rest, '&', &piece)) {
        if (piece.size == 0) {
            continue;
        }
        if (target->query_count == KERNELS_TARGET_QUERY_LIMIT) {
            return malformed(error);
        }
        size_t equals = kernels_view_find(piece, '=');
        size_t value = equals == SIZE_MAX ? piece.size : equals + 1;
        kernels_query_item *item = &target->query[target->query_count];
        item->name = kernels_target_decode(kernels_view_slice(piece, 0, equals), arena);
        item->value = kernels_target_decode(kernels_view_slice(piece, value, piece.size), arena);
        if (item->name.data == NULL || item->value.data == NULL) {
            return malformed(error);
        }
        target->query_count++;
    }
    return KERNELS_OK;
}

kernels_status kernels_target_parse(kernels_view raw, kernels_arena *arena, kernels_target *target,
                                    kernels_error *error) {
    if (raw.size == 0 || raw.size > KERNELS_TARGET_SIZE_LIMIT || raw.data[0] != '/') {
        return malformed(error);
    }
    size_t mark = kernels_view_find(raw, '?');
    target->raw_path = kernels_view_slice(raw, 0, mark);
    target->segment_count = 0;
    target->query_count = 0;
    KERNELS_TRY(parse_path(target->raw_path, arena, target, error));
    if (mark == SIZE_MAX) {
        return KERNELS_OK;
    }
    return parse_query(kernels_view_slice(raw, mark + 1, raw.size), arena, target, error);
}

kernels_view kernels_target_query(const kernels_target *target, const char *name) {
    for (size_t i = 0; i < target->query_count; i++) {
        if (kernels_view_equal_text(target->query[i].name, name)) {
            return target->query[i].value;
        }
    }
    return (kernels_view){NULL, 0};
}

bool kernels_target_query_is_true(const kernels_target *target, const char *name) {
    kernels_view value = kernels_target_query(target, name);
    return kernels_view_equal_text(value, "1") || kernels_view_equal_ascii_case(value, KERNELS_VIEW("true"));
}
