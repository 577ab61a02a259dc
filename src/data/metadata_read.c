/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.json into a kernels_metadata, by the tables below. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/metadata.h"

#define ROW(structure, json_key, reader, member) \
    .key = (json_key), .read = (reader), .offset = offsetof(structure, member), .second_offset = KERNELS_NO_OFFSET
#define ROW_WITH(structure, json_key, reader, member, second_member)            \
    .key = (json_key), .read = (reader), .offset = offsetof(structure, member), \
    .second_offset = offsetof(structure, second_member)

/* ---- backend ---- */

static const kernels_field backend_rows[] = {
    {ROW(kernels_metadata, "type", kernels_read_backend, backend), .required = true},
    {ROW_WITH(kernels_metadata, "archs", kernels_read_texts, archs, has_archs), .null_is_absent = true},
};

/* target is the whole metadata */
static kernels_status read_backend(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(backend_rows, true);
    return kernels_schema_read(reader, place, node, &schema, target);
}

/* ---- digest ---- */

static kernels_status read_algorithm(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                     void *target, void *second) {
    (void)second;
    static const char expected[] = "one of sha256, sha512";
    kernels_view text;
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    bool sha512 = kernels_view_equal_text(text, "sha512");
    if (!sha512 && !kernels_view_equal_text(text, "sha256")) {
        return kernels_reader_bad_value(reader, place, expected, text);
    }
    *(kernels_digest_algorithm *)target = sha512 ? KERNELS_DIGEST_SHA512 : KERNELS_DIGEST_SHA256;
    return KERNELS_OK;
}

/* By path, and in the order of the file for equal paths. */
static int compare_members(const void *a, const void *b) {
    const kernels_member *left = *(const kernels_member *const *)a, *right = *(const kernels_member *const *)b;
    int order = kernels_view_compare(left->key, right->key);
    return order != 0 ? order : (left > right) - (left < right);
}

static kernels_status read_file_digest(kernels_reader *reader, const kernels_place *place, const kernels_member *member,
                                       kernels_file_digest *file) {
    const kernels_place here = {place, member->key, 0, member->key_position};
    if (member->key.size > 0 && memchr(member->key.data, 0, member->key.size)) {
        return kernels_reader_bad_value(reader, &here, "a path without a NUL character", member->key);
    }
    file->path = kernels_arena_copy_text(reader->arena, member->key);
    return file->path ? kernels_read_text(reader, &here, member->value, &file->hash, NULL)
                      : kernels_reader_no_memory(reader);
}

/* Stores the sorted members as files; of equal paths the last one in the file stays. */
static kernels_status store_files(kernels_reader *reader, const kernels_place *place,
                                  const kernels_member *const *sorted, size_t count, kernels_variant_digest *digest) {
    kernels_file_digest *files = kernels_arena_array(reader->arena, count, sizeof(*files));
    if (!files && count > 0) {
        return kernels_reader_no_memory(reader);
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        KERNELS_TRY(read_file_digest(reader, place, sorted[i], &files[used]));
        bool replaced = i + 1 < count && kernels_view_equal(sorted[i]->key, sorted[i + 1]->key);
        used += replaced ? 0 : 1;
    }
    digest->files = files;
    digest->count = used;
    return KERNELS_OK;
}

/* target is the whole digest */
static kernels_status read_files(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 void *target, void *second) {
    (void)second;
    if (node->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, place, "an object of path and hash", node);
    }
    if (node->count > KERNELS_VARIANT_FILES_MAX) {
        return kernels_reader_fail(reader, place, "expected at most %zu files, found %zu", KERNELS_VARIANT_FILES_MAX,
                                   node->count);
    }
    KERNELS_CLEANUP_FREE const kernels_member **sorted = kernels_calloc(node->count + 1, sizeof(*sorted));
    if (!sorted) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < node->count; i++) {
        sorted[i] = &node->as.members[i];
    }
    qsort(sorted, node->count, sizeof(*sorted), compare_members);
    return store_files(reader, place, sorted, node->count, target);
}

static const kernels_field digest_rows[] = {
    {ROW(kernels_variant_digest, "algorithm", read_algorithm, algorithm), .required = true},
    {.key = "files", .read = read_files, .second_offset = KERNELS_NO_OFFSET, .required = true},
};

static kernels_status read_digest(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  void *target, void *second) {
    const kernels_schema schema = KERNELS_SCHEMA(digest_rows, true);
    KERNELS_TRY(kernels_schema_read(reader, place, node, &schema, target));
    *(bool *)second = true;
    return KERNELS_OK;
}

/* ---- provenance ---- */

static const kernels_field status_rows[] = {
    {ROW(kernels_git_status, "commit", kernels_read_object_id, commit), .other_key = "sha", .required = true},
    {ROW(kernels_git_status, "dirty", kernels_read_boolean, dirty), .required = true},
};

