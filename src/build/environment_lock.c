/* SPDX-License-Identifier: Apache-2.0 */
#include "build/environment_lock.h"

#include "base/error.h"
#include "base/view.h"

typedef struct lock_reader {
    const char *name;
    kernels_arena *arena;
    kernels_error *error;
} lock_reader;

static kernels_status fail_at(const lock_reader *reader, kernels_position position, const char *key, const char *text) {
    return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: %s", reader->name, position.line, position.column,
                        key, text);
}

static kernels_status check_keys(const lock_reader *reader, const kernels_node *table, const char *const *known) {
    for (size_t i = 0; i < table->count; i++) {
        const kernels_member *member = &table->as.members[i];
        bool found = false;
        for (const char *const *name = known; *name != NULL && !found; name++) {
            found = kernels_view_equal_text(member->key, *name);
        }
        if (!found) {
            return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: unknown key \"%.*s\"", reader->name,
                                member->key_position.line, member->key_position.column, KERNELS_VIEW_ARGS(member->key));
        }
    }
    return KERNELS_OK;
}

/* These words reach pip's requirements file: nothing in them may be an option, a space or a marker. */
static bool is_word(kernels_view text) {
    if (text.size == 0 || !kernels_is_alnum(text.data[0])) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!kernels_is_alnum(c) && c != '.' && c != '_' && c != '-' && c != '+') {
            return false;
        }
    }
    return true;
}

static bool is_python_version(kernels_view text) {
    size_t dot = kernels_view_find(text, '.');
    uint64_t number;
    return dot != SIZE_MAX && kernels_view_to_u64(kernels_view_slice(text, 0, dot), &number) &&
           kernels_view_to_u64(kernels_view_slice(text, dot + 1, text.size), &number);
}

static bool is_wheel_file(kernels_view text) {
    return is_word(text) && kernels_view_ends_with(text, KERNELS_VIEW(".whl"));
}

static bool is_sha256(kernels_view text) { return kernels_view_is_hex(text, 64); }

static kernels_status read_text(const lock_reader *reader, const kernels_node *table, const char *key,
                                bool (*is_valid)(kernels_view), const char *expected, const char **text) {
    const kernels_node *node = kernels_node_find(table, key);
    if (node == NULL) {
        return fail_at(reader, table->begin, key, "missing, it is required");
    }
    kernels_view view = kernels_node_text(node);
    if (view.data == NULL || !is_valid(view)) {
        return kernels_fail(reader->error, KERNELS_SCHEMA, "%s:%u:%u: %s: expected %s", reader->name, node->begin.line,
                            node->begin.column, key, expected);
    }
    *text = kernels_arena_copy_text(reader->arena, view);
    return *text != NULL ? KERNELS_OK : kernels_fail_no_memory(reader->error);
}

static bool is_pypi(kernels_view text) { return kernels_view_equal_text(text, "pypi"); }

static kernels_status read_wheel(const lock_reader *reader, const kernels_node *table, kernels_lock_wheel *wheel) {
    static const char *const keys[] = {"name", "version", "file", "sha256", "size", "source", "roles", "licence", NULL};
    const char *source;
    if (!kernels_node_is(table, KERNELS_NODE_OBJECT)) {
        return fail_at(reader, table->begin, "wheel", "expected tables [[wheel]]");
    }
    KERNELS_TRY(check_keys(reader, table, keys));
    KERNELS_TRY(read_text(reader, table, "name", is_word, "the name of a package", &wheel->name));
    KERNELS_TRY(read_text(reader, table, "version", is_word, "a version", &wheel->version));
    KERNELS_TRY(read_text(reader, table, "file", is_wheel_file, "the name of a .whl file", &wheel->file));
    KERNELS_TRY(read_text(reader, table, "sha256", is_sha256, "64 hex digits", &wheel->sha256));
    KERNELS_TRY(read_text(reader, table, "source", is_pypi, "\"pypi\"", &source));
    const kernels_node *size = kernels_node_find(table, "size");
    if (!kernels_node_is(size, KERNELS_NODE_UNSIGNED)) {
        return fail_at(reader, table->begin, "size", "expected the size in bytes");
    }
    wheel->size = size->as.unsigned_value;
    if (kernels_node_find(table, "licence") != NULL) {
        return read_text(reader, table, "licence", is_word, "a word", &wheel->licence);
    }
    return KERNELS_OK;
}

static kernels_status read_lock(const lock_reader *reader, kernels_environment_lock *lock) {
    static const char *const keys[] = {"format", "python", "base", "wheel", NULL};
    const kernels_node *root = lock->document.root;
    KERNELS_TRY(check_keys(reader, root, keys));
    const kernels_node *format = kernels_node_find(root, "format");
    if (!kernels_node_is(format, KERNELS_NODE_UNSIGNED) || format->as.unsigned_value != KERNELS_LOCK_FORMAT) {
        return kernels_fail(reader->error, KERNELS_UNSUPPORTED_EDITION, "%s: expected format = 1", reader->name);
    }
    KERNELS_TRY(read_text(reader, root, "python", is_python_version, "a version such as \"3.11\"", &lock->python));
    if (kernels_node_find(root, "base") != NULL) {
        KERNELS_TRY(read_text(reader, root, "base", is_word, "the name of an environment", &lock->base));
    }
    const kernels_node *wheels = kernels_node_find(root, "wheel");
    if (!kernels_node_is(wheels, KERNELS_NODE_ARRAY) || wheels->count == 0 || wheels->count > KERNELS_LOCK_WHEELS_MAX) {
        return kernels_fail(reader->error, KERNELS_SCHEMA, "%s: expected 1 to %u tables [[wheel]]", reader->name,
                            KERNELS_LOCK_WHEELS_MAX);
    }
    kernels_lock_wheel *items = kernels_arena_array(reader->arena, wheels->count, sizeof(*items));
    if (items == NULL) {
        return kernels_fail_no_memory(reader->error);
    }
    for (size_t i = 0; i < wheels->count; i++) {
        KERNELS_TRY(read_wheel(reader, wheels->as.items[i], &items[i]));
    }
    lock->wheels = items;
    lock->count = wheels->count;
    return KERNELS_OK;
}

kernels_status kernels_environment_lock_parse(kernels_view text, const char *name, kernels_environment_lock *lock,
                                              kernels_error *error) {
    *lock = (kernels_environment_lock){0};
    if (text.size > KERNELS_LOCK_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: larger than %zu bytes", name, KERNELS_LOCK_SIZE_LIMIT);
    }
    KERNELS_TRY(kernels_toml_parse(text, name, &lock->document, error));
    lock_reader reader = {.name = name, .arena = lock->document.arena, .error = error};
    kernels_status status = read_lock(&reader, lock);
    if (status != KERNELS_OK) {
        kernels_environment_lock_dispose(lock);
    }
    return status;
}

void kernels_environment_lock_dispose(kernels_environment_lock *lock) {
    kernels_document_dispose(&lock->document);
    *lock = (kernels_environment_lock){0};
}
