/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings from layers to repositories: the vectors that need no Python, sharing, threads, memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/fault.h"
#include "kernels/mapping.h"
#include "vector.h"

/* ---- helpers ---- */

static kernels_layer_mapping *mapping_new(const kernels_layer_repositories *repositories) {
    kernels_layer_mapping *mapping;
    assert_int_equal(kernels_layer_mapping_new(repositories, &mapping, NULL), KERNELS_OK);
    return mapping;
}

/* Takes the label as the repository. */
static void put(kernels_layer_mapping *mapping, const char *layer, kernels_device device, const char *label) {
    kernels_layer_choice choice = {KERNELS_MODE_FALLBACK, (void *)(uintptr_t)label};
    kernels_layer_entry entry = {
        .layer = kernels_view_of(layer), .has_device = true, .device = device, .choices = &choice, .choice_count = 1};
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
}

static void put_range(kernels_layer_mapping *mapping, kernels_device device, int64_t minimum, int64_t maximum,
                      const char *label) {
    kernels_layer_choice choice = {KERNELS_MODE_FALLBACK, (void *)(uintptr_t)label};
    kernels_layer_entry entry = {.layer = KERNELS_VIEW("A"),
                                 .has_device = true,
                                 .device = device,
                                 .has_range = true,
                                 .minimum = minimum,
                                 .maximum = maximum,
                                 .choices = &choice,
                                 .choice_count = 1};
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
}

static const char *get(kernels_layer_mapping *mapping, const char *layer, const char *device, int64_t capability) {
    kernels_layer_query query = {.layer = kernels_view_of(layer),
                                 .device = kernels_view_of(device),
                                 .has_capability = capability != INT64_MIN,
                                 .capability = capability,
                                 .mode = KERNELS_MODE_INFERENCE};
    kernels_layer_answer answer;
    (void)kernels_layer_mapping_find(mapping, &query, &answer, NULL);
    return answer.repository;
}

#define UNKNOWN INT64_MIN

static unsigned number(const kernels_node *node, const char *key) {
    const kernels_node *found = kernels_node_find(node, key);
    assert_true(kernels_node_is(found, KERNELS_NODE_UNSIGNED));
    return (unsigned)found->as.unsigned_value;
}

static int64_t signed_number(const kernels_node *node) {
    return node->type == KERNELS_NODE_NEGATIVE ? node->as.negative : (int64_t)node->as.unsigned_value;
}

static void assert_fails(kernels_status status, kernels_error *error, const char *contains) {
    assert_int_equal(status, KERNELS_INVALID_ARGUMENT);
    if (contains != NULL && strstr(kernels_error_message(error), contains) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", kernels_error_message(error), contains);
    }
    kernels_error_dispose(error);
}

/* ---- vectors ---- */

static void mode_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/mode_ops.json");
    const kernels_node *unions = kernels_node_find(document.root, "or");
    for (size_t i = 0; i < unions->count; i++) {
        const kernels_node *vector = unions->as.items[i];
        kernels_error error = KERNELS_ERROR_INIT;
        unsigned mode = 99;
        kernels_status status = kernels_mode_union(number(vector, "a"), number(vector, "b"), &mode, &error);
        if (kernels_node_find(vector, "error") != NULL) {
            assert_fails(status, &error, vector_text(&document, vector, "contains"));
        } else {
            assert_int_equal(status, KERNELS_OK);
            assert_int_equal(mode, number(vector, "or"));
        }
    }
    const kernels_node *requests = kernels_node_find(document.root, "kernelize_precheck_no_layers");
    for (size_t i = 0; i < requests->count; i++) {
        const kernels_node *vector = requests->as.items[i];
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = kernels_mode_check_request(number(vector, "mode"), &error);
        if (vector_true(vector, "accepted")) {
            assert_int_equal(status, KERNELS_OK);
        } else {
            assert_fails(status, &error, vector_text(&document, vector, "contains"));
        }
    }
    print_message("mode_ops.json: %zu unions, %zu requests\n", unions->count, requests->count);
    assert_int_equal(unions->count + requests->count, 272);
    kernels_document_dispose(&document);
}

