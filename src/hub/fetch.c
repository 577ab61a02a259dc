/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of one commit into the cache. Each is written under a name of its own in blobs/, hashed on the way, compared
 * with the id that the listing announced, and only then renamed to that id and linked from the snapshot. A lock a blob
 * keeps processes from downloading the same thing twice; that nothing goes wrong does not depend on it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/headers.h"
#include "hub/hub_private.h"
#include "hub/printable.h"
#include "hub/repo_url.h"

#define FILE_COUNT_LIMIT ((size_t)100000)
/* Longest wait for another process that downloads the same blob; then we download it too. */
#define LOCK_WAIT_NS ((uint64_t)120 * 1000000000u)
/* Locked files looked at before we sleep. */
#define LOCKED_SCAN_LIMIT 16
#define PROGRESS_INTERVAL_NS ((uint64_t)50 * 1000000u)

typedef struct fetch fetch;

typedef struct download {
    fetch *owner;
    const char *path; /* in the repository */
    char id[65];      /* of the content: name of the blob */
    bool has_size;
    uint64_t size;
    char *pointer; /* file or link in the snapshot */
    char *blob;
    char *url;
    kernels_file_writer *writer;
    kernels_file_lock *lock;
    kernels_http_sink sink;
    kernels_http_request request;
} download;

struct fetch {
    kernels_hub *hub;
    kernels_repository_type type;
    const char *repo_id, *commit;
    char *repository, *snapshot, *locks;
    download *downloads; /* what the cache lacks */
    size_t count, capacity;
    size_t *queue; /* indices not begun yet, a ring of `count` places */
    size_t queue_first, queue_count;
    uint64_t waiting_since; /* for locks of others, 0 = not waiting */
    uint64_t done_bytes, total_bytes, last_report;
};

/* ---- which files ---- */

static bool same_size(const char *path, bool has_size, uint64_t size) {
    uint64_t found;
    return kernels_file_is_regular(path) && kernels_file_size(path, &found, NULL) == KERNELS_OK &&
           (!has_size || found == size);
}

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
    download *d = &f->downloads[f->count];
    *d = (download){.path = entry->path, .has_size = true, .size = entry->size, .pointer = pointer};
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
        char *pointer = kernels_path_join(f->snapshot, files[i]->path);
        if (!pointer) {
            return kernels_fail_no_memory(error);
        }
        if (same_size(pointer, true, files[i]->size)) {
            kernels_free(pointer);
            continue;
        }
        if (kernels_file_is_regular(pointer)) {
            kernels_hub_log(f->hub, KERNELS_LOG_WARNING, "%s has the wrong size and is downloaded again", pointer);
        }
        KERNELS_TRY(add_download(f, files[i], pointer, error));
    }
    return KERNELS_OK;
}

/* ---- what a download needs to know ---- */

static kernels_status read_metadata(download *d, const kernels_http_response *response, kernels_error *error) {
    static const char *const etags[] = {"X-Linked-Etag", "ETag", NULL};
    kernels_view headers = kernels_buffer_view(&response->headers);
    kernels_view etag = kernels_etag_normalise(kernels_headers_find_any(headers, etags));
    if (kernels_headers_find(headers, "X-Repo-Commit").size == 0 || !kernels_object_name_is_valid(etag)) {
        return kernels_fail(error, KERNELS_HTTP,
                            "file metadata error: the answer for %s lacks X-Repo-Commit or a usable ETag; is "
                            "HF_ENDPOINT the address of a Hub?",
                            d->path);
    }
    memcpy(d->id, etag.data, etag.size);
    d->id[etag.size] = '\0';
    kernels_view size = kernels_headers_find(headers, "X-Linked-Size");
    if (size.size == 0 && response->status < 300) {
        size = kernels_headers_find(headers, "Content-Length");
    }
    d->has_size = kernels_view_to_u64(size, &d->size);
    return KERNELS_OK;
}

