/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_compare.h"

#include <math.h>
#include <string.h>

static double from_bits32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* IEEE half precision: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static double from_half(uint16_t bits) {
    int exponent = (bits >> 10) & 0x1f;
    double fraction = (double)(bits & 0x3ff);
    double magnitude;
    if (exponent == 0x1f) {
        magnitude = fraction == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        magnitude = ldexp(fraction, -24);
    } else {
        magnitude = ldexp(fraction + 1024, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static long double read_integer(bool is_signed, unsigned bytes, const unsigned char *at) {
    uint64_t value = 0;
    memcpy(&value, at, bytes); /* little-endian, as all hosts of these plugins are */
    if (!is_signed) {
        return (long double)value;
    }
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    return (long double)(value & (sign - 1)) - ((value & sign) != 0 ? (long double)sign : 0);
}

/* long double holds every 64-bit integer on x86-64; elsewhere the last bits of huge ones may be rounded. */
static long double read_element(DLDataType dtype, const unsigned char *at) {
    if (dtype.code == kDLFloat && dtype.bits == 64) {
        double value;
        memcpy(&value, at, sizeof(value));
        return (long double)value;
    }
    if (dtype.code == kDLFloat && dtype.bits == 32) {
        uint32_t bits;
        memcpy(&bits, at, sizeof(bits));
        return (long double)from_bits32(bits);
    }
    if (dtype.code == kDLFloat || dtype.code == kDLBfloat) {
        uint16_t bits;
        memcpy(&bits, at, sizeof(bits));
        return (long double)(dtype.code == kDLFloat ? from_half(bits) : from_bits32((uint32_t)bits << 16));
    }
    return read_integer(dtype.code == kDLInt, dtype.bits / 8u, at);
}

/* Infinities of one sign are equal: their difference is not a number, so they are asked first. */
static bool is_close(long double got, long double want, double rtol, double atol) {
    if (got == want) {
        return true;
    }
    if (!isfinite(got) || !isfinite(want)) {
        return false;
    }
    return fabsl(got - want) <= (long double)atol + (long double)rtol * fabsl(want);
}

void kernels_tpu_compare(const kernels_shape *shape, const void *got, const void *want, double rtol, double atol,
                         kernels_tpu_difference *difference) {
    size_t size = shape->dtype.bits / 8u;
    *difference = (kernels_tpu_difference){.element_count = kernels_shape_bytes(shape) / size};
    for (uint64_t i = 0; i < difference->element_count; i++) {
        long double a = read_element(shape->dtype, (const unsigned char *)got + i * size);
        long double b = read_element(shape->dtype, (const unsigned char *)want + i * size);
        double distance = a == b ? 0 : (double)fabsl(a - b);
        if (isnan(distance) || distance > difference->largest) {
            difference->largest = distance; /* a NaN stays: no comparison with it is true */
        }
        if (!is_close(a, b, rtol, atol) && difference->wrong_count++ == 0) {
            difference->first_wrong = i;
            difference->first_got = (double)a;
            difference->first_want = (double)b;
        }
    }
}