static void select_vector(const kernels_node *vector) {
    static char labels[KERNELS_MODE_COUNT];
    kernels_layer_choice choices[KERNELS_MODE_COUNT];
    const kernels_node *registered = kernels_node_find(vector, "registered");
    for (size_t i = 0; i < registered->count; i++) {
        unsigned mode = (unsigned)registered->as.items[i]->as.unsigned_value;
        choices[i] = (kernels_layer_choice){mode, &labels[mode]};
    }
    kernels_layer_entry entry = {.layer = KERNELS_VIEW("A"),
                                 .has_device = true,
                                 .device = KERNELS_DEVICE_TPU,
                                 .choices = choices,
                                 .choice_count = registered->count};
    kernels_layer_mapping *mapping = mapping_new(NULL);
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
    kernels_layer_query query = {
        .layer = KERNELS_VIEW("A"), .device = KERNELS_VIEW("tpu"), .mode = number(vector, "requested")};
    kernels_layer_answer answer;
    kernels_status status = kernels_layer_mapping_find(mapping, &query, &answer, NULL);
    const kernels_node *selected = kernels_node_find(vector, "selected");
    if (kernels_node_is(selected, KERNELS_NODE_UNSIGNED)) {
        assert_int_equal(status, KERNELS_OK);
        assert_int_equal(answer.mode, selected->as.unsigned_value);
        assert_ptr_equal(answer.repository, &labels[answer.mode]);
    } else {
        assert_int_equal(status, KERNELS_NOT_FOUND);
        assert_int_equal(answer.result, KERNELS_LAYER_NO_MODE);
    }
    kernels_layer_mapping_free(mapping);
}

static void selection_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/mode_select.json");
    const kernels_node *table = kernels_node_find(document.root, "table");
    const kernels_node *odd = kernels_node_find(document.root, "odd_registered_keys");
    const kernels_node *supported = kernels_node_find(document.root, "request_supported");
    for (size_t i = 0; i < table->count; i++) {
        select_vector(table->as.items[i]);
    }
    for (size_t i = 0; i < odd->count; i++) {
        select_vector(odd->as.items[i]);
        unsigned first = (unsigned)kernels_node_find(odd->as.items[i], "registered")->as.items[0]->as.unsigned_value;
        assert_false(kernels_mode_is_reachable(first));
    }
    for (size_t i = 0; i < supported->count; i++) {
        size_t count;
        const unsigned *order = kernels_mode_order(number(supported->as.items[i], "requested"), &count);
        assert_true((order != NULL) == vector_true(supported->as.items[i], "supported"));
    }
    print_message("mode_select.json: %zu selections\n", table->count + odd->count);
    assert_int_equal(table->count + odd->count, 152);
    kernels_document_dispose(&document);
}

static void device_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/device.json");
    const kernels_node *names = kernels_node_find(document.root, "kernelize_device_strings");
    for (size_t i = 0; i < names->count; i++) {
        kernels_view name = kernels_node_text(kernels_node_find(names->as.items[i], "device"));
        kernels_device device;
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_status status = kernels_device_parse(name, &device, &error);
        if (vector_true(names->as.items[i], "ok")) {
            assert_int_equal(status, KERNELS_OK);
            assert_true(kernels_view_equal_text(name, kernels_device_name(device)));
        } else {
            assert_fails(status, &error, "Unknown device type");
        }
    }
    print_message("device.json: %zu names\n", names->count);
    assert_int_equal(names->count, 18);
    kernels_document_dispose(&document);
}

static size_t range_queries(kernels_document *document, const kernels_node *sequence) {
    const kernels_node *inserts = kernels_node_find(sequence, "inserts");
    const kernels_node *queries = kernels_node_find(sequence, "queries");
    kernels_layer_mapping *mapping = mapping_new(NULL);
    for (size_t i = 0; i < inserts->count; i++) {
        kernels_node **insert = inserts->as.items[i]->as.items;
        put_range(mapping, KERNELS_DEVICE_CUDA, signed_number(insert[0]), signed_number(insert[1]),
                  kernels_arena_copy_text(document->arena, insert[2]->as.text));
    }
    for (size_t i = 0; i < queries->count; i++) {
        const kernels_node *query = queries->as.items[i];
        const char *found = get(mapping, "A", "cuda", signed_number(kernels_node_find(query, "point")));
        const char *wanted = vector_text(document, query, "smallest");
        assert_true(found == NULL || wanted == NULL ? found == wanted : strcmp(found, wanted) == 0);
    }
    kernels_layer_mapping_free(mapping);
    return queries->count;
}

