/* SPDX-License-Identifier: Apache-2.0 */
/* The stable ABIs of frameworks: torch's C shims and tvm-ffi's C functions. */
#include <string.h>

#include "abi/collector.h"
#include "abi/mangled.h"
#include "abi/tables.h"
#include "base/error.h"
#include "base/view.h"

/* ---- torch ---- */

static bool is_shim_name(kernels_view name) {
    return kernels_view_starts_with(name, KERNELS_VIEW("aoti_torch_")) ||
           kernels_view_starts_with(name, KERNELS_VIEW("torch_"));
}

/* 2.9 is the first release with a stable ABI: shims without a guard are that old. */
static kernels_version shim_version(size_t index) {
    unsigned minor = kernels_abi_torch_names.minors[index];
    return (kernels_version){.parts = {2, minor == 0 ? 9 : minor}, .count = 2};
}

static kernels_status add_too_new(kernels_view name, size_t index, const kernels_version *limit,
                                  kernels_abi_collector *collector, kernels_error *error) {
    char added[KERNELS_VERSION_TEXT_SIZE], allowed[KERNELS_VERSION_TEXT_SIZE];
    kernels_version version = shim_version(index);
    if (kernels_abi_torch_names.minors[index] == 0 || kernels_version_compare(&version, limit) <= 0) {
        return KERNELS_OK;
    }
    kernels_abi_version_print(&version, added);
    kernels_abi_version_print(limit, allowed);
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_TOO_NEW, .name = name, .added = kernels_view_of(added)};
    return kernels_abi_collect(collector, &draft, error,
                               "`%.*s` came into torch's stable ABI with torch %s; %s does not have it",
                               KERNELS_VIEW_ARGS(name), added, allowed);
}

static kernels_status add_unknown_shim(kernels_view name, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error) {
    const kernels_version newest = {.parts = {2, kernels_abi_torch_newest_minor}, .count = 2};
    bool may_be_newer = kernels_version_compare(limit, &newest) > 0;
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_UNKNOWN_SHIM,
                                     .severity = may_be_newer ? KERNELS_ABI_WARNING : KERNELS_ABI_ERROR,
                                     .name = name};
    return kernels_abi_collect(collector, &draft, error, "`%.*s` is no function of torch's stable ABI up to torch 2.%u",
                               KERNELS_VIEW_ARGS(name), kernels_abi_torch_newest_minor);
}

static kernels_status add_cxx(kernels_view name, kernels_abi_kind kind, const char *why,
                              kernels_abi_collector *collector, kernels_error *error) {
    char readable[KERNELS_ABI_DEMANGLED_SIZE];
    kernels_abi_demangle(name, readable);
    const kernels_abi_draft draft = {.kind = kind, .name = kernels_view_of(readable), .mangled = name};
    return kernels_abi_collect(collector, &draft, error, "`%s` %s", readable, why);
}

static const char not_stable[] = "is torch's C++ interface, which changes with every release; "
                                 "torch::stable and the C shims do not";

static kernels_status check_torch_name(kernels_view name, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error) {
    if (is_shim_name(name)) {
        size_t index = kernels_abi_names_find(&kernels_abi_torch_names, name);
        return index == SIZE_MAX ? add_unknown_shim(name, limit, collector, error)
                                 : add_too_new(name, index, limit, collector, error);
    }
    kernels_abi_scope scope = kernels_abi_scope_of(name);
    return kernels_abi_scope_is_torch(&scope) ? add_cxx(name, KERNELS_ABI_NOT_STABLE, not_stable, collector, error)
                                              : KERNELS_OK;
}

/* As released checkers do it: known shims, else the first letters of the demangled text. */
static kernels_status check_reference_name(kernels_view name, const kernels_version *limit,
                                           kernels_abi_collector *collector, kernels_error *error) {
    char readable[KERNELS_ABI_DEMANGLED_SIZE];
    size_t index = kernels_abi_names_find(&kernels_abi_torch_names, name);
    if (index != SIZE_MAX) {
        return add_too_new(name, index, limit, collector, error);
    }
    kernels_abi_demangle(name, readable);
    kernels_view text = kernels_view_of(readable);
    bool is_torch = kernels_view_starts_with(text, KERNELS_VIEW("torch::"));
    bool is_inside = is_torch || kernels_view_starts_with(text, KERNELS_VIEW("c10::")) ||
                     kernels_view_starts_with(text, KERNELS_VIEW("at::"));
    return is_inside && !kernels_view_starts_with(text, KERNELS_VIEW("torch::stable::"))
               ? add_cxx(name, KERNELS_ABI_NOT_STABLE, not_stable, collector, error)
               : KERNELS_OK;
}

