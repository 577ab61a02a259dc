/* SPDX-License-Identifier: Apache-2.0 */
#include "build/aot_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define DEFAULT_RTOL 1e-5
#define DEFAULT_ATOL 1e-6

static const struct {
    const char *generation, *topology;
    bool is_default;
} topologies[] = {
    {"v2", "v2:2x2", false},    {"v3", "v3:2x2", false},  {"v4", "v4:2x2x1", true},       {"v5e", "v5e:1x1", true},
    {"v5p", "v5p:2x2x1", true}, {"v6e", "v6e:1x1", true}, {"tpu7x", "tpu7x:2x2x1", true},
};
#define TOPOLOGY_COUNT (sizeof(topologies) / sizeof(topologies[0]))

const char *kernels_tpu_topology(const char *generation) {
    for (size_t i = 0; i < TOPOLOGY_COUNT; i++) {
        if (strcmp(topologies[i].generation, generation) == 0) {
            return topologies[i].topology;
        }
    }
    return NULL;
}

const char *kernels_tpu_generation_list(void) { return "v2, v3, v4, v5e, v5p, v6e, tpu7x"; }

/* Where values come from and where they go. */
typedef struct aot_reader {
    const char *name;
    kernels_arena *arena;
    kernels_error *error;
} aot_reader;

static kernels_status fail_at(const aot_reader *reader, kernels_position position, kernels_status status,
                              const char *key, const char *text) {
    return kernels_fail(reader->error, status, "%s:%u:%u: %s: %s", reader->name, position.line, position.column, key,
                        text);
}

static kernels_status fail_type(const aot_reader *reader, const kernels_node *node, const char *key,
                                const char *expected) {
    return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: expected %s, found %s", reader->name,
                        node->begin.line, node->begin.column, key, expected, kernels_node_type_name(node->type));
}

static kernels_status check_keys(const aot_reader *reader, const kernels_node *table, const char *where,
                                 const char *const *known) {
    for (size_t i = 0; i < table->count; i++) {
        const kernels_member *member = &table->as.members[i];
        bool found = false;
        for (const char *const *name = known; *name != NULL && !found; name++) {
            found = kernels_view_equal_text(member->key, *name);
        }
        if (!found) {
            return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: unknown key \"%.*s\"", reader->name,
                                member->key_position.line, member->key_position.column, where,
                                KERNELS_VIEW_ARGS(member->key));
        }
    }
    return KERNELS_OK;
}

/* The value of a key that must be there. */
static kernels_status require(const aot_reader *reader, const kernels_node *table, const char *key,
                              const kernels_node **value) {
    *value = kernels_node_find(table, key);
    if (*value == NULL) {
        return fail_at(reader, table->begin, KERNELS_SCHEMA, key, "missing, it is required");
    }
    return KERNELS_OK;
}

static bool is_identifier(kernels_view text) {
    if (text.size == 0 || kernels_is_digit(text.data[0])) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!kernels_is_alnum(text.data[i]) && text.data[i] != '_') {
            return false;
        }
    }
    return true;
}

static kernels_status read_identifier(const aot_reader *reader, const kernels_node *node, const char *key,
                                      const char **text) {
    if (!kernels_node_is(node, KERNELS_NODE_STRING)) {
        return fail_type(reader, node, key, "a string");
    }
    kernels_view view = kernels_node_text(node);
    if (!is_identifier(view)) {
        return fail_at(reader, node->begin, KERNELS_SCHEMA, key,
                       "expected letters, digits and \"_\", not starting with a digit");
    }
    *text = kernels_arena_copy_text(reader->arena, view);
    return *text != NULL ? KERNELS_OK : kernels_fail_no_memory(reader->error);
}

static kernels_status check_array(const aot_reader *reader, const kernels_node *node, const char *key, size_t minimum,
                                  size_t maximum) {
    if (!kernels_node_is(node, KERNELS_NODE_ARRAY)) {
        return fail_type(reader, node, key, "a list");
    }
    if (node->count < minimum || node->count > maximum) {
        return kernels_fail(reader->error, node->count > maximum ? KERNELS_LIMIT : KERNELS_SCHEMA,
                            "%s:%u:%u: %s: expected %zu to %zu elements, found %zu", reader->name, node->begin.line,
                            node->begin.column, key, minimum, maximum, node->count);
    }
    return KERNELS_OK;
}