static void range_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/interval_tree.json");
    const kernels_node *sequences = kernels_node_find(document.root, "sequences");
    size_t queries = 0;
    for (size_t i = 0; i < sequences->count; i++) {
        queries += range_queries(&document, sequences->as.items[i]);
    }
    print_message("interval_tree.json: %zu sequences, %zu queries\n", sequences->count, queries);
    assert_int_equal(queries, 731);
    kernels_document_dispose(&document);
}

/* "INFERENCE|TORCH_COMPILE" */
static unsigned mode_of(kernels_view text) {
    static const char *const names[] = {"FALLBACK", "TRAINING", "INFERENCE", "TORCH_COMPILE"};
    unsigned mode = 0;
    kernels_view piece;
    while (kernels_view_split(&text, '|', &piece)) {
        for (unsigned bit = 0; bit < 4; bit++) {
            mode |= kernels_view_equal_text(piece, names[bit]) ? 1u << bit : 0;
        }
    }
    return mode;
}

static void register_vector(kernels_document *document, kernels_layer_mapping *mapping, kernels_view layer,
                            const kernels_node *pair) {
    const kernels_node *device = pair->as.items[0];
    const kernels_node *target = pair->as.items[1];
    kernels_layer_choice choices[KERNELS_MODE_COUNT];
    kernels_layer_entry entry = {.layer = layer, .has_device = true, .choices = choices, .choice_count = 1};
    kernels_view type = kernels_node_is(device, KERNELS_NODE_STRING)
                            ? device->as.text
                            : kernels_node_text(kernels_node_find(device, "type"));
    assert_int_equal(kernels_device_parse(type, &entry.device, NULL), KERNELS_OK);
    if (kernels_node_is(device, KERNELS_NODE_OBJECT)) {
        entry.has_range = true;
        entry.minimum = signed_number(kernels_node_find(device, "min"));
        entry.maximum = signed_number(kernels_node_find(device, "max"));
    }
    if (kernels_node_is(target, KERNELS_NODE_STRING)) {
        choices[0] =
            (kernels_layer_choice){KERNELS_MODE_FALLBACK, kernels_arena_copy_text(document->arena, target->as.text)};
    } else {
        entry.choice_count = target->count;
        for (size_t i = 0; i < target->count; i++) {
            choices[i] =
                (kernels_layer_choice){mode_of(target->as.members[i].key),
                                       kernels_arena_copy_text(document->arena, target->as.members[i].value->as.text)};
        }
    }
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
}

static kernels_layer_mapping *resolve_mapping(kernels_document *document, const kernels_node *vector) {
    kernels_layer_mapping *mapping = mapping_new(NULL);
    for (size_t i = 0; i < vector->count; i++) {
        kernels_view layer = vector->as.members[i].key;
        const kernels_node *devices = vector->as.members[i].value;
        kernels_layer_entry entry = {.layer = layer};
        assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
        for (size_t j = 0; j < devices->count; j++) {
            register_vector(document, mapping, layer, devices->as.items[j]);
        }
    }
    return mapping;
}

static void resolve_vector(kernels_document *document, const kernels_node *vector) {
    static const char *const reasons[] = {"found", "no_layer", "no_device", "no_properties", "no_mode", "bad_mode"};
    const kernels_node *mappings = kernels_node_find(document->root, "mappings");
    kernels_layer_mapping *mapping =
        resolve_mapping(document, kernels_node_find(mappings, vector_text(document, vector, "mapping")));
    const kernels_node *capability = kernels_node_find(vector, "capability");
    bool known = kernels_node_is(capability, KERNELS_NODE_UNSIGNED);
    kernels_layer_query query = {.layer = KERNELS_VIEW("A"),
                                 .device = kernels_node_text(kernels_node_find(vector, "device")),
                                 .has_capability = known,
                                 .capability = known ? signed_number(capability) : 0,
                                 .mode = mode_of(kernels_node_text(kernels_node_find(vector, "mode")))};
    kernels_layer_answer answer;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_layer_mapping_find(mapping, &query, &answer, &error);
    const char *outcome = vector_text(document, vector, "outcome");
    const char *reason = vector_text(document, vector, "reason");
    assert_true((status == KERNELS_OK) == (strcmp(outcome, "kernel") == 0));
    if (status == KERNELS_OK) {
        assert_string_equal(answer.repository, vector_text(document, vector, "selected"));
    } else if (reason != NULL) {
        assert_string_equal(reasons[answer.result], reason);
        assert_non_null(strstr(kernels_error_message(&error), "`A`"));
    }
    kernels_error_dispose(&error);
    kernels_layer_mapping_free(mapping);
}

