/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted listings of folders: an explicit stack of folders still to be read, no recursion. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"

typedef struct walk {
    const char *root;
    unsigned flags;
    kernels_listing listing;
    size_t capacity;
} walk;

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const kernels_entry *)a)->path, ((const kernels_entry *)b)->path);
}

static kernels_entry_type type_of(mode_t mode) {
    return S_ISREG(mode)   ? KERNELS_ENTRY_FILE
           : S_ISDIR(mode) ? KERNELS_ENTRY_DIRECTORY
           : S_ISLNK(mode) ? KERNELS_ENTRY_LINK
                           : KERNELS_ENTRY_OTHER;
}

/* What the folder itself says about an entry, so that most need no look-up of their own. */
static bool is_known(const struct dirent *item, kernels_entry *entry) {
#ifdef DT_REG
    entry->type = item->d_type == DT_REG ? KERNELS_ENTRY_FILE : KERNELS_ENTRY_DIRECTORY;
    return item->d_type == DT_REG || item->d_type == DT_DIR;
#else
    (void)item;
    (void)entry;
    return false;
#endif
}

static kernels_status classify(const walk *state, const struct dirent *item, kernels_entry *entry,
                               kernels_error *error) {
    struct stat facts;
    if (is_known(item, entry)) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(state->root, entry->path);
    if (!full) {
        return kernels_fail_no_memory(error);
    }
    if (lstat(full, &facts) != 0) {
        return kernels_fail_errno(error, errno, "cannot read `%s`", full);
    }
    entry->is_link = S_ISLNK(facts.st_mode);
    if (entry->is_link && (state->flags & KERNELS_LIST_FOLLOW_LINKS) && stat(full, &facts) != 0) {
        kernels_status status = kernels_fail_errno(error, errno, "cannot follow the link `%s`", full);
        kernels_error_set_subject(error, full);
        return status;
    }
    entry->type = type_of(facts.st_mode);
    return KERNELS_OK;
}

static size_t depth_of(const char *path) {
    size_t depth = 1;
    for (; *path; path++) {
        depth += *path == '/';
    }
    return depth;
}

/* Adds the entry of the folder `below` (relative, "" = root). */
static kernels_status add_entry(walk *state, const char *below, const struct dirent *item, kernels_error *error) {
    kernels_entry entry = {.path = kernels_path_join(below, item->d_name)};
    kernels_status status = entry.path ? classify(state, item, &entry, error) : kernels_fail_no_memory(error);
    if (status == KERNELS_OK && depth_of(entry.path) > KERNELS_LISTING_DEPTH_LIMIT) {
        status = kernels_fail(error, KERNELS_LIMIT, "`%s/%s` is nested deeper than %d folders", state->root, entry.path,
                              KERNELS_LISTING_DEPTH_LIMIT);
    }
    if (status == KERNELS_OK && state->listing.count >= KERNELS_LISTING_LIMIT) {
        status =
            kernels_fail(error, KERNELS_LIMIT, "`%s` holds more than %zu files", state->root, KERNELS_LISTING_LIMIT);
    }
    if (status == KERNELS_OK && !kernels_grow((void **)&state->listing.entries, &state->capacity, state->listing.count,
                                              sizeof entry, KERNELS_LISTING_LIMIT)) {
        status = kernels_fail_no_memory(error);
    }
    if (status != KERNELS_OK) {
        kernels_free(entry.path);
        return status;
    }
    state->listing.entries[state->listing.count++] = entry;
    return KERNELS_OK;
}

static kernels_status read_folder(walk *state, const char *below, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(state->root, below);
    if (!full) {
        return kernels_fail_no_memory(error);
    }
    DIR *stream = opendir(full);
    if (!stream) {
        kernels_status status = kernels_fail_errno(error, errno, "cannot list the folder `%s`", full);
        kernels_error_set_subject(error, full);
        return status;
    }
    kernels_status status = KERNELS_OK;
    while (status == KERNELS_OK) {
        errno = 0;
        const struct dirent *item = readdir(stream);
        if (!item) {
            if (errno != 0) {
                status = kernels_fail_errno(error, errno, "cannot list the folder `%s`", full);
            }
            break;
        }
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
            status = add_entry(state, below, item, error);
        }
    }
    (void)closedir(stream);
    return status;
}

kernels_status kernels_list(const char *directory, unsigned flags, kernels_listing *listing, kernels_error *error) {
    walk state = {.root = directory, .flags = flags};
    kernels_status status = read_folder(&state, "", error);
    /* The growing list is the queue: every folder in it is read once, in turn. */
    for (size_t i = 0; status == KERNELS_OK && (flags & KERNELS_LIST_RECURSIVE) && i < state.listing.count; i++) {
        kernels_entry entry = state.listing.entries[i];
        if (entry.type == KERNELS_ENTRY_DIRECTORY && !entry.is_link) {
            status = read_folder(&state, entry.path, error);
        }
    }
    if (status != KERNELS_OK) {
        kernels_listing_dispose(&state.listing);
        return status;
    }
    if (state.listing.count > 1) {
        qsort(state.listing.entries, state.listing.count, sizeof *state.listing.entries, compare_entries);
    }
    *listing = state.listing;
    return KERNELS_OK;
}

void kernels_listing_dispose(kernels_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        kernels_free(listing->entries[i].path);
    }
    kernels_free(listing->entries);
    *listing = (kernels_listing){0};
}
