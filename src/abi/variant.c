/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/collector.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

/* Adds an item that is about a path but not about its content. */
static kernels_status add_findings(kernels_abi_scan *scan, const char *path, bool is_variant,
                                   kernels_abi_collector *collector, kernels_error *error) {
    kernels_abi_scanned item = {.is_variant = is_variant, .format = KERNELS_ABI_UNKNOWN, .error = KERNELS_ERROR_INIT};
    if (collector->count == 0) {
        return KERNELS_OK;
    }
    KERNELS_TRY(kernels_abi_collected(collector, &item.report.findings, error));
    item.report.warning_count = item.report.findings.count;
    return kernels_abi_scan_add(scan, path, &item, error);
}

/* ---- links ---- */

static bool is_below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0' || strcmp(folder, "/") == 0);
}

/* .../blobs/<hash>, where a Hub cache keeps the files of its snapshots. */
static bool is_blob(const char *path) {
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(path);
    return parent != NULL && kernels_view_equal_text(kernels_path_name(parent), "blobs");
}

static kernels_status check_link(kernels_abi_scan *scan, const char *path, const char *root, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *target = kernels_path_resolve(path);
    if (target == NULL || is_below(target, root) || is_blob(target)) {
        return KERNELS_OK;
    }
    kernels_abi_collector collector;
    KERNELS_TRY(kernels_abi_collector_init(&collector, error));
    collector.check = KERNELS_ABI_CHECK_OTHER;
    const kernels_abi_draft draft = {
        .kind = KERNELS_ABI_OUTSIDE_LINK, .severity = KERNELS_ABI_WARNING, .name = kernels_view_of(target)};
    kernels_status status =
        kernels_abi_collect(&collector, &draft, error, "the link leads out of the kernel's folder, to %s", target);
    status = status == KERNELS_OK ? add_findings(scan, path, false, &collector, error) : status;
    kernels_abi_collector_dispose(&collector);
    return status;
}

kernels_status kernels_abi_scan_links(kernels_abi_scan *scan, size_t first, const char *root, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *real_root = kernels_path_resolve(root);
    size_t end = scan->count;
    for (size_t i = first; i < end && real_root != NULL; i++) {
        if (kernels_file_is_link(scan->items[i].path)) {
            KERNELS_TRY(check_link(scan, scan->items[i].path, real_root, error));
        }
    }
    return KERNELS_OK;
}

/* ---- names that two libraries export ---- */

typedef struct entry {
    char *name;
    const char *library;
} entry;

typedef struct together {
    kernels_abi_collector collector;
    entry *entries;
    size_t entry_count, entry_capacity;
    kernels_abi_gpu_arch *archs; /* of all libraries; repeats are kept */
    size_t arch_count, arch_capacity;
    bool is_compressed;
} together;

static kernels_status add_image(together *all, const kernels_abi_image *image, const char *library,
                                kernels_error *error) {
    for (size_t i = 0; i < image->exports.count; i++) {
        char *name = kernels_strndup(image->exports.items[i].data, image->exports.items[i].size);
        if (name == NULL || !kernels_grow((void **)&all->entries, &all->entry_capacity, all->entry_count,
                                          sizeof all->entries[0], KERNELS_ABI_LIST_LIMIT)) {
            kernels_free(name);
            return kernels_fail_no_memory(error);
        }
        all->entries[all->entry_count++] = (entry){name, library};
    }
    for (size_t i = 0; i < image->gpu_arch_count; i++) {
        if (!kernels_grow((void **)&all->archs, &all->arch_capacity, all->arch_count, sizeof all->archs[0],
                          KERNELS_ABI_LIST_LIMIT)) {
            return kernels_fail_no_memory(error);
        }
        all->archs[all->arch_count++] = image->gpu_archs[i];
    }
    all->is_compressed |= image->gpu_is_compressed;
    return KERNELS_OK;
}

/* Slices of one universal file export the same names: the first stands for all. Files that do not open are reported
 * already. */
