/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/manifest.h"

#include <math.h>
#include <string.h>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/pjrt.h"

#define DEFAULT_RTOL 1e-5
#define DEFAULT_ATOL 1e-6
/* Decimal digits of a number that we keep, and the largest power of ten we scale by. */
#define NUMBER_DIGITS_MAX 18
#define NUMBER_EXPONENT_MAX 400

typedef struct kernels_manifest_reader {
    const char *name; /* of the file, for messages */
    kernels_arena *arena;
    kernels_error *error;
} kernels_manifest_reader;

/* ---- messages ---- */

static const char *type_name(const kernels_node *node) { return node ? kernels_node_type_name(node->type) : "nothing"; }

/* "<file>:<line>:<column>: <key>: expected <expected>, found <type>"; parent gives the position of a missing key. */
static kernels_status fail_at(const kernels_manifest_reader *reader, const kernels_node *parent,
                              const kernels_node *node, const char *key, const char *expected) {
    kernels_position at = node ? node->begin : parent ? parent->begin : (kernels_position){0};
    return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: expected %s, found %s", reader->name, at.line,
                        at.column, key, expected, type_name(node));
}

static kernels_status fail_text(const kernels_manifest_reader *reader, const kernels_node *node, const char *key,
                                const char *expected) {
    return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: expected %s, found \"%.*s\"", reader->name,
                        node->begin.line, node->begin.column, key, expected,
                        KERNELS_VIEW_ARGS(kernels_view_slice(node->as.text, 0, 64)));
}

static kernels_status no_memory(const kernels_manifest_reader *reader) { return kernels_fail_no_memory(reader->error); }

/* ---- values ---- */

/* A word of letters, digits and "_", not beginning with a digit: what a function, an argument, a platform or a
 * generation may be called. */
static bool is_word(kernels_view text) {
    if (text.size == 0 || text.size > KERNELS_MANIFEST_NAME_MAX || kernels_is_digit(text.data[0])) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!kernels_is_alnum(text.data[i]) && text.data[i] != '_') {
            return false;
        }
    }
    return true;
}

/* "1.15.0": what goes into messages and comparisons. */
static bool is_version(kernels_view text) {
    bool fine = text.size > 0 && text.size <= KERNELS_MANIFEST_NAME_MAX;
    for (size_t i = 0; i < text.size && fine; i++) {
        char c = text.data[i];
        fine = kernels_is_alnum(c) || c == '.' || c == '+' || c == '-' || c == '_';
    }
    return fine;
}

static kernels_status read_checked(const kernels_manifest_reader *reader, const kernels_node *object, const char *key,
                                   bool (*check)(kernels_view), const char *expected, const char **text) {
    const kernels_node *node = kernels_node_find(object, key);
    if (!kernels_node_is(node, KERNELS_NODE_STRING)) {
        return fail_at(reader, object, node, key, expected);
    }
    if (!check(node->as.text)) {
        return fail_text(reader, node, key, expected);
    }
    *text = kernels_arena_copy_text(reader->arena, node->as.text);
    return *text ? KERNELS_OK : no_memory(reader);
}

/* Absent and null are NULL. */
static kernels_status read_version(const kernels_manifest_reader *reader, const kernels_node *object, const char *key,
                                   const char **text) {
    const kernels_node *node = kernels_node_find(object, key);
    *text = NULL;
    if (!node || node->type == KERNELS_NODE_NULL) {
        return KERNELS_OK;
    }
    return read_checked(reader, object, key, is_version, "a version", text);
}

/* NULL after a failure. */
static const kernels_node *find_array(const kernels_manifest_reader *reader, const kernels_node *object,
                                      const char *key, size_t limit, kernels_status *status) {
    const kernels_node *node = kernels_node_find(object, key);
    if (!kernels_node_is(node, KERNELS_NODE_ARRAY)) {
        *status = fail_at(reader, object, node, key, "a list");
        return NULL;
    }
    if (node->count > limit) {
        *status = kernels_fail(reader->error, KERNELS_LIMIT, "%s:%u:%u: %s: %zu elements, more than the limit of %zu",
                               reader->name, node->begin.line, node->begin.column, key, node->count, limit);
        return NULL;
    }
    return node;
}

