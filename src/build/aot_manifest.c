/* SPDX-License-Identifier: Apache-2.0 */
#include "build/aot_manifest.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define MANIFEST_FORMAT 1u
#define INDENT 2u

typedef struct manifest_writer {
    kernels_json_writer json;
    const char *directory;
    kernels_error *error;
} manifest_writer;

/* The exporter is our own program: what it wrote is checked, but the message need not teach anybody. */
static kernels_status malformed(const manifest_writer *writer, const char *key) {
    return kernels_fail(writer->error, KERNELS_SCHEMA, "the exporter's result.json has no usable \"%s\"", key);
}

static kernels_status list_of(const manifest_writer *writer, const kernels_node *object, const char *key,
                              const kernels_node **list) {
    *list = kernels_node_find(object, key);
    return kernels_node_is(*list, KERNELS_NODE_ARRAY) ? KERNELS_OK : malformed(writer, key);
}

static kernels_status copy_text(manifest_writer *writer, const kernels_node *object, const char *key) {
    kernels_view text = kernels_node_text(kernels_node_find(object, key));
    if (text.data == NULL) {
        return malformed(writer, key);
    }
    kernels_json_key(&writer->json, key);
    kernels_json_string(&writer->json, text);
    return KERNELS_OK;
}

static void write_strings(manifest_writer *writer, const char *key, const kernels_strings *strings) {
    kernels_json_key(&writer->json, key);
    kernels_json_begin_array(&writer->json);
    for (size_t i = 0; i < strings->count; i++) {
        kernels_json_text(&writer->json, strings->items[i]);
    }
    kernels_json_end_array(&writer->json);
}

static kernels_status write_inputs(manifest_writer *writer, const kernels_aot_function *function, uint64_t index) {
    size_t count = function->arguments.count;
    kernels_json_key(&writer->json, "inputs");
    kernels_json_begin_array(&writer->json);
    for (size_t i = 0; i < count; i++) {
        char *text = kernels_shape_print(&function->inputs[index * count + i]);
        if (text == NULL) {
            return kernels_fail_no_memory(writer->error);
        }
        kernels_json_text(&writer->json, text);
        kernels_string_free(text);
    }
    kernels_json_end_array(&writer->json);
    return KERNELS_OK;
}

static kernels_status write_outputs(manifest_writer *writer, const kernels_node *fact) {
    const kernels_node *outputs;
    KERNELS_TRY(list_of(writer, fact, "outputs", &outputs));
    kernels_json_key(&writer->json, "outputs");
    kernels_json_begin_array(&writer->json);
    for (size_t i = 0; i < outputs->count; i++) {
        kernels_shape shape;
        KERNELS_TRY(kernels_shape_parse(kernels_node_text(outputs->as.items[i]), &shape, writer->error));
        kernels_json_string(&writer->json, kernels_node_text(outputs->as.items[i]));
    }
    kernels_json_end_array(&writer->json);
    return KERNELS_OK;
}

/* "file" and "sha256". */
static kernels_status write_file(manifest_writer *writer, const kernels_node *fact) {
    kernels_view name = kernels_node_text(kernels_node_find(fact, "file"));
    if (name.data == NULL || kernels_path_unsafe_reason(name) != NULL) {
        return malformed(writer, "file");
    }
    KERNELS_CLEANUP_FREE char *terminated = kernels_strndup(name.data, name.size);
    KERNELS_CLEANUP_FREE char *path = terminated != NULL ? kernels_path_join(writer->directory, terminated) : NULL;
    if (path == NULL) {
        return kernels_fail_no_memory(writer->error);
    }
    kernels_digest digest;
    char hex[KERNELS_DIGEST_HEX_SIZE];
    KERNELS_TRY(kernels_file_hash(path, KERNELS_HASH_SHA256, &digest, NULL, writer->error));
    kernels_digest_hex(&digest, hex);
    kernels_json_key(&writer->json, "file");
    kernels_json_string(&writer->json, name);
    kernels_json_key(&writer->json, "sha256");
    kernels_json_text(&writer->json, hex);
    return KERNELS_OK;
}

static kernels_status find_index(const manifest_writer *writer, const kernels_aot_function *function,
                                 const kernels_node *fact, uint64_t *index) {
    const kernels_node *node = kernels_node_find(fact, "index");
    if (!kernels_node_is(node, KERNELS_NODE_UNSIGNED) || node->as.unsigned_value >= function->specialisation_count) {
        return malformed(writer, "index");
    }
    *index = node->as.unsigned_value;
    return KERNELS_OK;
}