static bool strings_hold(const char *const *items, size_t count, const char *text) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* A list of identifiers without repeats. */
static kernels_status read_identifiers(const aot_reader *reader, const kernels_node *node, const char *key,
                                       size_t minimum, size_t maximum, kernels_strings *strings) {
    KERNELS_TRY(check_array(reader, node, key, minimum, maximum));
    const char **items = kernels_arena_array(reader->arena, node->count + 1, sizeof(*items));
    if (items == NULL) {
        return kernels_fail_no_memory(reader->error);
    }
    for (size_t i = 0; i < node->count; i++) {
        KERNELS_TRY(read_identifier(reader, node->as.items[i], key, &items[i]));
        if (strings_hold(items, i, items[i])) {
            return fail_at(reader, node->as.items[i]->begin, KERNELS_SCHEMA, key, "the same name stands twice");
        }
    }
    *strings = (kernels_strings){items, node->count};
    return KERNELS_OK;
}

static kernels_status read_source(const aot_reader *reader, const kernels_node *node, const char *key,
                                  kernels_aot_source *source) {
    if (!kernels_node_is(node, KERNELS_NODE_STRING)) {
        return fail_type(reader, node, key, "a string FILE:ATTRIBUTE");
    }
    kernels_view text = kernels_node_text(node);
    size_t colon = kernels_view_find_last(text, ':');
    if (colon == SIZE_MAX) {
        return fail_at(reader, node->begin, KERNELS_SCHEMA, key, "expected FILE:ATTRIBUTE, found no \":\"");
    }
    kernels_view file = kernels_view_slice(text, 0, colon);
    kernels_view attribute = kernels_view_slice(text, colon + 1, text.size);
    const char *unsafe = kernels_path_unsafe_reason(file);
    if (unsafe != NULL) {
        return kernels_fail(reader->error, KERNELS_UNSAFE_NAME, "%s:%u:%u: %s: FILE must be inside the project: %s",
                            reader->name, node->begin.line, node->begin.column, key, unsafe);
    }
    if (!is_identifier(attribute)) {
        return fail_at(reader, node->begin, KERNELS_SCHEMA, key, "ATTRIBUTE is not the name of a function");
    }
    source->file = kernels_arena_copy_text(reader->arena, file);
    source->attribute = kernels_arena_copy_text(reader->arena, attribute);
    return source->file != NULL && source->attribute != NULL ? KERNELS_OK : kernels_fail_no_memory(reader->error);
}

/* One specialisation: a shape text an argument. */
static kernels_status read_inputs(const aot_reader *reader, const kernels_node *node, size_t argument_count,
                                  kernels_shape *inputs) {
    if (!kernels_node_is(node, KERNELS_NODE_ARRAY) || node->count != argument_count) {
        return kernels_fail(reader->error, KERNELS_SCHEMA,
                            "%s:%u:%u: specialisations: expected a list of %zu shape texts, one an argument",
                            reader->name, node->begin.line, node->begin.column, argument_count);
    }
    for (size_t i = 0; i < argument_count; i++) {
        const kernels_node *item = node->as.items[i];
        if (!kernels_node_is(item, KERNELS_NODE_STRING)) {
            return fail_type(reader, item, "specialisations", "a shape text such as \"f32[256,1024]\"");
        }
        if (kernels_shape_parse(kernels_node_text(item), &inputs[i], reader->error) != KERNELS_OK) {
            return kernels_wrap(reader->error, KERNELS_SCHEMA, "%s:%u:%u: specialisations: \"%.*s\" is no shape text",
                                reader->name, item->begin.line, item->begin.column,
                                KERNELS_VIEW_ARGS(kernels_node_text(item)));
        }
    }
    return KERNELS_OK;
}

static bool inputs_equal(const kernels_shape *a, const kernels_shape *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!kernels_shape_equal(&a[i], &b[i])) {
            return false;
        }
    }
    return true;
}

static kernels_status read_specialisations(const aot_reader *reader, const kernels_node *node,
                                           kernels_aot_function *function) {
    size_t arguments = function->arguments.count;
    KERNELS_TRY(check_array(reader, node, "specialisations", 1, KERNELS_AOT_SPECIALISATIONS_MAX));
    kernels_shape *rows = kernels_arena_array(reader->arena, node->count * arguments + 1, sizeof(*rows));
    if (rows == NULL) {
        return kernels_fail_no_memory(reader->error);
    }
    for (size_t i = 0; i < node->count; i++) {
        KERNELS_TRY(read_inputs(reader, node->as.items[i], arguments, &rows[i * arguments]));
        for (size_t j = 0; j < i; j++) {
            if (inputs_equal(&rows[i * arguments], &rows[j * arguments], arguments)) {
                return fail_at(reader, node->as.items[i]->begin, KERNELS_SCHEMA, "specialisations",
                               "the same shapes stand twice");
            }
        }
    }
    function->inputs = rows;
    function->specialisation_count = node->count;
    return KERNELS_OK;
}

