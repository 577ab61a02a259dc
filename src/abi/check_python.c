/* SPDX-License-Identifier: Apache-2.0 */
/* Python's stable ABI, and the macOS version. */
#include <string.h>

#include "abi/collector.h"
#include "abi/tables.h"
#include "base/error.h"
#include "base/view.h"

/* ---- DLLs ---- */

typedef enum python_dll { NO_PYTHON, STABLE_PYTHON, ONE_PYTHON } python_dll;

/* python3.dll forwards the stable ABI; python312.dll and python3_d.dll are one version or build. */
static python_dll classify(kernels_view library) {
    kernels_view prefix = kernels_view_slice(library, 0, 7), rest = kernels_view_slice(library, 7, library.size);
    if (!kernels_view_equal_ascii_case(prefix, KERNELS_VIEW("python3"))) {
        return NO_PYTHON;
    }
    return kernels_view_equal_ascii_case(rest, KERNELS_VIEW(".dll")) ? STABLE_PYTHON
           : kernels_view_equal_ascii_case(kernels_view_slice(rest, rest.size - 4, rest.size), KERNELS_VIEW(".dll"))
               ? ONE_PYTHON
               : NO_PYTHON;
}

static kernels_status check_dlls(const kernels_abi_image *image, kernels_abi_collector *collector,
                                 kernels_error *error) {
    for (size_t i = 0; i < image->needed.count && image->format == KERNELS_ABI_PE; i++) {
        kernels_view library = image->needed.items[i];
        if (classify(library) == ONE_PYTHON) {
            const kernels_abi_draft draft = {.kind = KERNELS_ABI_NOT_STABLE_DLL, .name = library, .library = library};
            KERNELS_TRY(kernels_abi_collect(collector, &draft, error,
                                            "%.*s belongs to one Python version or a debug build; the stable ABI is in "
                                            "python3.dll (link with Py_LIMITED_API defined)",
                                            KERNELS_VIEW_ARGS(library)));
        }
    }
    return KERNELS_OK;
}

/* On PE only what comes from a Python DLL is Python's. */
static bool may_be_python(const kernels_abi_image *image, const kernels_abi_symbol *symbol) {
    if (image->format != KERNELS_ABI_PE) {
        return true;
    }
    return symbol->library > 0 && classify(image->needed.items[symbol->library - 1]) != NO_PYTHON;
}

/* ---- names ---- */

static bool has_python_prefix(kernels_view name) {
    return kernels_view_starts_with(name, KERNELS_VIEW("Py")) || kernels_view_starts_with(name, KERNELS_VIEW("_Py"));
}

/* Index in the table, or SIZE_MAX. All names of the table have the prefix. */
static size_t find(kernels_view name) {
    return has_python_prefix(name) ? kernels_abi_names_find(&kernels_abi_python_names, name) : SIZE_MAX;
}

static kernels_version added_in(size_t index) {
    return (kernels_version){.parts = {3, kernels_abi_python_names.minors[index]}, .count = 2};
}

static kernels_status check_guard(const kernels_abi_image *image, kernels_view name, size_t index,
                                  kernels_abi_collector *collector, kernels_error *error) {
    unsigned guard = kernels_abi_python_names.guards[index];
    bool is_elsewhere = guard == KERNELS_ABI_GUARD_WINDOWS && image->format != KERNELS_ABI_PE;
    const kernels_abi_draft draft = {.kind = KERNELS_ABI_OTHER_PLATFORM, .severity = KERNELS_ABI_WARNING, .name = name};
    if (!is_elsewhere && guard != KERNELS_ABI_GUARD_DEBUG) {
        return KERNELS_OK;
    }
    return kernels_abi_collect(collector, &draft, error, "`%.*s` exists only %s", KERNELS_VIEW_ARGS(name),
                               is_elsewhere ? "on Windows" : "in debug builds of Python");
}

