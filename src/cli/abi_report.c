/* SPDX-License-Identifier: Apache-2.0 */
/* The report about one library as text, in the words of the released checker, and about all as JSON. */
#include <string.h>

#include "abi/collector.h"
#include "base/json_writer.h"
#include "base/view.h"
#include "cli/abi_command.h"

/* ---- text ---- */

typedef char version_text[KERNELS_VERSION_TEXT_SIZE];

static void add_heading(const kernels_abi_scanned *item, kernels_buffer *out) {
    const kernels_abi_report *report = &item->report;
    version_text python, macos;
    kernels_abi_version_print(&report->python, python);
    kernels_abi_version_print(&report->macos, macos);
    kernels_buffer_add_text(out, "🐍 Checking for compatibility with ");
    if (report->manylinux != NULL) {
        kernels_buffer_printf(out, "%s and ", report->manylinux);
    } else if (report->macos.count > 0) {
        kernels_buffer_printf(out, "macOS %s, and ", macos);
    }
    kernels_buffer_printf(out, "Python ABI version %s: %s\n", python, item->path);
}

static void add_finding(const kernels_abi_finding *finding, kernels_buffer *out) {
    switch (finding->kind) {
    case KERNELS_ABI_VERSION_NOT_ALLOWED:
        kernels_buffer_printf(out, "%s_%s: %s", finding->name, finding->dep, finding->version);
        break;
    case KERNELS_ABI_TOO_NEW:
        kernels_buffer_printf(out, "%s: %s", finding->name, finding->added);
        break;
    case KERNELS_ABI_NOT_ABI3:
    case KERNELS_ABI_NOT_STABLE:
        kernels_buffer_add_text(out, finding->name);
        break;
    default:
        kernels_buffer_add_text(out, finding->message);
    }
    if (finding->slice != NULL) {
        kernels_buffer_printf(out, " (%s)", finding->slice);
    }
    kernels_buffer_add_char(out, '\n');
}

/* A set of kinds as bits. */
#define KIND(kind) (UINT64_C(1) << (kind))

/* The findings of one check and of these kinds below their title; false when there are none. */
static bool add_list(const kernels_abi_report *report, kernels_abi_check check, uint64_t kinds, const char *title,
                     kernels_buffer *out) {
    bool is_empty = true;
    for (size_t i = 0; i < report->findings.count; i++) {
        const kernels_abi_finding *finding = &report->findings.items[i];
        if (finding->check != check || (KIND(finding->kind) & kinds) == 0 || finding->severity != KERNELS_ABI_ERROR) {
            continue;
        }
        if (is_empty) {
            kernels_buffer_printf(out, "\n⛔ %s\n\n", title);
        }
        is_empty = false;
        add_finding(finding, out);
    }
    return !is_empty;
}

static void add_manylinux(const kernels_abi_report *report, kernels_buffer *out) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer title = KERNELS_BUFFER_INIT(1024);
    kernels_buffer_printf(&title, "Symbols incompatible with `%s` found:", report->manylinux);
    if (!add_list(report, KERNELS_ABI_CHECK_MANYLINUX, UINT64_MAX, kernels_buffer_text(&title), out)) {
        return;
    }
    const char *oldest = report->floors.manylinux;
    kernels_buffer_printf(out, "\nIt would pass with: %s\n", oldest != NULL ? oldest : "no policy");
}

static void add_macos(const kernels_abi_report *report, kernels_buffer *out) {
    version_text limit;
    kernels_abi_version_print(&report->macos, limit);
    for (size_t i = 0; i < report->findings.count; i++) {
        const kernels_abi_finding *finding = &report->findings.items[i];
        if (finding->check != KERNELS_ABI_CHECK_MACOS) {
            continue;
        }
        kernels_buffer_add_text(out, "\n⛔ shared library ");
        if (finding->kind == KERNELS_ABI_OS_VERSION_TOO_NEW) {
            kernels_buffer_printf(out, "requires macOS version %s, which is newer than %s", finding->version, limit);
        } else if (finding->kind == KERNELS_ABI_OS_VERSION_MISSING) {
            kernels_buffer_add_text(out, "does not contain minimum macOS version");
        } else {
            kernels_buffer_printf(out, "is not for macOS: %s", finding->message);
        }
        kernels_buffer_printf(out, finding->slice != NULL ? " (%s)\n" : "%s\n",
                              finding->slice != NULL ? finding->slice : "");
    }
}