static kernels_status read_generations(const aot_reader *reader, const kernels_node *node,
                                       kernels_strings *generations) {
    if (node == NULL) {
        const char **items = kernels_arena_array(reader->arena, TOPOLOGY_COUNT, sizeof(*items));
        if (items == NULL) {
            return kernels_fail_no_memory(reader->error);
        }
        size_t count = 0;
        for (size_t i = 0; i < TOPOLOGY_COUNT; i++) {
            if (topologies[i].is_default) {
                items[count++] = topologies[i].generation;
            }
        }
        *generations = (kernels_strings){items, count};
        return KERNELS_OK;
    }
    KERNELS_TRY(read_identifiers(reader, node, "generations", 1, TOPOLOGY_COUNT, generations));
    for (size_t i = 0; i < generations->count; i++) {
        if (kernels_tpu_topology(generations->items[i]) == NULL) {
            return kernels_fail(reader->error, KERNELS_SCHEMA,
                                "%s:%u:%u: generations: unknown TPU generation \"%s\"; known: %s", reader->name,
                                node->as.items[i]->begin.line, node->as.items[i]->begin.column, generations->items[i],
                                kernels_tpu_generation_list());
        }
    }
    return KERNELS_OK;
}

static kernels_status read_number(const aot_reader *reader, const kernels_node *node, const char *key, double *number) {
    if (node == NULL) {
        return KERNELS_OK;
    }
    if (kernels_node_is(node, KERNELS_NODE_UNSIGNED)) {
        *number = (double)node->as.unsigned_value;
        return KERNELS_OK;
    }
    if (!kernels_node_is(node, KERNELS_NODE_NUMBER)) {
        return fail_type(reader, node, key, "a number >= 0");
    }
    const char *text = kernels_arena_copy_text(reader->arena, node->as.text);
    if (text == NULL) {
        return kernels_fail_no_memory(reader->error);
    }
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < 0) {
        return fail_at(reader, node->begin, KERNELS_SCHEMA, key, "expected a finite number >= 0");
    }
    *number = value;
    return KERNELS_OK;
}

static kernels_status read_tolerance(const aot_reader *reader, const kernels_node *node,
                                     kernels_aot_function *function) {
    static const char *const keys[] = {"rtol", "atol", NULL};
    function->rtol = DEFAULT_RTOL;
    function->atol = DEFAULT_ATOL;
    if (node == NULL) {
        return KERNELS_OK;
    }
    if (!kernels_node_is(node, KERNELS_NODE_OBJECT)) {
        return fail_type(reader, node, "tolerance", "a table { rtol = ..., atol = ... }");
    }
    KERNELS_TRY(check_keys(reader, node, "tolerance", keys));
    KERNELS_TRY(read_number(reader, kernels_node_find(node, "rtol"), "tolerance.rtol", &function->rtol));
    return read_number(reader, kernels_node_find(node, "atol"), "tolerance.atol", &function->atol);
}

static kernels_status read_platforms(const aot_reader *reader, const kernels_node *node,
                                     kernels_aot_function *function) {
    function->for_tpu = function->for_cpu = node == NULL;
    if (node == NULL) {
        return KERNELS_OK;
    }
    kernels_strings names;
    KERNELS_TRY(read_identifiers(reader, node, "platforms", 1, 2, &names));
    for (size_t i = 0; i < names.count; i++) {
        if (strcmp(names.items[i], "tpu") == 0) {
            function->for_tpu = true;
        } else if (strcmp(names.items[i], "cpu") == 0) {
            function->for_cpu = true;
        } else {
            return fail_at(reader, node->as.items[i]->begin, KERNELS_SCHEMA, "platforms",
                           "expected \"tpu\" or \"cpu\"");
        }
    }
    return KERNELS_OK;
}

