/* SPDX-License-Identifier: Apache-2.0 */
/* Lock files and kernel paths: lists of a dependency and what it stands for. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/metadata.h"

/* ---- tables: a bit of the mask for each kind ---- */

#define OF_KERNELS (1u << KERNELS_LOCK_KERNELS)
#define OF_NIX (1u << KERNELS_LOCK_NIX)
#define OF_PATHS (1u << KERNELS_LOCK_PATHS)

#define ROW(json_key, reader, member) \
    .key = (json_key), .read = (reader), .offset = offsetof(kernels_lock, member), .second_offset = KERNELS_NO_OFFSET

static const kernels_field lock_rows[] = {
    {ROW("commit", kernels_read_object_id, commit), .required = true},
    {ROW("hash", kernels_read_text, hash), .mask = OF_NIX, .required = true},
};

/* target is the whole kernels_lock */
static kernels_status read_lock(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                void *target, void *second) {
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(lock_rows, false);
    return kernels_schema_read(reader, place, node, &schema, target);
}

static const kernels_field entry_rows[] = {
    {ROW("dependency", kernels_read_dependency, dependency), .required = true},
    {.key = "lock",
     .read = read_lock,
     .second_offset = KERNELS_NO_OFFSET,
     .mask = OF_KERNELS | OF_NIX,
     .required = true},
    {ROW("path", kernels_read_text, path), .mask = OF_PATHS, .required = true},
};

/* A variant of the older form. Its hashes are not used, but a file that is not of the form is refused. */
typedef struct older_variant_fields {
    const char *hash, *hash_type;
} older_variant_fields;

static const kernels_field older_variant_rows[] = {
    {.key = "hash",
     .read = kernels_read_text,
     .offset = offsetof(older_variant_fields, hash),
     .second_offset = KERNELS_NO_OFFSET,
     .required = true},
    {.key = "hash_type",
     .read = kernels_read_text,
     .offset = offsetof(older_variant_fields, hash_type),
     .second_offset = KERNELS_NO_OFFSET},
};

static kernels_status read_older_variants(kernels_reader *reader, const kernels_place *place, const kernels_node *node,
                                          void *target, void *second) {
    (void)target;
    (void)second;
    const kernels_schema schema = KERNELS_SCHEMA(older_variant_rows, false);
    if (node->type != KERNELS_NODE_OBJECT) {
        return kernels_reader_wrong_type(reader, place, "an object of variants", node);
    }
    for (size_t i = 0; i < node->count; i++) {
        const kernels_member *member = &node->as.members[i];
        const kernels_place here = {place, member->key, 0, member->key_position};
        older_variant_fields fields = {0};
        KERNELS_TRY(kernels_schema_read(reader, &here, member->value, &schema, &fields));
    }
    return KERNELS_OK;
}

static const kernels_field older_rows[] = {
    {ROW("repo_id", kernels_read_text, dependency.repo_id), .required = true},
    {ROW("sha", kernels_read_object_id, commit), .required = true},
    {.key = "variants", .read = read_older_variants, .second_offset = KERNELS_NO_OFFSET, .required = true},
};

/* ---- reading ---- */

static int compare_locks(const void *a, const void *b) {
    return kernels_dependency_compare(&((const kernels_lock *)a)->dependency, &((const kernels_lock *)b)->dependency);
}

/* Sorts; gives the second of two equal ones, or NULL. */
static const kernels_lock *sort_locks(kernels_lock *items, size_t count) {
    if (count > 0) {
        qsort(items, count, sizeof(*items), compare_locks);
    }
    for (size_t i = 1; i < count; i++) {
        if (compare_locks(&items[i - 1], &items[i]) == 0) {
            return &items[i];
        }
    }
    return NULL;
}

static void print_dependency(const kernels_dependency *dependency, char text[KERNELS_QUOTE_SIZE]) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&out, dependency->repo_id);
    if (dependency->revision) {
        kernels_buffer_printf(&out, " revision %s", dependency->revision);
    } else {
        kernels_buffer_printf(&out, " version %llu", (unsigned long long)dependency->version);
    }
    kernels_quote(kernels_buffer_view(&out), text);
    kernels_buffer_dispose(&out);
}

static kernels_status read_entries(kernels_reader *reader, const kernels_node *root, const kernels_schema *schema,
                                   kernels_lock *items) {
    const kernels_place top = {.position = root->begin};
    for (size_t i = 0; i < root->count; i++) {
        const kernels_place here = kernels_place_element(&top, root, i);
        KERNELS_TRY(kernels_schema_read(reader, &here, root->as.items[i], schema, &items[i]));
    }
    return KERNELS_OK;
}

static bool is_older(const kernels_node *root) {
    return root->type == KERNELS_NODE_ARRAY && root->count > 0 && kernels_node_find(root->as.items[0], "repo_id");
}

