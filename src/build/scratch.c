/* SPDX-License-Identifier: Apache-2.0 */
#include "build/scratch.h"

#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

#define PREFIX "build-"

static bool is_abandoned(const char *folder) {
    struct stat facts;
    return lstat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) &&
           time(NULL) - facts.st_mtime > KERNELS_SCRATCH_AGE_SECONDS;
}

/* A build ended by a signal cannot clear up after itself. Best effort: other builds may be doing the same. */
static void remove_abandoned(const char *work) {
    kernels_listing listing = {0};
    if (kernels_list(work, KERNELS_LIST_CHILDREN, &listing, NULL) != KERNELS_OK) {
        return;
    }
    for (size_t i = 0; i < listing.count; i++) {
        KERNELS_CLEANUP_FREE char *folder = kernels_path_join(work, listing.entries[i].path);
        if (folder && kernels_view_starts_with(kernels_view_of(listing.entries[i].path), KERNELS_VIEW(PREFIX)) &&
            is_abandoned(folder)) {
            (void)kernels_remove_tree(folder, NULL);
        }
    }
    kernels_listing_dispose(&listing);
}

kernels_status kernels_scratch_new(const char *store, char **path, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *work = kernels_path_join(store, "work");
    if (!work) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(work, error));
    remove_abandoned(work);
    return kernels_make_temporary_directory(work, PREFIX, path, error);
}
