/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/view.h"
#include "runtime/dtype.h"

/* Magic, version, and the header is filled up so that the elements begin at a multiple of this. */
#define NPY_MAGIC KERNELS_VIEW("\x93NUMPY")
#define NPY_ALIGNMENT ((size_t)64)

typedef struct kernels_npy_type {
    const char *descr; /* as we write it */
    const char *dtype;
} kernels_npy_type;

static const kernels_npy_type npy_types[] = {
    {"|b1", "pred"}, {"|i1", "s8"},  {"<i2", "s16"}, {"<i4", "s32"}, {"<i8", "s64"}, {"|u1", "u8"},   {"<u2", "u16"},
    {"<u4", "u32"},  {"<u8", "u64"}, {"<f2", "f16"}, {"<f4", "f32"}, {"<f8", "f64"}, {"<V2", "bf16"},
};
#define NPY_TYPE_COUNT (sizeof(npy_types) / sizeof(npy_types[0]))

/* ---- reading ---- */

/* A cursor over the header's dictionary; failed stays set. */
typedef struct kernels_npy_cursor {
    kernels_view rest;
    bool failed;
} kernels_npy_cursor;

static void skip_blanks(kernels_npy_cursor *cursor) {
    while (cursor->rest.size && (cursor->rest.data[0] == ' ' || cursor->rest.data[0] == '\n')) {
        cursor->rest = kernels_view_slice(cursor->rest, 1, cursor->rest.size);
    }
}

static bool accept(kernels_npy_cursor *cursor, kernels_view token) {
    skip_blanks(cursor);
    if (cursor->failed || !kernels_view_starts_with(cursor->rest, token)) {
        return false;
    }
    cursor->rest = kernels_view_slice(cursor->rest, token.size, cursor->rest.size);
    return true;
}

static void expect(kernels_npy_cursor *cursor, kernels_view token) {
    if (!accept(cursor, token)) {
        cursor->failed = true;
    }
}

/* 'text' without escapes, which neither a key nor a type needs. */
static kernels_view take_string(kernels_npy_cursor *cursor) {
    expect(cursor, KERNELS_VIEW("'"));
    size_t end = kernels_view_find(cursor->rest, '\'');
    if (cursor->failed || end == SIZE_MAX) {
        cursor->failed = true;
        return (kernels_view){NULL, 0};
    }
    kernels_view text = kernels_view_slice(cursor->rest, 0, end);
    cursor->rest = kernels_view_slice(cursor->rest, end + 1, cursor->rest.size);
    return text;
}

static bool take_boolean(kernels_npy_cursor *cursor) {
    if (accept(cursor, KERNELS_VIEW("True"))) {
        return true;
    }
    expect(cursor, KERNELS_VIEW("False"));
    return false;
}

/* A tuple of numbers, "(3, 4)", "(3,)", "()", as the inside of a shape text. */
static void take_tuple(kernels_npy_cursor *cursor, kernels_buffer *dimensions) {
    expect(cursor, KERNELS_VIEW("("));
    while (!cursor->failed && !accept(cursor, KERNELS_VIEW(")"))) {
        skip_blanks(cursor);
        size_t digits = 0;
        while (digits < cursor->rest.size && kernels_is_digit(cursor->rest.data[digits])) {
            digits++;
        }
        kernels_buffer_add_text(dimensions, dimensions->data[dimensions->size - 1] == '[' ? "" : ",");
        kernels_buffer_add_view(dimensions, kernels_view_slice(cursor->rest, 0, digits));
        cursor->rest = kernels_view_slice(cursor->rest, digits, cursor->rest.size);
        bool comma = accept(cursor, KERNELS_VIEW(","));
        if (digits == 0 || dimensions->failure || (!comma && (!cursor->rest.size || cursor->rest.data[0] != ')'))) {
            cursor->failed = true;
        }
    }
}

static const char *dtype_of(kernels_view descr) {
    if (descr.size && (descr.data[0] == '=' || descr.data[0] == '<' || descr.data[0] == '|')) {
        for (size_t i = 0; i < NPY_TYPE_COUNT; i++) {
            kernels_view known = kernels_view_of(npy_types[i].descr);
            if (kernels_view_equal(kernels_view_slice(descr, 1, descr.size),
                                   kernels_view_slice(known, 1, known.size))) {
                return npy_types[i].dtype;
            }
        }
    }
    return NULL;
}

