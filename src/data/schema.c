/* SPDX-License-Identifier: Apache-2.0 */
#include "data/schema.h"

#include <stdarg.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/view.h"

/* ---- messages ---- */

static bool is_bare_key(kernels_view key) {
    for (size_t i = 0; i < key.size; i++) {
        if (!kernels_is_alnum(key.data[i]) && key.data[i] != '_' && key.data[i] != '-') {
            return false;
        }
    }
    return key.size > 0;
}

static void add_key(kernels_buffer *out, kernels_view key) {
    char quoted[KERNELS_QUOTE_SIZE];
    if (is_bare_key(key) && key.size <= KERNELS_QUOTE_MAX) {
        kernels_buffer_add_view(out, key);
        return;
    }
    kernels_quote(key, quoted);
    quoted[0] = '"';
    quoted[strlen(quoted) - 1] = '"';
    kernels_buffer_add_text(out, quoted);
}

static void add_dotted_key(kernels_buffer *out, const kernels_place *place) {
    const kernels_place *chain[KERNELS_PLACE_DEPTH];
    size_t count = 0;
    for (; place && place->parent && count < KERNELS_PLACE_DEPTH; place = place->parent) {
        chain[count++] = place;
    }
    for (size_t i = count; i-- > 0;) {
        if (!chain[i]->key.data) {
            kernels_buffer_printf(out, "[%zu]", chain[i]->index);
            continue;
        }
        if (i + 1 < count) {
            kernels_buffer_add_char(out, '.');
        }
        add_key(out, chain[i]->key);
    }
    if (count > 0) {
        kernels_buffer_add_text(out, ": ");
    }
}

/* The nearest known position: TOML tables made by dotted keys may have none of their own. */
static kernels_position nearest_position(const kernels_place *place) {
    while (place && place->position.line == 0 && place->parent) {
        place = place->parent;
    }
    return place ? place->position : (kernels_position){0};
}

static kernels_status fail_at(kernels_reader *reader, kernels_status status, const kernels_place *place,
                              const char *format, va_list arguments) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_position position = nearest_position(place);
    kernels_buffer_add_text(&text, reader->name);
    if (position.line > 0) {
        kernels_buffer_printf(&text, ":%u:%u", position.line, position.column);
    }
    kernels_buffer_add_text(&text, ": ");
    add_dotted_key(&text, place);
    kernels_buffer_vprintf(&text, format, arguments);
    status = text.failure == KERNELS_OK ? kernels_fail(reader->error, status, "%s", kernels_buffer_text(&text))
                                        : kernels_fail_no_memory(reader->error);
    kernels_buffer_dispose(&text);
    return status;
}

kernels_status kernels_reader_fail(kernels_reader *reader, const kernels_place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    kernels_status status = fail_at(reader, KERNELS_SCHEMA, place, format, arguments);
    va_end(arguments);
    return status;
}

kernels_status kernels_reader_fail_as(kernels_reader *reader, kernels_status status, const kernels_place *place,
                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    status = fail_at(reader, status, place, format, arguments);
    va_end(arguments);
    return status;
}

static const char *type_with_article(const kernels_node *node) {
    switch (node->type) {
    case KERNELS_NODE_NULL:
        return "a null";
    case KERNELS_NODE_BOOLEAN:
        return "a boolean";
    case KERNELS_NODE_UNSIGNED:
    case KERNELS_NODE_NEGATIVE:
        return "an integer";
    case KERNELS_NODE_NUMBER:
        return "a number that is no 64-bit integer";
    case KERNELS_NODE_STRING:
        return "a string";
    case KERNELS_NODE_ARRAY:
        return "a list";
    case KERNELS_NODE_OBJECT:
        return "a table";
    case KERNELS_NODE_DATE:
        return "a date";
    }
    return "a value of unknown type";
}

kernels_status kernels_reader_wrong_type(kernels_reader *reader, const kernels_place *place, const char *expected,
                                         const kernels_node *found) {
    return kernels_reader_fail(reader, place, "expected %s, found %s", expected, type_with_article(found));
}

kernels_status kernels_reader_bad_value(kernels_reader *reader, const kernels_place *place, const char *expected,
                                        kernels_view found) {
    char quoted[KERNELS_QUOTE_SIZE];
    return kernels_reader_fail(reader, place, "expected %s, found %s", expected, kernels_quote(found, quoted));
}

