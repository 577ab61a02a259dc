/* SPDX-License-Identifier: Apache-2.0 */
#include "load/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "resolve/decide.h"

/* Most folders below build/ that are looked at. */
#define CANDIDATE_LIMIT ((size_t)100000)
#define PROGRAM_SUFFIX ".mlirbc"

/* ---- listing ---- */

/* Notes what an exported program below aot/ says: "relu.cpu.0.mlirbc" is one for cpu. */
static void note_program(kernels_candidate *candidate, kernels_view file) {
    if (!kernels_view_ends_with(file, KERNELS_VIEW(PROGRAM_SUFFIX))) {
        return;
    }
    kernels_view stem = kernels_view_slice(file, 0, file.size - (sizeof PROGRAM_SUFFIX - 1));
    size_t index_dot = kernels_view_find_last(stem, '.');
    if (index_dot == SIZE_MAX) {
        return;
    }
    candidate->has_aot = true;
    if (kernels_view_ends_with(kernels_view_slice(stem, 0, index_dot), KERNELS_VIEW(".cpu"))) {
        candidate->has_aot_cpu = true;
    }
}

static kernels_status start(kernels_candidates *candidates, size_t most, kernels_error *error) {
    *candidates = (kernels_candidates){.arena = kernels_arena_new(0)};
    if (candidates->arena != NULL) {
        candidates->items = kernels_arena_array(candidates->arena, most + 1, sizeof *candidates->items);
    }
    if (candidates->items == NULL) {
        kernels_candidates_dispose(candidates);
        return kernels_fail_no_memory(error);
    }
    return KERNELS_OK;
}

static kernels_candidate *add(kernels_candidates *candidates, kernels_view name) {
    if (candidates->count > 0) { /* entries of one folder stand together */
        kernels_candidate *last = &candidates->items[candidates->count - 1];
        if (kernels_view_equal_text(name, last->name)) {
            return last;
        }
    }
    char *copy = kernels_arena_copy_text(candidates->arena, name);
    if (copy == NULL) {
        return NULL;
    }
    candidates->items[candidates->count] = (kernels_candidate){.name = copy};
    return &candidates->items[candidates->count++];
}

static int compare_names(const void *left, const void *right) {
    return strcmp(((const kernels_candidate *)left)->name, ((const kernels_candidate *)right)->name);
}

/* A folder such as "torch-cpu" and files below it need not stand together when another name sorts between them
 * ("torch-cpu-x" does, '-' being less than '/'): equal names are joined after sorting. */
static void sort_and_join(kernels_candidates *candidates) {
    if (candidates->count == 0) {
        return;
    }
    qsort(candidates->items, candidates->count, sizeof *candidates->items, compare_names);
    size_t kept = 0;
    for (size_t i = 1; i < candidates->count; i++) {
        kernels_candidate *last = &candidates->items[kept];
        const kernels_candidate *next = &candidates->items[i];
        if (strcmp(last->name, next->name) == 0) {
            last->has_aot = last->has_aot || next->has_aot;
            last->has_aot_cpu = last->has_aot_cpu || next->has_aot_cpu;
        } else {
            candidates->items[++kept] = *next;
        }
    }
    candidates->count = kept + 1;
}

kernels_status kernels_candidates_from_tree(const kernels_tree *tree, kernels_candidates *candidates,
                                            kernels_error *error) {
    KERNELS_TRY(start(candidates, tree->count, error));
    for (size_t i = 0; i < tree->count; i++) {
        kernels_view path = kernels_view_of(tree->entries[i].path);
        if (!kernels_view_starts_with(path, KERNELS_VIEW("build/"))) {
            continue;
        }
        kernels_view below = kernels_view_slice(path, strlen("build/"), path.size);
        size_t slash = kernels_view_find(below, '/');
        if (slash == SIZE_MAX && !tree->entries[i].is_directory) {
            continue; /* a file in build/ itself */
        }
        kernels_candidate *candidate = add(candidates, kernels_view_slice(below, 0, slash));
        if (candidate == NULL || candidates->count > CANDIDATE_LIMIT) {
            kernels_candidates_dispose(candidates);
            return candidate == NULL ? kernels_fail_no_memory(error)
                                     : kernels_fail(error, KERNELS_LIMIT, "expected at most %zu folders below build/",
                                                    CANDIDATE_LIMIT);
        }
        kernels_view inside = kernels_view_slice(below, slash == SIZE_MAX ? below.size : slash + 1, below.size);
        if (kernels_view_starts_with(inside, KERNELS_VIEW("aot/"))) {
            note_program(candidate, kernels_view_slice(inside, strlen("aot/"), inside.size));
        }
    }
    sort_and_join(candidates);
    return KERNELS_OK;
}

