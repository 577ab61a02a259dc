/* SPDX-License-Identifier: Apache-2.0 */
/* A server that was killed leaves files that no reader looks at but that would block or bloat the store: lock
 * files of references, half-written objects and large files, half-made repositories. The store's lock says that
 * nobody else is at work, so they can go. */
#include "base/path.h"
#include "base/view.h"
#include "server/store_internal.h"

typedef bool name_predicate(kernels_view name);

static bool is_lock_file(kernels_view name) { return kernels_view_ends_with(name, KERNELS_VIEW(".lock")); }

static bool is_half_object(kernels_view name) { return kernels_view_contains(name, KERNELS_VIEW("_git2_")); }

static bool is_half_file(kernels_view name) {
    return kernels_view_starts_with(name, KERNELS_VIEW(".")) && kernels_view_ends_with(name, KERNELS_VIEW(".tmp"));
}

static kernels_status remove_matching(const char *directory, unsigned flags, name_predicate *matches,
                                      kernels_error *error) {
    if (!kernels_file_is_directory(directory)) {
        return KERNELS_OK;
    }
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, flags, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        const kernels_entry *entry = &listing.entries[i];
        if (entry->type == KERNELS_ENTRY_FILE && matches(kernels_path_name(entry->path))) {
            KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, entry->path);
            status = path != NULL ? kernels_remove_file(path, error) : kernels_fail_no_memory(error);
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

static kernels_status recover_repository(const char *path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *refs = kernels_path_join(path, "refs");
    KERNELS_CLEANUP_FREE char *objects = kernels_path_join(path, "objects");
    KERNELS_CLEANUP_FREE char *grants = kernels_path_join(path, KERNELS_STORE_GRANTS);
    if (refs == NULL || objects == NULL || grants == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(remove_matching(grants, KERNELS_LIST_CHILDREN, is_half_file, error));
    KERNELS_TRY(remove_matching(path, KERNELS_LIST_CHILDREN, is_lock_file, error));
    KERNELS_TRY(remove_matching(refs, KERNELS_LIST_RECURSIVE, is_lock_file, error));
    return remove_matching(objects, KERNELS_LIST_CHILDREN, is_half_object, error);
}

/* Repositories directly in `directory` and, at the first level, in the owners' folders below it. */
static kernels_status recover_repositories(const char *directory, bool enter_owners, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        if (listing.entries[i].type != KERNELS_ENTRY_DIRECTORY) {
            continue;
        }
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(directory, listing.entries[i].path);
        if (path == NULL) {
            status = kernels_fail_no_memory(error);
        } else if (kernels_view_ends_with(kernels_view_of(path), KERNELS_VIEW(".git"))) {
            status = recover_repository(path, error);
        } else if (enter_owners) {
            status = recover_repositories(path, false, error); /* one level, not on input depth */
        }
    }
    kernels_listing_dispose(&listing);
    return status;
}

kernels_status kernels_store_recover(kernels_store *store, kernels_error *error) {
    KERNELS_TRY(kernels_remove_tree(store->temporary_directory, error));
    KERNELS_TRY(kernels_make_directory(store->temporary_directory, error));
    KERNELS_TRY(kernels_storage_recover(store->storage, error));
    KERNELS_TRY(kernels_store_lfs_forget_parts(store, error));
    static const char *const folders[] = {"kernels", "models"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        KERNELS_CLEANUP_FREE char *path = kernels_path_join(store->directory, folders[i]);
        if (path == NULL) {
            return kernels_fail_no_memory(error);
        }
        KERNELS_TRY(recover_repositories(path, true, error));
    }
    return KERNELS_OK;
}
