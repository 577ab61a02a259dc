/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/download.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/path.h"
#include "base/view.h"
#include "hub/cache.h"
#include "hub/headers.h"
#include "hub/repo_url.h"

#define PROGRESS_INTERVAL_NS ((uint64_t)50 * 1000000u)
#define SECOND_NS ((uint64_t)1000000000u)
/* A segment is divided only into halves of at least this size, */
#define SEGMENT_SIZE_MINIMUM ((uint64_t)8 * 1024 * 1024)
/* when the download has run for so long that its speed is known, */
#define SPLIT_AFTER_NS (SECOND_NS / 2)
/* and when the segment would otherwise take at least so long. */
#define SPLIT_SECONDS 2u
/* Read back and hashed at once: the loop over all connections must not stand still for long. */
#define TAKE_IN_STEP ((uint64_t)4 * 1024 * 1024)

bool kernels_download_has(const char *path, bool has_size, uint64_t size) {
    uint64_t found;
    return kernels_file_is_regular(path) && kernels_file_size(path, &found, NULL) == KERNELS_OK &&
           (!has_size || found == size);
}

/* ---- what a download needs to know ---- */

static kernels_status read_metadata(kernels_download *d, const kernels_http_response *response, kernels_error *error) {
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
static kernels_status ask_metadata(kernels_download *d, kernels_error *error) {
    kernels_hub *hub = d->shared->hub;
    kernels_http_request request = {.method = KERNELS_HTTP_HEAD,
                                    .url = d->url,
                                    .repeatable = true,
                                    .is_file = true,
                                    .keep_foreign_redirect = true,
                                    .idle_seconds = hub->config.metadata_timeout};
    kernels_http_response response;
    kernels_status status = kernels_http_send(hub->http, &request, &response, error);
    if (status == KERNELS_OK) {
        status = read_metadata(d, &response, error);
    }
    kernels_http_response_dispose(&response);
    return status;
}

static kernels_status sink_restart(void *payload, kernels_error *error);
static kernels_status sink_write(void *payload, const char *data, size_t size, kernels_error *error);

static void set_up_segment(kernels_download *d, kernels_segment *segment) {
    segment->download = d;
    segment->sink = (kernels_http_sink){sink_restart, sink_write, segment};
    segment->request = (kernels_http_request){.method = KERNELS_HTTP_GET,
                                              .url = d->url,
                                              .sink = &segment->sink,
                                              .repeatable = true,
                                              .is_file = true,
                                              .idle_seconds = d->shared->hub->config.download_timeout,
                                              .has_size = d->has_size,
                                              .size = d->size};
}

kernels_status kernels_download_prepare(kernels_download *d, kernels_error *error) {
    kernels_downloads *shared = d->shared;
    d->url =
        kernels_repo_file_url(shared->hub->config.endpoint, shared->type, shared->repo_id, shared->commit, d->path);
    if (!d->url) {
        return kernels_fail_no_memory(error);
    }
    if (!d->id[0]) {
        KERNELS_TRY(ask_metadata(d, error));
    }
    if (strlen(d->id) == 40 && !d->has_size) {
        return kernels_fail(error, KERNELS_HTTP, "the server tells no size for %s, which is needed to check it",
                            d->path);
    }
    d->blob = kernels_path_join3(shared->repository, "blobs", d->id);
    shared->total_bytes += d->size;
    return d->blob ? KERNELS_OK : kernels_fail_no_memory(error);
}

/* ---- writing ---- */

static uint64_t written(const kernels_download *d) {
    uint64_t sum = 0;
    for (size_t i = 0; i < d->segment_count; i++) {
        sum += d->segments[i].written;
    }
    return sum;
}

void kernels_download_report(const kernels_download *d, bool always) {
    kernels_downloads *shared = d->shared;
    uint64_t now = kernels_clock_nanoseconds();
    bool will_be_done = !always && d->has_size && written(d) == d->size; /* told once, when it is in its place */
    if (!shared->hub->progress || will_be_done || (!always && now - shared->last_report < PROGRESS_INTERVAL_NS)) {
        return;
    }
    shared->last_report = now;
    uint64_t done = d->writer ? written(d) : d->size;
    shared->hub->progress(shared->hub->payload, d->path, done, d->size);
    shared->hub->progress(shared->hub->payload, NULL, shared->done_bytes, shared->total_bytes);
}

static kernels_status sink_restart(void *payload, kernels_error *error) {
    kernels_segment *segment = payload;
    kernels_download *d = segment->download;
    d->shared->done_bytes -= segment->written;
    segment->written = 0;
    /* Beside other segments nothing may be cut off: what comes again is written over what is there. */
    return d->segment_count == 1 ? kernels_file_writer_restart(d->writer, error) : KERNELS_OK;
}

/* How far the file is filled without a gap. */
static uint64_t filled(const kernels_download *d) {
    uint64_t end = kernels_file_writer_size(d->writer);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < d->segment_count; i++) {
            const kernels_segment *segment = &d->segments[i];
            uint64_t segment_end = segment->request.offset + segment->written;
            if (segment->request.offset <= end && segment_end > end) {
                end = segment_end;
                moved = true;
            }
        }
    }
    return end;
}

