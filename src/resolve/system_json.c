/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/system_json.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/schema.h"

/* ---- one table for reading and writing ---- */

typedef enum member_kind {
    KIND_TEXT,    /* char[size] */
    KIND_VERSION, /* kernels_version */
    KIND_FLAG,    /* bool; absent = false */
    KIND_ABI,     /* kernels_cxx11_abi: true, false, null */
    KIND_BACKEND, /* kernels_backend */
    KIND_OTHER,   /* the alternative: kernels_backend, when has_alternative */
} member_kind;

typedef struct member_row {
    const char *key;
    member_kind kind;
    size_t offset, size;
    const char *expected;
    int fact; /* kernels_fact that it belongs to, or NO_FACT */
    bool required;
} member_row;

enum { NO_FACT = -1 };

#define MEMBER(name) .offset = offsetof(kernels_system, name), .size = sizeof(((kernels_system *)0)->name)

static const member_row rows[] = {
    {"os", KIND_TEXT, MEMBER(os), "the name of an operating system", KERNELS_FACT_PLATFORM, true},
    {"cpu", KIND_TEXT, MEMBER(cpu), "the name of a CPU architecture", KERNELS_FACT_PLATFORM, true},
    {"macos", KIND_VERSION, MEMBER(macos), "a version", KERNELS_FACT_PLATFORM, false},
    {"backend", KIND_BACKEND, MEMBER(backend), KERNELS_BACKENDS_TEXT, NO_FACT, true},
    {"backend_version", KIND_VERSION, MEMBER(backend_version), "a version", NO_FACT, false},
    {"backend_reason", KIND_TEXT, MEMBER(backend_reason), "a text", NO_FACT, false},
    {"needs_torch", KIND_FLAG, MEMBER(needs_torch), "true or false", NO_FACT, false},
    {"alternative", KIND_OTHER, MEMBER(alternative), KERNELS_BACKENDS_TEXT, NO_FACT, false},
    {"alternative_version", KIND_VERSION, MEMBER(alternative_version), "a version", NO_FACT, false},
    {"torch", KIND_TEXT, MEMBER(torch_text), "a version", KERNELS_FACT_TORCH, false},
    {"torch_cxx11_abi", KIND_ABI, MEMBER(torch_cxx11_abi), "true or false", KERNELS_FACT_TORCH_CXX11_ABI, false},
    {"tvm_ffi", KIND_TEXT, MEMBER(tvm_ffi_text), "a version", KERNELS_FACT_TVM_FFI, false},
    {"glibc", KIND_TEXT, MEMBER(glibc), "a version", KERNELS_FACT_GLIBC, false},
    {"python", KIND_TEXT, MEMBER(python), "a version", KERNELS_FACT_PYTHON, false},
    {"free_threaded", KIND_FLAG, MEMBER(free_threaded), "true or false", KERNELS_FACT_PYTHON, false},
    {"site_packages", KIND_TEXT, MEMBER(site_packages), "a folder", KERNELS_FACT_SITE_PACKAGES, false},
    {"tpu_generation", KIND_TEXT, MEMBER(tpu_generation), "the name of a TPU generation", KERNELS_FACT_TPU_GENERATION,
     false},
    {"gpu_architectures", KIND_TEXT, MEMBER(gpu_architectures), "a list in one text", KERNELS_FACT_GPU_ARCHITECTURES,
     false},
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static const member_row *find_row(kernels_view key) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (kernels_view_equal_text(key, rows[i].key)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* ---- reading ---- */

static kernels_status read_array(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const char *expected, char *target, size_t size) {
    kernels_view text;
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    if (text.size >= size) {
        return kernels_reader_fail(reader, place, "expected at most %zu bytes, found %zu", size - 1, text.size);
    }
    if (text.size > 0) {
        memcpy(target, text.data, text.size);
    }
    target[text.size] = '\0';
    return KERNELS_OK;
}

static kernels_status read_version(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   const member_row *row, kernels_version *target) {
    kernels_view text;
    KERNELS_TRY(kernels_read_view(reader, place, node, row->expected, &text));
    return kernels_version_parse(text, target, NULL) == KERNELS_OK
               ? KERNELS_OK
               : kernels_reader_bad_value(reader, place, row->expected, text);
}

static kernels_status read_backend(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   const member_row *row, kernels_backend *target) {
    kernels_view text;
    KERNELS_TRY(kernels_read_view(reader, place, node, row->expected, &text));
    return kernels_backend_parse(text, target, NULL) == KERNELS_OK
               ? KERNELS_OK
               : kernels_reader_bad_value(reader, place, row->expected, text);
}

static kernels_status read_value(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const member_row *row, kernels_system *system) {
    void *target = (char *)system + row->offset;
    bool is_flag = row->kind == KIND_FLAG || row->kind == KIND_ABI;
    if (is_flag && node->type != KERNELS_NODE_BOOLEAN) {
        return kernels_reader_wrong_type(reader, place, row->expected, node);
    }
    switch (row->kind) {
    case KIND_TEXT:
        return read_array(reader, place, node, row->expected, target, row->size);
    case KIND_VERSION:
        return read_version(reader, place, node, row, target);
    case KIND_FLAG:
        *(bool *)target = node->as.boolean;
        return KERNELS_OK;
    case KIND_ABI:
        *(kernels_cxx11_abi *)target = node->as.boolean ? KERNELS_CXX11_ABI_NEW : KERNELS_CXX11_ABI_OLD;
        return KERNELS_OK;
    case KIND_OTHER:
        system->has_alternative = true;
        return read_backend(reader, place, node, row, target);
    case KIND_BACKEND:
        return read_backend(reader, place, node, row, target);
    }
    return KERNELS_OK;
}

/* Where a fact is known from; that of the backend is its reason. */
static kernels_status read_origin(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  const member_row *row, kernels_system *system) {
    const kernels_place here = {place, KERNELS_VIEW("from"), 0, node->begin};
    if (row->kind == KIND_BACKEND) {
        return read_array(reader, &here, node, "a text", system->backend_reason, sizeof system->backend_reason);
    }
    if (row->fact == NO_FACT) {
        return kernels_reader_fail(reader, &here, "unknown key: where this comes from is not kept");
    }
    return read_array(reader, &here, node, "a text", system->origins[row->fact], KERNELS_ORIGIN_SIZE);
}

/* {"value": ..., "from": ...} */
static kernels_status read_fact(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                const member_row *row, kernels_system *system, bool *given) {
    const kernels_node *value = kernels_node_find(node, "value");
    const kernels_node *from = kernels_node_find(node, "from");
    size_t known = from != NULL ? 2 : 1;
    if (value == NULL || node->count != known) {
        return kernels_reader_fail(reader, place, "expected {\"value\": ..., \"from\": ...} or %s alone",
                                   row->expected);
    }
    if (from != NULL && from->type != KERNELS_NODE_NULL) {
        KERNELS_TRY(read_origin(reader, place, from, row, system));
    }
    *given = value->type != KERNELS_NODE_NULL;
    return *given ? read_value(reader, place, value, row, system) : KERNELS_OK;
}

static kernels_status unknown_member(kernels_reader *reader, const kernels_place *place) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer known = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        kernels_buffer_printf(&known, "%s%s", i > 0 ? ", " : "", rows[i].key);
    }
    return kernels_reader_fail(reader, place, "unknown key: expected one of %s", kernels_buffer_text(&known));
}