static kernels_status read_words(const kernels_manifest_reader *reader, const kernels_node *object, const char *key,
                                 size_t limit, const char *const **words, size_t *count) {
    kernels_status status = KERNELS_OK;
    const kernels_node *array = find_array(reader, object, key, limit, &status);
    if (!array) {
        return status;
    }
    const char **copies = kernels_arena_array(reader->arena, array->count + 1, sizeof(*copies));
    if (!copies) {
        return no_memory(reader);
    }
    for (size_t i = 0; i < array->count; i++) {
        const kernels_node *node = array->as.items[i];
        if (!kernels_node_is(node, KERNELS_NODE_STRING)) {
            return fail_at(reader, array, node, key, "a list of names");
        }
        if (!is_word(node->as.text)) {
            return fail_text(reader, node, key, "a name of letters, digits and \"_\"");
        }
        copies[i] = kernels_arena_copy_text(reader->arena, node->as.text);
        if (!copies[i]) {
            return no_memory(reader);
        }
    }
    *words = copies;
    *count = array->count;
    return KERNELS_OK;
}

static kernels_status read_shapes(const kernels_manifest_reader *reader, const kernels_node *object, const char *key,
                                  const kernels_shape **shapes, size_t *count) {
    kernels_status status = KERNELS_OK;
    const kernels_node *array = find_array(reader, object, key, KERNELS_OPERANDS_MAX, &status);
    if (!array) {
        return status;
    }
    kernels_shape *parsed = kernels_arena_array(reader->arena, array->count + 1, sizeof(*parsed));
    if (!parsed) {
        return no_memory(reader);
    }
    for (size_t i = 0; i < array->count; i++) {
        const kernels_node *node = array->as.items[i];
        if (!kernels_node_is(node, KERNELS_NODE_STRING)) {
            return fail_at(reader, array, node, key, "a list of shapes");
        }
        kernels_error reason = KERNELS_ERROR_INIT;
        if (kernels_shape_parse(node->as.text, &parsed[i], &reason)) {
            status = kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: %s", reader->name, node->begin.line,
                                  node->begin.column, key, kernels_error_message(&reason));
            kernels_error_dispose(&reason);
            return status;
        }
    }
    *shapes = parsed;
    *count = array->count;
    return KERNELS_OK;
}

/* The text of a JSON number, already checked by the parser, as a double; the locale has no say in it. */
static double number_of_text(kernels_view text) {
    double mantissa = 0;
    int exponent = 0, digits = 0;
    size_t i = 0;
    bool fraction = false;
    for (; i < text.size && text.data[i] != 'e' && text.data[i] != 'E'; i++) {
        if (text.data[i] == '.') {
            fraction = true;
        } else if (kernels_is_digit(text.data[i])) {
            bool keep = digits < NUMBER_DIGITS_MAX;
            mantissa = keep ? mantissa * 10 + (text.data[i] - '0') : mantissa;
            digits += keep && (digits > 0 || text.data[i] != '0');
            exponent += (keep ? 0 : 1) - (fraction ? 1 : 0);
        }
    }
    int written = 0;
    bool negative = i + 1 < text.size && text.data[i + 1] == '-';
    for (i++; i < text.size; i++) {
        if (kernels_is_digit(text.data[i]) && written <= NUMBER_EXPONENT_MAX) {
            written = written * 10 + (text.data[i] - '0');
        }
    }
    exponent += negative ? -written : written;
    double scale = pow(10.0, exponent < 0 ? -exponent : exponent);
    return exponent < 0 ? mantissa / scale : mantissa * scale;
}

static kernels_status read_tolerance(const kernels_manifest_reader *reader, const kernels_node *object, const char *key,
                                     double *value) {
    const kernels_node *node = kernels_node_find(object, key);
    if (!node) {
        return KERNELS_OK;
    }
    if (node->type == KERNELS_NODE_UNSIGNED) {
        *value = (double)node->as.unsigned_value;
    } else if (node->type == KERNELS_NODE_NUMBER && node->as.text.size && node->as.text.data[0] != '-') {
        *value = number_of_text(node->as.text);
    } else {
        return fail_at(reader, object, node, key, "a number >= 0");
    }
    return isfinite(*value) ? KERNELS_OK : fail_at(reader, object, node, key, "a finite number");
}

/* ---- the parts of the manifest ---- */

static bool is_file_name(kernels_view text) {
    return kernels_view_find(text, '/') == SIZE_MAX && !kernels_path_unsafe_reason(text);
}

static bool is_sha256(kernels_view text) { return kernels_view_is_hex(text, 64); }

