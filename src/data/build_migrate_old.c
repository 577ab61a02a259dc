/* SPDX-License-Identifier: Apache-2.0 */
/* From editions 1 and 2 to edition 3: backends are written out, kernels name theirs, CUDA has a table. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/build_migrate.h"
#include "data/toml_text.h"

static const kernels_node *general_of(const kernels_migration *migration) {
    return kernels_node_find(migration->root, "general");
}

static bool is_true(const kernels_node *table, const char *key) {
    const kernels_node *node = kernels_node_find(table, key);
    return kernels_node_is(node, KERNELS_NODE_BOOLEAN) && node->as.boolean;
}

static void remove_key(kernels_migration *migration, const kernels_node *table, const char *key) {
    const kernels_member *member = kernels_node_member(table, key);
    if (member) {
        kernels_text_edits_remove(&migration->edits, member);
    }
}

static bool is_hipify(const kernels_node *kernel) {
    return kernels_view_equal_text(kernels_node_text(kernels_node_find(kernel, "language")), "cuda-hipify");
}

/* ---- backends ---- */

/* Bits of the backends that a universal kernel, or else the kernels of the file, build for. */
static unsigned backends_of(const kernels_migration *migration) {
    const kernels_build *build = migration->build;
    const kernels_node *kernels = kernels_node_find(migration->root, "kernel");
    if (is_true(general_of(migration), "universal") ||
        is_true(kernels_node_find(migration->root, "torch"), "universal")) {
        return ((1u << KERNELS_BACKEND_COUNT) - 1) & ~(1u << KERNELS_BACKEND_TPU);
    }
    unsigned bits = 0;
    for (size_t i = 0; i < build->kernel_count; i++) {
        bits |= 1u << build->kernels[i].backend;
        bits |= is_hipify(kernels->as.members[i].value) ? 1u << KERNELS_BACKEND_ROCM : 0;
    }
    return bits;
}

static void add_backends(kernels_migration *migration) {
    kernels_view names[KERNELS_BACKEND_COUNT];
    size_t count = 0;
    unsigned bits = backends_of(migration);
    for (unsigned i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        if (bits & (1u << i)) {
            names[count++] = kernels_view_of(kernels_backend_name((kernels_backend)i));
        }
    }
    kernels_buffer pair = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&pair, "backends = [");
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_printf(&pair, "%s\"%.*s\"", i ? ", " : "", KERNELS_VIEW_ARGS(names[i]));
    }
    kernels_buffer_add_char(&pair, ']');
    migration->edits.failed |= pair.failure != KERNELS_OK;
    kernels_text_edits_add_after(&migration->edits, kernels_node_member(general_of(migration), "name"),
                                 kernels_buffer_view(&pair));
    kernels_buffer_dispose(&pair);
}

/* ---- edition 2: [general.cuda] ---- */

static kernels_status add_bound(kernels_migration *migration, const char *old_key, const char *key,
                                kernels_buffer *lines) {
    const kernels_node *value = kernels_node_find(general_of(migration), old_key);
    char text[KERNELS_VERSION_TEXT_SIZE];
    if (!value) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_migrate_version(migration, key, value, text));
    kernels_buffer_printf(lines, "%s = \"%s\"\n", key, text);
    remove_key(migration, general_of(migration), old_key);
    return KERNELS_OK;
}

/* nvidia-cutlass-dsl is a dependency of CUDA alone since edition 3; the list keeps the rest. */
static void split_python_depends(kernels_migration *migration, kernels_buffer *lines) {
    const kernels_member *member = kernels_node_member(general_of(migration), "python-depends");
    const kernels_node *list = member ? member->value : NULL;
    kernels_buffer kept = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    size_t kept_count = 0;
    for (size_t i = 0; list && i < list->count; i++) {
        if (!kernels_view_equal_text(list->as.items[i]->as.text, "nvidia-cutlass-dsl")) {
            kernels_buffer_printf(&kept, "%s\"%.*s\"", kept_count++ ? ", " : "[",
                                  KERNELS_VIEW_ARGS(list->as.items[i]->as.text));
        }
    }
    if (list && kept_count < list->count) {
        kernels_buffer_add_text(lines, "python-depends = [\"nvidia-cutlass-dsl\"]\n");
        kernels_buffer_add_char(&kept, ']');
        if (kept_count > 0) {
            kernels_text_edits_replace_value(&migration->edits, list, kernels_buffer_view(&kept));
        } else {
            kernels_text_edits_remove(&migration->edits, member);
        }
    }
    migration->edits.failed |= kept.failure != KERNELS_OK;
    kernels_buffer_dispose(&kept);
}

