/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashing a variant folder. Files are independent, so several threads take one after the other from a common list;
 * the caller's thread is one of them. Each holds one chunk of a file and nothing else.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "data/metadata.h"
#include "data/text.h"

/* More gain nothing: memory and disk are the limit then. */
#define HASHING_THREADS_MAX 8

/* ---- which files count ---- */

bool kernels_is_bytecode(kernels_view path) {
    kernels_view component = {NULL, 0};
    while (kernels_view_split(&path, '/', &component)) {
        if (kernels_view_equal_text(component, "__pycache__")) {
            return true;
        }
    }
    /* A file that is called just ".pyc" has no extension. */
    return component.size > 4 && kernels_view_ends_with(component, KERNELS_VIEW(".pyc"));
}

/* path: relative to the variant. */
static bool is_excluded(kernels_view path) {
    return kernels_view_equal_text(path, "metadata.json") || kernels_view_equal_text(path, "metadata.json.sigstore") ||
           kernels_is_bytecode(path);
}

/* ---- keys ---- */

/* Bytes of the UTF-8 character at the start of text, 0 when there is none. */
static size_t character_size(kernels_view text) {
    for (size_t size = 1; size <= 4 && size <= text.size; size++) {
        if (kernels_view_is_utf8(kernels_view_slice(text, 0, size))) {
            return size;
        }
    }
    return 0;
}

/* How many bytes at the start of text stand for one U+FFFD: the longest part that could still have
 * become a character, at least one byte. */
static size_t broken_size(kernels_view text) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    unsigned char first = (unsigned char)text.data[0];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (first < rows[i].first_low || first > rows[i].first_high) {
            continue;
        }
        size_t size = 1;
        while (size < rows[i].length && size < text.size) {
            unsigned char byte = (unsigned char)text.data[size];
            unsigned char low = size == 1 ? rows[i].second_low : 0x80;
            unsigned char high = size == 1 ? rows[i].second_high : 0xbf;
            if (byte < low || byte > high) {
                break;
            }
            size++;
        }
        return size;
    }
    return 1;
}

/* The path as a key: "/" for "\", U+FFFD for what is no UTF-8. */
static void add_key(kernels_buffer *out, kernels_view path) {
    if (kernels_view_is_utf8(path) && !kernels_view_contains(path, KERNELS_VIEW("\\"))) {
        kernels_buffer_add_view(out, path);
        return;
    }
    while (path.size > 0) {
        size_t size = character_size(path);
        if (size == 0) {
            kernels_buffer_add_text(out, "\xef\xbf\xbd");
            size = broken_size(path);
        } else if (path.data[0] == '\\') {
            kernels_buffer_add_char(out, '/');
        } else {
            kernels_buffer_add(out, path.data, size);
        }
        path = kernels_view_slice(path, size, path.size);
    }
}

/* ---- hashing ---- */

typedef struct hashed_file {
    const char *path; /* the listing's */
    kernels_digest digest;
} hashed_file;

typedef struct hashing {
    const char *directory;
    kernels_hash_algorithm algorithm;
    hashed_file *files;
    size_t count;
    atomic_size_t next; /* the file to be taken next */
    atomic_bool has_failed;
    pthread_mutex_t mutex; /* around the two below */
    size_t failed_file;    /* the first one in the list that failed: what is reported depends on no race */
    kernels_error error;
} hashing;

static kernels_status hash_file(const hashing *work, kernels_file_hasher *hasher, hashed_file *file,
                                kernels_error *error) {
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(work->directory, file->path);
    return full ? kernels_file_hasher_run(hasher, full, &file->digest, NULL, error) : kernels_fail_no_memory(error);
}

static void record_failure(hashing *work, size_t index, kernels_error *error) {
    pthread_mutex_lock(&work->mutex);
    if (!atomic_load(&work->has_failed) || index < work->failed_file) {
        kernels_error_move(&work->error, error);
        work->failed_file = index;
        atomic_store(&work->has_failed, true);
    }
    pthread_mutex_unlock(&work->mutex);
    kernels_error_dispose(error);
}

/* Each thread's main function. A file that was taken is finished even after a failure elsewhere. */
static void *hash_files(void *payload) {
    hashing *work = payload;
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_file_hasher *hasher = NULL;
    if (kernels_file_hasher_new(work->algorithm, &hasher, &error) != KERNELS_OK) {
        record_failure(work, work->count, &error);
    }
    while (hasher && !atomic_load(&work->has_failed)) {
        size_t index = atomic_fetch_add(&work->next, 1);
        if (index >= work->count) {
            break;
        }
        if (hash_file(work, hasher, &work->files[index], &error) != KERNELS_OK) {
            record_failure(work, index, &error);
        }
    }
    kernels_file_hasher_free(hasher);
    return NULL;
}

/* How many threads help the caller's own. */
static size_t helper_count(size_t files) {
    size_t threads = kernels_core_count();
    threads = threads > HASHING_THREADS_MAX ? HASHING_THREADS_MAX : threads;
    threads = threads > files ? files : threads;
    return threads ? threads - 1 : 0;
}

/* Signals belong to the program's own threads: helpers have all of them blocked. A helper that cannot be started is
 * done without. */
static void hash_in_threads(hashing *work) {
    pthread_t helpers[HASHING_THREADS_MAX];
    size_t wanted = helper_count(work->count), started = 0;
    sigset_t all, before;
    sigfillset(&all);
    bool is_masked = wanted && pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    while (is_masked && started < wanted && pthread_create(&helpers[started], NULL, hash_files, work) == 0) {
        started++;
    }
    if (is_masked) {
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    hash_files(work);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(helpers[i], NULL);
    }
}

