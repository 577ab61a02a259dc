/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of the public header: over all images of an object, alone or together. */
#include <string.h>

#include "abi/collector.h"
#include "abi/tables.h"
#include "base/error.h"
#include "base/path.h"
#include "base/view.h"

/* Symbols that could not be read are an error, never a clean bill. */
static kernels_status require_symbols(const kernels_abi_part *part, kernels_error *error) {
    if (part->symbols_error.status == KERNELS_OK) {
        return KERNELS_OK;
    }
    return kernels_fail(error, part->symbols_error.status, "%s", kernels_error_message(&part->symbols_error));
}

static void begin_part(const kernels_abi_object *object, const kernels_abi_part *part,
                       kernels_abi_collector *collector) {
    collector->slice = object->part_count > 1 ? part->image.machine : NULL;
}

/* Slice names live as long as the findings. */
static kernels_status keep_slices(kernels_abi_collector *collector, kernels_error *error) {
    for (size_t i = 0; i < collector->count; i++) {
        kernels_abi_finding *finding = &collector->items[i];
        if (finding->slice != NULL) {
            finding->slice = kernels_arena_copy_text(collector->arena, kernels_view_of(finding->slice));
            if (finding->slice == NULL) {
                return kernels_fail_no_memory(error);
            }
        }
    }
    return KERNELS_OK;
}

typedef kernels_status version_check(const kernels_abi_part *part, const kernels_version *limit,
                                     kernels_abi_collector *collector, kernels_error *error);

static kernels_status check_parts(const kernels_abi_object *object, version_check *check, const kernels_version *limit,
                                  bool needs_symbols, kernels_abi_collector *collector, kernels_error *error) {
    for (size_t i = 0; i < object->part_count; i++) {
        begin_part(object, &object->parts[i], collector);
        if (needs_symbols) {
            KERNELS_TRY(require_symbols(&object->parts[i], error));
        }
        KERNELS_TRY(check(&object->parts[i], limit, collector, error));
    }
    return KERNELS_OK;
}

/* Hands the findings over, or cleans up after a failure. */
static kernels_status finish(kernels_abi_collector *collector, kernels_status status, kernels_abi_findings *findings,
                             kernels_error *error) {
    kernels_abi_findings made = {0};
    if (status == KERNELS_OK) {
        status = keep_slices(collector, error);
    }
    if (status == KERNELS_OK) {
        status = kernels_abi_collected(collector, &made, error);
    }
    kernels_abi_collector_dispose(collector);
    if (status == KERNELS_OK) {
        kernels_abi_findings_dispose(findings);
        *findings = made;
    }
    return status;
}

static kernels_status check_one(const kernels_abi_object *object, version_check *check, const kernels_version *limit,
                                bool needs_symbols, kernels_abi_findings *findings, kernels_error *error) {
    kernels_abi_collector collector;
    KERNELS_TRY(kernels_abi_collector_init(&collector, error));
    kernels_status status = check_parts(object, check, limit, needs_symbols, &collector, error);
    return finish(&collector, status, findings, error);
}

/* ---- single checks ---- */

static kernels_status manylinux(const kernels_abi_object *object, const char *policy, kernels_abi_collector *collector,
                                kernels_error *error) {
    size_t index;
    KERNELS_TRY(kernels_abi_policy_find(policy, &index, error));
    if (object->part_count != 1) {
        return kernels_fail(error, KERNELS_UNSUPPORTED,
                            "%s is a universal file of %zu machines; a manylinux policy is about one", object->path,
                            object->part_count);
    }
    KERNELS_TRY(require_symbols(&object->parts[0], error));
    return kernels_abi_image_manylinux(&object->parts[0], index, collector, error);
}

kernels_status kernels_abi_check_manylinux(const kernels_abi_object *object, const char *policy,
                                           kernels_abi_findings *findings, kernels_error *error) {
    kernels_abi_collector collector;
    KERNELS_TRY(kernels_abi_collector_init(&collector, error));
    kernels_status status = manylinux(object, policy, &collector, error);
    return finish(&collector, status, findings, error);
}

