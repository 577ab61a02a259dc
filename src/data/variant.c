/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variant names. The grammar is read left to right: framework, then either the noarch name or
 * exactly backend, cpu and os.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "kernels/data.h"

typedef struct framework_row {
    kernels_framework framework;
    kernels_view prefix; /* before the version digits */
} framework_row;

static const framework_row frameworks[] = {
    {KERNELS_FRAMEWORK_TORCH_STABLE_ABI, {"torch-stable-abi", 16}}, /* before its prefix "torch" */
    {KERNELS_FRAMEWORK_TORCH, {"torch", 5}},
    {KERNELS_FRAMEWORK_TVM_FFI, {"tvm-ffi", 7}},
};

typedef struct backend_row {
    kernels_backend backend;
    kernels_view prefix;
    bool has_version;
} backend_row;

static const backend_row backends[] = {
    {KERNELS_BACKEND_CPU, {"cpu", 3}, false},       {KERNELS_BACKEND_METAL, {"metal", 5}, false},
    {KERNELS_BACKEND_NEURON, {"neuron", 6}, false}, {KERNELS_BACKEND_TPU, {"tpu", 3}, false},
    {KERNELS_BACKEND_CUDA, {"cu", 2}, true},        {KERNELS_BACKEND_ROCM, {"rocm", 4}, true},
    {KERNELS_BACKEND_XPU, {"xpu", 3}, true},        {KERNELS_BACKEND_CANN, {"cann", 4}, true},
};

#define BACKEND_ROWS (sizeof(backends) / sizeof(backends[0]))

/* The view fits: it is part of a name of at most KERNELS_VARIANT_NAME_MAX bytes. */
static void copy_text(char target[KERNELS_VARIANT_NAME_MAX + 1], kernels_view text) {
    if (text.size > 0) {
        memcpy(target, text.data, text.size);
    }
    target[text.size] = '\0';
}

/* Frameworks: the first digit is the major version, all others the minor. */
static bool parse_framework_version(kernels_view digits, kernels_variant *variant) {
    return digits.size >= 2 && kernels_view_to_u64(kernels_view_slice(digits, 0, 1), &variant->framework_major) &&
           kernels_view_to_u64(kernels_view_slice(digits, 1, digits.size), &variant->framework_minor);
}

/* Backends: the last digit is the minor version, all before it the major. */
static bool parse_backend_version(kernels_view digits, kernels_variant *variant) {
    size_t split = digits.size - 1;
    variant->backend_has_version = true;
    return digits.size >= 2 && kernels_view_to_u64(kernels_view_slice(digits, 0, split), &variant->backend_major) &&
           kernels_view_to_u64(kernels_view_slice(digits, split, digits.size), &variant->backend_minor);
}

static bool parse_backend(kernels_view text, kernels_variant *variant) {
    for (size_t i = 0; i < BACKEND_ROWS; i++) {
        kernels_view prefix = backends[i].prefix;
        if (backends[i].has_version ? !kernels_view_starts_with(text, prefix) : !kernels_view_equal(text, prefix)) {
            continue;
        }
        variant->backend = backends[i].backend;
        return !backends[i].has_version ||
               parse_backend_version(kernels_view_slice(text, prefix.size, text.size), variant);
    }
    return false;
}

/* rest: what follows the framework, without the dash: exactly backend, cpu and os. */
static const char *parse_arch(kernels_view rest, kernels_variant *variant) {
    kernels_view backend, cpu, os;
    if (!kernels_view_split(&rest, '-', &backend) || !kernels_view_split(&rest, '-', &cpu) ||
        !kernels_view_split(&rest, '-', &os) || rest.data != NULL) {
        return "expected <backend>-<cpu>-<os> after the framework";
    }
    if (!parse_backend(backend, variant)) {
        return "expected a backend: cpu, metal, neuron, tpu, or cu, rocm, xpu, cann with a version of two or more "
               "digits";
    }
    copy_text(variant->cpu, cpu);
    copy_text(variant->os, os);
    return NULL;
}

static void take_cxx11_tag(kernels_view *rest, kernels_variant *variant) {
    if (kernels_view_starts_with(*rest, KERNELS_VIEW("cxx11-"))) {
        variant->cxx11_abi = KERNELS_CXX11_ABI_NEW;
    } else if (kernels_view_starts_with(*rest, KERNELS_VIEW("cxx98-"))) {
        variant->cxx11_abi = KERNELS_CXX11_ABI_OLD;
    } else {
        return;
    }
    *rest = kernels_view_slice(*rest, 6, rest->size);
}

static const char *parse_framework(kernels_view name, const framework_row *row, kernels_variant *variant) {
    kernels_view rest = kernels_view_slice(name, row->prefix.size, name.size);
    size_t dash = kernels_view_find(rest, '-');
    variant->framework = row->framework;
    if (!parse_framework_version(kernels_view_slice(rest, 0, dash), variant)) {
        return "expected the framework's version as two or more digits";
    }
    if (dash == SIZE_MAX) {
        return "expected <backend>-<cpu>-<os> after the framework";
    }
    rest = kernels_view_slice(rest, dash + 1, rest.size);
    if (row->framework == KERNELS_FRAMEWORK_TORCH) {
        take_cxx11_tag(&rest, variant);
    }
    return parse_arch(rest, variant);
}

