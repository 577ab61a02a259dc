/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/scan.h"

#include <string.h>

#include "abi/collector.h"
#include "abi/variant.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

/* ---- one file ---- */

static void dispose_item(kernels_abi_scanned *item) {
    kernels_free(item->path);
    kernels_free(item->variant);
    kernels_free(item->machine);
    kernels_free(item->exports);
    kernels_abi_report_dispose(&item->report);
    kernels_error_dispose(&item->error);
    *item = (kernels_abi_scanned){0};
}

static void count_item(kernels_abi_scan *scan, const kernels_abi_scanned *item) {
    scan->failed += item->error.status != KERNELS_OK ? 1 : 0;
    scan->errors += item->report.error_count;
    scan->warnings += item->report.warning_count;
}

kernels_status kernels_abi_scan_add(kernels_abi_scan *scan, const char *path, kernels_abi_scanned *item,
                                    kernels_error *error) {
    const char *variant = scan->limits.variant != NULL ? scan->limits.variant->name : NULL;
    item->path = kernels_strdup(path);
    item->variant = kernels_strdup(variant);
    if (item->path == NULL || (variant != NULL && item->variant == NULL) ||
        !kernels_grow((void **)&scan->items, &scan->capacity, scan->count, sizeof scan->items[0],
                      KERNELS_ABI_SCAN_LIMIT)) {
        dispose_item(item);
        return kernels_fail_no_memory(error);
    }
    count_item(scan, item);
    scan->items[scan->count++] = *item;
    return KERNELS_OK;
}

static char *join_exports(const kernels_abi_image *image) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&text, "");
    for (size_t i = 0; i < image->exports.count; i++) {
        kernels_buffer_printf(&text, i == 0 ? "%.*s" : "\n%.*s", KERNELS_VIEW_ARGS(image->exports.items[i]));
    }
    return kernels_buffer_take(&text);
}

static kernels_status check_object(const kernels_abi_scan *scan, const kernels_abi_object *object,
                                   kernels_abi_scanned *item, kernels_error *error) {
    const kernels_abi_image *image = kernels_abi_object_image(object, 0);
    item->format = kernels_abi_object_format(object);
    item->machine = kernels_strdup(image->machine);
    item->exports = join_exports(image);
    return item->machine == NULL || item->exports == NULL
               ? kernels_fail_no_memory(error)
               : kernels_abi_check_all(object, &scan->limits, &item->report, error);
}

kernels_status kernels_abi_scan_file(kernels_abi_scan *scan, const char *path, kernels_error *error) {
    kernels_abi_scanned item = {.format = KERNELS_ABI_UNKNOWN, .error = KERNELS_ERROR_INIT};
    kernels_abi_object *object = NULL;
    if (kernels_abi_object_open(path, scan->flags, &object, &item.error) == KERNELS_OK) {
        (void)check_object(scan, object, &item, &item.error);
    }
    kernels_abi_object_free(object);
    return kernels_abi_scan_add(scan, path, &item, error);
}

kernels_status kernels_abi_scan_memory(kernels_abi_scan *scan, kernels_view bytes, const char *name,
                                       kernels_error *error) {
    kernels_abi_scanned item = {.format = KERNELS_ABI_UNKNOWN, .error = KERNELS_ERROR_INIT};
    kernels_abi_object *object = NULL;
    if (kernels_abi_object_open_memory(bytes, name, scan->flags, &object, &item.error) == KERNELS_OK) {
        (void)check_object(scan, object, &item, &item.error);
    }
    kernels_abi_object_free(object);
    return kernels_abi_scan_add(scan, name, &item, error);
}

/* ---- folders ---- */

bool kernels_abi_is_library_name(kernels_view path) {
    static const char *const endings[] = {".so", ".pyd", ".dylib", ".dll"};
    kernels_view name = kernels_view_slice(path, kernels_view_find_last(path, '/') + 1, path.size);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (kernels_view_ends_with(name, kernels_view_of(endings[i]))) {
            return true;
        }
    }
    return kernels_view_contains(name, KERNELS_VIEW(".so."));
}

bool kernels_abi_is_library_content(kernels_view bytes) {
    kernels_abi_format format = kernels_abi_recognise(bytes);
    const unsigned char *data = (const unsigned char *)bytes.data;
    bool is_device_code = format == KERNELS_ABI_ELF && bytes.size > 20 && data[5] == 1 && data[19] == 0 &&
                          (data[18] == 190 || data[18] == 224);
    return !is_device_code && (format == KERNELS_ABI_ELF || format == KERNELS_ABI_MACH_O || format == KERNELS_ABI_PE);
}

