/* SPDX-License-Identifier: Apache-2.0 */
#include "build/publish_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

typedef struct planner {
    const kernels_publish_input *input;
    kernels_publish_plan *plan;
    kernels_error *error;
} planner;

/* ---- operations ---- */

static kernels_publish_branch *branch_of(kernels_publish_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->branches[i].name, name) == 0) {
            return &plan->branches[i];
        }
    }
    kernels_publish_branch *branch = &plan->branches[plan->count++];
    branch->name = name;
    return branch;
}

/* local_path NULL = a deletion. The paths are copied. */
static kernels_status add(planner *run, const char *branch_name, const char *path, const char *local_path) {
    kernels_publish_branch *branch = branch_of(run->plan, branch_name);
    kernels_arena *arena = run->plan->arena;
    const char *reason = kernels_path_unsafe_reason(kernels_view_of(path));
    if (reason && local_path) {
        return kernels_fail(run->error, KERNELS_UNSAFE_NAME, "%s cannot be uploaded: %s", local_path, reason);
    }
    kernels_operation operation = {
        .type = local_path ? KERNELS_OPERATION_ADD : KERNELS_OPERATION_DELETE,
        .path = kernels_arena_copy_text(arena, kernels_view_of(path)),
        .local_path = local_path ? kernels_arena_copy_text(arena, kernels_view_of(local_path)) : NULL,
    };
    if (!operation.path || (local_path && !operation.local_path) ||
        !kernels_grow((void **)&branch->operations, &branch->capacity, branch->count, sizeof *branch->operations,
                      KERNELS_PUBLISH_OPERATIONS_MAX)) {
        return kernels_fail_no_memory(run->error);
    }
    branch->operations[branch->count++] = operation;
    return KERNELS_OK;
}

static bool is_added(const planner *run, kernels_view path) {
    const kernels_publish_branch *branch = branch_of(run->plan, run->input->branch);
    for (size_t i = 0; i < branch->count; i++) {
        if (branch->operations[i].type == KERNELS_OPERATION_ADD &&
            kernels_view_equal_text(path, branch->operations[i].path)) {
            return true;
        }
    }
    return false;
}

/* ---- card and benchmarks ---- */

static kernels_status plan_card(planner *run) {
    KERNELS_CLEANUP_FREE char *card = kernels_path_join(run->input->built->directory, "CARD.md");
    if (!card) {
        return kernels_fail_no_memory(run->error);
    }
    return kernels_file_is_regular(card) ? add(run, "main", "README.md", card) : KERNELS_OK;
}

static bool is_benchmark(kernels_view path) {
    size_t slash = kernels_view_find_last(path, '/');
    kernels_view name = kernels_view_slice(path, slash == SIZE_MAX ? 0 : slash + 1, path.size);
    return kernels_view_starts_with(name, KERNELS_VIEW("benchmark")) &&
           kernels_view_ends_with(name, KERNELS_VIEW(".py"));
}

static kernels_status add_benchmarks(planner *run, const char *directory) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, run->error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        const kernels_entry *entry = &listing.entries[i];
        if (entry->type != KERNELS_ENTRY_FILE || !is_benchmark(kernels_view_of(entry->path))) {
            continue;
        }
        KERNELS_CLEANUP_FREE char *local = kernels_path_join(directory, entry->path);
        KERNELS_CLEANUP_FREE char *path = kernels_path_join("benchmarks", entry->path);
        status = local && path ? add(run, run->input->branch, path, local) : kernels_fail_no_memory(run->error);
    }
    kernels_listing_dispose(&listing);
    return status;
}

static kernels_status delete_benchmarks(planner *run) {
    const kernels_publish_input *input = run->input;
    for (size_t i = 0; i < input->remote_count; i++) {
        kernels_view path = kernels_view_of(input->remote[i]);
        if (kernels_view_starts_with(path, KERNELS_VIEW("benchmarks/")) && (input->is_new || is_benchmark(path)) &&
            !is_added(run, path)) {
            KERNELS_TRY(add(run, input->branch, input->remote[i], NULL));
        }
    }
    return KERNELS_OK;
}