typedef struct kernels_npy_header_fields {
    kernels_view descr;
    bool fortran_order;
    kernels_buffer dimensions; /* "[3,4" */
    unsigned seen;             /* bit a key */
} kernels_npy_header_fields;

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order */
static bool read_fields(kernels_view header, kernels_npy_header_fields *fields) {
    kernels_npy_cursor cursor = {.rest = header};
    kernels_buffer_add_char(&fields->dimensions, '[');
    expect(&cursor, KERNELS_VIEW("{"));
    while (!cursor.failed && !fields->dimensions.failure && !accept(&cursor, KERNELS_VIEW("}"))) {
        kernels_view key = take_string(&cursor);
        unsigned bit = 0;
        expect(&cursor, KERNELS_VIEW(":"));
        if (kernels_view_equal_text(key, "descr")) {
            bit = 1;
            fields->descr = take_string(&cursor);
        } else if (kernels_view_equal_text(key, "fortran_order")) {
            bit = 2;
            fields->fortran_order = take_boolean(&cursor);
        } else if (kernels_view_equal_text(key, "shape") && !(fields->seen & 4U)) {
            bit = 4;
            take_tuple(&cursor, &fields->dimensions);
        }
        if (bit == 0 || (fields->seen & bit)) {
            return false;
        }
        fields->seen |= bit;
        (void)accept(&cursor, KERNELS_VIEW(","));
    }
    return !cursor.failed && !fields->dimensions.failure && fields->seen == 7U;
}

static kernels_status read_shape(const kernels_npy_header_fields *fields, const char *name, kernels_shape *shape,
                                 kernels_error *error) {
    const char *dtype = dtype_of(fields->descr);
    if (!dtype) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "%s: arrays of type '%.*s' are not supported; expected a little-endian boolean, integer "
                            "or float",
                            name, KERNELS_VIEW_ARGS(kernels_view_slice(fields->descr, 0, 32)));
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_NPY_HEADER_LIMIT);
    kernels_buffer_printf(&text, "%s%s]", dtype, kernels_buffer_text(&fields->dimensions));
    KERNELS_TRY(kernels_buffer_status(&text, error));
    kernels_error reason = KERNELS_ERROR_INIT;
    kernels_status status = kernels_shape_parse(kernels_buffer_view(&text), shape, &reason);
    if (status) {
        status = kernels_fail(error, status, "%s: %s", name, kernels_error_message(&reason));
        kernels_error_dispose(&reason);
    } else if (fields->fortran_order && shape->rank > 1) {
        status =
            kernels_fail(error, KERNELS_UNSUPPORTED,
                         "%s: the array is stored column-major; expected row-major (numpy.ascontiguousarray)", name);
    }
    return status;
}

static size_t little_endian(kernels_view bytes) {
    size_t value = 0;
    for (size_t i = bytes.size; i-- > 0;) {
        value = value << 8 | (unsigned char)bytes.data[i];
    }
    return value;
}

static kernels_status find_header(kernels_view file, const char *name, kernels_view *header, kernels_view *rest,
                                  kernels_error *error) {
    if (!kernels_view_starts_with(file, NPY_MAGIC) || file.size < 12 || file.data[6] < 1 || file.data[6] > 3) {
        return kernels_fail(error, KERNELS_SYNTAX, "%s is no .npy file of version 1, 2 or 3", name);
    }
    size_t start = file.data[6] == 1 ? 10 : 12;
    size_t size = little_endian(kernels_view_slice(file, 8, start));
    if (size > KERNELS_NPY_HEADER_LIMIT || size > file.size - start) {
        return kernels_fail(error, KERNELS_SYNTAX,
                            "%s: a header of %zu bytes, expected at most %zu and no more than the "
                            "file has",
                            name, size, KERNELS_NPY_HEADER_LIMIT);
    }
    *header = kernels_view_slice(file, start, start + size);
    *rest = kernels_view_slice(file, start + size, file.size);
    return KERNELS_OK;
}

