/* SPDX-License-Identifier: Apache-2.0 */
/* Shape texts: DTYPE[D,D,...] */
#include <inttypes.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/view.h"
#include "kernels/runtime.h"
#include "runtime/dtype.h"

/* Most bytes of a tensor: keeps every product below inside 64 bits. */
#define SHAPE_BYTES_LIMIT ((uint64_t)1 << 46)
/* Longest text of a shape: type, brackets, dimensions of at most 15 digits each. */
#define SHAPE_TEXT_LIMIT ((size_t)512)

static kernels_status dimension_parse(kernels_view text, int64_t *dimension, kernels_error *error) {
    uint64_t value = 0;
    bool canonical = text.size == 1 || (text.size > 1 && text.data[0] != '0');
    if (!canonical || !kernels_view_to_u64(text, &value) || value > SHAPE_BYTES_LIMIT) {
        return kernels_fail(error, KERNELS_SYNTAX,
                            "\"%.*s\" is no dimension; expected a decimal number from 0 to %" PRIu64,
                            KERNELS_VIEW_ARGS(kernels_view_slice(text, 0, 32)), SHAPE_BYTES_LIMIT);
    }
    *dimension = (int64_t)value;
    return KERNELS_OK;
}

static kernels_status dimensions_parse(kernels_view text, kernels_shape *shape, kernels_error *error) {
    /* a zero dimension must not hide that the others are too large to multiply */
    uint64_t bytes = kernels_dtype_size(shape->dtype);
    kernels_view piece;
    while (text.size > 0 && kernels_view_split(&text, ',', &piece)) {
        if (shape->rank == KERNELS_RANK_MAX) {
            return kernels_fail(error, KERNELS_LIMIT, "more than %d dimensions", KERNELS_RANK_MAX);
        }
        int64_t dimension = 0;
        KERNELS_TRY(dimension_parse(piece, &dimension, error));
        if (dimension > 0 && bytes > SHAPE_BYTES_LIMIT / (uint64_t)dimension) {
            return kernels_fail(error, KERNELS_LIMIT, "a tensor of more than %" PRIu64 " bytes", SHAPE_BYTES_LIMIT);
        }
        bytes *= dimension > 0 ? (uint64_t)dimension : 1;
        shape->dimensions[shape->rank++] = dimension;
        if (text.data && text.size == 0) {
            return kernels_fail(error, KERNELS_SYNTAX, "a comma without a dimension behind it");
        }
    }
    return KERNELS_OK;
}

static kernels_status shape_parse(kernels_view text, kernels_shape *shape, kernels_error *error) {
    size_t open = kernels_view_find(text, '[');
    if (text.size > SHAPE_TEXT_LIMIT || open == SIZE_MAX || text.data[text.size - 1] != ']') {
        return kernels_fail(error, KERNELS_SYNTAX, "expected DTYPE[D,D,...], for example f32[256,1024] or s32[]");
    }
    KERNELS_TRY(kernels_dtype_parse(kernels_view_slice(text, 0, open), &shape->dtype, error));
    return dimensions_parse(kernels_view_slice(text, open + 1, text.size - 1), shape, error);
}

kernels_status kernels_shape_parse(kernels_view text, kernels_shape *shape, kernels_error *error) {
    kernels_shape parsed = {0};
    kernels_error reason = KERNELS_ERROR_INIT;
    kernels_status status = shape_parse(text, &parsed, &reason);
    if (status) {
        status = kernels_fail(error, status, "\"%.*s\" is no shape: %s",
                              KERNELS_VIEW_ARGS(kernels_view_slice(text, 0, 64)), kernels_error_message(&reason));
        kernels_error_dispose(&reason);
        return status;
    }
    *shape = parsed;
    return KERNELS_OK;
}

char *kernels_shape_print(const kernels_shape *shape) {
    char dtype[64];
    kernels_dtype_print(shape->dtype, dtype);
    kernels_buffer text = KERNELS_BUFFER_INIT(SHAPE_TEXT_LIMIT);
    kernels_buffer_printf(&text, "%s[", dtype);
    for (int32_t i = 0; i < shape->rank; i++) {
        kernels_buffer_printf(&text, "%s%" PRId64, i ? "," : "", shape->dimensions[i]);
    }
    kernels_buffer_add_char(&text, ']');
    return kernels_buffer_take(&text);
}

bool kernels_shape_equal(const kernels_shape *a, const kernels_shape *b) {
    if (!kernels_dtype_equal(a->dtype, b->dtype) || a->rank != b->rank) {
        return false;
    }
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dimensions[i] != b->dimensions[i]) {
            return false;
        }
    }
    return true;
}

uint64_t kernels_shape_bytes(const kernels_shape *shape) {
    uint64_t bytes = kernels_dtype_size(shape->dtype);
    for (int32_t i = 0; i < shape->rank; i++) {
        bytes *= (uint64_t)shape->dimensions[i];
    }
    return bytes;
}