static kernels_status read_status(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(status_rows, true);
    return kernels_schema_read(reader, place, node, &schema, target);
}

typedef struct builder_fields {
    const char *version;
    kernels_git_status git;
    bool has_dirty;
} builder_fields;

static const kernels_field builder_rows[] = {
    {ROW(builder_fields, "version", kernels_read_text, version), .required = true},
    {ROW(builder_fields, "commit", kernels_read_object_id, git.commit), .other_key = "sha"},
    {ROW_WITH(builder_fields, "dirty", kernels_read_boolean, git.dirty, has_dirty)},
};

/* target is the whole provenance */
static kernels_status read_builder(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(builder_rows, true);
    builder_fields fields = {0};
    KERNELS_TRY(kernels_schema_read(reader, place, node, &schema, &fields));
    if ((fields.git.commit != NULL) != fields.has_dirty) {
        return kernels_reader_fail(reader, place, "missing key: expected `commit` and `dirty` together, found `%s`",
                                   fields.has_dirty ? "dirty" : "commit");
    }
    kernels_provenance *provenance = target;
    provenance->builder_version = fields.version;
    provenance->builder = fields.git;
    return KERNELS_OK;
}

static const kernels_field provenance_rows[] = {
    {.key = "kernel-builder", .read = read_builder, .second_offset = KERNELS_NO_OFFSET, .required = true},
    {ROW(kernels_provenance, "kernel", read_status, kernel), .null_is_absent = true},
};

static kernels_status read_provenance(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                      void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(provenance_rows, true);
    return kernels_schema_read(reader, place, node, &schema, target);
}

/* ---- the document ---- */

static const kernels_field metadata_rows[] = {
    {ROW(kernels_metadata, "name", kernels_read_name, name), .required = true},
    {ROW(kernels_metadata, "id", kernels_read_text, id), .required = true},
    {ROW(kernels_metadata, "version", kernels_read_unsigned, version), .required = true},
    {ROW(kernels_metadata, "kernels-minver", kernels_read_version3, minver), .null_is_absent = true},
    {ROW(kernels_metadata, "license", kernels_read_text, license), .required = true},
    {ROW(kernels_metadata, "upstream", kernels_read_git_url, upstream), .null_is_absent = true},
    {ROW(kernels_metadata, "source", kernels_read_git_url, source), .null_is_absent = true},
    {ROW(kernels_metadata, "python-depends", kernels_read_texts, python_depends), .required = true},
    {ROW_WITH(kernels_metadata, "kernel-depends", kernels_read_dependencies, kernel_depends, kernel_depends_count)},
    {.key = "backend", .read = read_backend, .second_offset = KERNELS_NO_OFFSET, .required = true},
    {ROW_WITH(kernels_metadata, "digest", read_digest, digest, has_digest), .null_is_absent = true},
    {ROW(kernels_metadata, "provenance", read_provenance, provenance), .null_is_absent = true},
};

static kernels_status read_document(const kernels_document *document, const char *name, kernels_metadata *metadata,
                                    kernels_error *error) {
    const kernels_schema schema = KERNELS_SCHEMA(metadata_rows, true);
    kernels_metadata result = {0};
    kernels_arena *arena = kernels_metadata_arena(&result);
    if (!arena) {
        return kernels_fail_no_memory(error);
    }
    kernels_reader reader = {.name = name, .arena = arena, .error = error};
    const kernels_place root = {.position = document->root->begin};
    kernels_status status = kernels_schema_read(&reader, &root, document->root, &schema, &result);
    if (status != KERNELS_OK) {
        kernels_metadata_dispose(&result);
        return status;
    }
    *metadata = result;
    return KERNELS_OK;
}

kernels_status kernels_metadata_parse(kernels_view text, const char *name, kernels_metadata *metadata,
                                      kernels_error *error) {
    kernels_document document = {0};
    if (text.size > KERNELS_METADATA_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: expected at most %zu bytes, found %zu", name,
                            KERNELS_METADATA_SIZE_LIMIT, text.size);
    }
    KERNELS_TRY(kernels_json_parse(text, name, &document, error));
    kernels_status status = read_document(&document, name, metadata, error);
    kernels_document_dispose(&document);
    return status;
}

kernels_status kernels_metadata_read(const char *path, kernels_metadata *metadata, kernels_error *error) {
    char *data = NULL;
    size_t size = 0;
    KERNELS_TRY(kernels_file_read(path, KERNELS_METADATA_SIZE_LIMIT, &data, &size, error));
    kernels_status status = kernels_metadata_parse((kernels_view){data, size}, path, metadata, error);
    if (status != KERNELS_OK) {
        kernels_error_set_subject(error, path);
    }
    kernels_free(data);
    return status;
}