static void resolve_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/resolve.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    for (size_t i = 0; i < cases->count; i++) {
        resolve_vector(&document, cases->as.items[i]);
    }
    print_message("resolve.json: %zu cases\n", cases->count);
    assert_int_equal(cases->count, 264);
    kernels_document_dispose(&document);
}

/* null: the class says nothing. */
static bool flag(const kernels_node *vector, const char *key, bool otherwise) {
    const kernels_node *found = kernels_node_find(vector, key);
    return kernels_node_is(found, KERNELS_NODE_BOOLEAN) ? found->as.boolean : otherwise;
}

static bool flags_vector(kernels_document *document, const kernels_node *vector) {
    static const char *const messages[] = {NULL, "does not support backward", "does not support torch.compile", NULL};
    unsigned registered = mode_of(kernels_node_text(kernels_node_find(vector, "registered")));
    unsigned requested = mode_of(kernels_node_text(kernels_node_find(vector, "requested")));
    const char *contains = vector_text(document, vector, "contains");
    const char *outcome = vector_text(document, vector, "outcome");
    size_t count;
    const unsigned *order = kernels_mode_order(requested, &count);
    bool chosen = false;
    for (size_t i = 0; i < count; i++) {
        chosen = chosen || order[i] == registered;
    }
    if (!chosen) { /* nothing to check: the repository is not even looked for */
        assert_string_not_equal(outcome, "kernel");
        return false;
    }
    kernels_layer_support support = kernels_layer_check(registered, requested, flag(vector, "can_torch_compile", false),
                                                        flag(vector, "has_backward", true));
    assert_true((support == KERNELS_LAYER_FITS) == (strcmp(outcome, "kernel") == 0));
    if (messages[support] != NULL) {
        assert_string_equal(contains, messages[support]);
    } else if (support == KERNELS_LAYER_CANNOT_SERVE_MODE) {
        assert_true(contains == NULL || strcmp(contains, "does not support mode") == 0);
    }
    return true;
}

static void flags_vectors(void **state) {
    (void)state;
    kernels_document document = vector_read("layers/kernelize_flags.json");
    const kernels_node *cases = kernels_node_find(document.root, "cases");
    size_t checked = 0;
    for (size_t i = 0; i < cases->count; i++) {
        checked += flags_vector(&document, cases->as.items[i]) ? 1 : 0;
    }
    print_message("kernelize_flags.json: %zu cases, in %zu a repository is chosen\n", cases->count, checked);
    assert_int_equal(cases->count, 360);
    assert_true(checked > 180);
    kernels_document_dispose(&document);
}

/* ---- what the vectors do not say ---- */

static void modes_have_names(void **state) {
    (void)state;
    char text[KERNELS_MODE_TEXT_SIZE];
    kernels_mode_print(12, text);
    assert_string_equal(text, "INFERENCE|TORCH_COMPILE");
    kernels_mode_print(0, text);
    assert_string_equal(text, "NONE");
    kernels_mode_print(15, text);
    assert_string_equal(text, "FALLBACK|TRAINING|INFERENCE|TORCH_COMPILE");
}

static void tpu_generations(void **state) {
    (void)state;
    assert_int_equal(kernels_tpu_generation_number("v5e"), 50);
    assert_int_equal(kernels_tpu_generation_number("v5p"), 51);
    assert_int_equal(kernels_tpu_generation_number("v7"), 70);
    assert_int_equal(kernels_tpu_generation_number("v99"), 0);
    assert_int_equal(kernels_tpu_generation_number(NULL), 0);
    kernels_layer_mapping *mapping = mapping_new(NULL);
    put_range(mapping, KERNELS_DEVICE_TPU, 50, 59, "five");
    assert_null(get(mapping, "A", "tpu", UNKNOWN));
    put(mapping, "A", KERNELS_DEVICE_TPU, "any");
    assert_string_equal(get(mapping, "A", "tpu", 50), "five");
    assert_string_equal(get(mapping, "A", "tpu", 60), "any");
    assert_string_equal(get(mapping, "A", "tpu", UNKNOWN), "any");
    put(mapping, "A", KERNELS_DEVICE_TPU, "any2");
    assert_string_equal(get(mapping, "A", "tpu", 51), "five");
    assert_string_equal(get(mapping, "A", "tpu", 40), "any2");
    kernels_layer_mapping_free(mapping);
}