static kernels_status add_cuda_table(kernels_migration *migration) {
    kernels_buffer lines = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    const kernels_view header = KERNELS_VIEW("[general.cuda]\n");
    kernels_buffer_add_view(&lines, header);
    kernels_status status = add_bound(migration, "cuda-minver", "minver", &lines);
    if (status == KERNELS_OK) {
        status = add_bound(migration, "cuda-maxver", "maxver", &lines);
    }
    split_python_depends(migration, &lines);
    if (lines.size > header.size) {
        kernels_text_edits_append(&migration->edits, kernels_buffer_view(&lines));
    }
    migration->edits.failed |= lines.failure != KERNELS_OK;
    kernels_buffer_dispose(&lines);
    return status;
}

/* ---- edition 1: kernels ---- */

static void add_list_line(kernels_buffer *lines, const kernels_node *kernel, const char *key) {
    const kernels_node *list = kernels_node_find(kernel, key);
    if (!list) {
        return;
    }
    KERNELS_CLEANUP_FREE kernels_view *texts = kernels_calloc(list->count + 1, sizeof(*texts));
    if (!texts) {
        lines->failure = KERNELS_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        texts[i] = list->as.items[i]->as.text;
    }
    kernels_buffer_printf(lines, "%s = ", key);
    kernels_toml_add_list(lines, texts, list->count);
    kernels_buffer_add_char(lines, '\n');
}

/* cuda-hipify stood for a second kernel, made from the same sources for ROCm. */
static kernels_status add_rocm_kernel(kernels_migration *migration, const kernels_member *kernel) {
    kernels_buffer key = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer lines = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_view(&key, kernel->key);
    kernels_buffer_add_text(&key, "_rocm");
    kernels_status status = kernels_buffer_status(&key, migration->error);
    if (status == KERNELS_OK && kernels_node_find(kernels_node_find(migration->root, "kernel"), key.data)) {
        status = kernels_fail(migration->error, KERNELS_SCHEMA,
                              "%s:%u:%u: the kernel becomes one for CUDA and one for ROCm, but the second one's name "
                              "`%s` is taken: rename the other kernel",
                              migration->name, kernel->key_position.line, kernel->key_position.column, key.data);
    }
    if (status == KERNELS_OK) {
        kernels_buffer_add_text(&lines, "[kernel.");
        kernels_toml_add_key(&lines, kernels_buffer_view(&key));
        kernels_buffer_add_text(&lines, "]\nbackend = \"rocm\"\n");
        add_list_line(&lines, kernel->value, "depends");
        add_list_line(&lines, kernel->value, "rocm-archs");
        add_list_line(&lines, kernel->value, "include");
        add_list_line(&lines, kernel->value, "src");
        migration->edits.failed |= lines.failure != KERNELS_OK;
        kernels_text_edits_append(&migration->edits, kernels_buffer_view(&lines));
    }
    kernels_buffer_dispose(&key);
    kernels_buffer_dispose(&lines);
    return status;
}

static kernels_status migrate_kernel(kernels_migration *migration, const kernels_member *kernel,
                                     kernels_backend backend) {
    const kernels_member *language = kernels_node_member(kernel->value, "language");
    char text[32];
    if (language) {
        (void)snprintf(text, sizeof(text), "\"%s\"", kernels_backend_name(backend));
        kernels_text_edits_replace_key(&migration->edits, language, "backend");
        kernels_text_edits_replace_value(&migration->edits, language->value, kernels_view_of(text));
    } else {
        (void)snprintf(text, sizeof(text), "backend = \"%s\"", kernels_backend_name(backend));
        kernels_text_edits_add_after(&migration->edits, kernels_node_member(kernel->value, "depends"),
                                     kernels_view_of(text));
    }
    remove_key(migration, kernel->value, "rocm-archs");
    if (backend != KERNELS_BACKEND_CUDA) {
        remove_key(migration, kernel->value, "cuda-capabilities");
    }
    return is_hipify(kernel->value) ? add_rocm_kernel(migration, kernel) : KERNELS_OK;
}

kernels_status kernels_migrate_old(kernels_migration *migration) {
    const kernels_node *kernels = kernels_node_find(migration->root, "kernel");
    if (!kernels_node_find(migration->root, "torch")) {
        return kernels_fail(migration->error, KERNELS_SCHEMA,
                            "%s: torch: missing key: a file of edition %u needs a section [torch] to be migrated",
                            migration->name, migration->build->edition);
    }
    add_backends(migration);
    if (migration->build->edition == 2) {
        remove_key(migration, general_of(migration), "universal");
        return add_cuda_table(migration);
    }
    remove_key(migration, kernels_node_find(migration->root, "torch"), "universal");
    for (size_t i = 0; i < migration->build->kernel_count; i++) {
        KERNELS_TRY(migrate_kernel(migration, &kernels->as.members[i], migration->build->kernels[i].backend));
    }
    return KERNELS_OK;
}