static kernels_status read_specialisation(const kernels_manifest_reader *reader, const kernels_node *node,
                                          const kernels_signature *signature, kernels_specialisation *out) {
    KERNELS_TRY(read_checked(reader, node, "platform", is_word, "the name of a platform", &out->platform));
    KERNELS_TRY(read_shapes(reader, node, "inputs", &out->inputs, &out->input_count));
    KERNELS_TRY(read_shapes(reader, node, "outputs", &out->outputs, &out->output_count));
    KERNELS_TRY(read_checked(reader, node, "file", is_file_name, "the name of a file inside aot/", &out->file));
    KERNELS_TRY(read_checked(reader, node, "sha256", is_sha256, "64 hex digits", &out->sha256));
    KERNELS_TRY(read_version(reader, node, "stablehlo", &out->stablehlo));
    KERNELS_TRY(read_version(reader, node, "mosaic", &out->mosaic));
    if (out->input_count != signature->argument_count) {
        return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: inputs: %zu shapes for the %zu arguments of %s",
                            reader->name, node->begin.line, node->begin.column, out->input_count,
                            signature->argument_count, signature->name);
    }
    return KERNELS_OK;
}

static kernels_status read_specialisations(const kernels_manifest_reader *reader, const kernels_node *function,
                                           kernels_signature *signature) {
    kernels_status status = KERNELS_OK;
    const kernels_node *array =
        find_array(reader, function, "specialisations", KERNELS_MANIFEST_SPECIALISATIONS_MAX, &status);
    if (!array) {
        return status;
    }
    kernels_specialisation *items = kernels_arena_array(reader->arena, array->count + 1, sizeof(*items));
    if (!items) {
        return no_memory(reader);
    }
    for (size_t i = 0; i < array->count; i++) {
        if (!kernels_node_is(array->as.items[i], KERNELS_NODE_OBJECT)) {
            return fail_at(reader, array, array->as.items[i], "specialisations", "a list of objects");
        }
        KERNELS_TRY(read_specialisation(reader, array->as.items[i], signature, &items[i]));
    }
    signature->specialisations = items;
    signature->specialisation_count = array->count;
    return KERNELS_OK;
}

static kernels_status read_function(const kernels_manifest_reader *reader, const kernels_node *node,
                                    kernels_signature *signature) {
    KERNELS_TRY(read_checked(reader, node, "name", is_word, "a name of letters, digits and \"_\"", &signature->name));
    KERNELS_TRY(
        read_words(reader, node, "arguments", KERNELS_OPERANDS_MAX, &signature->arguments, &signature->argument_count));
    KERNELS_TRY(read_words(reader, node, "generations", KERNELS_MANIFEST_GENERATIONS_MAX, &signature->generations,
                           &signature->generation_count));
    signature->rtol = DEFAULT_RTOL;
    signature->atol = DEFAULT_ATOL;
    const kernels_node *tolerance = kernels_node_find(node, "tolerance");
    if (tolerance && tolerance->type != KERNELS_NODE_OBJECT) {
        return fail_at(reader, node, tolerance, "tolerance", "an object with rtol and atol");
    }
    KERNELS_TRY(read_tolerance(reader, tolerance, "rtol", &signature->rtol));
    KERNELS_TRY(read_tolerance(reader, tolerance, "atol", &signature->atol));
    return read_specialisations(reader, node, signature);
}

static kernels_status check_unique(const kernels_manifest_reader *reader, const kernels_signature *items, size_t index,
                                   const kernels_node *node) {
    for (size_t i = 0; i < index; i++) {
        if (strcmp(items[i].name, items[index].name) == 0) {
            return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: functions: %s stands here twice",
                                reader->name, node->begin.line, node->begin.column, items[index].name);
        }
    }
    return KERNELS_OK;
}

static kernels_status read_functions(const kernels_manifest_reader *reader, const kernels_node *root,
                                     kernels_signatures *functions) {
    kernels_status status = KERNELS_OK;
    const kernels_node *array = find_array(reader, root, "functions", KERNELS_MANIFEST_FUNCTIONS_MAX, &status);
    if (!array) {
        return status;
    }
    kernels_signature *items = kernels_arena_array(reader->arena, array->count + 1, sizeof(*items));
    if (!items) {
        return no_memory(reader);
    }
    for (size_t i = 0; i < array->count; i++) {
        if (!kernels_node_is(array->as.items[i], KERNELS_NODE_OBJECT)) {
            return fail_at(reader, array, array->as.items[i], "functions", "a list of objects");
        }
        KERNELS_TRY(read_function(reader, array->as.items[i], &items[i]));
        KERNELS_TRY(check_unique(reader, items, i, array->as.items[i]));
    }
    functions->items = items;
    functions->count = array->count;
    return KERNELS_OK;
}

