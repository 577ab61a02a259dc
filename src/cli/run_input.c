/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_input.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "runtime/npy.h"

typedef enum filling { FILL_RANDOM, FILL_ZEROS, FILL_ONES } filling;

/* ---- numbers ---- */

/* splitmix64: one addition and a few shifts, the same everywhere. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static double next_uniform(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

/* Box-Muller, one of the pair; 1 - u keeps the logarithm away from zero. */
static double next_normal(uint64_t *state) {
    double radius = sqrt(-2.0 * log(1.0 - next_uniform(state)));
    return radius * cos(6.283185307179586 * next_uniform(state));
}

static uint16_t float_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16); /* nearest, ties to even; never NaN here */
}

/* Nearest, ties to even. Our values are far below the largest f16; what is too small to be normal is flushed. */
static uint16_t float_to_f16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7fffffffU;
    if (magnitude < 0x38800000U) {
        return (uint16_t)sign;
    }
    magnitude -= 0x38000000U; /* exponent bias 127 -> 15 */
    return (uint16_t)(sign | ((magnitude + 0xfffU + ((magnitude >> 13) & 1U)) >> 13));
}

/* Stores a number as one element. */
static void store(char *element, DLDataType dtype, double value) {
    if (dtype.code == kDLFloat && dtype.bits == 64) {
        memcpy(element, &value, sizeof(value));
    } else if (dtype.code == kDLFloat && dtype.bits == 32) {
        float narrow = (float)value;
        memcpy(element, &narrow, sizeof(narrow));
    } else if (dtype.code == kDLFloat || dtype.code == kDLBfloat) {
        uint16_t half = dtype.code == kDLFloat ? float_to_f16((float)value) : float_to_bf16((float)value);
        memcpy(element, &half, sizeof(half));
    } else {
        element[0] = (char)value; /* 0 to 9: little-endian, the other bytes stay zero */
    }
}

static double next_value(filling fill, DLDataType dtype, uint64_t *state) {
    if (fill != FILL_RANDOM) {
        return fill == FILL_ONES ? 1.0 : 0.0;
    }
    switch (dtype.code) {
    case kDLBool:
        return (double)(next_random(state) >> 63);
    case kDLFloat:
    case kDLBfloat:
        return next_normal(state);
    default:
        return (double)(next_random(state) % 10);
    }
}

static void fill_memory(kernels_run_input *input, filling fill) {
    uint64_t state = 0, bytes = kernels_shape_bytes(&input->shape);
    size_t size = input->shape.dtype.bits / 8U;
    for (uint64_t at = 0; at < bytes; at += size) {
        store(input->memory + at, input->shape.dtype, next_value(fill, input->shape.dtype, &state));
    }
}

/* ---- texts ---- */

static bool parse_filling(kernels_view text, filling *fill) {
    static const struct {
        const char *name;
        filling fill;
    } fillings[] = {{"random", FILL_RANDOM}, {"zeros", FILL_ZEROS}, {"ones", FILL_ONES}};
    for (size_t i = 0; i < sizeof(fillings) / sizeof(fillings[0]); i++) {
        if (kernels_view_equal_text(text, fillings[i].name)) {
            *fill = fillings[i].fill;
            return true;
        }
    }
    return false;
}

static kernels_status read_shape(kernels_run_input *input, kernels_error *error) {
    kernels_view text = kernels_view_of(input->text);
    size_t colon = kernels_view_find_last(text, ':');
    filling fill = FILL_RANDOM;
    kernels_error reason = KERNELS_ERROR_INIT;
    if (kernels_shape_parse(kernels_view_slice(text, 0, colon), &input->shape, &reason) ||
        (colon != SIZE_MAX && !parse_filling(kernels_view_slice(text, colon + 1, text.size), &fill))) {
        kernels_status status =
            kernels_fail(error, KERNELS_USAGE,
                         "argument --input: invalid value \"%s\": expected a .npy file or DTYPE[D,D,...], optionally "
                         "with :random, :zeros or :ones behind it%s%s",
                         input->text, reason.message ? "; " : "", reason.message ? reason.message : "");
        kernels_error_dispose(&reason);
        return status;
    }
    uint64_t bytes = kernels_shape_bytes(&input->shape);
    input->memory = bytes < SIZE_MAX / 2 ? kernels_calloc((size_t)bytes + 1, 1) : NULL;
    if (!input->memory) {
        return kernels_fail(error, KERNELS_NO_MEMORY, "no memory for an input %s", input->text);
    }
    input->tensor.data = input->memory;
    fill_memory(input, fill);
    return KERNELS_OK;
}

static kernels_status read_file(kernels_run_input *input, kernels_error *error) {
    kernels_view data;
    KERNELS_TRY(kernels_npy_read(input->text, &input->shape, &input->memory, &data, error));
    input->tensor.data = (void *)(uintptr_t)data.data;
    return KERNELS_OK;
}

kernels_status kernels_run_input_read(const char *text, kernels_run_input *input, kernels_error *error) {
    *input = (kernels_run_input){.text = text};
    bool is_file = kernels_view_ends_with(kernels_view_of(text), KERNELS_VIEW(".npy"));
    KERNELS_TRY(is_file ? read_file(input, error) : read_shape(input, error));
    input->tensor.device = (DLDevice){kDLCPU, 0};
    input->tensor.ndim = input->shape.rank;
    input->tensor.dtype = input->shape.dtype;
    input->tensor.shape = input->shape.dimensions;
    return KERNELS_OK;
}

void kernels_run_input_dispose(kernels_run_input *input) {
    kernels_free(input->memory);
    input->memory = NULL;
}