static void a_capability_that_is_unknown_is_in_no_range(void **state) {
    (void)state;
    kernels_layer_mapping *mapping = mapping_new(NULL);
    put(mapping, "A", KERNELS_DEVICE_CUDA, "any");
    assert_string_equal(get(mapping, "A", "cuda", 75), "any");
    assert_null(get(mapping, "A", "cuda", UNKNOWN));
    assert_null(get(mapping, "A", "cuda", -1));
    put_range(mapping, KERNELS_DEVICE_CUDA, INT64_MIN, INT64_MAX, "everything");
    assert_string_equal(get(mapping, "A", "cuda", -1), "everything");
    assert_string_equal(get(mapping, "A", "cuda", 1), "any");
    kernels_layer_mapping_free(mapping);
}

static void copies_are_independent(void **state) {
    (void)state;
    kernels_layer_mapping *mapping = mapping_new(NULL), *copy;
    put(mapping, "A", KERNELS_DEVICE_CPU, "a");
    assert_int_equal(kernels_layer_mapping_copy(mapping, &copy, NULL), KERNELS_OK);
    assert_true(kernels_layer_mapping_equal(mapping, copy));
    put(copy, "A", KERNELS_DEVICE_CPU, "a2");
    assert_false(kernels_layer_mapping_equal(mapping, copy));
    put(mapping, "B", KERNELS_DEVICE_XPU, "b");
    assert_string_equal(get(mapping, "A", "cpu", UNKNOWN), "a");
    assert_string_equal(get(copy, "A", "cpu", UNKNOWN), "a2");
    assert_null(get(copy, "B", "xpu", UNKNOWN));
    kernels_layer_mapping_free(mapping);
    assert_string_equal(get(copy, "A", "cpu", UNKNOWN), "a2");
    assert_int_equal(kernels_layer_mapping_register(copy, NULL, 0, true, NULL), KERNELS_OK);
    assert_null(get(copy, "A", "cpu", UNKNOWN));
    kernels_layer_mapping_free(copy);
}

static void equality_is_about_everything(void **state) {
    (void)state;
    kernels_layer_mapping *a = mapping_new(NULL), *b = mapping_new(NULL);
    static const char one[] = "one", two[] = "two";
    put_range(a, KERNELS_DEVICE_CUDA, 80, 90, one);
    put_range(b, KERNELS_DEVICE_CUDA, 80, 90, one);
    assert_true(kernels_layer_mapping_equal(a, b));
    put_range(b, KERNELS_DEVICE_CUDA, 80, 90, two);
    assert_false(kernels_layer_mapping_equal(a, b));
    put_range(b, KERNELS_DEVICE_CUDA, 80, 90, one);
    put_range(b, KERNELS_DEVICE_CUDA, 80, 91, one);
    assert_false(kernels_layer_mapping_equal(a, b));
    kernels_layer_mapping_free(a);
    kernels_layer_mapping_free(b);
}

static void a_bad_entry_leaves_everything_as_it_was(void **state) {
    (void)state;
    kernels_layer_mapping *mapping = mapping_new(NULL);
    kernels_layer_choice choice = {KERNELS_MODE_FALLBACK, mapping};
    kernels_layer_entry good = {.layer = KERNELS_VIEW("A"),
                                .has_device = true,
                                .device = KERNELS_DEVICE_CPU,
                                .choices = &choice,
                                .choice_count = 1};
    kernels_layer_entry bad = good;
    bad.device = KERNELS_DEVICE_COUNT;
    kernels_layer_entry ranged = good;
    ranged.has_range = true;
    kernels_layer_choice odd = {KERNELS_MODE_COUNT, mapping};
    kernels_layer_entry odd_mode = good;
    odd_mode.choices = &odd;
    const kernels_layer_entry *wrong[] = {&bad, &ranged, &odd_mode};
    for (size_t i = 0; i < 3; i++) {
        kernels_error error = KERNELS_ERROR_INIT;
        kernels_layer_entry entries[] = {good, *wrong[i]};
        assert_fails(kernels_layer_mapping_register(mapping, entries, 2, false, &error), &error, "layer `A`");
        assert_null(get(mapping, "A", "cpu", UNKNOWN));
    }
    kernels_layer_mapping_free(mapping);
}

