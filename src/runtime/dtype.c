/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dtype.h"

#include <stdio.h>

#include "base/error.h"
#include "base/view.h"
#include "runtime/pjrt_api.h"

typedef struct kernels_dtype_row {
    const char *name;
    uint8_t code, bits;
    int pjrt;
} kernels_dtype_row;

static const kernels_dtype_row dtypes[] = {
    {"pred", kDLBool, 8, KERNELS_PJRT_PRED},    {"s8", kDLInt, 8, KERNELS_PJRT_S8},
    {"s16", kDLInt, 16, KERNELS_PJRT_S16},      {"s32", kDLInt, 32, KERNELS_PJRT_S32},
    {"s64", kDLInt, 64, KERNELS_PJRT_S64},      {"u8", kDLUInt, 8, KERNELS_PJRT_U8},
    {"u16", kDLUInt, 16, KERNELS_PJRT_U16},     {"u32", kDLUInt, 32, KERNELS_PJRT_U32},
    {"u64", kDLUInt, 64, KERNELS_PJRT_U64},     {"f16", kDLFloat, 16, KERNELS_PJRT_F16},
    {"bf16", kDLBfloat, 16, KERNELS_PJRT_BF16}, {"f32", kDLFloat, 32, KERNELS_PJRT_F32},
    {"f64", kDLFloat, 64, KERNELS_PJRT_F64},
};
#define DTYPE_COUNT (sizeof(dtypes) / sizeof(dtypes[0]))

static const kernels_dtype_row *dtype_find(DLDataType dtype) {
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (dtypes[i].code == dtype.code && dtypes[i].bits == dtype.bits && dtype.lanes == 1) {
            return &dtypes[i];
        }
    }
    return NULL;
}

const char *kernels_dtype_name(DLDataType dtype) {
    const kernels_dtype_row *row = dtype_find(dtype);
    return row ? row->name : NULL;
}

kernels_status kernels_dtype_parse(kernels_view name, DLDataType *dtype, kernels_error *error) {
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (kernels_view_equal_text(name, dtypes[i].name)) {
            *dtype = (DLDataType){.code = dtypes[i].code, .bits = dtypes[i].bits, .lanes = 1};
            return KERNELS_OK;
        }
    }
    return kernels_fail(error, KERNELS_SYNTAX,
                        "unknown element type \"%.*s\"; expected one of pred s8 s16 s32 s64 u8 u16 u32 u64 f16 bf16 "
                        "f32 f64",
                        KERNELS_VIEW_ARGS(kernels_view_slice(name, 0, 32)));
}

bool kernels_dtype_equal(DLDataType a, DLDataType b) {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

size_t kernels_dtype_size(DLDataType dtype) { return dtype.bits / 8U; }

kernels_status kernels_dtype_pjrt(DLDataType dtype, int *type, kernels_error *error) {
    const kernels_dtype_row *row = dtype_find(dtype);
    if (!row) {
        char text[64];
        kernels_dtype_print(dtype, text);
        return kernels_fail(error, KERNELS_UNSUPPORTED, "element type %s is not supported", text);
    }
    *type = row->pjrt;
    return KERNELS_OK;
}

void kernels_dtype_print(DLDataType dtype, char text[64]) {
    const char *name = kernels_dtype_name(dtype);
    if (name) {
        (void)snprintf(text, 64, "%s", name);
    } else {
        (void)snprintf(text, 64, "DLPack type (code %u, %u bits, %u lanes)", (unsigned)dtype.code, (unsigned)dtype.bits,
                       (unsigned)dtype.lanes);
    }
}