kernels_status kernels_reader_no_memory(kernels_reader *reader) { return kernels_fail_no_memory(reader->error); }

/* ---- objects ---- */

static bool is_there(const kernels_field *field, unsigned mask) { return field->mask == 0 || (field->mask & mask); }

const kernels_field *kernels_schema_field(const kernels_schema *schema, unsigned mask, kernels_view key) {
    for (size_t i = 0; i < schema->count; i++) {
        const kernels_field *field = &schema->fields[i];
        if (is_there(field, mask) && (kernels_view_equal_text(key, field->key) ||
                                      (field->other_key && kernels_view_equal_text(key, field->other_key)))) {
            return field;
        }
    }
    return NULL;
}

static kernels_status unknown_key(kernels_reader *reader, const kernels_place *place, const kernels_schema *schema,
                                  const char *hint) {
    if (hint) {
        return kernels_reader_fail(reader, place, "unknown key: %s", hint);
    }
    kernels_buffer known = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < schema->count; i++) {
        if (is_there(&schema->fields[i], reader->mask) && schema->fields[i].read) {
            kernels_buffer_printf(&known, "%s%s", known.size > 0 ? ", " : "", schema->fields[i].key);
        }
    }
    kernels_status status =
        kernels_reader_fail(reader, place, "unknown key: expected one of %s", kernels_buffer_text(&known));
    kernels_buffer_dispose(&known);
    return status;
}

static kernels_status read_member(kernels_reader *reader, const kernels_place *place, const kernels_field *field,
                                  const kernels_node *value, void *target) {
    void *second = field->second_offset == KERNELS_NO_OFFSET ? NULL : (char *)target + field->second_offset;
    return field->read(reader, place, value, (char *)target + field->offset, second);
}

static kernels_status check_required(kernels_reader *reader, const kernels_place *place, const kernels_schema *schema,
                                     uint32_t seen) {
    for (size_t i = 0; i < schema->count; i++) {
        const kernels_field *field = &schema->fields[i];
        if (field->required && is_there(field, reader->mask) && !(seen & (UINT32_C(1) << i))) {
            kernels_place missing = {place, kernels_view_of(field->key), 0, {0}};
            return kernels_reader_fail(reader, &missing, "missing key: expected `%s` here", field->key);
        }
    }
    return KERNELS_OK;
}

kernels_status kernels_schema_read(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   const kernels_schema *schema, void *target) {
    if (node->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, place, "a table", node);
    }
    uint32_t seen = 0;
    for (size_t i = 0; i < node->count; i++) {
        const kernels_member *member = &node->as.members[i];
        const kernels_place here = {place, member->key, 0, member->key_position};
        const kernels_field *field = kernels_schema_field(schema, reader->mask, member->key);
        if (!field || !field->read) {
            if (schema->ignore_unknown) {
                continue;
            }
            return unknown_key(reader, &here, schema, field ? field->hint : NULL);
        }
        uint32_t bit = UINT32_C(1) << (size_t)(field - schema->fields);
        if (seen & bit) {
            return kernels_reader_fail(reader, &here, "given twice: expected `%s` only once", field->key);
        }
        seen |= bit;
        if (member->value->type == KERNELS_NODE_NULL && field->null_is_absent) {
            continue;
        }
        KERNELS_TRY(read_member(reader, &here, field, member->value, target));
    }
    return check_required(reader, place, schema, seen);
}

/* ---- values ---- */

static void set_given(void *second) {
    if (second) {
        *(bool *)second = true;
    }
}

kernels_status kernels_read_view(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const char *expected, kernels_view *text) {
    if (node->type != KERNELS_NODE_STRING) {
        return kernels_reader_wrong_type(reader, place, expected, node);
    }
    if (node->as.text.size > 0 && memchr(node->as.text.data, 0, node->as.text.size)) {
        return kernels_reader_bad_value(reader, place, "text without a NUL character", node->as.text);
    }
    *text = node->as.text;
    return KERNELS_OK;
}

static kernels_status store_text(kernels_reader *reader, kernels_view text, const char **target) {
    *target = kernels_arena_copy_text(reader->arena, text);
    return *target ? KERNELS_OK : kernels_reader_no_memory(reader);
}

