/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/collector.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

kernels_status kernels_abi_collector_init(kernels_abi_collector *collector, kernels_error *error) {
    *collector = (kernels_abi_collector){.arena = kernels_arena_new(0)};
    return collector->arena == NULL ? kernels_fail_no_memory(error) : KERNELS_OK;
}

void kernels_abi_collector_dispose(kernels_abi_collector *collector) {
    kernels_free(collector->items);
    kernels_arena_free(collector->arena);
    *collector = (kernels_abi_collector){0};
}

/* ---- adding ---- */

static bool copy(kernels_arena *arena, kernels_view text, const char **to) {
    *to = text.data == NULL ? NULL : kernels_arena_copy_text(arena, text);
    return text.data == NULL || *to != NULL;
}

static bool copy_texts(kernels_arena *arena, const kernels_abi_draft *draft, kernels_abi_finding *finding) {
    return copy(arena, draft->name, &finding->name) && copy(arena, draft->mangled, &finding->mangled) &&
           copy(arena, draft->dep, &finding->dep) && copy(arena, draft->version, &finding->version) &&
           copy(arena, draft->added, &finding->added) && copy(arena, draft->library, &finding->library);
}

kernels_status kernels_abi_collect(kernels_abi_collector *collector, const kernels_abi_draft *draft,
                                   kernels_error *error, const char *format, ...) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer message = KERNELS_BUFFER_INIT(1024 * 1024);
    va_list arguments;
    va_start(arguments, format);
    kernels_buffer_vprintf(&message, format, arguments);
    va_end(arguments);
    KERNELS_TRY(kernels_buffer_status(&message, error));
    kernels_abi_finding finding = {
        .check = collector->check, .kind = draft->kind, .severity = draft->severity, .slice = collector->slice};
    if (!copy_texts(collector->arena, draft, &finding) ||
        !copy(collector->arena, kernels_buffer_view(&message), &finding.message) ||
        !kernels_grow((void **)&collector->items, &collector->capacity, collector->count, sizeof finding,
                      KERNELS_ABI_LIST_LIMIT)) {
        return kernels_fail_no_memory(error);
    }
    collector->items[collector->count++] = finding;
    return KERNELS_OK;
}

/* ---- sorting ---- */

static int compare_texts(const char *a, const char *b) { return strcmp(a == NULL ? "" : a, b == NULL ? "" : b); }

static int compare(const void *first, const void *second) {
    const kernels_abi_finding *a = first, *b = second;
    if (a->check != b->check || a->kind != b->kind) {
        return a->check != b->check ? (a->check < b->check ? -1 : 1) : (a->kind < b->kind ? -1 : 1);
    }
    const char *const texts[][2] = {{a->name, b->name},   {a->dep, b->dep},         {a->version, b->version},
                                    {a->added, b->added}, {a->mangled, b->mangled}, {a->library, b->library},
                                    {a->slice, b->slice}, {a->message, b->message}};
    int order = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && order == 0; i++) {
        order = compare_texts(texts[i][0], texts[i][1]);
    }
    return order;
}

/* The same symbol of the same version from two libraries of that name is one finding. */
static bool is_repeat(const kernels_abi_finding *a, const kernels_abi_finding *b) {
    return a->check == b->check && a->kind == b->kind && compare_texts(a->name, b->name) == 0 &&
           compare_texts(a->dep, b->dep) == 0 && compare_texts(a->version, b->version) == 0 &&
           compare_texts(a->added, b->added) == 0 && compare_texts(a->mangled, b->mangled) == 0 &&
           compare_texts(a->slice, b->slice) == 0;
}

kernels_status kernels_abi_collected(kernels_abi_collector *collector, kernels_abi_findings *findings,
                                     kernels_error *error) {
    size_t kept = 0;
    if (collector->count > 0) {
        qsort(collector->items, collector->count, sizeof collector->items[0], compare);
    }
    for (size_t i = 0; i < collector->count; i++) {
        if (kept == 0 || !is_repeat(&collector->items[kept - 1], &collector->items[i])) {
            collector->items[kept++] = collector->items[i];
        }
    }
    kernels_abi_finding *items = kernels_arena_array(collector->arena, kept == 0 ? 1 : kept, sizeof items[0]);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (kept > 0) {
        memcpy(items, collector->items, kept * sizeof items[0]);
    }
    *findings = (kernels_abi_findings){items, kept, collector->arena};
    collector->arena = NULL;
    return KERNELS_OK;
}