static kernels_status plan_benchmarks(planner *run) {
    KERNELS_CLEANUP_FREE char *directory = kernels_path_join(run->input->kernel_dir, "benchmarks");
    if (!directory || !kernels_file_is_directory(directory)) {
        return directory ? KERNELS_OK : kernels_fail_no_memory(run->error);
    }
    KERNELS_TRY(add_benchmarks(run, directory));
    return delete_benchmarks(run);
}

/* ---- variants ---- */

/* Files of the variants: what add_variant puts after the deletions. */
typedef struct build_file {
    char *path, *local;
} build_file;

typedef struct build_files {
    build_file *items;
    size_t count, capacity;
} build_files;

static bool is_bytecode(const char *path) {
    kernels_view rest = kernels_view_of(path), part = {0};
    while (kernels_view_split(&rest, '/', &part)) {
        if (kernels_view_equal_text(part, "__pycache__")) {
            return true;
        }
    }
    kernels_view name = kernels_path_name(path);
    return name.size > 4 && kernels_view_ends_with(name, KERNELS_VIEW(".pyc"));
}

/* A link may lead to a plain file of its own variant only. */
static kernels_status check_link(planner *run, const char *variant_dir, const char *local) {
    KERNELS_CLEANUP_FREE char *root = kernels_path_resolve(variant_dir);
    KERNELS_CLEANUP_FREE char *real = kernels_path_resolve(local);
    size_t size = root ? strlen(root) : 0;
    if (!root || !real || strncmp(real, root, size) != 0 || real[size] != '/' || !kernels_file_is_regular(real)) {
        return kernels_fail(run->error, KERNELS_UNSAFE_NAME,
                            "%s is a link that does not lead to a file of its own variant: it cannot be uploaded",
                            local);
    }
    return KERNELS_OK;
}

static kernels_status collect_file(planner *run, const kernels_built_variant *variant, const kernels_entry *entry,
                                   build_files *files) {
    if (entry->type == KERNELS_ENTRY_DIRECTORY || entry->type == KERNELS_ENTRY_OTHER || is_bytecode(entry->path)) {
        return KERNELS_OK;
    }
    build_file file = {kernels_path_join3("build", variant->name, entry->path),
                       kernels_path_join(variant->path, entry->path)};
    kernels_status status = file.path && file.local ? KERNELS_OK : kernels_fail_no_memory(run->error);
    if (!status && entry->type == KERNELS_ENTRY_LINK) {
        status = check_link(run, variant->path, file.local);
    }
    if (!status && !kernels_grow((void **)&files->items, &files->capacity, files->count, sizeof *files->items,
                                 KERNELS_PUBLISH_OPERATIONS_MAX)) {
        status = kernels_fail_no_memory(run->error);
    }
    if (status) {
        kernels_free(file.path);
        kernels_free(file.local);
        return status;
    }
    files->items[files->count++] = file;
    return KERNELS_OK;
}

static kernels_status collect_variant(planner *run, const kernels_built_variant *variant, build_files *files) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(variant->path, KERNELS_LIST_RECURSIVE, &listing, run->error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        status = collect_file(run, variant, &listing.entries[i], files);
    }
    kernels_listing_dispose(&listing);
    return status;
}

/* true when a remote file is the business of this upload: below build/ of a new branch, else below one of the
 * variants that are uploaded. */
static bool is_ours(const planner *run, kernels_view path) {
    if (!kernels_view_starts_with(path, KERNELS_VIEW("build/"))) {
        return false;
    }
    kernels_view rest = kernels_view_slice(path, 6, path.size);
    size_t slash = kernels_view_find(rest, '/');
    for (size_t i = 0; i < run->input->built->count && slash != SIZE_MAX; i++) {
        if (kernels_view_equal_text(kernels_view_slice(rest, 0, slash), run->input->built->variants[i].name)) {
            return true;
        }
    }
    return run->input->is_new;
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const build_file *)a)->path, ((const build_file *)b)->path);
}

static bool has_file(const build_files *files, const char *path) {
    build_file wanted = {0};
    wanted.path = (char *)path; /* only compared */
    return files->count && bsearch(&wanted, files->items, files->count, sizeof wanted, compare_files) != NULL;
}