kernels_status kernels_read_text(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 void *target, void *second) {
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, "a string", &text));
    set_given(second);
    return store_text(reader, text, target);
}

kernels_status kernels_read_unsigned(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                     void *target, void *second) {
    static const char expected[] = "an integer of at least 0 and at most 64 bits";
    if (node->type == KERNELS_NODE_NEGATIVE) {
        return kernels_reader_fail(reader, place, "expected %s, found `%lld`", expected, (long long)node->as.negative);
    }
    if (node->type != KERNELS_NODE_UNSIGNED) {
        return kernels_reader_wrong_type(reader, place, expected, node);
    }
    *(uint64_t *)target = node->as.unsigned_value;
    set_given(second);
    return KERNELS_OK;
}

kernels_status kernels_read_boolean(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    if (node->type != KERNELS_NODE_BOOLEAN) {
        return kernels_reader_wrong_type(reader, place, "true or false", node);
    }
    *(bool *)target = node->as.boolean;
    set_given(second);
    return KERNELS_OK;
}

kernels_status kernels_read_list(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 const char *expected) {
    return node->type == KERNELS_NODE_ARRAY ? KERNELS_OK : kernels_reader_wrong_type(reader, place, expected, node);
}

kernels_place kernels_place_element(const kernels_place *list, const kernels_node *node, size_t index) {
    return (kernels_place){list, {NULL, 0}, index, node->as.items[index]->begin};
}

kernels_status kernels_read_texts(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                  void *target, void *second) {
    KERNELS_TRY(kernels_read_list(reader, place, node, "a list of strings"));
    const char **items = kernels_arena_array(reader->arena, node->count, sizeof(*items));
    if (!items && node->count > 0) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < node->count; i++) {
        kernels_place here = kernels_place_element(place, node, i);
        KERNELS_TRY(kernels_read_text(reader, &here, node->as.items[i], &items[i], NULL));
    }
    *(kernels_strings *)target = (kernels_strings){items, node->count};
    set_given(second);
    return KERNELS_OK;
}

kernels_status kernels_read_name(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                 void *target, void *second) {
    (void)second;
    static const char expected[] =
        "a kernel name (a lower-case letter, then lower-case letters, digits and dashes, the last one no dash, "
        "at least two characters, such as my-kernel)";
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    if (!kernels_name_is_valid(text)) {
        return kernels_reader_bad_value(reader, place, expected, text);
    }
    return store_text(reader, text, target);
}

kernels_status kernels_read_object_id(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                      void *target, void *second) {
    (void)second;
    static const char expected[] = "a git object id of 40 or 64 hexadecimal digits";
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    if (!kernels_object_id_is_valid(text)) {
        return kernels_reader_fail(reader, place,
                                   "Invalid git object id: expected 40 or 64 hexadecimal digits, "
                                   "found %s",
                                   kernels_quote(text, (char[KERNELS_QUOTE_SIZE]){0}));
    }
    char *copy = kernels_arena_copy_text(reader->arena, text);
    if (!copy) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < text.size; i++) {
        copy[i] = kernels_to_lower(copy[i]);
    }
    *(const char **)target = copy;
    return KERNELS_OK;
}

/* Puts the place before a failure of a function that knows none, whose error is freed. */
static kernels_status place_failure(kernels_reader *reader, const kernels_place *place, kernels_status status,
                                    kernels_error *inner) {
    if (status == KERNELS_NO_MEMORY) {
        kernels_error_move(reader->error, inner);
    } else {
        status = kernels_reader_fail(reader, place, "%s", kernels_error_message(inner));
    }
    kernels_error_dispose(inner);
    return status;
}

kernels_status kernels_read_git_url(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    (void)second;
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, "a git URL as a string", &text));
    kernels_error inner = KERNELS_ERROR_INIT;
    kernels_status status = kernels_git_url_check(text, &inner);
    if (status != KERNELS_OK) {
        return place_failure(reader, place, status, &inner);
    }
    return store_text(reader, text, target);
}