static kernels_status read_member(kernels_reader *reader, const kernels_place *top, const kernels_member *member,
                                  kernels_system *system, bool given[ROW_COUNT]) {
    const kernels_place here = {top, member->key, 0, member->key_position};
    const member_row *row = find_row(member->key);
    if (row == NULL) {
        return unknown_member(reader, &here);
    }
    bool *is_given = &given[row - rows];
    if (member->value->type == KERNELS_NODE_OBJECT) {
        return read_fact(reader, &here, member->value, row, system, is_given);
    }
    *is_given = member->value->type != KERNELS_NODE_NULL;
    return *is_given ? read_value(reader, &here, member->value, row, system) : KERNELS_OK;
}

/* What follows from the texts. */
static kernels_status derive(kernels_reader *reader, const kernels_place *top, kernels_system *system) {
    system->torch = kernels_version_major_minor(kernels_view_of(system->torch_text));
    system->tvm_ffi = kernels_version_major_minor(kernels_view_of(system->tvm_ffi_text));
    const bool bad_torch = system->torch_text[0] != '\0' && system->torch.count == 0;
    const bool bad_tvm_ffi = system->tvm_ffi_text[0] != '\0' && system->tvm_ffi.count == 0;
    if (bad_torch || bad_tvm_ffi) {
        const kernels_place here = {top, kernels_view_of(bad_torch ? "torch" : "tvm_ffi"), 0, {0}};
        return kernels_reader_bad_value(reader, &here, "a version such as 2.15.0+cu132",
                                        kernels_view_of(bad_torch ? system->torch_text : system->tvm_ffi_text));
    }
    if (system->backend_reason[0] == '\0') {
        memcpy(system->backend_reason, "given", sizeof "given");
    }
    return KERNELS_OK;
}

/* Given, and not the empty text. */
static bool is_known(const member_row *row, bool given, const kernels_system *system) {
    return given && (row->kind != KIND_TEXT || ((const char *)system)[row->offset] != '\0');
}