kernels_status kernels_abi_check_python(const kernels_abi_object *object, const kernels_version *limit,
                                        kernels_abi_findings *findings, kernels_error *error) {
    return check_one(object, kernels_abi_image_python, limit, true, findings, error);
}

kernels_status kernels_abi_check_macos(const kernels_abi_object *object, const kernels_version *limit,
                                       kernels_abi_findings *findings, kernels_error *error) {
    return check_one(object, kernels_abi_image_macos, limit, false, findings, error);
}

kernels_status kernels_abi_check_torch(const kernels_abi_object *object, const kernels_version *limit,
                                       kernels_abi_findings *findings, kernels_error *error) {
    return check_one(object, kernels_abi_image_torch, limit, true, findings, error);
}

kernels_status kernels_abi_check_tvm_ffi(const kernels_abi_object *object, const kernels_version *limit,
                                         kernels_abi_findings *findings, kernels_error *error) {
    return check_one(object, kernels_abi_image_tvm_ffi, limit, true, findings, error);
}

/* ---- all ---- */

/* Limits with what the variant's name and the defaults add. */
static void fill_limits(const kernels_abi_limits *given, kernels_abi_limits *limits) {
    const kernels_variant *variant = given->variant;
    *limits = *given;
    limits->manylinux = limits->manylinux != NULL ? limits->manylinux : KERNELS_ABI_DEFAULT_MANYLINUX;
    if (limits->python.count == 0) {
        limits->python = (kernels_version){.parts = {3, 9}, .count = 2};
    }
    if (limits->macos.count == 0) {
        bool is_metal = variant != NULL && variant->framework != KERNELS_FRAMEWORK_TORCH_NOARCH &&
                        variant->backend == KERNELS_BACKEND_METAL;
        limits->macos = (kernels_version){.parts = {is_metal ? 26 : 15, 0}, .count = 2};
    }
    if (limits->torch.count == 0 && variant != NULL && variant->framework == KERNELS_FRAMEWORK_TORCH_STABLE_ABI) {
        limits->torch = (kernels_version){.parts = {variant->framework_major, variant->framework_minor}, .count = 2};
    }
}

static kernels_status check_limits(const kernels_abi_object *object, const kernels_abi_limits *limits, size_t policy,
                                   kernels_abi_collector *collector, kernels_error *error) {
    const kernels_variant *variant = limits->variant;
    if (object->format == KERNELS_ABI_ELF) {
        KERNELS_TRY(kernels_abi_image_manylinux(&object->parts[0], policy, collector, error));
    }
    KERNELS_TRY(check_parts(object, kernels_abi_image_macos, &limits->macos, false, collector, error));
    KERNELS_TRY(check_parts(object, kernels_abi_image_python, &limits->python, true, collector, error));
    if (limits->torch.count > 0) {
        KERNELS_TRY(check_parts(object, kernels_abi_image_torch, &limits->torch, true, collector, error));
    }
    if (variant != NULL && variant->framework == KERNELS_FRAMEWORK_TVM_FFI) {
        const kernels_version version = {.parts = {variant->framework_major, variant->framework_minor}, .count = 2};
        KERNELS_TRY(check_parts(object, kernels_abi_image_tvm_ffi, &version, true, collector, error));
    }
    return KERNELS_OK;
}

/* A file name that promises abi3 while the object breaks it. */
static kernels_status check_file_name(const kernels_abi_object *object, kernels_abi_collector *collector,
                                      kernels_error *error) {
    kernels_view name = kernels_path_name(object->path);
    if (!kernels_view_contains(name, KERNELS_VIEW(".abi3."))) {
        return KERNELS_OK;
    }
    for (size_t i = 0; i < collector->count; i++) {
        if (collector->items[i].kind == KERNELS_ABI_NOT_ABI3) {
            const kernels_abi_draft draft = {
                .kind = KERNELS_ABI_FILE_NAME, .severity = KERNELS_ABI_WARNING, .name = name};
            collector->check = KERNELS_ABI_CHECK_OTHER;
            collector->slice = NULL;
            return kernels_abi_collect(collector, &draft, error,
                                       "the name `%.*s` promises Python's stable ABI, which the library does not keep",
                                       KERNELS_VIEW_ARGS(name));
        }
    }
    return KERNELS_OK;
}