/* For a listing without ids: asks for the head of the file. */
static kernels_status ask_metadata(fetch *f, download *d, kernels_error *error) {
    kernels_http_request request = {.method = KERNELS_HTTP_HEAD,
                                    .url = d->url,
                                    .repeatable = true,
                                    .is_file = true,
                                    .keep_foreign_redirect = true,
                                    .idle_seconds = f->hub->config.metadata_timeout};
    kernels_http_response response;
    kernels_status status = kernels_http_send(f->hub->http, &request, &response, error);
    if (status == KERNELS_OK) {
        status = read_metadata(d, &response, error);
    }
    kernels_http_response_dispose(&response);
    return status;
}

static kernels_status sink_restart(void *payload, kernels_error *error);
static kernels_status sink_write(void *payload, const char *data, size_t size, kernels_error *error);

static kernels_status prepare_download(fetch *f, download *d, kernels_error *error) {
    d->owner = f;
    d->url = kernels_repo_file_url(f->hub->config.endpoint, f->type, f->repo_id, f->commit, d->path);
    if (!d->url) {
        return kernels_fail_no_memory(error);
    }
    if (!d->id[0]) {
        KERNELS_TRY(ask_metadata(f, d, error));
    }
    if (strlen(d->id) == 40 && !d->has_size) {
        return kernels_fail(error, KERNELS_HTTP, "the server tells no size for %s, which is needed to check it",
                            d->path);
    }
    d->blob = kernels_path_join3(f->repository, "blobs", d->id);
    d->sink = (kernels_http_sink){sink_restart, sink_write, d};
    d->request = (kernels_http_request){.method = KERNELS_HTTP_GET,
                                        .url = d->url,
                                        .sink = &d->sink,
                                        .repeatable = true,
                                        .is_file = true,
                                        .idle_seconds = f->hub->config.download_timeout,
                                        .has_size = d->has_size,
                                        .size = d->size};
    f->total_bytes += d->size;
    return d->blob ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- writing ---- */

static void report(fetch *f, const download *d, bool always) {
    uint64_t now = kernels_clock_nanoseconds();
    if (!f->hub->progress || (!always && now - f->last_report < PROGRESS_INTERVAL_NS)) {
        return;
    }
    f->last_report = now;
    uint64_t done = d->writer ? kernels_file_writer_size(d->writer) : d->size;
    f->hub->progress(f->hub->payload, d->path, done, d->size);
    f->hub->progress(f->hub->payload, NULL, f->done_bytes, f->total_bytes);
}

static kernels_status sink_restart(void *payload, kernels_error *error) {
    download *d = payload;
    d->owner->done_bytes -= kernels_file_writer_size(d->writer);
    return kernels_file_writer_restart(d->writer, error);
}

static kernels_status sink_write(void *payload, const char *data, size_t size, kernels_error *error) {
    download *d = payload;
    KERNELS_TRY(kernels_file_writer_write(d->writer, data, size, error));
    d->owner->done_bytes += size;
    report(d->owner, d, false);
    return KERNELS_OK;
}

static kernels_hash_algorithm algorithm_of(const download *d) {
    return strlen(d->id) == 64 ? KERNELS_HASH_SHA256 : KERNELS_HASH_GIT_BLOB;
}

static kernels_status open_writer(download *d, kernels_error *error) {
    char random[9];
    KERNELS_TRY(kernels_random_hex(random, 8, error));
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer name = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&name, "%s.%s.incomplete", d->blob, random);
    KERNELS_TRY(kernels_buffer_status(&name, error));
    kernels_hash_algorithm algorithm = algorithm_of(d);
    const kernels_file_writer_options options = {.algorithms = &algorithm,
                                                 .algorithm_count = 1,
                                                 .git_blob_size = d->size,
                                                 .temporary_path = kernels_buffer_text(&name)};
    return kernels_file_writer_open(d->blob, &options, &d->writer, error);
}

/* Does the failure say that this file system has no symbolic links? */
static bool lacks_links(const kernels_error *error) {
    return error->system_errno == EPERM || error->system_errno == EOPNOTSUPP || error->system_errno == ENOSYS ||
           error->system_errno == EINVAL;
}

