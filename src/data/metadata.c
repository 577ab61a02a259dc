/* SPDX-License-Identifier: Apache-2.0 */
/* Making and changing metadata: from a build.toml, its digest, its architectures. */
#include "data/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/python_depends.h"
#include "data/text.h"

kernels_arena *kernels_metadata_arena(kernels_metadata *metadata) {
    if (!metadata->owner) {
        metadata->owner = kernels_arena_new(0);
    }
    return metadata->owner;
}

void kernels_metadata_dispose(kernels_metadata *metadata) {
    if (metadata) {
        kernels_arena_free(metadata->owner);
        *metadata = (kernels_metadata){0};
    }
}

/* ---- from a build.toml ---- */

/* Copies texts; the first failure sticks, so that a row of copies needs one check. */
typedef struct copier {
    kernels_arena *arena;
    bool failed;
} copier;

static const char *copy_text(copier *copy, const char *text) {
    if (!text) {
        return NULL;
    }
    const char *result = kernels_arena_copy_text(copy->arena, kernels_view_of(text));
    copy->failed |= !result;
    return result;
}

static void *copy_array(copier *copy, size_t count, size_t element_size) {
    void *result = count > 0 ? kernels_arena_array(copy->arena, count, element_size) : NULL;
    copy->failed |= count > 0 && !result;
    return result;
}

/* Both lists, one behind the other. */
static kernels_strings join_texts(copier *copy, kernels_strings a, kernels_strings b) {
    const char **items = copy_array(copy, a.count + b.count, sizeof(*items));
    for (size_t i = 0; items && i < a.count + b.count; i++) {
        items[i] = copy_text(copy, i < a.count ? a.items[i] : b.items[i - a.count]);
    }
    return (kernels_strings){items, items ? a.count + b.count : 0};
}

static void copy_dependencies(copier *copy, const kernels_build *build, kernels_backend backend,
                              kernels_metadata *metadata) {
    size_t count = kernels_build_kernel_depends_count(build, backend);
    kernels_dependency *items = copy_array(copy, count, sizeof(*items));
    for (size_t i = 0; items && i < count; i++) {
        items[i] = *kernels_build_kernel_depends_at(build, backend, i);
        items[i].repo_id = copy_text(copy, items[i].repo_id);
        items[i].revision = copy_text(copy, items[i].revision);
    }
    metadata->kernel_depends = items;
    metadata->kernel_depends_count = items ? count : 0;
}

static void copy_archs(copier *copy, const kernels_build *build, kernels_backend backend, kernels_metadata *metadata) {
    const kernels_strings none = {0};
    if (build->kind != KERNELS_KIND_TORCH_NOARCH) {
        return;
    }
    if (backend == KERNELS_BACKEND_CUDA && build->has_cuda_capabilities) {
        metadata->has_archs = true;
        metadata->archs = join_texts(copy, build->cuda_capabilities, none);
    } else if (backend == KERNELS_BACKEND_ROCM && build->has_rocm_archs) {
        metadata->has_archs = true;
        metadata->archs = join_texts(copy, build->rocm_archs, none);
    }
}

static void copy_provenance(copier *copy, const kernels_provenance *from, kernels_provenance *to) {
    if (from && from->builder_version) {
        *to = *from;
        to->builder_version = copy_text(copy, from->builder_version);
        to->builder.commit = copy_text(copy, from->builder.commit);
        to->kernel.commit = copy_text(copy, from->kernel.commit);
    }
}

static void copy_id(copier *copy, const kernels_build *build, kernels_backend backend, const char *unique_id,
                    kernels_metadata *metadata) {
    char *id = kernels_kernel_id(kernels_view_of(build->name), backend, unique_id);
    copy->failed |= !id;
    metadata->id = copy_text(copy, id);
    kernels_free(id);
}

/* Loaders before 0.17 know no kernel dependencies, so kernels that have some must keep them away. */
static kernels_version minver_for(size_t kernel_depends_count) {
    return (kernels_version){.parts = {0, kernel_depends_count > 0 ? 17 : 14, 0}, .count = 3};
}