static void add_python(const kernels_abi_report *report, kernels_buffer *out) {
    version_text limit, floor;
    kernels_abi_version_print(&report->python, limit);
    kernels_abi_version_print(&report->floors.python, floor);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer title = KERNELS_BUFFER_INIT(1024);
    kernels_buffer_printf(&title, "Symbols >= Python ABI %s found:", limit);
    bool is_new =
        add_list(report, KERNELS_ABI_CHECK_PYTHON, KIND(KERNELS_ABI_TOO_NEW), kernels_buffer_text(&title), out);
    bool is_foreign =
        add_list(report, KERNELS_ABI_CHECK_PYTHON, ~KIND(KERNELS_ABI_TOO_NEW), "Non-ABI3 symbols found:", out);
    if (is_new && !is_foreign) {
        kernels_buffer_printf(out, "\nIt would pass with: Python %s\n", floor);
    }
}

static void add_torch(const kernels_abi_report *report, kernels_buffer *out) {
    version_text limit;
    if (report->torch.count == 0) {
        return;
    }
    kernels_abi_version_print(&report->torch, limit);
    kernels_buffer_printf(out, "🔥 Checking for compatibility with Torch stable ABI version %s\n", limit);
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer title = KERNELS_BUFFER_INIT(1024);
    kernels_buffer_printf(&title, "Non-stable Torch ABI symbols found (incompatible with Torch stable ABI %s):", limit);
    (void)add_list(report, KERNELS_ABI_CHECK_TORCH, UINT64_MAX, kernels_buffer_text(&title), out);
}

/* Warnings of one kind that are shown; --json has all. */
#define SHOWN_LIMIT 3

static void add_hidden(size_t count, kernels_buffer *out) {
    if (count > SHOWN_LIMIT) {
        kernels_buffer_printf(out, "... and %zu more of this kind\n", count - SHOWN_LIMIT);
    }
}

/* Findings are sorted: those of one kind are neighbours. */
static void add_warnings(const kernels_abi_report *report, kernels_buffer *out) {
    const kernels_abi_finding *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < report->findings.count; i++) {
        const kernels_abi_finding *finding = &report->findings.items[i];
        if (finding->severity != KERNELS_ABI_WARNING) {
            continue;
        }
        if (last == NULL) {
            kernels_buffer_add_text(out, "\n⚠️ Warnings:\n\n");
        } else if (last->kind != finding->kind || last->check != finding->check) {
            add_hidden(count, out);
            count = 0;
        }
        if (count++ < SHOWN_LIMIT) {
            kernels_buffer_printf(out, finding->slice != NULL ? "%s (%s)\n" : "%s%s\n", finding->message,
                                  finding->slice != NULL ? finding->slice : "");
        }
        last = finding;
    }
    add_hidden(count, out);
}

void kernels_abi_report_text(const kernels_abi_scanned *item, bool strict, kernels_buffer *out) {
    const kernels_abi_report *report = &item->report;
    if (item->error.status != KERNELS_OK) {
        return; /* it is all there is to say */
    }
    if (item->format == KERNELS_ABI_UNKNOWN) {
        kernels_buffer_printf(out, "🧩 %s\n", item->path);
    } else {
        add_heading(item, out);
    }
    add_manylinux(report, out);
    add_macos(report, out);
    add_python(report, out);
    add_torch(report, out);
    (void)add_list(report, KERNELS_ABI_CHECK_TVM_FFI, UINT64_MAX, "Symbols outside of the tvm-ffi ABI found:", out);
    (void)add_list(report, KERNELS_ABI_CHECK_OTHER, UINT64_MAX, "It does not fit its build variant:", out);
    add_warnings(report, out);
    if (report->error_count == 0 && (!strict || report->warning_count == 0) && item->format != KERNELS_ABI_UNKNOWN) {
        kernels_buffer_add_text(out, "✅ No compatibility issues found\n");
    }
}

/* ---- JSON ---- */