static kernels_status read_exporter(const kernels_manifest_reader *reader, const kernels_node *root,
                                    kernels_signatures *functions) {
    const kernels_node *exporter = kernels_node_find(root, "exporter");
    if (!exporter) {
        return KERNELS_OK;
    }
    if (exporter->type != KERNELS_NODE_OBJECT) {
        return fail_at(reader, root, exporter, "exporter", "an object");
    }
    KERNELS_TRY(read_version(reader, exporter, "kernel-builder", &functions->builder));
    KERNELS_TRY(read_version(reader, exporter, "jax", &functions->jax));
    KERNELS_TRY(read_version(reader, exporter, "jaxlib", &functions->jaxlib));
    return read_version(reader, exporter, "libtpu", &functions->libtpu);
}

static kernels_status read_root(const kernels_manifest_reader *reader, const kernels_node *root,
                                kernels_signatures *functions) {
    if (!kernels_node_is(root, KERNELS_NODE_OBJECT)) {
        return fail_at(reader, root, root, "manifest", "an object");
    }
    const kernels_node *format = kernels_node_find(root, "format");
    if (!kernels_node_is(format, KERNELS_NODE_UNSIGNED)) {
        return fail_at(reader, root, format, "format", "the number of a manifest format");
    }
    if (format->as.unsigned_value != KERNELS_MANIFEST_FORMAT) {
        return kernels_fail(reader->error, KERNELS_UNSUPPORTED_EDITION,
                            "%s: manifest format %llu, expected %d; a newer libkernels may know it", reader->name,
                            (unsigned long long)format->as.unsigned_value, KERNELS_MANIFEST_FORMAT);
    }
    KERNELS_TRY(read_exporter(reader, root, functions));
    return read_functions(reader, root, functions);
}

/* ---- entry points ---- */

kernels_status kernels_manifest_parse(kernels_view text, const char *name, kernels_signatures *functions,
                                      kernels_error *error) {
    if (text.size > KERNELS_MANIFEST_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: more than %zu bytes", name, KERNELS_MANIFEST_SIZE_LIMIT);
    }
    kernels_document document;
    KERNELS_TRY(kernels_json_parse(text, name, &document, error));
    kernels_signatures read = {.owner = kernels_arena_new(0)};
    kernels_manifest_reader reader = {.name = name, .arena = read.owner, .error = error};
    kernels_status status = read.owner ? read_root(&reader, document.root, &read) : kernels_fail_no_memory(error);
    kernels_document_dispose(&document);
    if (status) {
        kernels_arena_free(read.owner);
        return status;
    }
    *functions = read;
    return KERNELS_OK;
}

void kernels_signatures_dispose(kernels_signatures *functions) {
    if (functions) {
        kernels_arena_free(functions->owner);
        *functions = (kernels_signatures){0};
    }
}

kernels_status kernels_manifest_read(const char *variant_directory, kernels_signatures *functions,
                                     kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3(variant_directory, "aot", "manifest.json");
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_CLEANUP_FREE char *text = NULL;
    size_t size = 0;
    kernels_status status = kernels_file_read(path, KERNELS_MANIFEST_SIZE_LIMIT, &text, &size, error);
    if (status == KERNELS_FILE_NOT_FOUND) {
        status = kernels_fail(error, KERNELS_UNSUPPORTED,
                              "the variant %s holds no exported functions (no aot/manifest.json): it can only be used "
                              "from Python",
                              variant_directory);
    }
    KERNELS_TRY(status);
    return kernels_manifest_parse((kernels_view){text, size}, path, functions, error);
}

kernels_status kernels_manifest_read_program(const char *variant_directory,
                                             const kernels_specialisation *specialisation, char **program, size_t *size,
                                             kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join3(variant_directory, "aot", specialisation->file);
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_CLEANUP_FREE char *bytes = NULL;
    size_t read = 0;
    KERNELS_TRY(kernels_file_read(path, KERNELS_PJRT_PROGRAM_SIZE_LIMIT, &bytes, &read, error));
    kernels_digest digest;
    KERNELS_TRY(kernels_hash_bytes(KERNELS_HASH_SHA256, bytes, read, &digest, error));
    if (!kernels_digest_equal_hex(&digest, kernels_view_of(specialisation->sha256))) {
        char hex[KERNELS_DIGEST_HEX_SIZE];
        kernels_digest_hex(&digest, hex);
        kernels_status status = kernels_fail(error, KERNELS_INTEGRITY,
                                             "%s does not match aot/manifest.json: expected SHA-256 %s, found %s (%zu "
                                             "bytes); the file was changed or cut short",
                                             path, specialisation->sha256, hex, read);
        kernels_error_set_subject(error, path);
        return status;
    }
    *program = bytes;
    *size = read;
    bytes = NULL;
    return KERNELS_OK;
}