static bool count_entry(void *payload, const kernels_layer_entry *entry) {
    (void)entry;
    return ++*(size_t *)payload < 3;
}

static void visiting_stops_when_told(void **state) {
    (void)state;
    kernels_layer_mapping *mapping = mapping_new(NULL);
    size_t seen = 0;
    put(mapping, "A", KERNELS_DEVICE_CPU, "a");
    put(mapping, "A", KERNELS_DEVICE_TPU, "a");
    put_range(mapping, KERNELS_DEVICE_TPU, 50, 59, "a");
    put(mapping, "B", KERNELS_DEVICE_CPU, "b");
    kernels_layer_mapping_visit(mapping, count_entry, &seen);
    assert_int_equal(seen, 3);
    kernels_layer_mapping_free(mapping);
}

/* ---- repositories are kept and given back ---- */

static void add_one(void *repository) { ++*(int *)repository; }
static void take_one(void *repository) { --*(int *)repository; }

static const kernels_layer_repositories counted = {add_one, take_one};

static void repositories_are_counted(void **state) {
    (void)state;
    int first = 0, second = 0;
    kernels_layer_mapping *mapping = mapping_new(&counted), *copy;
    kernels_layer_choice choices[] = {{KERNELS_MODE_FALLBACK, &first}, {KERNELS_MODE_FALLBACK, &second}};
    kernels_layer_entry entry = {.layer = KERNELS_VIEW("A"),
                                 .has_device = true,
                                 .device = KERNELS_DEVICE_CPU,
                                 .choices = choices,
                                 .choice_count = 2};
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
    assert_int_equal(first, 0); /* the last of one mode counts */
    assert_int_equal(second, 1);
    assert_int_equal(kernels_layer_mapping_copy(mapping, &copy, NULL), KERNELS_OK);
    assert_int_equal(second, 1);
    kernels_layer_query query = {.layer = KERNELS_VIEW("A"), .device = KERNELS_VIEW("cpu"), .mode = 4};
    kernels_layer_answer answer;
    assert_int_equal(kernels_layer_mapping_find(copy, &query, &answer, NULL), KERNELS_OK);
    assert_int_equal(second, 2);
    kernels_layer_choice found[KERNELS_MODE_COUNT];
    size_t count;
    assert_int_equal(kernels_layer_mapping_choices(copy, &query, found, &count), KERNELS_LAYER_FOUND);
    assert_int_equal(count, 1);
    assert_int_equal(second, 3);
    kernels_layer_mapping_free(mapping);
    kernels_layer_mapping_free(copy);
    assert_int_equal(second, 2); /* what was handed out */
}

#ifdef KERNELS_FAULTS
static void out_of_memory_leaves_everything_as_it_was(void **state) {
    (void)state;
    int first = 0, second = 0;
    kernels_layer_mapping *mapping = mapping_new(&counted), *copy = NULL;
    kernels_layer_choice old = {KERNELS_MODE_FALLBACK, &first}, new = {KERNELS_MODE_FALLBACK, &second};
    kernels_layer_entry entry = {.layer = KERNELS_VIEW("A"),
                                 .has_device = true,
                                 .device = KERNELS_DEVICE_CPU,
                                 .choices = &old,
                                 .choice_count = 1};
    assert_int_equal(kernels_layer_mapping_register(mapping, &entry, 1, false, NULL), KERNELS_OK);
    entry.choices = &new;
    kernels_layer_entry entries[] = {entry, entry};
    entries[1].layer = KERNELS_VIEW("B");
    kernels_status status = KERNELS_NO_MEMORY;
    for (unsigned long n = 1; status != KERNELS_OK; n++) {
        assert_int_equal(first, 1);
        assert_int_equal(second, 0);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, n);
        status = kernels_layer_mapping_register(mapping, entries, 2, false, NULL);
        kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
        assert_true(status == KERNELS_OK || status == KERNELS_NO_MEMORY);
        assert_true(n < 20);
    }
    assert_int_equal(first, 0);
    assert_int_equal(second, 2);
    kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 1);
    assert_int_equal(kernels_layer_mapping_copy(mapping, &copy, NULL), KERNELS_NO_MEMORY);
    kernels_fault_arm(KERNELS_FAULT_ALLOCATE, 0);
    kernels_layer_mapping_free(mapping);
    assert_int_equal(second, 0);
}
#endif