kernels_status kernels_abi_image_torch(const kernels_abi_part *part, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error) {
    collector->check = KERNELS_ABI_CHECK_TORCH;
    for (size_t i = 0; i < part->image.symbol_count; i++) {
        kernels_view name = part->image.symbols[i].name;
        KERNELS_TRY(part->symtab_only ? check_reference_name(name, limit, collector, error)
                                      : check_torch_name(name, limit, collector, error));
    }
    return KERNELS_OK;
}

void kernels_abi_torch_floor(const kernels_abi_image *image, kernels_version *floor) {
    for (size_t i = 0; i < image->symbol_count; i++) {
        kernels_view name = image->symbols[i].name;
        size_t index = is_shim_name(name) ? kernels_abi_names_find(&kernels_abi_torch_names, name) : SIZE_MAX;
        if (index != SIZE_MAX) {
            kernels_version version = shim_version(index);
            *floor = kernels_version_compare(&version, floor) > 0 ? version : *floor;
        }
    }
}

/* ---- tvm-ffi ---- */

static kernels_status add_unknown_function(kernels_view name, const kernels_version *limit,
                                           kernels_abi_collector *collector, kernels_error *error) {
    size_t index = kernels_abi_names_find(&kernels_abi_tvm_ffi_names, name);
    char allowed[KERNELS_VERSION_TEXT_SIZE];
    if (index != SIZE_MAX) {
        kernels_version added = {.parts = {0, kernels_abi_tvm_ffi_names.minors[index]}, .count = 2};
        if (kernels_version_compare(&added, limit) <= 0) {
            return KERNELS_OK;
        }
    }
    kernels_abi_version_print(limit, allowed);
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_UNKNOWN_FUNCTION, .name = name};
    return kernels_abi_collect(collector, &draft, error, "`%.*s` is no C function of tvm-ffi %s",
                               KERNELS_VIEW_ARGS(name), allowed);
}

static kernels_status add_wrong_framework(kernels_view name, const char *framework, kernels_abi_collector *collector,
                                          kernels_error *error) {
    char readable[KERNELS_ABI_DEMANGLED_SIZE];
    kernels_abi_demangle(name, readable);
    const kernels_abi_draft draft = {
        .kind = KERNELS_ABI_WRONG_FRAMEWORK, .name = kernels_view_of(readable), .mangled = name};
    return kernels_abi_collect(collector, &draft, error, "`%s` belongs to %s; a tvm-ffi kernel must do without it",
                               readable, framework);
}

static kernels_status check_tvm_ffi_name(kernels_view name, const kernels_version *limit,
                                         kernels_abi_collector *collector, kernels_error *error) {
    kernels_abi_scope scope = kernels_abi_scope_of(name);
    if (kernels_view_starts_with(name, KERNELS_VIEW("TVMFFI"))) {
        return add_unknown_function(name, limit, collector, error);
    }
    if (kernels_abi_scope_is(&scope, "tvm", "ffi")) {
        return add_cxx(name, KERNELS_ABI_NOT_STABLE, "is tvm-ffi's C++ interface; only its C functions are an ABI",
                       collector, error);
    }
    if (is_shim_name(name) || kernels_abi_scope_is_torch(&scope)) {
        return add_wrong_framework(name, "torch", collector, error);
    }
    bool is_python =
        kernels_view_starts_with(name, KERNELS_VIEW("Py")) || kernels_view_starts_with(name, KERNELS_VIEW("_Py"));
    return is_python ? add_wrong_framework(name, "Python", collector, error) : KERNELS_OK;
}

kernels_status kernels_abi_image_tvm_ffi(const kernels_abi_part *part, const kernels_version *limit,
                                         kernels_abi_collector *collector, kernels_error *error) {
    collector->check = KERNELS_ABI_CHECK_TVM_FFI;
    for (size_t i = 0; i < part->image.symbol_count; i++) {
        KERNELS_TRY(check_tvm_ffi_name(part->image.symbols[i].name, limit, collector, error));
    }
    return KERNELS_OK;
}