kernels_status kernels_npy_parse(kernels_view file, const char *name, kernels_shape *shape, kernels_view *data,
                                 kernels_error *error) {
    kernels_view header, rest;
    kernels_shape parsed;
    KERNELS_TRY(find_header(file, name, &header, &rest, error));
    kernels_npy_header_fields fields = {.dimensions = KERNELS_BUFFER_INIT(KERNELS_NPY_HEADER_LIMIT)};
    kernels_status status = KERNELS_OK;
    if (!read_fields(header, &fields)) {
        status = kernels_fail(error, KERNELS_SYNTAX,
                              "%s: the header is not {'descr': ..., 'fortran_order': ..., 'shape': ...}", name);
    }
    if (!status) {
        status = read_shape(&fields, name, &parsed, error);
    }
    kernels_buffer_dispose(&fields.dimensions);
    KERNELS_TRY(status);
    if (kernels_shape_bytes(&parsed) != rest.size) {
        return kernels_fail(error, KERNELS_SYNTAX, "%s: %" PRIu64 " bytes of elements expected, %zu found", name,
                            kernels_shape_bytes(&parsed), rest.size);
    }
    *shape = parsed;
    *data = rest;
    return KERNELS_OK;
}

kernels_status kernels_npy_read(const char *path, kernels_shape *shape, char **contents, kernels_view *data,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *bytes = NULL;
    size_t size = 0;
    KERNELS_TRY(kernels_file_read(path, KERNELS_NPY_SIZE_LIMIT, &bytes, &size, error));
    KERNELS_TRY(kernels_npy_parse((kernels_view){bytes, size}, path, shape, data, error));
    *contents = bytes;
    bytes = NULL;
    return KERNELS_OK;
}

/* ---- writing ---- */

static const char *descr_of(DLDataType dtype) {
    kernels_view name = kernels_view_of(kernels_dtype_name(dtype));
    for (size_t i = 0; i < NPY_TYPE_COUNT; i++) {
        if (kernels_view_equal_text(name, npy_types[i].dtype)) {
            return npy_types[i].descr;
        }
    }
    return "|V1";
}

void kernels_npy_header(kernels_buffer *out, const kernels_shape *shape) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_NPY_HEADER_LIMIT);
    kernels_buffer_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(shape->dtype));
    for (int32_t i = 0; i < shape->rank; i++) {
        kernels_buffer_printf(&text, "%s%" PRId64, i ? ", " : "", shape->dimensions[i]);
    }
    kernels_buffer_add_text(&text, shape->rank == 1 ? ",), }" : "), }");
    while ((10 + text.size + 1) % NPY_ALIGNMENT != 0 && !text.failure) {
        kernels_buffer_add_char(&text, ' ');
    }
    kernels_buffer_add_char(&text, '\n');
    unsigned char start[4] = {1, 0, (unsigned char)(text.size & 0xff), (unsigned char)(text.size >> 8)};
    kernels_buffer_add_view(out, NPY_MAGIC);
    kernels_buffer_add(out, start, sizeof(start));
    kernels_buffer_add_view(out, kernels_buffer_view(&text));
    kernels_buffer_dispose(&text);
}

kernels_status kernels_npy_write(const char *path, const kernels_shape *shape, const void *data, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer header = KERNELS_BUFFER_INIT(KERNELS_NPY_HEADER_LIMIT);
    kernels_npy_header(&header, shape);
    KERNELS_TRY(kernels_buffer_status(&header, error));
    const kernels_file_writer_options options = {.no_sync = true}; /* a result can be made again */
    kernels_file_writer *writer = NULL;
    KERNELS_TRY(kernels_file_writer_open(path, &options, &writer, error));
    kernels_status status = kernels_file_writer_write(writer, header.data, header.size, error);
    if (!status) {
        status = kernels_file_writer_write(writer, data, (size_t)kernels_shape_bytes(shape), error);
    }
    if (status) {
        kernels_file_writer_abort(writer);
        return status;
    }
    return kernels_file_writer_commit(writer, error);
}