/* ---- threads ---- */

#define THREADS 8

typedef struct work {
    kernels_layer_mapping *mapping;
    const char *labels[2];
    uint64_t turns;
    bool writes;
    bool fine;
} work;

static void *run(void *payload) {
    work *w = payload;
    w->fine = true;
    for (uint64_t turn = 0; turn < w->turns && w->fine; turn++) {
        if (w->writes) {
            kernels_layer_choice choice = {KERNELS_MODE_FALLBACK, (void *)(uintptr_t)w->labels[turn % 2]};
            kernels_layer_entry entry = {.layer = KERNELS_VIEW("A"),
                                         .has_device = true,
                                         .device = KERNELS_DEVICE_CPU,
                                         .choices = &choice,
                                         .choice_count = 1};
            w->fine = kernels_layer_mapping_register(w->mapping, &entry, 1, false, NULL) == KERNELS_OK;
        } else {
            const char *found = get(w->mapping, "A", "cpu", UNKNOWN);
            w->fine = found == w->labels[0] || found == w->labels[1];
        }
    }
    return NULL;
}

static void threads_see_one_of_the_repositories(void **state) {
    (void)state;
    static const char one[] = "one", two[] = "two";
    uint64_t turns = 2000;
    (void)kernels_view_to_u64(kernels_view_of(getenv("KERNELS_TEST_TURNS")), &turns); /* more, with ThreadSanitizer */
    pthread_t threads[THREADS];
    work works[THREADS];
    kernels_layer_mapping *mapping = mapping_new(NULL);
    put(mapping, "A", KERNELS_DEVICE_CPU, one);
    for (size_t i = 0; i < THREADS; i++) {
        works[i] = (work){mapping, {one, two}, turns, i % 4 == 0, false};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &works[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(works[i].fine);
    }
    kernels_layer_mapping_free(mapping);
}

/* ---- speed: 200 layers, three devices ---- */

static void a_copy_is_no_work(void **state) {
    (void)state;
    kernels_layer_mapping *mapping = mapping_new(NULL);
    for (int i = 0; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "Layer%d", i);
        put(mapping, name, KERNELS_DEVICE_CPU, "c");
        put(mapping, name, KERNELS_DEVICE_CUDA, "g");
        put(mapping, name, KERNELS_DEVICE_TPU, "t");
    }
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 100; i++) {
        kernels_layer_mapping *copy;
        assert_int_equal(kernels_layer_mapping_copy(mapping, &copy, NULL), KERNELS_OK);
        put(copy, "Other", KERNELS_DEVICE_CPU, "o");
        kernels_layer_mapping_free(copy);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    double microseconds =
        ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 1e3 / 100;
    print_message("copy and registration in a mapping of 200 x 3: %.1f microseconds\n", microseconds);
    assert_true(microseconds < 1000);
    kernels_layer_mapping_free(mapping);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_vectors),
        cmocka_unit_test(selection_vectors),
        cmocka_unit_test(device_vectors),
        cmocka_unit_test(range_vectors),
        cmocka_unit_test(resolve_vectors),
        cmocka_unit_test(flags_vectors),
        cmocka_unit_test(modes_have_names),
        cmocka_unit_test(tpu_generations),
        cmocka_unit_test(a_capability_that_is_unknown_is_in_no_range),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(equality_is_about_everything),
        cmocka_unit_test(a_bad_entry_leaves_everything_as_it_was),
        cmocka_unit_test(visiting_stops_when_told),
        cmocka_unit_test(repositories_are_counted),
#ifdef KERNELS_FAULTS
        cmocka_unit_test(out_of_memory_leaves_everything_as_it_was),
#endif
        cmocka_unit_test(threads_see_one_of_the_repositories),
        cmocka_unit_test(a_copy_is_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