static kernels_status read_version(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                   size_t wanted, kernels_version *version) {
    const char *expected = wanted == 2 ? "a version of 2 parts as a string, such as \"2.10\""
                                       : "a version of 3 parts as a string, such as \"0.17.0\"";
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, expected, &text));
    kernels_error inner = KERNELS_ERROR_INIT;
    kernels_status status = kernels_version_parse(text, version, &inner);
    if (status != KERNELS_OK) {
        kernels_error_dispose(&inner);
        return kernels_reader_bad_value(reader, place, expected, text);
    }
    if (version->count != wanted && !reader->any_version_width) {
        char quoted[KERNELS_QUOTE_SIZE];
        return kernels_reader_fail(reader, place, "expected a version of %zu parts, found %s of %zu", wanted,
                                   kernels_quote(text, quoted), version->count);
    }
    return KERNELS_OK;
}

kernels_status kernels_read_version2(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                     void *target, void *second) {
    (void)second;
    return read_version(reader, place, node, 2, target);
}

kernels_status kernels_read_version3(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                     void *target, void *second) {
    (void)second;
    return read_version(reader, place, node, 3, target);
}

/* ---- backends ---- */

kernels_status kernels_read_backend(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                    void *target, void *second) {
    (void)second;
    kernels_view text = {0};
    KERNELS_TRY(kernels_read_view(reader, place, node, KERNELS_BACKENDS_TEXT, &text));
    if (kernels_backend_parse(text, target, NULL) != KERNELS_OK) {
        return kernels_reader_bad_value(reader, place, KERNELS_BACKENDS_TEXT, text);
    }
    return KERNELS_OK;
}

kernels_status kernels_read_backends(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                     void *target, void *second) {
    KERNELS_TRY(kernels_read_list(reader, place, node, "a list of backends"));
    kernels_backend *items = kernels_arena_array(reader->arena, node->count, sizeof(*items));
    if (!items && node->count > 0) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < node->count; i++) {
        kernels_place here = kernels_place_element(place, node, i);
        KERNELS_TRY(kernels_read_backend(reader, &here, node->as.items[i], &items[i], NULL));
    }
    *(const kernels_backend **)target = items;
    *(size_t *)second = node->count;
    return KERNELS_OK;
}

/* ---- kernel dependencies ---- */

typedef struct dependency_fields {
    kernels_dependency value;
    bool has_version;
} dependency_fields;

static const kernels_field dependency_rows[] = {
    {.key = "repo-id",
     .read = kernels_read_text,
     .offset = offsetof(dependency_fields, value.repo_id),
     .second_offset = KERNELS_NO_OFFSET,
     .required = true},
    {.key = "version",
     .read = kernels_read_unsigned,
     .offset = offsetof(dependency_fields, value.version),
     .second_offset = offsetof(dependency_fields, has_version),
     .null_is_absent = true},
    {.key = "revision",
     .read = kernels_read_text,
     .offset = offsetof(dependency_fields, value.revision),
     .second_offset = KERNELS_NO_OFFSET,
     .null_is_absent = true},
};

kernels_status kernels_read_dependency(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                       void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(dependency_rows, false);
    dependency_fields fields = {0};
    KERNELS_TRY(kernels_schema_read(reader, place, node, &schema, &fields));
    if (!fields.has_version && !fields.value.revision) {
        return kernels_reader_fail(reader, place, "missing key: expected one of `version` and `revision`");
    }
    if (fields.has_version && fields.value.revision) {
        return kernels_reader_fail(reader, place,
                                   "expected either `version` or `revision`, found `version` and `revision`");
    }
    *(kernels_dependency *)target = fields.value;
    return KERNELS_OK;
}

kernels_status kernels_read_dependencies(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                         void *target, void *second) {
    KERNELS_TRY(kernels_read_list(reader, place, node, "a list of kernel dependencies"));
    kernels_dependency *items = kernels_arena_array(reader->arena, node->count, sizeof(*items));
    if (!items && node->count > 0) {
        return kernels_reader_no_memory(reader);
    }
    for (size_t i = 0; i < node->count; i++) {
        kernels_place here = kernels_place_element(place, node, i);
        KERNELS_TRY(kernels_read_dependency(reader, &here, node->as.items[i], &items[i], NULL));
    }
    *(const kernels_dependency **)target = items;
    *(size_t *)second = node->count;
    return KERNELS_OK;
}