/* Fills the digests of all files. */
static kernels_status hash_all(const char *directory, kernels_digest_algorithm algorithm, hashed_file *files,
                               size_t count, kernels_error *error) {
    hashing work = {.directory = directory,
                    .algorithm = algorithm == KERNELS_DIGEST_SHA512 ? KERNELS_HASH_SHA512 : KERNELS_HASH_SHA256,
                    .files = files,
                    .count = count};
    if (pthread_mutex_init(&work.mutex, NULL) != 0) {
        return kernels_fail_no_memory(error);
    }
    hash_in_threads(&work);
    pthread_mutex_destroy(&work.mutex);
    if (!atomic_load(&work.has_failed)) {
        return KERNELS_OK;
    }
    kernels_status status = work.error.status;
    kernels_error_move(error, &work.error);
    kernels_error_dispose(&work.error);
    return status;
}

/* ---- from digests to the result ---- */

typedef struct result {
    kernels_arena *arena;
    kernels_file_digest *files;
    size_t count;
} result;

/* Empties the buffer into the arena. */
static kernels_status take_text(result *made, kernels_buffer *buffer, const char **text, kernels_error *error) {
    KERNELS_TRY(kernels_buffer_status(buffer, error));
    *text = kernels_arena_copy_text(made->arena, kernels_buffer_view(buffer));
    kernels_buffer_reset(buffer);
    return *text ? KERNELS_OK : kernels_fail_no_memory(error);
}

static kernels_status take_files(const hashed_file *files, size_t count, result *made, kernels_error *error) {
    kernels_buffer scratch = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    made->files = count ? kernels_arena_array(made->arena, count, sizeof(made->files[0])) : NULL;
    kernels_status status = count && !made->files ? kernels_fail_no_memory(error) : KERNELS_OK;
    for (size_t i = 0; status == KERNELS_OK && i < count; i++) {
        add_key(&scratch, kernels_view_of(files[i].path));
        status = take_text(made, &scratch, &made->files[i].path, error);
        if (status == KERNELS_OK) {
            kernels_encode_base64(&scratch, files[i].digest.bytes, files[i].digest.size);
            status = take_text(made, &scratch, &made->files[i].hash, error);
        }
    }
    made->count = count;
    kernels_buffer_dispose(&scratch);
    return status;
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const kernels_file_digest *)a)->path, ((const kernels_file_digest *)b)->path);
}

/* The listing is sorted, but keys may differ from names. */
static bool is_sorted(const result *made) {
    for (size_t i = 1; i < made->count; i++) {
        if (compare_files(&made->files[i - 1], &made->files[i]) >= 0) {
            return false;
        }
    }
    return true;
}

static kernels_status sort_files(const char *directory, result *made, kernels_error *error) {
    if (!is_sorted(made)) {
        qsort(made->files, made->count, sizeof(made->files[0]), compare_files);
    }
    for (size_t i = 1; i < made->count; i++) {
        if (strcmp(made->files[i - 1].path, made->files[i].path) == 0) {
            char quoted[KERNELS_QUOTE_SIZE];
            return kernels_fail(error, KERNELS_UNSAFE_NAME,
                                "cannot hash %s: two of its file names mean %s; rename one of them", directory,
                                kernels_quote(kernels_view_of(made->files[i].path), quoted));
        }
    }
    return KERNELS_OK;
}

/* ---- the whole ---- */

/* The files that count; heap array. */
static kernels_status select_files(const char *directory, const kernels_listing *listing, hashed_file **files,
                                   size_t *count, kernels_error *error) {
    *count = 0;
    *files = kernels_calloc(listing->count + 1, sizeof(**files));
    if (!*files) {
        return kernels_fail_no_memory(error);
    }
    for (size_t i = 0; i < listing->count; i++) {
        const kernels_entry *entry = &listing->entries[i];
        if (entry->type == KERNELS_ENTRY_FILE && !is_excluded(kernels_view_of(entry->path))) {
            (*files)[(*count)++].path = entry->path;
        }
    }
    return *count <= KERNELS_VARIANT_FILES_MAX
               ? KERNELS_OK
               : kernels_fail(error, KERNELS_LIMIT, "%s has more than %zu files", directory, KERNELS_VARIANT_FILES_MAX);
}

static kernels_status hash_listing(const char *directory, kernels_digest_algorithm algorithm,
                                   const kernels_listing *listing, result *made, kernels_error *error) {
    KERNELS_CLEANUP_FREE hashed_file *files = NULL;
    size_t count = 0;
    KERNELS_TRY(select_files(directory, listing, &files, &count, error));
    KERNELS_TRY(hash_all(directory, algorithm, files, count, error));
    KERNELS_TRY(take_files(files, count, made, error));
    return sort_files(directory, made, error);
}

kernels_status kernels_digest_hash_variant(kernels_digest_algorithm algorithm, const char *directory,
                                           kernels_variant_digest *digest, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_RECURSIVE | KERNELS_LIST_FOLLOW_LINKS, &listing, error));
    result made = {.arena = kernels_arena_new(0)};
    kernels_status status =
        made.arena ? hash_listing(directory, algorithm, &listing, &made, error) : kernels_fail_no_memory(error);
    kernels_listing_dispose(&listing);
    if (status != KERNELS_OK) {
        kernels_arena_free(made.arena);
        return status;
    }
    *digest = (kernels_variant_digest){algorithm, made.files, made.count, made.arena};
    return KERNELS_OK;
}
