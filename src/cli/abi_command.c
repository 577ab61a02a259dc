/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/abi_command.h"

#include "base/error.h"
#include "base/view.h"

const char kernels_abi_description[] =
    "Reads what the loader of the system reads (dynamic tables, needed versions), so that stripped libraries are "
    "checked too, and says which symbol of which library breaks which promise and what would satisfy it. Libraries "
    "are found by their content, whatever their name; links to files are followed.\n"
    "\n"
    "Exit codes: 0 all is well, 1 findings or files that cannot be checked, 2 wrong usage. Warnings count with "
    "--strict.";

const kernels_option kernels_abi_options[] = {
    {.name = "manylinux",
     .short_name = 'm',
     .type = KERNELS_OPTION_TEXT,
     .value_name = "POLICY",
     .help = "Policy for Linux libraries (default: manylinux_2_28)."},
    {.name = "macos",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "VERSION",
     .help = "Oldest macOS (default: 15.0; 26.0 in a metal variant)."},
    {.name = "python-abi",
     .short_name = 'p',
     .type = KERNELS_OPTION_TEXT,
     .value_name = "VERSION",
     .help = "Oldest Python, by its stable ABI (default: 3.9)."},
    {.name = "torch-stable-abi",
     .type = KERNELS_OPTION_TEXT,
     .value_name = "VERSION",
     .help = "Oldest torch, by its stable ABI (default: that of a torch-stable-abi variant, else not checked)."},
    {.name = "strict", .type = KERNELS_OPTION_FLAG, .help = "Warnings count as findings."},
    {.name = "json", .type = KERNELS_OPTION_FLAG, .help = "Print a JSON object on standard output."},
    {.name = "reference-symbols",
     .type = KERNELS_OPTION_FLAG,
     .help = "Read static symbol tables only, as the released checker does; for comparison with it."},
    {.name = "data-version",
     .type = KERNELS_OPTION_FLAG,
     .help = "Print where the tables of symbols come from, and their dates."},
    {0},
};

/* ---- limits ---- */

static kernels_status read_version(const kernels_arguments *arguments, const char *name, kernels_version *version,
                                   kernels_error *error) {
    const char *text = kernels_arguments_text(arguments, name);
    if (text == NULL) {
        return KERNELS_OK;
    }
    kernels_error reason = KERNELS_ERROR_INIT;
    kernels_status status = kernels_view_trim_ascii(kernels_view_of(text)).size == 0
                                ? kernels_fail(&reason, KERNELS_USAGE, "the version is empty")
                                : kernels_version_parse(kernels_view_of(text), version, &reason);
    if (status != KERNELS_OK) {
        status = kernels_fail(error, KERNELS_USAGE, "invalid value '%s' for '--%s': %s", text, name,
                              kernels_error_message(&reason));
    }
    kernels_error_dispose(&reason);
    return status;
}

static kernels_status read_limits(const kernels_arguments *arguments, kernels_abi_scan *scan, kernels_error *error) {
    scan->limits.manylinux = kernels_arguments_text(arguments, "manylinux");
    scan->flags = (kernels_arguments_flag(arguments, "reference-symbols") ? KERNELS_ABI_SYMTAB_ONLY : 0u) |
                  (kernels_arguments_flag(arguments, "json") ? KERNELS_ABI_EXPORTS : 0u);
    KERNELS_TRY(read_version(arguments, "macos", &scan->limits.macos, error));
    KERNELS_TRY(read_version(arguments, "python-abi", &scan->limits.python, error));
    return read_version(arguments, "torch-stable-abi", &scan->limits.torch, error);
}

/* ---- report ---- */

static void show_text(const kernels_abi_scan *scan, kernels_terminal *terminal, bool strict) {
    for (size_t i = 0; i < scan->count; i++) {
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_abi_report_text(&scan->items[i], strict, &text);
        kernels_terminal_note(terminal, kernels_buffer_view(&text));
        kernels_buffer_dispose(&text);
        if (scan->items[i].error.status != KERNELS_OK) {
            kernels_terminal_error(terminal, &scan->items[i].error);
        }
    }
}

static int show(const kernels_abi_scan *scan, kernels_terminal *terminal, bool strict, bool json) {
    int code = KERNELS_EXIT_OK;
    if (json) {
        kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        kernels_abi_report_json(scan, strict, &text);
        code = kernels_terminal_print(terminal, kernels_buffer_view(&text));
        kernels_buffer_dispose(&text);
    } else {
        show_text(scan, terminal, strict);
    }
    if (kernels_abi_scan_passed(scan, strict)) {
        return code;
    }
    return json ? KERNELS_EXIT_FAILURE : kernels_terminal_failure(terminal, "ABI compatibility issues found");
}

static int show_data_version(kernels_terminal *terminal) {
    kernels_buffer text = KERNELS_BUFFER_INIT(65536);
    size_t count;
    const kernels_abi_source *sources = kernels_abi_data_sources(&count);
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_printf(&text, "%-18s %s %s, %s, sha256 %s\n", sources[i].table, sources[i].package,
                              sources[i].version, sources[i].date, sources[i].sha256);
    }
    int code = kernels_terminal_print(terminal, kernels_buffer_view(&text));
    kernels_buffer_dispose(&text);
    return code;
}

int kernels_abi_command_run(const kernels_arguments *arguments, kernels_terminal *terminal,
                            kernels_abi_collect_files *collect) {
    kernels_abi_scan scan = {0};
    kernels_error error = KERNELS_ERROR_INIT;
    if (kernels_arguments_flag(arguments, "data-version")) {
        return show_data_version(terminal);
    }
    kernels_status status = read_limits(arguments, &scan, &error);
    status = status == KERNELS_OK ? collect(arguments, &scan, &error) : status;
    int code = status == KERNELS_OK ? show(&scan, terminal, kernels_arguments_flag(arguments, "strict"),
                                           kernels_arguments_flag(arguments, "json"))
                                    : kernels_terminal_fail(terminal, &error);
    kernels_abi_scan_dispose(&scan);
    return code;
}