static kernels_status check_everything(const kernels_abi_object *object, const kernels_abi_limits *limits,
                                       kernels_abi_collector *collector, kernels_error *error) {
    size_t policy;
    kernels_error reason = KERNELS_ERROR_INIT;
    if (kernels_abi_policy_find(limits->manylinux, &policy, &reason) != KERNELS_OK) {
        kernels_status status = kernels_fail(error, reason.status, "%s cannot be checked: %s", object->path,
                                             kernels_error_message(&reason));
        kernels_error_dispose(&reason);
        return status;
    }
    for (size_t i = 0; i < object->part_count; i++) {
        KERNELS_TRY(require_symbols(&object->parts[i], error));
    }
    KERNELS_TRY(check_limits(object, limits, policy, collector, error));
    for (size_t i = 0; i < object->part_count && !object->parts[i].symtab_only; i++) {
        begin_part(object, &object->parts[i], collector);
        KERNELS_TRY(kernels_abi_image_other(&object->parts[i], policy, limits, collector, error));
    }
    return check_file_name(object, collector, error);
}

/* Policies that allow the image; what it needs raises the floors. */
static uint32_t raise_floors(const kernels_abi_image *image, kernels_abi_floors *floors) {
    kernels_abi_python_floor(image, &floors->python);
    kernels_abi_torch_floor(image, &floors->torch);
    return kernels_abi_policies_of(image, &floors->glibc);
}

/* Of all images: only ELF, which has one, has policies. */
static void compute_floors(const kernels_abi_object *object, size_t first, size_t end, kernels_abi_floors *floors) {
    uint32_t policies = 0;
    *floors = (kernels_abi_floors){0};
    for (size_t i = first; i < end; i++) {
        policies = raise_floors(&object->parts[i].image, floors);
    }
    for (size_t i = 1; i < kernels_abi_policy_count && floors->manylinux == NULL; i++) {
        floors->manylinux = (policies >> i & 1) != 0 ? kernels_abi_policies[i].name : NULL;
    }
}

kernels_status kernels_abi_floors_of(const kernels_abi_object *object, size_t index, kernels_abi_floors *floors,
                                     kernels_error *error) {
    if (index >= object->part_count) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "%s has %zu images, there is no number %zu", object->path,
                            object->part_count, index);
    }
    KERNELS_TRY(require_symbols(&object->parts[index], error));
    compute_floors(object, index, index + 1, floors);
    return KERNELS_OK;
}

kernels_status kernels_abi_check_all(const kernels_abi_object *object, const kernels_abi_limits *given,
                                     kernels_abi_report *report, kernels_error *error) {
    kernels_abi_collector collector;
    kernels_abi_report made = {0};
    kernels_abi_limits limits;
    fill_limits(given, &limits);
    KERNELS_TRY(kernels_abi_collector_init(&collector, error));
    kernels_status status = check_everything(object, &limits, &collector, error);
    status = finish(&collector, status, &made.findings, error);
    if (status != KERNELS_OK) {
        return status;
    }
    for (size_t i = 0; i < made.findings.count; i++) {
        bool is_error = made.findings.items[i].severity == KERNELS_ABI_ERROR;
        made.error_count += is_error ? 1 : 0;
        made.warning_count += is_error ? 0 : 1;
    }
    compute_floors(object, 0, object->part_count, &made.floors);
    made.manylinux = object->format == KERNELS_ABI_ELF ? limits.manylinux : NULL;
    made.python = limits.python;
    made.torch = limits.torch;
    made.macos = object->format == KERNELS_ABI_MACH_O ? limits.macos : (kernels_version){0};
    *report = made;
    return KERNELS_OK;
}

void kernels_abi_report_dispose(kernels_abi_report *report) {
    kernels_abi_findings_dispose(&report->findings);
    *report = (kernels_abi_report){0};
}