static bool copy_build(copier *copy, const kernels_build *build, kernels_backend backend, const char *unique_id,
                       const kernels_provenance *provenance, kernels_metadata *metadata) {
    metadata->name = copy_text(copy, build->name);
    copy_id(copy, build, backend, unique_id, metadata);
    metadata->version = build->version;
    metadata->license = copy_text(copy, build->license);
    metadata->upstream = copy_text(copy, build->upstream);
    metadata->source = copy_text(copy, build->source);
    metadata->python_depends = join_texts(copy, build->python_depends, build->per_backend[backend].python_depends);
    copy_dependencies(copy, build, backend, metadata);
    metadata->minver = minver_for(metadata->kernel_depends_count);
    metadata->backend = backend;
    copy_archs(copy, build, backend, metadata);
    copy_provenance(copy, provenance, &metadata->provenance);
    return !copy->failed;
}

static kernels_status unknown_dependency(const char *table, kernels_view name, kernels_python_scope scope,
                                         kernels_error *error) {
    char quoted[KERNELS_QUOTE_SIZE];
    kernels_buffer known = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < scope.count; i++) {
        kernels_buffer_printf(&known, "%s%s", i ? ", " : "", scope.items[i].name);
    }
    kernels_status status = kernels_fail(
        error, KERNELS_SCHEMA, "%s.python-depends: unknown dependency %s: expected one of %s", table,
        kernels_quote(name, quoted), scope.count > 0 ? kernels_buffer_text(&known) : "nothing, none are defined");
    kernels_buffer_dispose(&known);
    return status;
}

static kernels_status check_names(const char *table, kernels_strings names, kernels_python_scope scope,
                                  kernels_error *error) {
    for (size_t i = 0; i < names.count; i++) {
        kernels_view name = kernels_view_of(names.items[i]);
        if (!kernels_python_scope_find(scope, name)) {
            return unknown_dependency(table, name, scope, error);
        }
    }
    return KERNELS_OK;
}

static kernels_status check_python_depends(const kernels_build *build, kernels_backend backend, kernels_error *error) {
    KERNELS_TRY(check_names("general", build->python_depends, kernels_python_scope_general(), error));
    char table[32];
    snprintf(table, sizeof(table), "general.%s", kernels_backend_name(backend));
    return check_names(table, build->per_backend[backend].python_depends, kernels_python_scope_of(backend), error);
}

kernels_status kernels_build_check_python_depends(const kernels_build *build, kernels_error *error) {
    for (size_t i = 0; i < KERNELS_BACKEND_COUNT; i++) {
        KERNELS_TRY(check_python_depends(build, (kernels_backend)i, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_build_metadata(const kernels_build *build, kernels_backend backend, const char *unique_id,
                                      const kernels_provenance *provenance, kernels_metadata *metadata,
                                      kernels_error *error) {
    KERNELS_TRY(check_python_depends(build, backend, error));
    kernels_metadata result = {0};
    copier copy = {.arena = kernels_metadata_arena(&result)};
    if (!copy.arena || !copy_build(&copy, build, backend, unique_id, provenance, &result)) {
        kernels_metadata_dispose(&result);
        return kernels_fail_no_memory(error);
    }
    *metadata = result;
    return KERNELS_OK;
}

/* ---- changes ---- */

kernels_status kernels_metadata_set_digest(kernels_metadata *metadata, const kernels_variant_digest *digest,
                                           kernels_error *error) {
    kernels_arena *arena = kernels_metadata_arena(metadata);
    if (!arena) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_digest_copy(digest, arena, &metadata->digest, error));
    metadata->has_digest = true;
    return KERNELS_OK;
}

/* Returns how many stay. */
static size_t sort_unique(const char **items, size_t count) {
    size_t used = 0;
    if (count > 0) {
        qsort(items, count, sizeof(*items), kernels_compare_texts);
    }
    for (size_t i = 0; i < count; i++) {
        if (used == 0 || strcmp(items[used - 1], items[i]) != 0) {
            items[used++] = items[i];
        }
    }
    return used;
}

kernels_status kernels_metadata_set_archs(kernels_metadata *metadata, kernels_strings archs, kernels_error *error) {
    copier copy = {.arena = kernels_metadata_arena(metadata)};
    if (!copy.arena) {
        return kernels_fail_no_memory(error);
    }
    const char **items = copy_array(&copy, archs.count, sizeof(*items));
    size_t count = 0;
    for (size_t i = 0; items && i < archs.count; i++) {
        if (archs.items[i][0] != '\0') {
            items[count++] = copy_text(&copy, archs.items[i]);
        }
    }
    if (copy.failed) {
        return kernels_fail_no_memory(error);
    }
    metadata->archs = (kernels_strings){items, sort_unique(items, count)};
    metadata->has_archs = true;
    return KERNELS_OK;
}
