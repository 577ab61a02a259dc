/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of a build variant: all cases of loader/variant_resolution.json, and what they do not say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "resolve/decide.h"
#include "vector.h"

static void parse_version(const char *text, kernels_version *version) {
    if (text != NULL) {
        assert_int_equal(kernels_version_parse(kernels_view_of(text), version, NULL), KERNELS_OK);
    }
}

static void set_name(char *to, size_t size, const char *text) {
    assert_true(strlen(text) < size);
    memcpy(to, text, strlen(text) + 1);
}

static kernels_system read_system(kernels_document *document, const kernels_node *node) {
    kernels_system system = {.torch_cxx11_abi = KERNELS_CXX11_ABI_NONE};
    set_name(system.cpu, sizeof system.cpu, vector_text(document, node, "cpu"));
    set_name(system.os, sizeof system.os, vector_text(document, node, "os"));
    parse_version(vector_text(document, node, "torch"), &system.torch);
    parse_version(vector_text(document, node, "tvm_ffi"), &system.tvm_ffi);
    parse_version(vector_text(document, node, "macos"), &system.macos);
    const kernels_node *abi = kernels_node_find(node, "cxx11_abi");
    if (kernels_node_is(abi, KERNELS_NODE_BOOLEAN)) {
        system.torch_cxx11_abi = abi->as.boolean ? KERNELS_CXX11_ABI_NEW : KERNELS_CXX11_ABI_OLD;
    }
    system.free_threaded = vector_true(node, "unsupported_free_threaded");
    kernels_view backend = kernels_node_text(kernels_node_find(node, "backend"));
    size_t colon = kernels_view_find(backend, ':');
    kernels_view name = kernels_view_slice(backend, 0, colon == SIZE_MAX ? backend.size : colon);
    assert_int_equal(kernels_backend_parse(name, &system.backend, NULL), KERNELS_OK);
    if (colon != SIZE_MAX) {
        kernels_view version = kernels_view_slice(backend, colon + 1, backend.size);
        assert_int_equal(kernels_version_parse(version, &system.backend_version, NULL), KERNELS_OK);
    }
    return system;
}

static const char **read_names(kernels_document *document, const kernels_node *names) {
    const char **texts = kernels_arena_array(document->arena, names->count + 1, sizeof *texts);
    assert_non_null(texts);
    for (size_t i = 0; i < names->count; i++) {
        texts[i] = kernels_arena_copy_text(document->arena, names->as.items[i]->as.text);
    }
    return texts;
}

/* The one case where we accept what the oracle refuses: torch-cann on an Ascend system, after torch-npu. */
static bool is_cann_case(kernels_document *document, const kernels_node *vector) {
    const char *name = vector_text(document, vector, "name");
    return strcmp(name, "cann maps to npu for noarch") == 0;
}

/* "torch-" is no variant name for us (loader/variant_parse.json says so): it is not in our trace. */
static bool is_empty_noarch_name(const kernels_node *line) {
    return kernels_view_equal_text(kernels_node_text(line->as.items[0]), "torch-");
}

static void check_line(const kernels_node *line, const kernels_decision *decision, const char *name) {
    kernels_view wanted = kernels_node_text(line->as.items[0]);
    if (!kernels_view_equal_text(wanted, decision->variant.name)) {
        fail_msg("%s: expected %.*s, got %s", name, KERNELS_VIEW_ARGS(wanted), decision->variant.name);
    }
    bool accepted = kernels_node_is(line->as.items[1], KERNELS_NODE_NULL);
    assert_int_equal(decision->accepted, accepted);
    if (!accepted && !kernels_view_equal_text(kernels_node_text(line->as.items[1]), decision->reason)) {
        fail_msg("%s: %s: expected %.*s, got %s", name, decision->variant.name,
                 KERNELS_VIEW_ARGS(kernels_node_text(line->as.items[1])), decision->reason);
    }
}

