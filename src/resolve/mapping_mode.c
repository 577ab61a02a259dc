/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and devices: the tables behind a mapping. */
#include "kernels/mapping.h"

#include <string.h>

#include "base/error.h"
#include "base/view.h"

/* ---- modes ---- */

#define FALLBACK ((unsigned)KERNELS_MODE_FALLBACK)
#define TRAINING ((unsigned)KERNELS_MODE_TRAINING)
#define INFERENCE ((unsigned)KERNELS_MODE_INFERENCE)
#define COMPILE ((unsigned)KERNELS_MODE_TORCH_COMPILE)

kernels_status kernels_mode_union(unsigned a, unsigned b, unsigned *mode, kernels_error *error) {
    unsigned both = a | b;
    if ((both & INFERENCE) && (both & TRAINING)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "INFERENCE and TRAINING are mutually exclusive: choose one of them");
    }
    if ((both & FALLBACK) && both != FALLBACK) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "FALLBACK cannot be combined with other modes: register it by itself");
    }
    *mode = both;
    return KERNELS_OK;
}

void kernels_mode_print(unsigned mode, char text[KERNELS_MODE_TEXT_SIZE]) {
    static const char *const names[] = {"FALLBACK", "TRAINING", "INFERENCE", "TORCH_COMPILE"};
    size_t length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (mode & (1u << i)) {
            if (length > 0) {
                text[length++] = '|';
            }
            size_t size = strlen(names[i]);
            memcpy(text + length, names[i], size);
            length += size;
        }
    }
    memcpy(text + length, length > 0 ? "" : "NONE", length > 0 ? 1 : sizeof "NONE");
}

/* Inference may use a training kernel, never the reverse. What will be compiled needs a kernel registered for that;
 * what will not may use one. */
const unsigned *kernels_mode_order(unsigned requested, size_t *count) {
    static const struct {
        unsigned requested;
        size_t count;
        unsigned tried[5];
    } orders[] = {
        {INFERENCE, 5, {INFERENCE, INFERENCE | COMPILE, TRAINING, TRAINING | COMPILE, FALLBACK}},
        {TRAINING, 3, {TRAINING, TRAINING | COMPILE, FALLBACK}},
        {INFERENCE | COMPILE, 3, {INFERENCE | COMPILE, TRAINING | COMPILE, FALLBACK}},
        {TRAINING | COMPILE, 2, {TRAINING | COMPILE, FALLBACK}},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i].requested == requested) {
            *count = orders[i].count;
            return orders[i].tried;
        }
    }
    *count = 0;
    return NULL;
}

bool kernels_mode_is_reachable(unsigned registered) {
    size_t count;
    const unsigned *tried = kernels_mode_order(INFERENCE, &count); /* asks for every mode that any request asks for */
    for (size_t i = 0; i < count; i++) {
        if (tried[i] == registered) {
            return true;
        }
    }
    return false;
}

kernels_status kernels_mode_check_request(unsigned requested, kernels_error *error) {
    if (requested == FALLBACK) {
        return kernels_fail(
            error, KERNELS_INVALID_ARGUMENT,
            "mode FALLBACK can only be used to register kernel mappings; request INFERENCE or TRAINING");
    }
    if (!(requested & (INFERENCE | TRAINING))) {
        char text[KERNELS_MODE_TEXT_SIZE];
        kernels_mode_print(requested, text);
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "kernelize mode must contain INFERENCE or TRAINING, found %s", text);
    }
    return KERNELS_OK;
}

kernels_layer_support kernels_layer_check(unsigned registered, unsigned requested, bool can_torch_compile,
                                          bool has_backward) {
    if ((registered & TRAINING) && !has_backward) {
        return KERNELS_LAYER_LACKS_BACKWARD;
    }
    if ((registered & COMPILE) && !can_torch_compile) {
        return KERNELS_LAYER_LACKS_COMPILE;
    }
    bool serves = (!(requested & COMPILE) || can_torch_compile) && (!(requested & TRAINING) || has_backward);
    return serves ? KERNELS_LAYER_FITS : KERNELS_LAYER_CANNOT_SERVE_MODE;
}

/* ---- devices ---- */

static const char *const device_names[] = {
#define DEVICE_NAME(name, text) text,
    KERNELS_DEVICE_TABLE(DEVICE_NAME)
#undef DEVICE_NAME
};

kernels_status kernels_device_parse(kernels_view text, kernels_device *device, kernels_error *error) {
    for (size_t i = 0; i < KERNELS_DEVICE_COUNT; i++) {
        if (kernels_view_equal_text(text, device_names[i])) {
            *device = (kernels_device)i;
            return KERNELS_OK;
        }
    }
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                        "Unknown device type `%.*s`: expected one of cpu, cuda, mps, neuron, npu, rocm, tpu, xpu",
                        KERNELS_VIEW_ARGS(text));
}

const char *kernels_device_name(kernels_device device) {
    return (unsigned)device < KERNELS_DEVICE_COUNT ? device_names[device] : "unknown";
}

int64_t kernels_tpu_generation_number(const char *generation) {
    static const struct {
        const char *name;
        int64_t number;
    } generations[] = {{"v2", 20},  {"v3", 30},  {"v4", 40}, {"v5e", 50},
                       {"v5p", 51}, {"v6e", 60}, {"v7", 70}, {"v7x", 70}};
    for (size_t i = 0; generation != NULL && i < sizeof generations / sizeof *generations; i++) {
        if (strcmp(generations[i].name, generation) == 0) {
            return generations[i].number;
        }
    }
    return 0;
}