static kernels_status sink_write(void *payload, const char *data, size_t size, kernels_error *error) {
    kernels_segment *segment = payload;
    kernels_download *d = segment->download;
    KERNELS_TRY(kernels_file_writer_write_at(d->writer, segment->request.offset + segment->written, data, size, error));
    segment->written += size;
    d->shared->done_bytes += size;
    if (d->segment_count > 1) {
        uint64_t end = filled(d);
        uint64_t most = kernels_file_writer_size(d->writer) + TAKE_IN_STEP;
        KERNELS_TRY(kernels_file_writer_take_in(d->writer, end < most ? end : most, error));
    }
    kernels_download_report(d, false);
    return KERNELS_OK;
}

static kernels_hash_algorithm algorithm_of(const kernels_download *d) {
    return strlen(d->id) == 64 ? KERNELS_HASH_SHA256 : KERNELS_HASH_GIT_BLOB;
}

kernels_status kernels_download_open(kernels_download *d, kernels_error *error) {
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
    KERNELS_TRY(kernels_file_writer_open(d->blob, &options, &d->writer, error));
    d->segments = kernels_calloc(KERNELS_DOWNLOAD_SEGMENTS, sizeof(*d->segments));
    if (!d->segments) {
        return kernels_fail_no_memory(error);
    }
    set_up_segment(d, &d->segments[0]);
    d->segments[0].in_flight = true;
    d->segment_count = 1;
    d->begun = kernels_clock_nanoseconds();
    d->waited_before = kernels_http_waited(d->shared->hub->http);
    return KERNELS_OK;
}

/* Does the failure say that this file system has no symbolic links? */
static bool lacks_links(const kernels_error *error) {
    return error->system_errno == EPERM || error->system_errno == EOPNOTSUPP || error->system_errno == ENOSYS ||
           error->system_errno == EINVAL;
}

static kernels_status place_file(const kernels_download *d, bool is_new, kernels_error *error) {
    return is_new ? kernels_rename(d->blob, d->pointer, error) : kernels_file_copy(d->blob, d->pointer, 0, error);
}