static kernels_status read_system(kernels_reader *reader, const kernels_place *top, const kernels_node *node,
                                  kernels_system *system) {
    bool given[ROW_COUNT] = {false};
    if (node->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, top, "the description of a machine", node);
    }
    const kernels_member *twice = kernels_node_duplicate(node);
    if (twice != NULL) {
        const kernels_place here = {top, twice->key, 0, twice->key_position};
        return kernels_reader_fail(reader, &here, "the key stands twice");
    }
    for (size_t i = 0; i < node->count; i++) {
        KERNELS_TRY(read_member(reader, top, &node->as.members[i], system, given));
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].required && !is_known(&rows[i], given[i], system)) {
            const kernels_place missing = {top, kernels_view_of(rows[i].key), 0, {0}};
            return kernels_reader_fail(reader, &missing, "missing: expected %s", rows[i].expected);
        }
    }
    return derive(reader, top, system);
}

static kernels_status read_document(const kernels_document *document, const char *name, kernels_system *system,
                                    kernels_error *error) {
    kernels_reader reader = {.name = name, .arena = document->arena, .error = error};
    const kernels_place top = {.position = document->root->begin};
    const kernels_node *inner = kernels_node_find(document->root, "system");
    kernels_system found = {.torch_cxx11_abi = KERNELS_CXX11_ABI_NONE};
    if (inner != NULL) {
        const kernels_place here = {&top, KERNELS_VIEW("system"), 0, inner->begin};
        KERNELS_TRY(read_system(&reader, &here, inner, &found));
    } else {
        KERNELS_TRY(read_system(&reader, &top, document->root, &found));
    }
    *system = found;
    return KERNELS_OK;
}

kernels_status kernels_system_parse(kernels_view text, const char *name, kernels_system *system, kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(kernels_json_parse(text, name, &document, error));
    kernels_status status = read_document(&document, name, system, error);
    kernels_document_dispose(&document);
    return status;
}

kernels_status kernels_system_read(const char *path, kernels_system *system, kernels_error *error) {
    kernels_document document;
    KERNELS_TRY(kernels_json_read_file(path, KERNELS_SYSTEM_SIZE_LIMIT, &document, error));
    kernels_status status = read_document(&document, path, system, error);
    kernels_document_dispose(&document);
    if (status != KERNELS_OK) {
        kernels_error_set_subject(error, path);
    }
    return status;
}

/* ---- writing ---- */

static void write_version(kernels_json_writer *writer, const kernels_version *version) {
    char text[KERNELS_VERSION_TEXT_SIZE];
    kernels_version_print(version, text);
    kernels_json_text(writer, text);
}

static void write_value(kernels_json_writer *writer, const member_row *row, const kernels_system *system) {
    const void *member = (const char *)system + row->offset;
    switch (row->kind) {
    case KIND_TEXT:
        kernels_json_text(writer, member);
        break;
    case KIND_VERSION:
        write_version(writer, member);
        break;
    case KIND_FLAG:
        kernels_json_boolean(writer, *(const bool *)member);
        break;
    case KIND_ABI:
        kernels_json_boolean(writer, system->torch_cxx11_abi == KERNELS_CXX11_ABI_NEW);
        break;
    case KIND_OTHER:
        kernels_json_text(writer, kernels_backend_name(system->alternative));
        break;
    case KIND_BACKEND:
        kernels_json_text(writer, kernels_backend_name(system->backend));
        break;
    }
}

/* A flag is always known. */
static bool has_value(const member_row *row, const kernels_system *system) {
    const void *member = (const char *)system + row->offset;
    switch (row->kind) {
    case KIND_TEXT:
        return *(const char *)member != '\0';
    case KIND_VERSION:
        return ((const kernels_version *)member)->count > 0;
    case KIND_ABI:
        return system->torch_cxx11_abi != KERNELS_CXX11_ABI_NONE;
    case KIND_OTHER:
        return system->has_alternative;
    case KIND_FLAG:
    case KIND_BACKEND:
        return true;
    }
    return true;
}

void kernels_system_write(kernels_json_writer *writer, const kernels_system *system) {
    kernels_json_begin_object(writer);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *origin = rows[i].fact == NO_FACT ? "" : system->origins[rows[i].fact];
        kernels_json_key(writer, rows[i].key);
        if (!has_value(&rows[i], system)) {
            kernels_json_null(writer);
            continue;
        }
        if (origin[0] == '\0') {
            write_value(writer, &rows[i], system);
            continue;
        }
        kernels_json_begin_object(writer);
        kernels_json_key(writer, "value");
        write_value(writer, &rows[i], system);
        kernels_json_member_text(writer, "from", origin);
        kernels_json_end_object(writer);
    }
    kernels_json_end_object(writer);
}