void kernels_abi_findings_dispose(kernels_abi_findings *findings) {
    kernels_arena_free(findings->owner);
    *findings = (kernels_abi_findings){0};
}

/* ---- versions ---- */

void kernels_abi_version_print(const kernels_version *version, char text[KERNELS_VERSION_TEXT_SIZE]) {
    kernels_version trimmed = *version;
    while (trimmed.count > 1 && trimmed.parts[trimmed.count - 1] == 0) {
        trimmed.count--;
    }
    trimmed.count = trimmed.count == 0 ? 1 : trimmed.count;
    kernels_version_print(&trimmed, text);
}

bool kernels_abi_version_read(kernels_view text, kernels_version *version) {
    return kernels_version_parse(text, version, NULL) == KERNELS_OK;
}

/* ---- names ---- */

const char *kernels_abi_check_name(kernels_abi_check check) {
    static const char *const names[] = {"manylinux", "python", "macos", "torch", "tvm-ffi", "other"};
    return (size_t)check < sizeof names / sizeof names[0] ? names[check] : "?";
}

const char *kernels_abi_kind_name(kernels_abi_kind kind) {
    static const char *const names[KERNELS_ABI_KIND_COUNT] = {
        [KERNELS_ABI_VERSION_NOT_ALLOWED] = "version-not-allowed",
        [KERNELS_ABI_FORBIDDEN_SYMBOL] = "forbidden-symbol",
        [KERNELS_ABI_TOO_NEW] = "too-new",
        [KERNELS_ABI_NOT_ABI3] = "not-abi3",
        [KERNELS_ABI_NOT_STABLE_DLL] = "not-stable-abi-dll",
        [KERNELS_ABI_OTHER_PLATFORM] = "other-platform",
        [KERNELS_ABI_OS_VERSION_TOO_NEW] = "os-version-too-new",
        [KERNELS_ABI_OS_VERSION_MISSING] = "os-version-missing",
        [KERNELS_ABI_WRONG_OS] = "wrong-platform",
        [KERNELS_ABI_NOT_STABLE] = "not-stable",
        [KERNELS_ABI_UNKNOWN_SHIM] = "unknown-shim",
        [KERNELS_ABI_UNKNOWN_FUNCTION] = "unknown-function",
        [KERNELS_ABI_WRONG_FRAMEWORK] = "wrong-framework",
        [KERNELS_ABI_WRONG_CXX_ABI] = "wrong-cxx-abi",
        [KERNELS_ABI_NEEDED_LIBRARY] = "needed-library",
        [KERNELS_ABI_LIBPYTHON] = "libpython",
        [KERNELS_ABI_RUN_PATH] = "run-path",
        [KERNELS_ABI_EXECUTABLE_STACK] = "executable-stack",
        [KERNELS_ABI_TEXT_RELOCATIONS] = "text-relocations",
        [KERNELS_ABI_WRITABLE_CODE] = "writable-code",
        [KERNELS_ABI_NO_RELRO] = "no-relro",
        [KERNELS_ABI_UNIQUE_SYMBOLS] = "unique-symbols",
        [KERNELS_ABI_UNVERSIONED] = "unversioned",
        [KERNELS_ABI_NOT_SHARED] = "not-shared-object",
        [KERNELS_ABI_WRONG_MACHINE] = "wrong-machine",
        [KERNELS_ABI_FILE_NAME] = "file-name",
        [KERNELS_ABI_GPU_ARCHITECTURE] = "gpu-architecture",
        [KERNELS_ABI_NAME_CLASH] = "name-clash",
        [KERNELS_ABI_OUTSIDE_LINK] = "outside-link",
    };
    return (size_t)kind < KERNELS_ABI_KIND_COUNT ? names[kind] : "?";
}