static kernels_status write_specialisation(manifest_writer *writer, const kernels_aot_function *function,
                                           const kernels_node *fact) {
    uint64_t index;
    KERNELS_TRY(find_index(writer, function, fact, &index));
    kernels_json_begin_object(&writer->json);
    KERNELS_TRY(copy_text(writer, fact, "platform"));
    KERNELS_TRY(write_inputs(writer, function, index));
    KERNELS_TRY(write_outputs(writer, fact));
    KERNELS_TRY(write_file(writer, fact));
    KERNELS_TRY(copy_text(writer, fact, "stablehlo"));
    if (kernels_node_find(fact, "mosaic") != NULL) {
        KERNELS_TRY(copy_text(writer, fact, "mosaic"));
    }
    kernels_json_end_object(&writer->json);
    return KERNELS_OK;
}

static kernels_status write_skipped(manifest_writer *writer, const kernels_aot_function *function,
                                    const kernels_node *skipped) {
    if (skipped->count == 0) {
        return KERNELS_OK;
    }
    kernels_json_key(&writer->json, "skipped");
    kernels_json_begin_array(&writer->json);
    for (size_t i = 0; i < skipped->count; i++) {
        uint64_t index;
        KERNELS_TRY(find_index(writer, function, skipped->as.items[i], &index));
        kernels_json_begin_object(&writer->json);
        KERNELS_TRY(copy_text(writer, skipped->as.items[i], "platform"));
        kernels_json_key(&writer->json, "index");
        kernels_json_unsigned(&writer->json, index);
        KERNELS_TRY(copy_text(writer, skipped->as.items[i], "reason"));
        kernels_json_end_object(&writer->json);
    }
    kernels_json_end_array(&writer->json);
    return KERNELS_OK;
}

static kernels_status write_function(manifest_writer *writer, const kernels_aot_function *function,
                                     const kernels_node *answer) {
    const kernels_node *facts, *skipped;
    KERNELS_TRY(list_of(writer, answer, "specialisations", &facts));
    KERNELS_TRY(list_of(writer, answer, "skipped", &skipped));
    kernels_json_begin_object(&writer->json);
    kernels_json_key(&writer->json, "name");
    kernels_json_text(&writer->json, function->name);
    write_strings(writer, "arguments", &function->arguments);
    write_strings(writer, "generations", &function->generations);
    kernels_json_key(&writer->json, "tolerance");
    kernels_json_begin_object(&writer->json);
    kernels_json_key(&writer->json, "rtol");
    kernels_json_double(&writer->json, function->rtol);
    kernels_json_key(&writer->json, "atol");
    kernels_json_double(&writer->json, function->atol);
    kernels_json_end_object(&writer->json);
    kernels_json_key(&writer->json, "specialisations");
    kernels_json_begin_array(&writer->json);
    for (size_t i = 0; i < facts->count; i++) {
        KERNELS_TRY(write_specialisation(writer, function, facts->as.items[i]));
    }
    kernels_json_end_array(&writer->json);
    KERNELS_TRY(write_skipped(writer, function, skipped));
    kernels_json_end_object(&writer->json);
    return KERNELS_OK;
}

static void write_exporter(manifest_writer *writer, const kernels_node *result) {
    static const char *const packages[] = {"jax", "jaxlib", "libtpu"};
    kernels_json_key(&writer->json, "exporter");
    kernels_json_begin_object(&writer->json);
    kernels_json_key(&writer->json, "kernel-builder");
    kernels_json_text(&writer->json, kernels_library_version());
    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
        kernels_view version = kernels_node_text(kernels_node_find(result, packages[i]));
        kernels_json_key(&writer->json, packages[i]);
        if (version.size > 0) {
            kernels_json_string(&writer->json, version);
        } else {
            kernels_json_null(&writer->json); /* not in the environment */
        }
    }
    kernels_json_end_object(&writer->json);
}

kernels_status kernels_aot_manifest_write(const kernels_aot_config *config, const kernels_node *result,
                                          const char *directory, kernels_buffer *text, kernels_error *error) {
    manifest_writer writer = {.directory = directory, .error = error};
    const kernels_node *answers;
    kernels_json_writer_init(&writer.json, text, INDENT, false);
    KERNELS_TRY(list_of(&writer, result, "functions", &answers));
    if (answers->count != config->count) {
        return malformed(&writer, "functions");
    }
    kernels_json_begin_object(&writer.json);
    kernels_json_key(&writer.json, "format");
    kernels_json_unsigned(&writer.json, MANIFEST_FORMAT);
    write_exporter(&writer, result);
    kernels_json_key(&writer.json, "functions");
    kernels_json_begin_array(&writer.json);
    for (size_t i = 0; i < config->count; i++) {
        KERNELS_TRY(write_function(&writer, &config->functions[i], answers->as.items[i]));
    }
    kernels_json_end_array(&writer.json);
    kernels_json_end_object(&writer.json);
    return kernels_buffer_status(text, error);
}