static kernels_status place_file(const download *d, bool is_new, kernels_error *error) {
    return is_new ? kernels_rename(d->blob, d->pointer, error) : kernels_file_copy(d->blob, d->pointer, 0, error);
}

/* Makes the snapshot's entry for a blob that is there. */
static kernels_status make_pointer(const download *d, bool is_new, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(d->pointer);
    KERNELS_CLEANUP_FREE char *target = kernels_cache_pointer_target(d->path, d->id);
    if (!parent || !target) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(parent, error));
    if (d->owner->hub->config.no_symlinks) {
        return place_file(d, is_new, error);
    }
    kernels_error failure = KERNELS_ERROR_INIT;
    kernels_status status = kernels_make_link(target, d->pointer, &failure);
    if (status != KERNELS_OK && lacks_links(&failure)) {
        kernels_error_dispose(&failure);
        return place_file(d, is_new, error);
    }
    kernels_error_move(error, &failure);
    return status;
}

static void release(download *d) {
    kernels_file_writer_abort(d->writer);
    d->writer = NULL;
    kernels_file_lock_release(d->lock);
    d->lock = NULL;
}

static kernels_status check_content(download *d, kernels_error *error) {
    kernels_digest digest;
    KERNELS_TRY(kernels_file_writer_digest(d->writer, algorithm_of(d), &digest, error));
    if (kernels_digest_equal_hex(&digest, kernels_view_of(d->id))) {
        return KERNELS_OK;
    }
    char hex[KERNELS_DIGEST_HEX_SIZE];
    kernels_digest_hex(&digest, hex);
    kernels_status status = kernels_fail(error, KERNELS_INTEGRITY,
                                         "the content of %s does not match its id: expected %s, received %s; nothing "
                                         "was stored, try again or report it to the publisher",
                                         d->path, d->id, hex);
    kernels_error_set_subject(error, d->path);
    return status;
}

static kernels_status store(download *d, kernels_error *error) {
    KERNELS_TRY(check_content(d, error));
    kernels_file_writer *writer = d->writer;
    d->writer = NULL;
    KERNELS_TRY(kernels_file_writer_commit(writer, error));
    return make_pointer(d, true, error);
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
static bool take_lock(fetch *f, download *d) {
    uint64_t now = kernels_clock_nanoseconds();
    if (f->waiting_since && now - f->waiting_since > LOCK_WAIT_NS) {
        return true;
    }
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer path = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT);
    kernels_buffer_printf(&path, "%s/%s.lock", f->locks, d->id);
    kernels_status status = path.failure == KERNELS_OK
                                ? kernels_file_lock_take(kernels_buffer_text(&path), 0, &d->lock, NULL)
                                : path.failure;
    return status != KERNELS_TIMEOUT; /* a lock that cannot be made is not needed */
}

/* Begins one download. *begun stays false when nothing had to be sent; KERNELS_TIMEOUT: locked by another. */
static kernels_status begin(fetch *f, download *d, bool *begun, kernels_error *error) {
    if (!take_lock(f, d)) {
        return KERNELS_TIMEOUT;
    }
    if (same_size(d->blob, d->has_size, d->size)) {
        kernels_status status = make_pointer(d, false, error);
        f->done_bytes += d->size;
        release(d);
        report(f, d, true);
        return status;
    }
    kernels_status status = open_writer(d, error);
    if (status != KERNELS_OK) {
        release(d);
        return status;
    }
    *begun = true;
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
            *what = KERNELS_HTTP_NEXT_REQUEST;
            *request = &f->downloads[index].request;
            return KERNELS_OK;
        }
    }
    if (f->queue_count > 0 && f->waiting_since == 0) {
        f->waiting_since = kernels_clock_nanoseconds();
    }
    *what = f->queue_count > 0 ? KERNELS_HTTP_NEXT_LATER : KERNELS_HTTP_NEXT_END;
    return KERNELS_OK;
}