static bool has_library_content(const char *path) {
    kernels_mapping mapping;
    if (kernels_mapping_open(path, &mapping, NULL) != KERNELS_OK) {
        return false;
    }
    bool is_library = kernels_abi_is_library_content((kernels_view){(const char *)mapping.data, mapping.size});
    kernels_mapping_close(&mapping);
    return is_library;
}

/* A file, or a link that leads to one or nowhere. */
static bool is_candidate(const kernels_entry *entry, const char *path) {
    bool is_library = kernels_abi_is_library_name(kernels_view_of(entry->path));
    if (entry->type == KERNELS_ENTRY_LINK) {
        return kernels_file_is_regular(path) ? is_library || has_library_content(path)
                                             : is_library && !kernels_file_exists(path);
    }
    return entry->type == KERNELS_ENTRY_FILE && (is_library || has_library_content(path));
}

static kernels_status find_candidates(const char *folder, kernels_abi_candidates *found, kernels_error *error) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(folder, KERNELS_LIST_RECURSIVE, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        const kernels_entry *entry = &listing.entries[i];
        char *path = kernels_path_join(folder, entry->path);
        if (path == NULL || !kernels_grow((void **)&found->paths, &found->capacity, found->count,
                                          sizeof found->paths[0], KERNELS_ABI_SCAN_LIMIT)) {
            status = kernels_fail_no_memory(error);
        } else if (is_candidate(entry, path)) {
            found->paths[found->count++] = path;
            path = NULL;
        }
        kernels_free(path);
    }
    kernels_listing_dispose(&listing);
    return status;
}

/* What the others are called: a library may need them. */
static kernels_status name_siblings(kernels_abi_candidates *found, kernels_error *error) {
    found->names = kernels_calloc(found->count + 1, sizeof found->names[0]);
    if (found->names == NULL) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < found->count; i++) {
        found->names[i] = kernels_path_name(found->paths[i]).data;
    }
    return KERNELS_OK;
}

static void dispose_candidates(kernels_abi_candidates *found) {
    for (size_t i = 0; i < found->count; i++) {
        kernels_free(found->paths[i]);
    }
    kernels_free(found->paths);
    kernels_free((void *)found->names);
}

static kernels_status scan_candidates(kernels_abi_scan *scan, const char *folder, const char *root, bool is_variant,
                                      kernels_error *error) {
    kernels_abi_candidates found = {0};
    size_t first = scan->count;
    kernels_status status = find_candidates(folder, &found, error);
    status = status == KERNELS_OK ? name_siblings(&found, error) : status;
    scan->limits.siblings = (kernels_strings){found.names, found.count};
    for (size_t i = 0; i < found.count && status == KERNELS_OK; i++) {
        status = kernels_abi_scan_file(scan, found.paths[i], error);
    }
    scan->limits.siblings = (kernels_strings){NULL, 0};
    if (status == KERNELS_OK) {
        status = kernels_abi_scan_links(scan, first, root, error);
    }
    if (status == KERNELS_OK && is_variant && found.count > 0) {
        status = kernels_abi_scan_together(scan, folder, &found, error);
    }
    dispose_candidates(&found);
    return status;
}

kernels_status kernels_abi_scan_folder(kernels_abi_scan *scan, const char *folder, const char *root,
                                       kernels_error *error) {
    return scan_candidates(scan, folder, root, false, error);
}

kernels_status kernels_abi_scan_variant(kernels_abi_scan *scan, const char *folder, const char *name, const char *root,
                                        kernels_error *error) {
    kernels_variant variant;
    /* A name that says nothing sets no limits; other commands object to it. */
    bool is_known = kernels_variant_parse(kernels_view_of(name), &variant, NULL) == KERNELS_OK;
    scan->limits.variant = is_known ? &variant : NULL;
    kernels_status status = scan_candidates(scan, folder, root, true, error);
    scan->limits.variant = NULL;
    return status;
}

bool kernels_abi_scan_passed(const kernels_abi_scan *scan, bool strict) {
    return scan->failed == 0 && scan->errors == 0 && (!strict || scan->warnings == 0);
}

void kernels_abi_scan_dispose(kernels_abi_scan *scan) {
    for (size_t i = 0; i < scan->count; i++) {
        dispose_item(&scan->items[i]);
    }
    kernels_free(scan->items);
    *scan = (kernels_abi_scan){0};
}