static kernels_status read_list(kernels_reader *reader, const kernels_node *root, kernels_locks *locks) {
    const kernels_schema current = KERNELS_SCHEMA(entry_rows, false), older = KERNELS_SCHEMA(older_rows, false);
    const kernels_place top = {.position = root->begin};
    KERNELS_TRY(kernels_read_list(reader, &top, root, "a list of locks"));
    kernels_lock *items = kernels_arena_array(reader->arena, root->count, sizeof(*items));
    if (!items && root->count > 0) {
        return kernels_reader_no_memory(reader);
    }
    KERNELS_TRY(read_entries(reader, root, locks->older ? &older : &current, items));
    const kernels_lock *twice = locks->older ? NULL : sort_locks(items, root->count);
    if (twice) {
        char text[KERNELS_QUOTE_SIZE];
        print_dependency(&twice->dependency, text);
        return kernels_reader_fail(reader, &top, "duplicate dependency %s: expected each only once", text);
    }
    locks->items = items;
    locks->count = root->count;
    return KERNELS_OK;
}

typedef kernels_status document_reader(kernels_reader *reader, const kernels_node *root, kernels_locks *locks);

/* Parses text and lets read fill the locks. */
static kernels_status parse(kernels_view text, kernels_lock_kind kind, const char *name, document_reader *read,
                            kernels_locks *locks, kernels_error *error) {
    kernels_document document = {0};
    if (text.size > KERNELS_LOCK_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: expected at most %zu bytes, found %zu", name,
                            KERNELS_LOCK_SIZE_LIMIT, text.size);
    }
    KERNELS_TRY(kernels_json_parse(text, name, &document, error));
    kernels_locks result = {.kind = kind, .owner = kernels_arena_new(0)};
    kernels_reader reader = {.name = name, .arena = result.owner, .error = error, .mask = 1u << kind};
    kernels_status status = result.owner ? read(&reader, document.root, &result) : kernels_fail_no_memory(error);
    kernels_document_dispose(&document);
    if (status != KERNELS_OK) {
        kernels_locks_dispose(&result);
        return status;
    }
    *locks = result;
    return KERNELS_OK;
}

static kernels_status read_current(kernels_reader *reader, const kernels_node *root, kernels_locks *locks) {
    if (is_older(root)) {
        return kernels_fail(reader->error, KERNELS_UNSUPPORTED_EDITION,
                            "%s: this lock file was written by kernels < 0.17: run `kernels lock` again", reader->name);
    }
    return read_list(reader, root, locks);
}

static kernels_status read_any(kernels_reader *reader, const kernels_node *root, kernels_locks *locks) {
    locks->older = is_older(root);
    return read_list(reader, root, locks);
}

static kernels_status read_single(kernels_reader *reader, const kernels_node *root, kernels_locks *locks) {
    const kernels_place top = {.position = root->begin};
    kernels_lock *item = kernels_arena_allocate(reader->arena, sizeof(*item));
    if (!item) {
        return kernels_reader_no_memory(reader);
    }
    locks->items = item;
    locks->count = 1;
    return read_lock(reader, &top, root, item, NULL);
}

kernels_status kernels_locks_parse(kernels_view text, kernels_lock_kind kind, const char *name, kernels_locks *locks,
                                   kernels_error *error) {
    return parse(text, kind, name, read_current, locks, error);
}

kernels_status kernels_locks_parse_any(kernels_view text, const char *name, kernels_locks *locks,
                                       kernels_error *error) {
    return parse(text, KERNELS_LOCK_KERNELS, name, read_any, locks, error);
}

kernels_status kernels_lock_parse(kernels_view text, kernels_lock_kind kind, const char *name, kernels_locks *lock,
                                  kernels_error *error) {
    return parse(text, kind, name, read_single, lock, error);
}

kernels_status kernels_locks_read(const char *path, kernels_locks *locks, kernels_error *error) {
    char *data = NULL;
    size_t size = 0;
    KERNELS_TRY(kernels_file_read(path, KERNELS_LOCK_SIZE_LIMIT, &data, &size, error));
    kernels_status status = kernels_locks_parse_any((kernels_view){data, size}, path, locks, error);
    if (status != KERNELS_OK) {
        kernels_error_set_subject(error, path);
    }
    kernels_free(data);
    return status;
}

void kernels_locks_dispose(kernels_locks *locks) {
    if (locks) {
        kernels_arena_free(locks->owner);
        *locks = (kernels_locks){0};
    }
}

/* ---- making ---- */

static const char *copy_text(kernels_arena *arena, const char *text, bool *failed) {
    const char *copy = text ? kernels_arena_copy_text(arena, kernels_view_of(text)) : NULL;
    *failed |= text && !copy;
    return copy;
}