static const char *parse_noarch(kernels_view name, kernels_variant *variant) {
    kernels_view noarch = kernels_view_slice(name, 6, name.size);
    if (noarch.size == 0) {
        return "expected a backend after `torch-`";
    }
    variant->framework = KERNELS_FRAMEWORK_TORCH_NOARCH;
    copy_text(variant->noarch_name, noarch);
    return NULL;
}

/* Why the name is refused, or NULL. */
static const char *parse_name(kernels_view name, kernels_variant *variant) {
    bool stable = kernels_view_starts_with(name, frameworks[0].prefix);
    if (!stable && (kernels_view_equal_text(name, "torch") || kernels_view_starts_with(name, KERNELS_VIEW("torch-")))) {
        return parse_noarch(name, variant);
    }
    for (size_t i = 0; i < sizeof(frameworks) / sizeof(frameworks[0]); i++) {
        if (kernels_view_starts_with(name, frameworks[i].prefix)) {
            return parse_framework(name, &frameworks[i], variant);
        }
    }
    return "expected it to begin with torch, torch-stable-abi or tvm-ffi";
}

/* An empty variant. Its arrays are not filled: that would be most of the work of parsing. */
static void clear(kernels_variant *variant) {
    variant->framework = KERNELS_FRAMEWORK_TORCH;
    variant->framework_major = variant->framework_minor = 0;
    variant->cxx11_abi = KERNELS_CXX11_ABI_NONE;
    variant->backend = KERNELS_BACKEND_CPU;
    variant->backend_has_version = false;
    variant->backend_major = variant->backend_minor = 0;
    variant->noarch_name[0] = variant->cpu[0] = variant->os[0] = '\0';
}

static void copy_variant(kernels_variant *target, const kernels_variant *variant) {
    target->framework = variant->framework;
    target->framework_major = variant->framework_major;
    target->framework_minor = variant->framework_minor;
    target->cxx11_abi = variant->cxx11_abi;
    target->backend = variant->backend;
    target->backend_has_version = variant->backend_has_version;
    target->backend_major = variant->backend_major;
    target->backend_minor = variant->backend_minor;
    copy_text(target->noarch_name, kernels_view_of(variant->noarch_name));
    copy_text(target->cpu, kernels_view_of(variant->cpu));
    copy_text(target->os, kernels_view_of(variant->os));
}

kernels_status kernels_variant_parse(kernels_view name, kernels_variant *variant, kernels_error *error) {
    kernels_variant result;
    clear(&result);
    const char *reason = name.size > KERNELS_VARIANT_NAME_MAX               ? "expected at most 255 bytes"
                         : name.size > 0 && memchr(name.data, 0, name.size) ? "expected no NUL byte"
                                                                            : parse_name(name, &result);
    if (reason) {
        char quoted[KERNELS_QUOTE_SIZE];
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s is no variant name: %s", kernels_quote(name, quoted),
                            reason);
    }
    copy_text(variant->name, name);
    copy_variant(variant, &result);
    return KERNELS_OK;
}

static const char *backend_prefix(kernels_backend backend) {
    for (size_t i = 0; i < BACKEND_ROWS; i++) {
        if (backends[i].backend == backend) {
            return backends[i].prefix.data;
        }
    }
    return "";
}

void kernels_variant_print_backend(const kernels_variant *variant, char text[64]) {
    if (variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        snprintf(text, 64, "%.63s", variant->noarch_name);
    } else if (variant->backend_has_version) {
        snprintf(text, 64, "%s%" PRIu64 "%" PRIu64, backend_prefix(variant->backend), variant->backend_major,
                 variant->backend_minor);
    } else {
        snprintf(text, 64, "%s", backend_prefix(variant->backend));
    }
}

static kernels_view framework_prefix(kernels_framework framework) {
    for (size_t i = 0; i < sizeof(frameworks) / sizeof(frameworks[0]); i++) {
        if (frameworks[i].framework == framework) {
            return frameworks[i].prefix;
        }
    }
    return KERNELS_VIEW("");
}

void kernels_variant_print(const kernels_variant *variant, char name[KERNELS_VARIANT_NAME_MAX + 1]) {
    const size_t size = KERNELS_VARIANT_NAME_MAX + 1;
    if (variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        snprintf(name, size, "torch-%.249s", variant->noarch_name);
        return;
    }
    static const char *const tags[] = {"", "-cxx98", "-cxx11"};
    char backend[64];
    kernels_variant_print_backend(variant, backend);
    int used = snprintf(name, size, "%s%" PRIu64 "%" PRIu64 "%s-%s-", framework_prefix(variant->framework).data,
                        variant->framework_major, variant->framework_minor, tags[variant->cxx11_abi + 1], backend);
    snprintf(name + used, size - (size_t)used, "%s-%s", variant->cpu, variant->os);
}

bool kernels_variant_equal(const kernels_variant *a, const kernels_variant *b) {
    if (a->framework != b->framework) {
        return false;
    }
    if (a->framework == KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return strcmp(a->noarch_name, b->noarch_name) == 0;
    }
    return a->framework_major == b->framework_major && a->framework_minor == b->framework_minor &&
           a->cxx11_abi == b->cxx11_abi && a->backend == b->backend &&
           a->backend_has_version == b->backend_has_version && a->backend_major == b->backend_major &&
           a->backend_minor == b->backend_minor && strcmp(a->cpu, b->cpu) == 0 && strcmp(a->os, b->os) == 0;
}