static kernels_status download_done(void *payload, const kernels_http_request *request, kernels_http_response *response,
                                    kernels_status status, kernels_error *error) {
    fetch *f = payload;
    download *d = request->sink->payload;
    (void)response;
    if (status == KERNELS_OK) {
        status = store(d, error);
    }
    release(d);
    if (status == KERNELS_OK) {
        report(f, d, true);
        return KERNELS_OK;
    }
    return status == KERNELS_INTERRUPTED
               ? status
               : kernels_wrap(error, status, "cannot download %s of '%s'", d->path, f->repo_id);
}

/* ---- the whole ---- */

static void fetch_dispose(fetch *f) {
    for (size_t i = 0; i < f->count; i++) {
        release(&f->downloads[i]);
        kernels_free(f->downloads[i].pointer);
        kernels_free(f->downloads[i].blob);
        kernels_free(f->downloads[i].url);
    }
    kernels_free(f->downloads);
    kernels_free(f->queue);
    kernels_free(f->repository);
    kernels_free(f->snapshot);
    kernels_free(f->locks);
}

static kernels_status make_paths(fetch *f, kernels_error *error) {
    const char *cache = f->hub->config.cache;
    KERNELS_CLEANUP_FREE char *folder = kernels_cache_folder_name(f->type, f->repo_id);
    f->repository = kernels_cache_repository(cache, f->type, f->repo_id);
    f->snapshot = f->repository ? kernels_cache_snapshot_path(f->repository, f->commit) : NULL;
    f->locks = folder ? kernels_path_join3(cache, ".locks", folder) : NULL;
    return f->snapshot && f->locks ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status make_folders(fetch *f, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *blobs = kernels_path_join(f->repository, "blobs");
    if (!blobs) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(blobs, error));
    kernels_cache_tag(f->hub->config.cache);
    (void)kernels_make_directories(f->locks, NULL); /* without it there are no locks, which is allowed */
    return KERNELS_OK;
}

static kernels_status fail_offline(const fetch *f, kernels_error *error) {
    return kernels_fail(error, KERNELS_NOT_CACHED,
                        "%zu files of '%s' are not in the local cache, the first is %s, and offline mode is on "
                        "(HF_HUB_OFFLINE)",
                        f->count, f->repo_id, f->downloads[0].path);
}

static kernels_status download_missing(fetch *f, kernels_error *error) {
    if (f->hub->config.offline) {
        return fail_offline(f, error);
    }
    f->queue = kernels_calloc(f->count, sizeof(*f->queue));
    if (!f->queue) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < f->count; i++) {
        KERNELS_TRY(prepare_download(f, &f->downloads[i], error));
        push(f, i);
    }
    KERNELS_TRY(make_folders(f, error));
    const kernels_http_source source = {next_download, download_done, f};
    return kernels_http_run(f->hub->http, &source, error);
}

/* Best effort: a read-only cache that holds the files is as good as any. */
static void record_ref(const fetch *f, const char *ref) {
    kernels_error error = KERNELS_ERROR_INIT;
    if (ref && kernels_file_is_directory(f->snapshot) &&
        kernels_cache_write_ref(f->repository, ref, f->commit, &error) != KERNELS_OK) {
        kernels_hub_log(f->hub, KERNELS_LOG_DEBUG, "refs/%s not recorded: %s", ref, kernels_error_message(&error));
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

kernels_status kernels_hub_fetch(kernels_hub *hub, kernels_repository_type type, const char *repo_id,
                                 const char *commit, const kernels_tree_entry *const *files, size_t count,
                                 const char *ref, char **snapshot, kernels_error *error) {
    KERNELS_TRY(kernels_hub_check_names(repo_id, ref, error));
    if (!kernels_object_name_is_valid(kernels_view_of(commit))) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "expected a commit of 40 or 64 lower-case hex digits to download, found '%s'", commit);
    }
    KERNELS_TRY(check_files(files, count, error));
    fetch f = {.hub = hub, .type = type, .repo_id = repo_id, .commit = commit};
    kernels_status status = run_fetch(&f, files, count, ref, error);
    if (status == KERNELS_OK && snapshot) {
        *snapshot = f.snapshot;
        f.snapshot = NULL;
    }
    fetch_dispose(&f);
    return status;
}