static kernels_status read_programs(const char *folder, kernels_candidate *candidate, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *aot = kernels_path_join3(folder, candidate->name, "aot");
    if (aot == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_listing listing = {0};
    kernels_status status = kernels_list(aot, KERNELS_LIST_CHILDREN, &listing, NULL);
    if (status != KERNELS_OK) {
        return status == KERNELS_NO_MEMORY ? kernels_fail_no_memory(error) : KERNELS_OK; /* no such folder */
    }
    for (size_t i = 0; i < listing.count; i++) {
        note_program(candidate, kernels_view_of(listing.entries[i].path));
    }
    kernels_listing_dispose(&listing);
    return KERNELS_OK;
}

static kernels_status add_folders(const char *folder, const kernels_listing *listing, kernels_candidates *candidates,
                                  kernels_error *error) {
    for (size_t i = 0; i < listing->count; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, listing->entries[i].path);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        if (!kernels_file_is_directory(path)) {
            continue;
        }
        kernels_candidate *candidate = add(candidates, kernels_view_of(listing->entries[i].path));
        if (candidate == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(read_programs(folder, candidate, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_candidates_from_folder(const char *folder, kernels_candidates *candidates,
                                              kernels_error *error) {
    kernels_listing listing = {0};
    kernels_status status = kernels_list(folder, KERNELS_LIST_CHILDREN, &listing, NULL);
    if (status != KERNELS_OK) {
        return status == KERNELS_NO_MEMORY ? kernels_fail_no_memory(error) : start(candidates, 0, error);
    }
    status = start(candidates, listing.count, error);
    if (status == KERNELS_OK) {
        status = add_folders(folder, &listing, candidates, error);
        if (status != KERNELS_OK) {
            kernels_candidates_dispose(candidates);
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

void kernels_candidates_dispose(kernels_candidates *candidates) {
    kernels_arena_free(candidates->arena);
    *candidates = (kernels_candidates){0};
}

/* ---- what C can call ---- */

typedef struct native_rule {
    const kernels_candidates *candidates;
    const kernels_choice_options *options;
} native_rule;

static const kernels_candidate *find(const kernels_candidates *candidates, const char *name) {
    const kernels_candidate key = {.name = name};
    return bsearch(&key, candidates->items, candidates->count, sizeof key, compare_names);
}

/* For the kernel itself: what C cannot call is no choice, and a noarch build with programs for the CPU runs on any
 * machine through an XLA CPU plugin, so it is better than nothing. */
static kernels_rule_verdict judge_native(const void *payload, const kernels_variant *variant, kernels_buffer *reason) {
    const native_rule *rule = payload;
    if (variant->framework == KERNELS_FRAMEWORK_TORCH) {
        kernels_buffer_add_text(reason, "built against one torch version (no stable ABI): it can be used from Python "
                                        "only, not called from C");
        return KERNELS_RULE_REJECT;
    }
    if (variant->framework != KERNELS_FRAMEWORK_TORCH_NOARCH) {
        return KERNELS_RULE_NO_OPINION;
    }
    const kernels_candidate *candidate = find(rule->candidates, variant->name);
    if (candidate == NULL || !candidate->has_aot) {
        kernels_buffer_add_text(reason, "Python source without exported programs (no aot/ folder): it can be used from "
                                        "Python only, not called from C");
        return KERNELS_RULE_REJECT;
    }
    return candidate->has_aot_cpu ? KERNELS_RULE_FALLBACK : KERNELS_RULE_NO_OPINION;
}

/* For dependencies of such a kernel, which C installs but never calls. */
static kernels_rule_verdict judge_companion(const void *payload, const kernels_variant *variant,
                                            kernels_buffer *reason) {
    const native_rule *rule = payload;
    (void)reason;
    bool same = variant->framework == KERNELS_FRAMEWORK_TORCH_NOARCH &&
                strcmp(variant->noarch_name, rule->options->as_noarch) == 0;
    return same ? KERNELS_RULE_FALLBACK : KERNELS_RULE_NO_OPINION;
}

typedef struct invalid_names {
    kernels_context *context;
    const char *origin;
} invalid_names;

static void warn_invalid(void *payload, const char *name) {
    const invalid_names *invalid = payload;
    if (invalid->origin != NULL) {
        kernels_context_warn(invalid->context, KERNELS_WARNING_VARIANTS, "%s contains invalid build variant: '%s'",
                             invalid->origin, name);
    }
}

kernels_status kernels_candidates_resolve(kernels_context *context, const kernels_candidates *candidates,
                                          const kernels_system *system, const kernels_choice_options *options,
                                          const char *origin, kernels_decisions *decisions, kernels_error *error) {
    const char **names = kernels_calloc(candidates->count + 1, sizeof *names);
    if (names == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < candidates->count; i++) {
        names[i] = candidates->items[i].name;
    }
    const native_rule payload = {candidates, options};
    const kernels_rule rule = {options->for_native ? judge_native : judge_companion, &payload};
    bool ruled = options->for_native || options->as_noarch != NULL;
    invalid_names invalid = {context, origin};
    kernels_status status = kernels_resolve_with_rule(system, names, candidates->count, ruled ? &rule : NULL,
                                                      warn_invalid, &invalid, decisions, error);
    kernels_free(names);
    return status;
}