static kernels_status check_name(const kernels_abi_image *image, kernels_view name, const kernels_version *limit,
                                 kernels_abi_collector *collector, kernels_error *error) {
    char added_text[KERNELS_VERSION_TEXT_SIZE], limit_text[KERNELS_VERSION_TEXT_SIZE];
    size_t index = find(name);
    if (index == SIZE_MAX && !has_python_prefix(name)) {
        return KERNELS_OK;
    }
    if (index == SIZE_MAX) {
        const kernels_abi_draft draft = {.kind = KERNELS_ABI_NOT_ABI3, .name = name};
        return kernels_abi_collect(collector, &draft, error,
                                   "`%.*s` is not in Python's stable ABI: no abi3 library may use it",
                                   KERNELS_VIEW_ARGS(name));
    }
    kernels_version added = added_in(index);
    if (kernels_version_compare(&added, limit) > 0) {
        kernels_abi_version_print(&added, added_text);
        kernels_abi_version_print(limit, limit_text);
        const kernels_abi_draft draft = {
            .kind = KERNELS_ABI_TOO_NEW, .name = name, .added = kernels_view_of(added_text)};
        KERNELS_TRY(kernels_abi_collect(collector, &draft, error,
                                        "`%.*s` came into the stable ABI with Python %s; %s does not have it",
                                        KERNELS_VIEW_ARGS(name), added_text, limit_text));
    }
    return check_guard(image, name, index, collector, error);
}

kernels_status kernels_abi_image_python(const kernels_abi_part *part, const kernels_version *limit,
                                        kernels_abi_collector *collector, kernels_error *error) {
    const kernels_abi_image *image = &part->image;
    collector->check = KERNELS_ABI_CHECK_PYTHON;
    KERNELS_TRY(check_dlls(image, collector, error));
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (may_be_python(image, &image->symbols[i])) {
            KERNELS_TRY(check_name(image, image->symbols[i].name, limit, collector, error));
        }
    }
    return KERNELS_OK;
}

void kernels_abi_python_floor(const kernels_abi_image *image, kernels_version *floor) {
    for (size_t i = 0; i < image->symbol_count; i++) {
        size_t index = may_be_python(image, &image->symbols[i]) ? find(image->symbols[i].name) : SIZE_MAX;
        if (index != SIZE_MAX) {
            kernels_version added = added_in(index);
            *floor = kernels_version_compare(&added, floor) > 0 ? added : *floor;
        }
    }
}

/* ---- macOS ---- */

#define PLATFORM_MACOS 1u

kernels_status kernels_abi_image_macos(const kernels_abi_part *part, const kernels_version *limit,
                                       kernels_abi_collector *collector, kernels_error *error) {
    const kernels_abi_image *image = &part->image;
    char found[KERNELS_VERSION_TEXT_SIZE], allowed[KERNELS_VERSION_TEXT_SIZE];
    collector->check = KERNELS_ABI_CHECK_MACOS;
    if (image->format != KERNELS_ABI_MACH_O) {
        return KERNELS_OK;
    }
    if (!image->has_minimum_os) {
        const kernels_abi_draft draft = {.kind = KERNELS_ABI_OS_VERSION_MISSING};
        return kernels_abi_collect(collector, &draft, error,
                                   "it does not say which macOS it needs: neither LC_BUILD_VERSION nor "
                                   "LC_VERSION_MIN_MACOSX");
    }
    kernels_abi_version_print(&image->minimum_os, found);
    kernels_abi_version_print(limit, allowed);
    if (kernels_version_compare(&image->minimum_os, limit) > 0) {
        const kernels_abi_draft draft = {.kind = KERNELS_ABI_OS_VERSION_TOO_NEW, .version = kernels_view_of(found)};
        KERNELS_TRY(kernels_abi_collect(collector, &draft, error,
                                        "it needs macOS %s, newer than %s (build with MACOSX_DEPLOYMENT_TARGET=%s)",
                                        found, allowed, allowed));
    }
    if (image->platform != PLATFORM_MACOS) {
        const kernels_abi_draft draft = {.kind = KERNELS_ABI_WRONG_OS};
        KERNELS_TRY(
            kernels_abi_collect(collector, &draft, error, "it is built for platform %u, macOS is 1", image->platform));
    }
    return KERNELS_OK;
}