static kernels_status read_function(const aot_reader *reader, const kernels_node *node,
                                    kernels_aot_function *function) {
    static const char *const keys[] = {
        "name", "source", "arguments", "specialisations", "reference", "generations", "tolerance", "platforms", NULL};
    const kernels_node *name, *source, *arguments, *specialisations;
    KERNELS_TRY(check_keys(reader, node, "function", keys));
    KERNELS_TRY(require(reader, node, "name", &name));
    KERNELS_TRY(require(reader, node, "source", &source));
    KERNELS_TRY(require(reader, node, "arguments", &arguments));
    KERNELS_TRY(require(reader, node, "specialisations", &specialisations));
    KERNELS_TRY(read_identifier(reader, name, "name", &function->name));
    KERNELS_TRY(read_source(reader, source, "source", &function->source));
    KERNELS_TRY(read_identifiers(reader, arguments, "arguments", 0, KERNELS_AOT_ARGUMENTS_MAX, &function->arguments));
    KERNELS_TRY(read_specialisations(reader, specialisations, function));
    const kernels_node *reference = kernels_node_find(node, "reference");
    if (reference != NULL) {
        KERNELS_TRY(read_source(reader, reference, "reference", &function->reference));
    }
    KERNELS_TRY(read_generations(reader, kernels_node_find(node, "generations"), &function->generations));
    KERNELS_TRY(read_tolerance(reader, kernels_node_find(node, "tolerance"), function));
    return read_platforms(reader, kernels_node_find(node, "platforms"), function);
}

static kernels_status read_functions(const aot_reader *reader, const kernels_node *node, kernels_aot_config *config) {
    KERNELS_TRY(check_array(reader, node, "function", 1, KERNELS_AOT_FUNCTIONS_MAX));
    kernels_aot_function *functions = kernels_arena_array(reader->arena, node->count, sizeof(*functions));
    if (functions == NULL) {
        return kernels_fail_no_memory(reader->error);
    }
    config->functions = functions;
    for (size_t i = 0; i < node->count; i++) {
        const kernels_node *item = node->as.items[i];
        if (!kernels_node_is(item, KERNELS_NODE_OBJECT)) {
            return fail_type(reader, item, "function", "tables [[function]]");
        }
        KERNELS_TRY(read_function(reader, item, &functions[i]));
        if (kernels_aot_config_find(config, functions[i].name) != NULL) {
            return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: name: two functions are called \"%s\"",
                                reader->name, item->begin.line, item->begin.column, functions[i].name);
        }
        config->count = i + 1;
    }
    return KERNELS_OK;
}

static kernels_status read_config(const aot_reader *reader, kernels_aot_config *config) {
    static const char *const keys[] = {"format", "function", NULL};
    const kernels_node *root = config->document.root;
    const kernels_node *format, *functions;
    KERNELS_TRY(check_keys(reader, root, "top level", keys));
    KERNELS_TRY(require(reader, root, "format", &format));
    if (!kernels_node_is(format, KERNELS_NODE_UNSIGNED)) {
        return fail_type(reader, format, "format", "the number 1");
    }
    if (format->as.unsigned_value != KERNELS_AOT_FORMAT) {
        return fail_at(reader, format->begin, KERNELS_UNSUPPORTED_EDITION, "format",
                       "this program reads format 1 only");
    }
    KERNELS_TRY(require(reader, root, "function", &functions));
    return read_functions(reader, functions, config);
}

static kernels_status finish(const char *name, kernels_aot_config *config, kernels_error *error) {
    aot_reader reader = {.name = name, .arena = config->document.arena, .error = error};
    kernels_status status = read_config(&reader, config);
    if (status != KERNELS_OK) {
        kernels_aot_config_dispose(config);
    }
    return status;
}

kernels_status kernels_aot_config_parse(kernels_view text, const char *name, kernels_aot_config *config,
                                        kernels_error *error) {
    *config = (kernels_aot_config){0};
    if (text.size > KERNELS_AOT_CONFIG_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: larger than %zu bytes", name, KERNELS_AOT_CONFIG_SIZE_LIMIT);
    }
    KERNELS_TRY(kernels_toml_parse(text, name, &config->document, error));
    return finish(name, config, error);
}

kernels_status kernels_aot_config_read(const char *directory, kernels_aot_config *config, kernels_error *error) {
    *config = (kernels_aot_config){0};
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, KERNELS_AOT_CONFIG_NAME);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_toml_read_file(path, KERNELS_AOT_CONFIG_SIZE_LIMIT, &config->document, error));
    return finish(path, config, error);
}

void kernels_aot_config_dispose(kernels_aot_config *config) {
    kernels_document_dispose(&config->document);
    *config = (kernels_aot_config){0};
}

const kernels_aot_function *kernels_aot_config_find(const kernels_aot_config *config, const char *name) {
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->functions[i].name, name) == 0) {
            return &config->functions[i];
        }
    }
    return NULL;
}
