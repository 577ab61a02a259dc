/* SPDX-License-Identifier: Apache-2.0 */
/* The report of tpu_check.h as a table and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "build/tpu_check.h"

#define CELL_SIZE 24u

/* ---- table ---- */

/* 1536 -> "1.5 KiB"; -1 -> "?" */
static void size_cell(int64_t bytes, char cell[CELL_SIZE]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    if (bytes < 0) {
        snprintf(cell, CELL_SIZE, "?");
        return;
    }
    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(cell, CELL_SIZE, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

static void flops_cell(double flops, char cell[CELL_SIZE]) {
    if (flops >= 0) {
        snprintf(cell, CELL_SIZE, "%.4g", flops);
    } else {
        snprintf(cell, CELL_SIZE, "?");
    }
}

typedef struct widths {
    int function, inputs, generation;
} widths;

static void widen(int *width, const char *text) {
    int size = (int)strlen(text);
    *width = size > *width ? size : *width;
}

static widths measure(const kernels_tpu_report *report) {
    widths width = {(int)strlen("function"), (int)strlen("inputs"), (int)strlen("generation")};
    for (size_t i = 0; i < report->compile_count; i++) {
        widen(&width.function, report->compiles[i].function);
        widen(&width.inputs, report->compiles[i].inputs);
        widen(&width.generation, report->compiles[i].generation);
    }
    for (size_t i = 0; i < report->comparison_count; i++) {
        widen(&width.function, report->comparisons[i].function);
        widen(&width.inputs, report->comparisons[i].inputs);
    }
    return width;
}

static void compile_row(const kernels_tpu_compile *compile, const widths *width, kernels_buffer *out) {
    const kernels_pjrt_stats *stats = &compile->stats;
    kernels_buffer_printf(out, "  %-*s  %-*s  %-*s  ", width->function, compile->function, width->inputs,
                          compile->inputs, width->generation, compile->generation);
    if (compile->outcome != KERNELS_TPU_PASSED) {
        kernels_buffer_add_text(out, "FAILED\n");
        return;
    }
    char code[CELL_SIZE], arguments[CELL_SIZE], output[CELL_SIZE], temporary[CELL_SIZE], accessed[CELL_SIZE],
        flops[CELL_SIZE];
    size_cell(stats->code_bytes, code);
    size_cell(stats->argument_bytes, arguments);
    size_cell(stats->output_bytes, output);
    size_cell(stats->temporary_bytes, temporary);
    size_cell(stats->bytes_accessed >= 0 ? (int64_t)stats->bytes_accessed : -1, accessed);
    flops_cell(stats->flops, flops);
    kernels_buffer_printf(out, "ok      %10s  %10s  %10s  %10s  %10s  %10s\n", code, arguments, output, temporary,
                          flops, accessed);
}

static void compile_failure(const kernels_tpu_compile *compile, kernels_buffer *out) {
    kernels_buffer_printf(out, "\n%s %s on %s: ", compile->function, compile->inputs, compile->generation);
    if (compile->has_allocation) {
        kernels_buffer_printf(out, "does not fit into %s: wanted %llu bytes, available %llu bytes\n",
                              compile->allocation.space[0] != '\0' ? compile->allocation.space : "memory",
                              (unsigned long long)compile->allocation.wanted,
                              (unsigned long long)compile->allocation.available);
    } else {
        kernels_buffer_add_text(out, "does not compile\n");
    }
    kernels_view rest = kernels_view_trim_ascii(kernels_view_of(compile->message)), line;
    while (kernels_view_split(&rest, '\n', &line)) {
        kernels_buffer_printf(out, "  %.*s\n", KERNELS_VIEW_ARGS(line));
    }
}

static void comparison_row(const kernels_tpu_comparison *comparison, const widths *width, kernels_buffer *out) {
    kernels_buffer_printf(out, "  %-*s  %-*s  ", width->function, comparison->function, width->inputs,
                          comparison->inputs);
    if (comparison->outcome == KERNELS_TPU_PASSED) {
        kernels_buffer_printf(out, "ok      largest difference %g\n", comparison->largest_difference);
    } else {
        kernels_buffer_printf(out, "%s %s\n", comparison->outcome == KERNELS_TPU_FAILED ? "FAILED " : "skipped",
                              comparison->message != NULL ? comparison->message : "");
    }
}

void kernels_tpu_report_table(const kernels_tpu_report *report, const char *variant, kernels_buffer *out) {
    widths width = measure(report);
    kernels_buffer_printf(out, "%s: compiled by %s\n", variant, report->libtpu != NULL ? report->libtpu : "nothing");
    kernels_buffer_printf(out, "  %-*s  %-*s  %-*s  result  %10s  %10s  %10s  %10s  %10s  %10s\n", width.function,
                          "function", width.inputs, "inputs", width.generation, "generation", "code", "arguments",
                          "output", "temporary", "flops", "accessed");
    for (size_t i = 0; i < report->compile_count; i++) {
        compile_row(&report->compiles[i], &width, out);
    }
    for (size_t i = 0; i < report->compile_count; i++) {
        if (report->compiles[i].outcome != KERNELS_TPU_PASSED) {
            compile_failure(&report->compiles[i], out);
        }
    }
    if (report->comparison_count > 0) {
        kernels_buffer_printf(out, "%s: compared with the reference functions on %s\n", variant,
                              report->cpu_plugin != NULL ? report->cpu_plugin : "nothing");
    }
    for (size_t i = 0; i < report->comparison_count; i++) {
        comparison_row(&report->comparisons[i], &width, out);
    }
}

/* ---- JSON ---- */

static const char *outcome_name(kernels_tpu_outcome outcome) {
    static const char *const names[] = {"passed", "failed", "skipped"};
    return names[outcome];
}

/* Unknown numbers (-1, NaN) are null. */
static void size_member(kernels_json_writer *writer, const char *key, int64_t value) {
    kernels_json_key(writer, key);
    if (value < 0) {
        kernels_json_null(writer);
    } else {
        kernels_json_signed(writer, value);
    }
}

static void real_member(kernels_json_writer *writer, const char *key, double value) {
    kernels_json_key(writer, key);
    if (value >= 0) {
        kernels_json_double(writer, value);
    } else {
        kernels_json_null(writer);
    }
}

static void compile_json(const kernels_tpu_compile *compile, kernels_json_writer *writer) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "function", compile->function);
    kernels_json_member_text(writer, "inputs", compile->inputs);
    kernels_json_member_text(writer, "generation", compile->generation);
    kernels_json_member_text(writer, "outcome", outcome_name(compile->outcome));
    real_member(writer, "seconds", compile->seconds);
    if (compile->outcome == KERNELS_TPU_PASSED) {
        const kernels_pjrt_stats *stats = &compile->stats;
        size_member(writer, "code_bytes", stats->code_bytes);
        size_member(writer, "argument_bytes", stats->argument_bytes);
        size_member(writer, "output_bytes", stats->output_bytes);
        size_member(writer, "temporary_bytes", stats->temporary_bytes);
        size_member(writer, "peak_bytes", stats->peak_bytes);
        real_member(writer, "flops", stats->flops);
        real_member(writer, "bytes_accessed", stats->bytes_accessed);
    } else {
        kernels_json_member_text(writer, "message", compile->message);
    }
    if (compile->has_allocation) {
        kernels_json_key(writer, "allocation");
        kernels_json_begin_object(writer);
        kernels_json_member_unsigned(writer, "wanted_bytes", compile->allocation.wanted);
        kernels_json_member_unsigned(writer, "available_bytes", compile->allocation.available);
        kernels_json_member_text(writer, "space", compile->allocation.space);
        kernels_json_end_object(writer);
    }
    kernels_json_end_object(writer);
}

static void comparison_json(const kernels_tpu_comparison *comparison, kernels_json_writer *writer) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "function", comparison->function);
    kernels_json_member_text(writer, "inputs", comparison->inputs);
    kernels_json_member_text(writer, "outcome", outcome_name(comparison->outcome));
    kernels_json_member_text(writer, "message", comparison->message);
    real_member(writer, "largest_difference", comparison->largest_difference);
    kernels_json_end_object(writer);
}

void kernels_tpu_report_json(const kernels_tpu_report *report, const char *variant, kernels_json_writer *writer) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "variant", variant);
    kernels_json_member_boolean(writer, "passed", report->passed);
    kernels_json_member_text(writer, "libtpu", report->libtpu);
    kernels_json_member_text(writer, "cpu_plugin", report->cpu_plugin);
    kernels_json_key(writer, "compiles");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < report->compile_count; i++) {
        compile_json(&report->compiles[i], writer);
    }
    kernels_json_end_array(writer);
    kernels_json_key(writer, "comparisons");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < report->comparison_count; i++) {
        comparison_json(&report->comparisons[i], writer);
    }
    kernels_json_end_array(writer);
    kernels_json_end_object(writer);
}