static void check_trace(const kernels_node *vector, const kernels_decisions *decisions, const char *name) {
    const kernels_node *trace = kernels_node_find(vector, "trace");
    size_t lines = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (is_empty_noarch_name(trace->as.items[i])) {
            continue;
        }
        if (lines == decisions->count) {
            fail_msg("%s: expected more than %zu decisions", name, lines);
        }
        check_line(trace->as.items[i], &decisions->items[lines++], name);
    }
    assert_int_equal(lines, decisions->count);
}

static void check_accepted(const kernels_node *vector, const kernels_decisions *decisions) {
    const kernels_node *accepted = kernels_node_find(vector, "accepted");
    assert_int_equal(decisions->accepted_count, accepted->count);
    for (size_t i = 0; i < accepted->count; i++) {
        assert_true(
            kernels_view_equal_text(kernels_node_text(accepted->as.items[i]), decisions->items[i].variant.name));
    }
    const kernels_node *chosen = kernels_node_find(vector, "chosen");
    assert_int_equal(kernels_node_is(chosen, KERNELS_NODE_NULL), decisions->accepted_count == 0);
    if (decisions->accepted_count > 0) {
        assert_true(kernels_view_equal_text(kernels_node_text(chosen), decisions->items[0].variant.name));
    }
}

static void check_trace_text(kernels_document *document, const kernels_node *vector,
                             const kernels_decisions *decisions) {
    const char *wanted = vector_text(document, vector, "trace_text");
    if (wanted != NULL) {
        char *text = kernels_decisions_trace(decisions);
        assert_string_equal(text, wanted);
        kernels_string_free(text);
    }
}

static void test_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("loader/variant_resolution.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    size_t exact = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const kernels_node *vector = cases->as.items[i];
        const kernels_node *names = kernels_node_find(vector, "variants");
        kernels_system system = read_system(&document, kernels_node_find(vector, "system"));
        kernels_decisions decisions = {0};
        assert_int_equal(kernels_resolve_with_rule(&system, read_names(&document, names), names->count, NULL, NULL,
                                                   NULL, &decisions, NULL),
                         KERNELS_OK);
        if (is_cann_case(&document, vector)) {
            assert_int_equal(decisions.accepted_count, 4);
            assert_string_equal(decisions.items[1].variant.name, "torch-npu");
            assert_string_equal(decisions.items[2].variant.name, "torch-cann");
            assert_string_equal(decisions.items[3].variant.name, "torch-universal");
        } else {
            check_trace(vector, &decisions, vector_text(&document, vector, "name"));
            check_accepted(vector, &decisions);
            check_trace_text(&document, vector, &decisions);
            exact++;
        }
        kernels_decisions_dispose(&decisions);
    }
    print_message("variant_resolution.json: %zu cases, %zu as the oracle, 1 of our own rule\n", cases->count, exact);
    assert_int_equal(cases->count, 89);
    assert_int_equal(exact, 88);
    kernels_document_dispose(&document);
}

/* Every rotation and the reversal of the names give the same decisions. */
static void test_order_of_names_does_not_matter(void **state) {
    (void)state;
    const char *names[] = {"torch-universal",
                           "torch-cpu",
                           "torch213-cxx11-cpu-x86_64-linux",
                           "torch213-cpu-x86_64-linux",
                           "torch-stable-abi29-cpu-x86_64-linux",
                           "torch-stable-abi211-cpu-x86_64-linux",
                           "tvm-ffi01-cpu-x86_64-linux",
                           "torch-tpu",
                           "torch-cuda"};
    size_t count = sizeof names / sizeof names[0];
    kernels_system system = {.os = "linux",
                             .cpu = "x86_64",
                             .backend = KERNELS_BACKEND_CPU,
                             .torch = {{2, 13}, 2},
                             .torch_cxx11_abi = KERNELS_CXX11_ABI_NEW,
                             .tvm_ffi = {{0, 1}, 2}};
    char *first = NULL;
    for (size_t shift = 0; shift < 2 * count; shift++) {
        const char *shuffled[9];
        for (size_t i = 0; i < count; i++) {
            size_t from = (i + shift) % count;
            shuffled[i] = names[shift < count ? from : count - 1 - from];
        }
        kernels_decisions decisions = {0};
        assert_int_equal(kernels_resolve_variants(&system, shuffled, count, NULL, NULL, &decisions, NULL), KERNELS_OK);
        char *trace = kernels_decisions_trace(&decisions);
        if (first == NULL) {
            first = trace;
        } else {
            assert_string_equal(trace, first);
            kernels_string_free(trace);
        }
        kernels_decisions_dispose(&decisions);
    }
    assert_non_null(strstr(first, "torch-stable-abi211-cpu-x86_64-linux compatible, preferred \u2705\n"
                                  "torch-stable-abi29-cpu-x86_64-linux compatible \u2705\n"
                                  "torch213-cpu-x86_64-linux compatible \u2705\n"));
    kernels_string_free(first);
}

