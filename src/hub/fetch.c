/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of one commit into the cache: which are missing, in what order they come, and who else is at it. A lock a blob
 * keeps processes from downloading the same thing twice; that nothing goes wrong does not depend on it. One file:
 * download.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/download.h"
#include "hub/printable.h"
#include "hub/repo_url.h"

#define FILE_COUNT_LIMIT ((size_t)100000)
/* Longest wait for another process that downloads the same blob; then we download it too. */
#define LOCK_WAIT_NS ((uint64_t)120 * 1000000000u)
/* Locked files looked at before we sleep. */
#define LOCKED_SCAN_LIMIT 16

typedef struct fetch {
    kernels_downloads shared;
    kernels_download *downloads; /* what the cache lacks */
    size_t count, capacity;
    size_t *queue; /* indices not begun yet, a ring of `count` places */
    size_t queue_first, queue_count;
    size_t open[KERNELS_HTTP_PARALLEL]; /* indices of those on their way */
    size_t open_count;
    uint64_t waiting_since; /* for locks of others, 0 = not waiting */
} fetch;

/* ---- which files ---- */

static int compare_folded(const void *a, const void *b) {
    const char *first = (*(const kernels_tree_entry *const *)a)->path;
    const char *second = (*(const kernels_tree_entry *const *)b)->path;
    for (; *first && kernels_to_lower(*first) == kernels_to_lower(*second); first++, second++) {
    }
    return (unsigned char)kernels_to_lower(*first) - (unsigned char)kernels_to_lower(*second);
}

static kernels_status fail_name(kernels_error *error, const char *path, const char *reason) {
    char shown[KERNELS_PRINTABLE_SIZE];
    kernels_printable(shown, kernels_view_of(path));
    return kernels_fail(error, KERNELS_UNSAFE_NAME, "the file '%s' is refused: %s", shown, reason);
}

/* On some file systems two names that differ in case are one file: the second would replace the first. */
static kernels_status check_case(const kernels_tree_entry *const *files, size_t count, kernels_error *error) {
    const kernels_tree_entry **sorted = kernels_calloc(count + 1, sizeof(*sorted));
    if (!sorted) {
        return kernels_fail_no_memory(error);
    }
    memcpy(sorted, files, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_folded);
    kernels_status status = KERNELS_OK;
    for (size_t i = 1; i < count && status == KERNELS_OK; i++) {
        if (compare_folded(&sorted[i - 1], &sorted[i]) == 0) {
            status = fail_name(error, sorted[i]->path, "another file has the same name but for letter case");
        }
    }
    kernels_free(sorted);
    return status;
}

static kernels_status check_files(const kernels_tree_entry *const *files, size_t count, kernels_error *error) {
    if (count > FILE_COUNT_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%zu files are more than the %zu that one download may have", count,
                            FILE_COUNT_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        const char *reason = kernels_repo_path_unsafe_reason(kernels_view_of(files[i]->path));
        if (reason || files[i]->is_directory) {
            return fail_name(error, files[i]->path, reason ? reason : "it is a folder");
        }
    }
    return count > 1 ? check_case(files, count, error) : KERNELS_OK;
}

static kernels_status add_download(fetch *f, const kernels_tree_entry *entry, char *pointer, kernels_error *error) {
    if (!kernels_grow((void **)&f->downloads, &f->capacity, f->count, sizeof(*f->downloads), FILE_COUNT_LIMIT)) {
        kernels_free(pointer);
        return kernels_fail_no_memory(error);
    }
    kernels_download *d = &f->downloads[f->count];
    *d = (kernels_download){
        .shared = &f->shared, .path = entry->path, .has_size = true, .size = entry->size, .pointer = pointer};
    const char *id = entry->lfs_sha256[0] ? entry->lfs_sha256 : entry->oid;
    if (kernels_object_name_is_valid(kernels_view_of(id))) {
        memcpy(d->id, id, strlen(id) + 1);
    }
    f->count++;
    return KERNELS_OK;
}

/* Links and files of the snapshot that are there in full need nothing, not even a write. */
static kernels_status find_missing(fetch *f, const kernels_tree_entry *const *files, size_t count,
                                   kernels_error *error) {
    for (size_t i = 0; i < count; i++) {
        char *pointer = kernels_path_join(f->shared.snapshot, files[i]->path);
        if (!pointer) {
            return kernels_fail_no_memory(error);
        }
        if (kernels_download_has(pointer, true, files[i]->size)) {
            kernels_free(pointer);
            continue;
        }
        if (kernels_file_is_regular(pointer)) {
            kernels_hub_log(f->shared.hub, KERNELS_LOG_WARNING, "%s has the wrong size and is downloaded again",
                            pointer);
        }
        KERNELS_TRY(add_download(f, files[i], pointer, error));
    }
    return KERNELS_OK;
}

