/* SPDX-License-Identifier: Apache-2.0 */
#include "build/report.h"

#include <string.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/path.h"
#include "base/view.h"

#define REPORT_FORMAT 1

void kernels_report_check(kernels_variant_report *report, const char *name, kernels_check_outcome outcome,
                          const char *detail) {
    if (report->check_count < KERNELS_REPORT_CHECKS_MAX) {
        report->checks[report->check_count++] = (kernels_check_record){name, outcome, kernels_strdup(detail)};
    }
}

void kernels_report_reason(kernels_variant_report *report, const char *reason) {
    for (size_t i = 0; i < report->reason_count; i++) {
        if (strcmp(report->reasons[i], reason) == 0) {
            return;
        }
    }
    if (report->reason_count < KERNELS_REPORT_REASONS_MAX) {
        report->reasons[report->reason_count++] = reason;
    }
}

bool kernels_report_is_publishable(const kernels_build_report *report) {
    bool publishable = true;
    for (size_t i = 0; i < report->variant_count; i++) {
        publishable &= report->variants[i].reason_count == 0;
    }
    return publishable;
}

static void print_variant(kernels_json_writer *json, const kernels_variant_report *variant) {
    static const char *const outcomes[] = {"passed", "skipped"};
    kernels_json_begin_object(json);
    kernels_json_member_text(json, "name", variant->name);
    kernels_json_key(json, "checks");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < variant->check_count; i++) {
        kernels_json_begin_object(json);
        kernels_json_member_text(json, "name", variant->checks[i].name);
        kernels_json_member_text(json, "status", outcomes[variant->checks[i].outcome]);
        kernels_json_member_text(json, "detail", variant->checks[i].detail);
        kernels_json_end_object(json);
    }
    kernels_json_end_array(json);
    kernels_json_member_boolean(json, "publishable", variant->reason_count == 0);
    kernels_json_key(json, "reasons");
    kernels_json_begin_array(json);
    for (size_t i = 0; i < variant->reason_count; i++) {
        kernels_json_text(json, variant->reasons[i]);
    }
    kernels_json_end_array(json);
    kernels_json_end_object(json);
}

void kernels_report_print(const kernels_build_report *report, kernels_buffer *out) {
    kernels_json_writer json;
    kernels_json_writer_init(&json, out, 2, false);
    kernels_json_begin_object(&json);
    kernels_json_member_unsigned(&json, "format", REPORT_FORMAT);
    kernels_json_member_text(&json, "kernel", report->kernel);
    kernels_json_member_unsigned(&json, "version", report->version);
    kernels_json_member_text(&json, "unique-id", report->unique_id);
    kernels_json_member_text(&json, "source", report->source_digest);
    kernels_json_member_text(&json, "bundle", report->bundle_digest);
    kernels_json_member_boolean(&json, "publishable", kernels_report_is_publishable(report));
    kernels_json_key(&json, "variants");
    kernels_json_begin_array(&json);
    for (size_t i = 0; i < report->variant_count; i++) {
        print_variant(&json, &report->variants[i]);
    }
    kernels_json_end_array(&json);
    kernels_json_end_object(&json);
    kernels_buffer_add_char(out, '\n');
}

void kernels_report_dispose(kernels_build_report *report) {
    for (size_t i = 0; i < report->variant_count; i++) {
        for (size_t j = 0; j < report->variants[i].check_count; j++) {
            kernels_free(report->variants[i].checks[j].detail);
        }
    }
    *report = (kernels_build_report){0};
}

static void add_reasons(const kernels_node *variant, kernels_buffer *out) {
    kernels_view name = kernels_node_text(kernels_node_find(variant, "name"));
    const kernels_node *reasons = kernels_node_find(variant, "reasons");
    for (size_t i = 0; kernels_node_is(reasons, KERNELS_NODE_ARRAY) && i < reasons->count; i++) {
        kernels_buffer_printf(out, "%.*s: %.*s\n", KERNELS_VIEW_ARGS(name),
                              KERNELS_VIEW_ARGS(kernels_node_text(reasons->as.items[i])));
    }
}

bool kernels_report_read_reasons(const char *built_dir, kernels_buffer *reasons) {
    KERNELS_CLEANUP_FREE char *real = kernels_path_resolve(built_dir);
    KERNELS_CLEANUP_FREE char *parent = real ? kernels_path_parent(real) : NULL;
    KERNELS_CLEANUP_FREE char *path = parent ? kernels_path_join(parent, KERNELS_REPORT_NAME) : NULL;
    kernels_document document;
    if (!path || kernels_json_read_file(path, KERNELS_REPORT_SIZE_LIMIT, &document, NULL)) {
        return false;
    }
    const kernels_node *variants = kernels_node_find(document.root, "variants");
    for (size_t i = 0; kernels_node_is(variants, KERNELS_NODE_ARRAY) && i < variants->count; i++) {
        add_reasons(variants->as.items[i], reasons);
    }
    kernels_document_dispose(&document);
    return true;
}