static void count_invalid(void *payload, const char *name) {
    assert_true(strcmp(name, "not-a-variant") == 0 || strcmp(name, "torch-") == 0);
    (*(int *)payload)++;
}

static void test_names_that_are_no_variants(void **state) {
    (void)state;
    const char *names[] = {"not-a-variant", "torch-cpu", "torch-"};
    kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    kernels_decisions decisions = {0};
    int invalid = 0;
    assert_int_equal(kernels_resolve_variants(&system, names, 3, count_invalid, &invalid, &decisions, NULL),
                     KERNELS_OK);
    assert_int_equal(invalid, 2);
    assert_int_equal(decisions.count, 1);
    kernels_decisions_dispose(&decisions);
    assert_int_equal(kernels_resolve_variants(&system, NULL, 0, NULL, NULL, &decisions, NULL), KERNELS_OK);
    char *trace = kernels_decisions_trace(&decisions);
    assert_string_equal(trace, "");
    kernels_string_free(trace);
    kernels_decisions_dispose(&decisions);
}

static kernels_rule_verdict judge_test(const void *payload, const kernels_variant *variant, kernels_buffer *reason) {
    assert_string_equal(payload, "payload");
    if (strcmp(variant->name, "torch-cpu") == 0) {
        kernels_buffer_add_text(reason, "not wanted");
        return KERNELS_RULE_REJECT;
    }
    return strcmp(variant->name, "torch-tpu") == 0 ? KERNELS_RULE_FALLBACK : KERNELS_RULE_NO_OPINION;
}

static void test_rule(void **state) {
    (void)state;
    const char *names[] = {"torch-cpu", "torch-cuda", "torch-tpu", "torch-universal"};
    const kernels_rule rule = {judge_test, "payload"};
    kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU};
    kernels_decisions decisions = {0};
    assert_int_equal(kernels_resolve_with_rule(&system, names, 4, &rule, NULL, NULL, &decisions, NULL), KERNELS_OK);
    assert_int_equal(decisions.accepted_count, 2);
    assert_string_equal(decisions.items[0].variant.name, "torch-universal");
    assert_string_equal(decisions.items[1].variant.name, "torch-tpu");
    assert_string_equal(decisions.items[2].variant.name, "torch-cpu");
    assert_string_equal(decisions.items[2].reason, "not wanted");
    kernels_decisions_dispose(&decisions);
}

static void test_path_keeps_the_name_of_the_folder(void **state) {
    (void)state;
    const char *names[] = {"torch209-cpu-x86_64-linux"};
    kernels_system system = {.os = "linux", .cpu = "x86_64", .backend = KERNELS_BACKEND_CPU, .torch = {{2, 9}, 2}};
    kernels_decisions decisions = {0};
    assert_int_equal(kernels_resolve_variants(&system, names, 1, NULL, NULL, &decisions, NULL), KERNELS_OK);
    assert_string_equal(decisions.items[0].variant.name, "torch209-cpu-x86_64-linux");
    char *trace = kernels_decisions_trace(&decisions);
    assert_string_equal(trace, "torch29-cpu-x86_64-linux compatible, preferred \u2705");
    kernels_string_free(trace);
    kernels_decisions_dispose(&decisions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_order_of_names_does_not_matter),
        cmocka_unit_test(test_names_that_are_no_variants),
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_path_keeps_the_name_of_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
