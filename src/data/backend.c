/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "kernels/data.h"

typedef struct backend_row {
    const char *name;
    const char *attribute;
    const char *noarch_variant;
} backend_row;

/* Indexed by kernels_backend. The loaders call the CANN noarch variant after its torch device. */
static const backend_row backends[KERNELS_BACKEND_COUNT] = {
    [KERNELS_BACKEND_CANN] = {"cann", "CANN", "torch-npu"},
    [KERNELS_BACKEND_CPU] = {"cpu", "CPU", "torch-cpu"},
    [KERNELS_BACKEND_CUDA] = {"cuda", "CUDA", "torch-cuda"},
    [KERNELS_BACKEND_METAL] = {"metal", "Metal", "torch-metal"},
    [KERNELS_BACKEND_NEURON] = {"neuron", "Neuron", "torch-neuron"},
    [KERNELS_BACKEND_ROCM] = {"rocm", "ROCm", "torch-rocm"},
    [KERNELS_BACKEND_TPU] = {"tpu", "TPU", "torch-tpu"},
    [KERNELS_BACKEND_XPU] = {"xpu", "XPU", "torch-xpu"},
};

const char *kernels_backend_name(kernels_backend backend) { return backends[backend].name; }

const char *kernels_backend_attribute(kernels_backend backend) { return backends[backend].attribute; }

const char *kernels_backend_noarch_variant(kernels_backend backend) { return backends[backend].noarch_variant; }

static kernels_status parse(kernels_view text, bool (*equal)(kernels_view, kernels_view), kernels_backend *backend,
                            kernels_error *error) {
    for (size_t i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        if (equal(text, kernels_view_of(backends[i].name))) {
            *backend = (kernels_backend)i;
            return KERNELS_OK;
        }
    }
    char quoted[KERNELS_QUOTE_SIZE];
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "unknown backend %s: expected " KERNELS_BACKENDS_TEXT,
                        kernels_quote(text, quoted));
}

kernels_status kernels_backend_parse(kernels_view text, kernels_backend *backend, kernels_error *error) {
    return parse(text, kernels_view_equal, backend, error);
}

kernels_status kernels_backend_parse_any_case(kernels_view text, kernels_backend *backend, kernels_error *error) {
    return parse(text, kernels_view_equal_ascii_case, backend, error);
}