/* ---- the source of requests ---- */

static void push(fetch *f, size_t index) {
    f->queue[(f->queue_first + f->queue_count) % f->count] = index;
    f->queue_count++;
}

static size_t pop(fetch *f) {
    size_t index = f->queue[f->queue_first];
    f->queue_first = (f->queue_first + 1) % f->count;
    f->queue_count--;
    return index;
}

/* false: another process (or another file of ours with the same content) is at it. */
static bool take_lock(fetch *f, kernels_download *d) {
    uint64_t now = kernels_clock_nanoseconds();
    if (f->waiting_since && now - f->waiting_since > LOCK_WAIT_NS) {
        return true;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/%s.lock", f->shared.locks, d->id);
    kernels_status status = path.failure == KERNELS_OK
                                ? kernels_file_lock_take(kernels_buffer_text(&path), 0, &d->lock, NULL)
                                : path.failure;
    return status != KERNELS_TIMEOUT; /* a lock that cannot be made is not needed */
}

/* Begins one download. *begun stays false when nothing had to be sent; KERNELS_TIMEOUT: locked by another. */
static kernels_status begin(fetch *f, kernels_download *d, bool *begun, kernels_error *error) {
    if (!take_lock(f, d)) {
        return KERNELS_TIMEOUT;
    }
    if (kernels_download_has(d->blob, d->has_size, d->size)) {
        kernels_status status = kernels_download_link(d, error);
        f->shared.done_bytes += d->size;
        kernels_download_release(d);
        kernels_download_report(d, true);
        return status;
    }
    kernels_status status = kernels_download_open(d, error);
    if (status != KERNELS_OK) {
        kernels_download_release(d);
        return status;
    }
    *begun = true;
    return KERNELS_OK;
}

static kernels_status later(kernels_http_next *what) {
    *what = KERNELS_HTTP_NEXT_LATER;
    return KERNELS_OK;
}

/* No other file is left to begin: what takes long may have the connections that are free. */
static kernels_status next_segment(fetch *f, kernels_http_next *what, const kernels_http_request **request) {
    *what = KERNELS_HTTP_NEXT_END;
    for (size_t i = 0; i < f->open_count; i++) {
        kernels_download *d = &f->downloads[f->open[i]];
        kernels_segment *segment = kernels_download_split(d);
        if (segment) {
            *what = KERNELS_HTTP_NEXT_REQUEST;
            *request = &segment->request;
            return KERNELS_OK;
        }
        *what = kernels_download_may_split(d) ? KERNELS_HTTP_NEXT_LATER : *what;
    }
    return KERNELS_OK;
}

static kernels_status next_download(void *payload, kernels_http_next *what, const kernels_http_request **request,
                                    kernels_error *error) {
    fetch *f = payload;
    for (size_t locked = 0; f->queue_count > 0 && locked < LOCKED_SCAN_LIMIT;) {
        size_t index = pop(f);
        bool begun = false;
        kernels_status status = begin(f, &f->downloads[index], &begun, error);
        if (status == KERNELS_TIMEOUT) {
            push(f, index);
            locked = locked + 1 > f->queue_count ? LOCKED_SCAN_LIMIT : locked + 1;
            continue;
        }
        f->waiting_since = 0;
        KERNELS_TRY(status);
        if (begun) {
            f->open[f->open_count++] = index;
            *what = KERNELS_HTTP_NEXT_REQUEST;
            *request = &f->downloads[index].segments[0].request;
            return KERNELS_OK;
        }
    }
    if (f->queue_count > 0 && f->waiting_since == 0) {
        f->waiting_since = kernels_clock_nanoseconds();
    }
    return f->queue_count == 0 ? next_segment(f, what, request) : later(what);
}

static void remove_open(fetch *f, const kernels_download *d) {
    for (size_t i = 0; i < f->open_count; i++) {
        if (&f->downloads[f->open[i]] == d) {
            f->open[i] = f->open[--f->open_count];
        }
    }
}

static kernels_status download_done(void *payload, const kernels_http_request *request, kernels_http_response *response,
                                    kernels_status status, kernels_error *error) {
    fetch *f = payload;
    kernels_segment *segment = request->sink->payload;
    kernels_download *d = segment->download;
    bool finished = true;
    (void)response;
    segment->in_flight = false;
    if (status == KERNELS_OK) {
        status = kernels_download_segment_done(segment, &finished, error);
    }
    if (finished) {
        remove_open(f, d);
        kernels_download_release(d);
    }
    if (status == KERNELS_OK) {
        kernels_download_report(d, finished);
        return KERNELS_OK;
    }
    return status == KERNELS_INTERRUPTED
               ? status
               : kernels_wrap(error, status, "cannot download %s of '%s'", d->path, f->shared.repo_id);
}

/* ---- the whole ---- */

static void fetch_dispose(fetch *f) {
    for (size_t i = 0; i < f->count; i++) {
        kernels_download_dispose(&f->downloads[i]);
    }
    kernels_free(f->downloads);
    kernels_free(f->queue);
    kernels_free(f->shared.repository);
    kernels_free(f->shared.snapshot);
    kernels_free(f->shared.locks);
}

static kernels_status make_paths(fetch *f, kernels_error *error) {
    const char *cache = f->shared.hub->config.cache;
    KERNELS_CLEANUP_FREE char *folder = kernels_cache_folder_name(f->shared.type, f->shared.repo_id);
    f->shared.repository = kernels_cache_repository(cache, f->shared.type, f->shared.repo_id);
    f->shared.snapshot =
        f->shared.repository ? kernels_cache_snapshot_path(f->shared.repository, f->shared.commit) : NULL;
    f->shared.locks = folder ? kernels_path_join3(cache, ".locks", folder) : NULL;
    return f->shared.snapshot && f->shared.locks ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status make_folders(fetch *f, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *blobs = kernels_path_join(f->shared.repository, "blobs");
    if (!blobs) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(blobs, error));
    kernels_cache_tag(f->shared.hub->config.cache);
    (void)kernels_make_directories(f->shared.locks, NULL); /* without it there are no locks, which is allowed */
    return KERNELS_OK;
}

static kernels_status fail_offline(const fetch *f, kernels_error *error) {
    return kernels_fail(error, KERNELS_NOT_CACHED,
                        "%zu files of '%s' are not in the local cache, the first is %s, and offline mode is on "
                        "(HF_HUB_OFFLINE)",
                        f->count, f->shared.repo_id, f->downloads[0].path);
}

static kernels_status download_missing(fetch *f, kernels_error *error) {
    if (f->shared.hub->config.offline) {
        return fail_offline(f, error);
    }
    f->queue = kernels_calloc(f->count, sizeof(*f->queue));
    if (!f->queue) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < f->count; i++) {
        KERNELS_TRY(kernels_download_prepare(&f->downloads[i], error));
        push(f, i);
    }
    KERNELS_TRY(make_folders(f, error));
    const kernels_http_source source = {next_download, download_done, f};
    return kernels_http_run(f->shared.hub->http, &source, error);
}

