/* SPDX-License-Identifier: Apache-2.0 */
/* What every reader's target does with its bytes: open, all checks, floors, both ways of reading. */
#ifndef KERNELS_FUZZ_ABI_CHECK_H
#define KERNELS_FUZZ_ABI_CHECK_H

#include <stdlib.h>

#include "kernels/abi.h"

static inline void check_findings(const kernels_abi_report *report) {
    if (report->error_count + report->warning_count != report->findings.count) {
        abort();
    }
    for (size_t i = 0; i < report->findings.count; i++) {
        if (report->findings.items[i].message == NULL) {
            abort();
        }
    }
}

static inline void check_object(kernels_view bytes, unsigned flags, const kernels_variant *variant) {
    kernels_abi_object *object = NULL;
    kernels_abi_report report = {0};
    kernels_abi_floors floors;
    kernels_error error = KERNELS_ERROR_INIT;
    const kernels_abi_limits limits = {.variant = variant, .torch = {.parts = {2, 10}, .count = 2}};
    if (kernels_abi_object_open_memory(bytes, "object", flags, &object, &error) == KERNELS_OK) {
        if (kernels_abi_check_all(object, &limits, &report, &error) == KERNELS_OK) {
            check_findings(&report);
        }
        for (size_t i = 0; i < kernels_abi_object_image_count(object); i++) {
            (void)kernels_abi_floors_of(object, i, &floors, &error);
        }
    }
    kernels_abi_report_dispose(&report);
    kernels_abi_object_free(object);
    kernels_error_dispose(&error);
}

static inline void check_bytes(const uint8_t *data, size_t size) {
    const kernels_view bytes = {(const char *)data, size};
    kernels_variant tagged, tvm_ffi;
    if (kernels_variant_parse(KERNELS_VIEW("torch211-cxx11-cu130-x86_64-linux"), &tagged, NULL) != KERNELS_OK ||
        kernels_variant_parse(KERNELS_VIEW("tvm-ffi01-cpu-x86_64-linux"), &tvm_ffi, NULL) != KERNELS_OK) {
        abort();
    }
    check_object(bytes, KERNELS_ABI_EXPORTS, &tagged);
    check_object(bytes, 0, &tvm_ffi);
    check_object(bytes, KERNELS_ABI_SYMTAB_ONLY, NULL);
}

#endif