static kernels_status copy_commit(kernels_arena *arena, const char **commit, kernels_error *error) {
    char *lower = NULL;
    bool failed = false;
    KERNELS_TRY(kernels_object_id_parse(kernels_view_of(*commit), &lower, error));
    *commit = copy_text(arena, lower, &failed);
    kernels_free(lower);
    return failed ? kernels_fail_no_memory(error) : KERNELS_OK;
}

static kernels_status copy_lock(kernels_arena *arena, kernels_lock_kind kind, const kernels_lock *from,
                                kernels_lock *to, kernels_error *error) {
    bool failed = false;
    *to = (kernels_lock){.dependency = from->dependency};
    to->dependency.repo_id = copy_text(arena, from->dependency.repo_id, &failed);
    to->dependency.revision = copy_text(arena, from->dependency.revision, &failed);
    if (kind == KERNELS_LOCK_PATHS) {
        to->path = copy_text(arena, from->path, &failed);
    } else {
        to->commit = from->commit;
        KERNELS_TRY(copy_commit(arena, &to->commit, error));
    }
    if (kind == KERNELS_LOCK_NIX) {
        to->hash = copy_text(arena, from->hash, &failed);
    }
    return failed ? kernels_fail_no_memory(error) : KERNELS_OK;
}

static kernels_status copy_locks(kernels_lock_kind kind, const kernels_lock *items, size_t count, kernels_locks *locks,
                                 kernels_error *error) {
    kernels_lock *copies = kernels_arena_array(locks->owner, count, sizeof(*copies));
    if (!copies && count > 0) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        KERNELS_TRY(copy_lock(locks->owner, kind, &items[i], &copies[i], error));
    }
    const kernels_lock *twice = sort_locks(copies, count);
    if (twice) {
        char text[KERNELS_QUOTE_SIZE];
        print_dependency(&twice->dependency, text);
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "duplicate dependency %s: expected each only once", text);
    }
    locks->items = copies;
    locks->count = count;
    return KERNELS_OK;
}

kernels_status kernels_locks_make(kernels_lock_kind kind, const kernels_lock *items, size_t count, kernels_locks *locks,
                                  kernels_error *error) {
    kernels_locks result = {.kind = kind, .owner = kernels_arena_new(0)};
    kernels_status status =
        result.owner ? copy_locks(kind, items, count, &result, error) : kernels_fail_no_memory(error);
    if (status != KERNELS_OK) {
        kernels_locks_dispose(&result);
        return status;
    }
    *locks = result;
    return KERNELS_OK;
}

/* ---- writing ---- */

static void write_lock(kernels_json_writer *writer, const kernels_lock *lock, kernels_lock_kind kind) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "commit", lock->commit);
    if (kind == KERNELS_LOCK_NIX) {
        kernels_json_member_text(writer, "hash", lock->hash);
    }
    kernels_json_end_object(writer);
}

static void write_entry(kernels_json_writer *writer, const kernels_lock *lock, kernels_lock_kind kind) {
    kernels_json_begin_object(writer);
    kernels_json_key(writer, "dependency");
    kernels_dependency_write(writer, &lock->dependency);
    if (kind == KERNELS_LOCK_PATHS) {
        kernels_json_member_text(writer, "path", lock->path);
    } else {
        kernels_json_key(writer, "lock");
        write_lock(writer, lock, kind);
    }
    kernels_json_end_object(writer);
}

kernels_status kernels_locks_print(const kernels_locks *locks, char **text, kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, false);
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < locks->count; i++) {
        write_entry(&writer, &locks->items[i], locks->kind);
    }
    kernels_json_end_array(&writer);
    return kernels_give_text(&out, text, error);
}

kernels_status kernels_lock_print(const kernels_lock *lock, kernels_lock_kind kind, char **text, kernels_error *error) {
    kernels_buffer out = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &out, 2, false);
    write_lock(&writer, lock, kind);
    return kernels_give_text(&out, text, error);
}

/* ---- looking up ---- */

const kernels_lock *kernels_locks_find(const kernels_locks *locks, const kernels_dependency *dependency) {
    const kernels_lock key = {.dependency = *dependency};
    if (locks->older || locks->count == 0) {
        return NULL;
    }
    return bsearch(&key, locks->items, locks->count, sizeof(locks->items[0]), compare_locks);
}

const kernels_lock *kernels_locks_find_repository(const kernels_locks *locks, kernels_view repo_id, size_t *count) {
    const kernels_lock *first = NULL;
    size_t found = 0;
    for (size_t i = 0; i < locks->count; i++) {
        if (kernels_view_equal_text(repo_id, locks->items[i].dependency.repo_id)) {
            first = first ? first : &locks->items[i];
            found++;
        }
    }
    if (count) {
        *count = found;
    }
    return first;
}