/* Makes the snapshot's entry for a blob that is there. */
static kernels_status make_pointer(const kernels_download *d, bool is_new, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *parent = kernels_path_parent(d->pointer);
    KERNELS_CLEANUP_FREE char *target = kernels_cache_pointer_target(d->path, d->id);
    if (!parent || !target) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(parent, error));
    if (d->shared->hub->config.no_symlinks) {
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

kernels_status kernels_download_link(const kernels_download *d, kernels_error *error) {
    return make_pointer(d, false, error);
}

static size_t flying(const kernels_download *d) {
    size_t count = 0;
    for (size_t i = 0; i < d->segment_count; i++) {
        count += d->segments[i].in_flight;
    }
    return count;
}

static void free_segments(kernels_download *d) {
    kernels_free(d->segments);
    d->segments = NULL;
    d->segment_count = 0;
}

void kernels_download_release(kernels_download *d) {
    kernels_file_writer_abort(d->writer);
    d->writer = NULL;
    kernels_file_lock_release(d->lock);
    d->lock = NULL;
    if (flying(d) == 0) {
        free_segments(d);
    }
}

static kernels_status check_content(kernels_download *d, kernels_error *error) {
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

static kernels_status store(kernels_download *d, kernels_error *error) {
    KERNELS_TRY(kernels_file_writer_take_in(d->writer, filled(d), error));
    KERNELS_TRY(check_content(d, error));
    kernels_file_writer *writer = d->writer;
    d->writer = NULL;
    KERNELS_TRY(kernels_file_writer_commit(writer, error));
    d->shared->hub->fetched_files++;
    d->shared->hub->fetched_bytes += d->size;
    return make_pointer(d, true, error);
}

/* ---- several connections ---- */

static uint64_t left_of(const kernels_segment *segment) { return segment->request.size - segment->written; }

/* The one that has most to do still; NULL unless every connection works: a server that ignores ranges, or that is slow
 * to begin, is not asked for still more. */
static kernels_segment *longest(kernels_download *d) {
    kernels_segment *found = NULL;
    for (size_t i = 0; i < d->segment_count; i++) {
        kernels_segment *segment = &d->segments[i];
        if (segment->in_flight && segment->written == 0) {
            return NULL;
        }
        if (segment->in_flight && (!found || left_of(segment) > left_of(found))) {
            found = segment;
        }
    }
    return found;
}

bool kernels_download_may_split(const kernels_download *d) {
    return d->writer && d->has_size && d->size >= 2 * SEGMENT_SIZE_MINIMUM &&
           d->segment_count < KERNELS_DOWNLOAD_SEGMENTS;
}

kernels_segment *kernels_download_split(kernels_download *d) {
    uint64_t elapsed = kernels_clock_nanoseconds() - d->begun;
    if (!kernels_download_may_split(d) || elapsed < SPLIT_AFTER_NS) {
        return NULL;
    }
    uint64_t waited = kernels_http_waited(d->shared->hub->http) - d->waited_before;
    if (waited < elapsed / 2) {
        return NULL; /* the network is faster than we and our disk are */
    }
    kernels_segment *old = longest(d);
    uint64_t speed = (uint64_t)((double)written(d) * (double)SECOND_NS / (double)elapsed / (double)flying(d));
    if (!old || left_of(old) < 2 * SEGMENT_SIZE_MINIMUM || left_of(old) / SPLIT_SECONDS < speed) {
        return NULL;
    }
    kernels_segment *new = &d->segments[d->segment_count];
    d->segment_count++;
    set_up_segment(d, new);
    uint64_t end = old->request.offset + old->request.size;
    uint64_t kept = old->written + left_of(old) / 2;
    new->request.is_part = true;
    new->request.offset = old->request.offset + kept;
    new->request.size = end - new->request.offset;
    new->in_flight = true;
    old->request.size = kept;
    old->request.is_cut = true;
    return new;
}

kernels_status kernels_download_segment_done(kernels_segment *segment, bool *finished, kernels_error *error) {
    kernels_download *d = segment->download;
    *finished = flying(d) == 0;
    return *finished ? store(d, error) : KERNELS_OK;
}

void kernels_download_dispose(kernels_download *d) {
    kernels_download_release(d);
    free_segments(d);
    kernels_free(d->pointer);
    kernels_free(d->blob);
    kernels_free(d->url);
}