static kernels_status add_library(together *all, const char *path, const char *name, kernels_error *error) {
    kernels_abi_object *object = NULL;
    if (kernels_abi_object_open(path, KERNELS_ABI_EXPORTS, &object, NULL) != KERNELS_OK) {
        return KERNELS_OK;
    }
    kernels_status status = add_image(all, kernels_abi_object_image(object, 0), name, error);
    kernels_abi_object_free(object);
    return status;
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static kernels_status check_clashes(together *all, kernels_error *error) {
    if (all->entry_count > 1) {
        qsort(all->entries, all->entry_count, sizeof all->entries[0], compare_entries);
    }
    for (size_t i = 1; i < all->entry_count; i++) {
        const entry *a = &all->entries[i - 1], *b = &all->entries[i];
        if (strcmp(a->name, b->name) == 0) {
            const kernels_abi_draft draft = {
                .kind = KERNELS_ABI_NAME_CLASH, .severity = KERNELS_ABI_WARNING, .name = kernels_view_of(a->name)};
            KERNELS_TRY(kernels_abi_collect(&all->collector, &draft, error, "`%s` is exported by both %s and %s",
                                            a->name, a->library, b->library));
        }
    }
    return KERNELS_OK;
}

/* ---- device code against metadata.json ---- */

/* "sm_90a" -> "9.0a", "compute_90" -> "9.0+PTX", "gfx90a:xnack+" -> "gfx90a": as metadata.json writes it. */
static void metadata_form(const char *arch, char text[64]) {
    kernels_view name = kernels_view_of(arch);
    size_t split = kernels_view_find(name, '_');
    if (split == SIZE_MAX) {
        name = kernels_view_slice(name, 0, kernels_view_find(name, ':'));
        (void)snprintf(text, 64, "%.*s", KERNELS_VIEW_ARGS(name));
        return;
    }
    kernels_view digits = kernels_view_slice(name, split + 1, name.size);
    size_t count = 0;
    while (count < digits.size && kernels_is_digit(digits.data[count])) {
        count++;
    }
    size_t major = count > 1 ? count - 1 : 0;
    (void)snprintf(text, 64, "%.*s.%.*s%s", (int)major, digits.data, (int)(digits.size - major), digits.data + major,
                   name.data[0] == 'c' ? "+PTX" : "");
}

/* "9.0+PTX" promises 9.0 and its PTX. */
static bool is_promised(kernels_strings archs, const char *form) {
    kernels_view wanted = kernels_view_of(form);
    for (size_t i = 0; i < archs.count; i++) {
        kernels_view promise = kernels_view_of(archs.items[i]);
        kernels_view bare = kernels_view_slice(promise, 0, kernels_view_find(promise, '+'));
        if (kernels_view_equal(promise, wanted) || kernels_view_equal(bare, wanted)) {
            return true;
        }
    }
    return false;
}

static bool is_present(const together *all, kernels_view form) {
    for (size_t i = 0; i < all->arch_count; i++) {
        char text[64];
        metadata_form(all->archs[i].name, text);
        if (kernels_view_equal_text(form, text)) {
            return true;
        }
    }
    return false;
}

static kernels_status check_promises(together *all, kernels_strings promised, kernels_error *error) {
    for (size_t i = 0; i < promised.count; i++) {
        kernels_view promise = kernels_view_of(promised.items[i]);
        kernels_view bare = kernels_view_slice(promise, 0, kernels_view_find(promise, '+'));
        if (!is_present(all, bare) || (bare.size != promise.size && !is_present(all, promise))) {
            const kernels_abi_draft draft = {
                .kind = KERNELS_ABI_GPU_ARCHITECTURE, .severity = KERNELS_ABI_WARNING, .name = promise};
            KERNELS_TRY(kernels_abi_collect(&all->collector, &draft, error,
                                            "metadata.json promises %s, but no library holds code for it",
                                            promised.items[i]));
        }
    }
    return KERNELS_OK;
}

static kernels_status check_archs(together *all, const kernels_metadata *metadata, kernels_error *error) {
    bool has_device_code = metadata->backend == KERNELS_BACKEND_CUDA || metadata->backend == KERNELS_BACKEND_ROCM;
    if (!has_device_code || !metadata->has_archs || all->is_compressed) {
        return KERNELS_OK; /* nothing promised, or nothing to compare with */
    }
    for (size_t i = 0; i < all->arch_count; i++) {
        char form[64];
        metadata_form(all->archs[i].name, form);
        if (!is_promised(metadata->archs, form)) {
            const kernels_abi_draft draft = {.kind = KERNELS_ABI_GPU_ARCHITECTURE,
                                             .severity = KERNELS_ABI_WARNING,
                                             .name = kernels_view_of(all->archs[i].name)};
            KERNELS_TRY(kernels_abi_collect(&all->collector, &draft, error,
                                            "there is code for %s, which metadata.json does not name",
                                            all->archs[i].name));
        }
    }
    return check_promises(all, metadata->archs, error);
}

/* metadata.json that is absent or wrong is the matter of other commands. */
static kernels_status check_metadata(together *all, const char *folder, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(folder, "metadata.json");
    kernels_metadata metadata;
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (kernels_metadata_read(path, &metadata, NULL) != KERNELS_OK) {
        return KERNELS_OK;
    }
    kernels_status status = check_archs(all, &metadata, error);
    kernels_metadata_dispose(&metadata);
    return status;
}

static kernels_status run(together *all, kernels_abi_scan *scan, const char *folder,
                          const kernels_abi_candidates *libraries, kernels_error *error) {
    for (size_t i = 0; i < libraries->count; i++) {
        KERNELS_TRY(add_library(all, libraries->paths[i], libraries->names[i], error));
    }
    all->collector.check = KERNELS_ABI_CHECK_OTHER;
    KERNELS_TRY(check_clashes(all, error));
    KERNELS_TRY(check_metadata(all, folder, error));
    return add_findings(scan, folder, true, &all->collector, error);
}

kernels_status kernels_abi_scan_together(kernels_abi_scan *scan, const char *folder,
                                         const kernels_abi_candidates *libraries, kernels_error *error) {
    together all = {0};
    KERNELS_TRY(kernels_abi_collector_init(&all.collector, error));
    kernels_status status = run(&all, scan, folder, libraries, error);
    for (size_t i = 0; i < all.entry_count; i++) {
        kernels_free(all.entries[i].name);
    }
    kernels_free(all.entries);
    kernels_free(all.archs);
    kernels_abi_collector_dispose(&all.collector);
    return status;
}