static kernels_status add_builds(planner *run, const build_files *files) {
    const kernels_publish_input *input = run->input;
    for (size_t i = 0; i < input->remote_count; i++) {
        if (is_ours(run, kernels_view_of(input->remote[i])) && !has_file(files, input->remote[i])) {
            KERNELS_TRY(add(run, input->branch, input->remote[i], NULL));
        }
    }
    for (size_t i = 0; i < files->count; i++) {
        KERNELS_TRY(add(run, input->branch, files->items[i].path, files->items[i].local));
    }
    return KERNELS_OK;
}

static kernels_status plan_builds(planner *run) {
    build_files files = {0};
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < run->input->built->count && !status; i++) {
        status = collect_variant(run, &run->input->built->variants[i], &files);
    }
    if (files.count) {
        qsort(files.items, files.count, sizeof *files.items, compare_files);
    }
    status = status ? status : add_builds(run, &files);
    for (size_t i = 0; i < files.count; i++) {
        kernels_free(files.items[i].path);
        kernels_free(files.items[i].local);
    }
    kernels_free(files.items);
    return status;
}

/* ---- the whole ---- */

static void order_branches(kernels_publish_plan *plan) {
    if (plan->count == 2 && strcmp(plan->branches[0].name, plan->branches[1].name) > 0) {
        kernels_publish_branch first = plan->branches[0];
        plan->branches[0] = plan->branches[1];
        plan->branches[1] = first;
    }
}

kernels_status kernels_publish_plan_make(const kernels_publish_input *input, kernels_publish_plan *plan,
                                         kernels_error *error) {
    *plan = (kernels_publish_plan){.arena = kernels_arena_new(0)};
    planner run = {input, plan, error};
    kernels_status status = plan->arena ? plan_card(&run) : kernels_fail_no_memory(error);
    status = status ? status : plan_benchmarks(&run);
    status = status ? status : plan_builds(&run);
    if (status) {
        kernels_publish_plan_dispose(plan);
        return status;
    }
    order_branches(plan);
    return KERNELS_OK;
}

static const kernels_tree_entry *find_entry(const kernels_tree *tree, const char *path) {
    for (size_t low = 0, high = tree->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(tree->entries[middle].path, path);
        if (order == 0) {
            return &tree->entries[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

static kernels_status is_unchanged(const kernels_operation *operation, const kernels_tree *tree, bool *unchanged,
                                   kernels_error *error) {
    const kernels_tree_entry *entry =
        operation->type == KERNELS_OPERATION_ADD ? find_entry(tree, operation->path) : NULL;
    uint64_t size = 0;
    kernels_digest digest;
    *unchanged = false;
    if (!entry || entry->is_directory) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_file_size(operation->local_path, &size, error));
    if (size != entry->size) {
        return KERNELS_OK;
    }
    bool is_large = entry->lfs_sha256[0] != '\0';
    KERNELS_TRY(kernels_file_hash(operation->local_path, is_large ? KERNELS_HASH_SHA256 : KERNELS_HASH_GIT_BLOB,
                                  &digest, NULL, error));
    *unchanged = kernels_digest_equal_hex(&digest, kernels_view_of(is_large ? entry->lfs_sha256 : entry->oid));
    return KERNELS_OK;
}

kernels_status kernels_publish_plan_drop_unchanged(kernels_publish_plan *plan, const char *branch_name,
                                                   const kernels_tree *tree, kernels_error *error) {
    kernels_publish_branch *branch = NULL;
    for (size_t i = 0; i < plan->count; i++) {
        branch = strcmp(plan->branches[i].name, branch_name) == 0 ? &plan->branches[i] : branch;
    }
    size_t kept = 0;
    for (size_t i = 0; branch && i < branch->count; i++) {
        bool unchanged = false;
        KERNELS_TRY(is_unchanged(&branch->operations[i], tree, &unchanged, error));
        branch->operations[kept] = branch->operations[i];
        kept += unchanged ? 0 : 1;
    }
    if (branch) {
        branch->unchanged = branch->count - kept;
        branch->count = kept;
    }
    return KERNELS_OK;
}

size_t kernels_publish_plan_operations(const kernels_publish_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        count += plan->branches[i].count;
    }
    return count;
}

void kernels_publish_plan_dispose(kernels_publish_plan *plan) {
    for (size_t i = 0; i < plan->count; i++) {
        kernels_free(plan->branches[i].operations);
    }
    kernels_arena_free(plan->arena);
    *plan = (kernels_publish_plan){0};
}
