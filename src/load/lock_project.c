/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a project asks for: [tool.kernels.dependencies] of its pyproject.toml. */
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "kernels/lock.h"

#define TABLE "tool.kernels.dependencies"

/* Where in the file, for messages. */
typedef struct project_file {
    const char *path;
    kernels_document document;
} project_file;

static kernels_status fail_at(const project_file *file, kernels_position position, kernels_error *error,
                              const char *expected, const kernels_node *found) {
    kernels_fail(error, KERNELS_SCHEMA, "%s:%u:%u: %s: expected %s, found %s", file->path, position.line,
                 position.column, TABLE, expected, kernels_node_type_name(found->type));
    kernels_error_set_subject(error, file->path);
    return KERNELS_SCHEMA;
}

/* [tool], [tool.kernels], [tool.kernels.dependencies]: the innermost, or why it is not there. */
static kernels_status find_table(const project_file *file, const kernels_node **table, kernels_error *error) {
    static const char *const keys[] = {"tool", "kernels", "dependencies"};
    const kernels_node *node = file->document.root;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const kernels_node *inner = kernels_node_find(node, keys[i]);
        if (inner == NULL) {
            kernels_fail(error, KERNELS_SCHEMA,
                         "%s: no table [" TABLE "]: write the kernels that the project uses into it, as \"owner/name\" "
                         "= VERSION",
                         file->path);
            kernels_error_set_subject(error, file->path);
            return KERNELS_SCHEMA;
        }
        if (!kernels_node_is(inner, KERNELS_NODE_OBJECT)) {
            return fail_at(file, inner->begin, error, "a table", inner);
        }
        node = inner;
    }
    *table = node;
    return KERNELS_OK;
}

static kernels_status read_entry(const project_file *file, const kernels_member *member, kernels_arena *arena,
                                 kernels_dependency *dependency, kernels_error *error) {
    kernels_status status = kernels_repository_id_check(member->key, error);
    if (status != KERNELS_OK) {
        return kernels_wrap(error, status, "%s:%u:%u: " TABLE ": \"%.*s\" is no repository id", file->path,
                            member->key_position.line, member->key_position.column, KERNELS_VIEW_ARGS(member->key));
    }
    if (!kernels_node_is(member->value, KERNELS_NODE_UNSIGNED)) {
        KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer expected = KERNELS_BUFFER_INIT(1024);
        kernels_buffer_printf(&expected, "the version of \"%.*s\" as a number that is not negative",
                              KERNELS_VIEW_ARGS(member->key));
        return fail_at(file, member->value->begin, error, kernels_buffer_text(&expected), member->value);
    }
    *dependency = (kernels_dependency){.repo_id = kernels_arena_copy_text(arena, member->key),
                                       .version = member->value->as.unsigned_value};
    return dependency->repo_id != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status read_table(const project_file *file, const kernels_node *table,
                                 kernels_project_dependencies *dependencies, kernels_error *error) {
    if (table->count > KERNELS_LOCK_KERNELS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: expected at most %zu kernels in [" TABLE "], found %zu",
                            file->path, KERNELS_LOCK_KERNELS_MAX, table->count);
    }
    kernels_arena *arena = dependencies->owner;
    kernels_dependency *items = kernels_arena_array(arena, table->count + 1, sizeof *items);
    if (items == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < table->count; i++) {
        KERNELS_TRY(read_entry(file, &table->as.members[i], arena, &items[i], error));
    }
    dependencies->items = items;
    dependencies->count = table->count;
    return KERNELS_OK;
}

static kernels_status read_file(project_file *file, kernels_project_dependencies *dependencies, kernels_error *error) {
    const kernels_node *table = NULL;
    if (dependencies->owner == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_toml_read_file(file->path, KERNELS_PROJECT_SIZE_LIMIT, &file->document, error));
    kernels_status status = find_table(file, &table, error);
    if (status == KERNELS_OK) {
        status = read_table(file, table, dependencies, error);
    }
    kernels_document_dispose(&file->document);
    return status;
}

kernels_status kernels_project_dependencies_read(const char *project_dir, kernels_project_dependencies *dependencies,
                                                 kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(project_dir, "pyproject.toml");
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    project_file file = {.path = path};
    kernels_project_dependencies result = {.owner = kernels_arena_new(0)};
    kernels_status status = read_file(&file, &result, error);
    if (status != KERNELS_OK) {
        kernels_project_dependencies_dispose(&result);
        return status;
    }
    *dependencies = result;
    return KERNELS_OK;
}

void kernels_project_dependencies_dispose(kernels_project_dependencies *dependencies) {
    if (dependencies != NULL) {
        kernels_arena_free(dependencies->owner);
        *dependencies = (kernels_project_dependencies){0};
    }
}