static void add_version(kernels_json_writer *writer, const char *key, const kernels_version *version) {
    version_text text;
    kernels_abi_version_print(version, text);
    kernels_json_member_text(writer, key, version->count == 0 ? NULL : text);
}

static void add_optional(kernels_json_writer *writer, const char *key, const char *text) {
    if (text != NULL) {
        kernels_json_member_text(writer, key, text);
    }
}

static void add_finding_json(kernels_json_writer *writer, const kernels_abi_finding *finding) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "check", kernels_abi_check_name(finding->check));
    kernels_json_member_text(writer, "kind", kernels_abi_kind_name(finding->kind));
    kernels_json_member_text(writer, "name", finding->name);
    add_optional(writer, "mangled", finding->mangled);
    add_optional(writer, "dep", finding->dep);
    add_optional(writer, "version", finding->version);
    add_optional(writer, "added", finding->added);
    add_optional(writer, "library", finding->library);
    add_optional(writer, "slice", finding->slice);
    kernels_json_member_text(writer, "severity", finding->severity == KERNELS_ABI_ERROR ? "error" : "warning");
    kernels_json_member_text(writer, "message", finding->message);
    kernels_json_end_object(writer);
}

static void add_findings_json(kernels_json_writer *writer, const kernels_abi_findings *findings) {
    kernels_json_key(writer, "findings");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < findings->count; i++) {
        add_finding_json(writer, &findings->items[i]);
    }
    kernels_json_end_array(writer);
}

static void add_exports_json(kernels_json_writer *writer, const char *exports) {
    kernels_view rest = kernels_view_of(exports), name;
    kernels_json_key(writer, "exports");
    kernels_json_begin_array(writer);
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &name)) {
        kernels_json_string(writer, name);
    }
    kernels_json_end_array(writer);
}

static void add_floors_json(kernels_json_writer *writer, const kernels_abi_floors *floors) {
    kernels_json_key(writer, "floors");
    kernels_json_begin_object(writer);
    add_version(writer, "glibc", &floors->glibc);
    kernels_json_member_text(writer, "manylinux", floors->manylinux);
    add_version(writer, "python", &floors->python);
    add_version(writer, "torch", &floors->torch);
    kernels_json_end_object(writer);
}

static void add_item_json(kernels_json_writer *writer, const kernels_abi_scanned *item) {
    bool is_object = item->format != KERNELS_ABI_UNKNOWN;
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "path", item->path);
    kernels_json_member_text(writer, "variant", item->variant);
    kernels_json_member_text(writer, "format", is_object ? kernels_abi_format_name(item->format) : NULL);
    kernels_json_member_text(writer, "arch", item->machine);
    add_findings_json(writer, &item->report.findings);
    if (item->error.status != KERNELS_OK) {
        kernels_json_member_text(writer, "error", kernels_error_message(&item->error));
    }
    if (is_object) {
        add_exports_json(writer, item->exports);
    }
    add_floors_json(writer, &item->report.floors);
    kernels_json_end_object(writer);
}

void kernels_abi_report_json(const kernels_abi_scan *scan, bool strict, kernels_buffer *out) {
    kernels_json_writer writer;
    const char *policy = scan->limits.manylinux;
    const kernels_version python = {.parts = {3, 9}, .count = 2};
    kernels_json_writer_init(&writer, out, 2, false);
    kernels_json_begin_object(&writer);
    kernels_json_key(&writer, "limits");
    kernels_json_begin_object(&writer);
    kernels_json_member_text(&writer, "manylinux", policy != NULL ? policy : KERNELS_ABI_DEFAULT_MANYLINUX);
    add_version(&writer, "macos", &scan->limits.macos);
    add_version(&writer, "python", scan->limits.python.count > 0 ? &scan->limits.python : &python);
    add_version(&writer, "torch", &scan->limits.torch);
    kernels_json_end_object(&writer);
    kernels_json_key(&writer, "files");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < scan->count; i++) {
        add_item_json(&writer, &scan->items[i]);
    }
    kernels_json_end_array(&writer);
    kernels_json_member_boolean(&writer, "ok", kernels_abi_scan_passed(scan, strict));
    kernels_json_end_object(&writer);
    kernels_buffer_add_char(out, '\n');
}