/* Best effort: a read-only cache that holds the files is as good as any. */
static void record_ref(const fetch *f, const char *ref) {
    kernels_error error = KERNELS_ERROR_INIT;
    if (ref && kernels_file_is_directory(f->shared.snapshot) &&
        kernels_cache_write_ref(f->shared.repository, ref, f->shared.commit, &error) != KERNELS_OK) {
        kernels_hub_log(f->shared.hub, KERNELS_LOG_DEBUG, "refs/%s not recorded: %s", ref,
                        kernels_error_message(&error));
    }
    kernels_error_dispose(&error);
}

static kernels_status run_fetch(fetch *f, const kernels_tree_entry *const *files, size_t count, const char *ref,
                                kernels_error *error) {
    KERNELS_TRY(make_paths(f, error));
    KERNELS_TRY(find_missing(f, files, count, error));
    if (f->count > 0) {
        KERNELS_TRY(download_missing(f, error));
    }
    record_ref(f, ref);
    return KERNELS_OK;
}

bool kernels_cache_has_files(kernels_hub *hub, kernels_repository_type type, const char *repo_id, const char *commit,
                             const kernels_tree_entry *const *files, size_t count) {
    KERNELS_CLEANUP_FREE char *repository = kernels_cache_repository(hub->config.cache, type, repo_id);
    KERNELS_CLEANUP_FREE char *snapshot = repository ? kernels_cache_snapshot_path(repository, commit) : NULL;
    for (size_t i = 0; snapshot && i < count; i++) {
        KERNELS_CLEANUP_FREE char *pointer = kernels_path_join(snapshot, files[i]->path);
        if (!pointer || !kernels_download_has(pointer, true, files[i]->size)) {
            return false;
        }
    }
    return snapshot != NULL;
}

kernels_status kernels_hub_fetch(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                 const char *commit, const kernels_tree_entry *const *files, size_t count,
                                 const char *ref, char **snapshot, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, ref, error));
    if (!kernels_object_name_is_valid(kernels_view_of(commit))) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "expected a commit of 40 or 64 lower-case hex digits to download, found '%s'", commit);
    }
    KERNELS_TRY(check_files(files, count, error));
    KERNELS_TRY(kernels_cache_guard(hub, error));
    fetch f = {.shared = {.hub = hub, .type = type, .repo_id = repo_id, .commit = commit}};
    kernels_status status = run_fetch(&f, files, count, ref, error);
    if (status == KERNELS_OK && snapshot) {
        *snapshot = f.shared.snapshot;
        f.shared.snapshot = NULL;
    }
    fetch_dispose(&f);
    return status;
}
