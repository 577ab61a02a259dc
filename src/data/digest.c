/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing a variant folder and comparing digests. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "data/metadata.h"
#include "data/text.h"

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

typedef struct hasher {
    kernels_hash_algorithm algorithm;
    const char *directory;
    kernels_arena *arena;
    kernels_file_digest *files;
    size_t count;
    kernels_buffer scratch;
    kernels_error *error;
} hasher;

/* Empties the scratch buffer into the arena. */
static kernels_status take_scratch(hasher *state, const char **text) {
    KERNELS_TRY(kernels_buffer_status(&state->scratch, state->error));
    *text = kernels_arena_copy_text(state->arena, kernels_buffer_view(&state->scratch));
    kernels_buffer_reset(&state->scratch);
    return *text ? KERNELS_OK : kernels_fail_no_memory(state->error);
}

static kernels_status hash_file(hasher *state, const char *path) {
    kernels_digest digest;
    KERNELS_CLEANUP_FREE char *full = kernels_path_join(state->directory, path);
    if (!full) {
        return kernels_fail_no_memory(state->error);
    }
    KERNELS_TRY(kernels_file_hash(full, state->algorithm, &digest, NULL, state->error));
    kernels_file_digest *file = &state->files[state->count++];
    add_key(&state->scratch, kernels_view_of(path));
    KERNELS_TRY(take_scratch(state, &file->path));
    kernels_encode_base64(&state->scratch, digest.bytes, digest.size);
    return take_scratch(state, &file->hash);
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const kernels_file_digest *)a)->path, ((const kernels_file_digest *)b)->path);
}

static kernels_status sort_files(hasher *state) {
    if (state->count > 0) {
        qsort(state->files, state->count, sizeof(state->files[0]), compare_files);
    }
    for (size_t i = 1; i < state->count; i++) {
        if (strcmp(state->files[i - 1].path, state->files[i].path) == 0) {
            char quoted[KERNELS_QUOTE_SIZE];
            return kernels_fail(state->error, KERNELS_UNSAFE_NAME,
                                "cannot hash %s: two of its file names mean %s; rename one of them", state->directory,
                                kernels_quote(kernels_view_of(state->files[i].path), quoted));
        }
    }
    return KERNELS_OK;
}

static kernels_status hash_listing(hasher *state, const kernels_listing *listing) {
    if (listing->count > 0) {
        state->files = kernels_arena_array(state->arena, listing->count, sizeof(state->files[0]));
        if (!state->files) {
            return kernels_fail_no_memory(state->error);
        }
    }
    for (size_t i = 0; i < listing->count; i++) {
        const kernels_entry *entry = &listing->entries[i];
        if (entry->type != KERNELS_ENTRY_FILE || is_excluded(kernels_view_of(entry->path))) {
            continue;
        }
        if (state->count == KERNELS_VARIANT_FILES_MAX) {
            return kernels_fail(state->error, KERNELS_LIMIT, "%s has more than %zu files", state->directory,
                                KERNELS_VARIANT_FILES_MAX);
        }
        KERNELS_TRY(hash_file(state, entry->path));
    }
    return sort_files(state);
}

kernels_status kernels_digest_hash_variant(kernels_digest_algorithm algorithm, const char *directory,
                                           kernels_variant_digest *digest, kernels_error *error) {
    kernels_listing listing = {0};
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_RECURSIVE | KERNELS_LIST_FOLLOW_LINKS, &listing, error));
    hasher state = {.algorithm = algorithm == KERNELS_DIGEST_SHA512 ? KERNELS_HASH_SHA512 : KERNELS_HASH_SHA256,
                    .directory = directory,
                    .arena = kernels_arena_new(0),
                    .scratch = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT),
                    .error = error};
    kernels_status status = state.arena ? hash_listing(&state, &listing) : kernels_fail_no_memory(error);
    kernels_buffer_dispose(&state.scratch);
    kernels_listing_dispose(&listing);
    if (status != KERNELS_OK) {
        kernels_arena_free(state.arena);
        return status;
    }
    *digest = (kernels_variant_digest){algorithm, state.files, state.count, state.arena};
    return KERNELS_OK;
}

void kernels_variant_digest_dispose(kernels_variant_digest *digest) {
    if (digest) {
        kernels_arena_free(digest->owner);
        *digest = (kernels_variant_digest){0};
    }
}

kernels_status kernels_digest_copy(const kernels_variant_digest *from, kernels_arena *arena, kernels_variant_digest *to,
                                   kernels_error *error) {
    kernels_file_digest *files = NULL;
    if (from->count > 0) {
        files = kernels_arena_array(arena, from->count, sizeof(*files));
        if (!files) {
            return kernels_fail_no_memory(error);
        }
    }
    for (size_t i = 0; i < from->count; i++) {
        files[i].path = kernels_arena_copy_text(arena, kernels_view_of(from->files[i].path));
        files[i].hash = kernels_arena_copy_text(arena, kernels_view_of(from->files[i].hash));
        if (!files[i].path || !files[i].hash) {
            return kernels_fail_no_memory(error);
        }
    }
    *to = (kernels_variant_digest){from->algorithm, files, from->count, NULL};
    return KERNELS_OK;
}

/* ---- comparing ---- */

static const char *algorithm_name(kernels_digest_algorithm algorithm) {
    return algorithm == KERNELS_DIGEST_SHA512 ? "SHA512" : "SHA256";
}

static const kernels_file_digest *find_file(const kernels_variant_digest *digest, const char *path) {
    const kernels_file_digest key = {.path = path};
    return digest->count > 0 ? bsearch(&key, digest->files, digest->count, sizeof(digest->files[0]), compare_files)
                             : NULL;
}

/* The violations point into the digests that are compared. */
static size_t collect(const kernels_variant_digest *expected, const kernels_variant_digest *got,
                      kernels_violation *items) {
    size_t count = 0;
    if (expected->algorithm != got->algorithm) {
        items[count++] = (kernels_violation){KERNELS_VIOLATION_ALGORITHM_MISMATCH, NULL,
                                             algorithm_name(expected->algorithm), algorithm_name(got->algorithm)};
    }
    for (size_t i = 0; i < expected->count; i++) {
        const kernels_file_digest *wanted = &expected->files[i];
        const kernels_file_digest *found = find_file(got, wanted->path);
        if (!found) {
            items[count++] = (kernels_violation){KERNELS_VIOLATION_MISSING_FILE, wanted->path, NULL, NULL};
        } else if (strcmp(wanted->hash, found->hash) != 0) {
            items[count++] =
                (kernels_violation){KERNELS_VIOLATION_HASH_MISMATCH, wanted->path, wanted->hash, found->hash};
        }
    }
    for (size_t i = 0; i < got->count; i++) {
        if (!find_file(expected, got->files[i].path)) {
            items[count++] = (kernels_violation){KERNELS_VIOLATION_UNKNOWN_FILE, got->files[i].path, NULL, NULL};
        }
    }
    return count;
}

static void add_violation(kernels_buffer *out, const kernels_violation *violation) {
    switch (violation->type) {
    case KERNELS_VIOLATION_MISSING_FILE:
        kernels_buffer_printf(out, "Missing file: %s", violation->path);
        break;
    case KERNELS_VIOLATION_UNKNOWN_FILE:
        kernels_buffer_printf(out, "Unknown file: %s", violation->path);
        break;
    case KERNELS_VIOLATION_HASH_MISMATCH:
        kernels_buffer_printf(out, "File hash mismatch for %s: expected: %s, got: %s", violation->path,
                              violation->expected, violation->got);
        break;
    case KERNELS_VIOLATION_ALGORITHM_MISMATCH:
        kernels_buffer_printf(out, "Algorithm mismatch: expected: %s, got: %s", violation->expected, violation->got);
        break;
    }
}

static kernels_status fail_validation(const kernels_violation *items, size_t count, kernels_error *error) {
    kernels_buffer message = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_buffer_add_text(&message, "kernel does not match the expected digest:");
    for (size_t i = 0; i < count; i++) {
        kernels_buffer_add_char(&message, '\n');
        add_violation(&message, &items[i]);
    }
    kernels_status status = kernels_buffer_status(&message, error);
    if (status == KERNELS_OK) {
        status = kernels_fail(error, KERNELS_INTEGRITY, "%s", kernels_buffer_text(&message));
    }
    kernels_buffer_dispose(&message);
    return status;
}

static bool copy_text(kernels_arena *arena, const char **text) {
    *text = *text ? kernels_arena_copy_text(arena, kernels_view_of(*text)) : NULL;
    return *text != NULL;
}

/* Gives the caller copies that outlive the digests. */
static kernels_status copy_violations(const kernels_violation *items, size_t count, kernels_violations *copy,
                                      kernels_error *error) {
    kernels_arena *arena = kernels_arena_new(0);
    kernels_violation *copies = arena ? kernels_arena_array(arena, count, sizeof(*copies)) : NULL;
    bool failed = !copies;
    for (size_t i = 0; !failed && i < count; i++) {
        copies[i] = items[i];
        failed = (items[i].path && !copy_text(arena, &copies[i].path)) ||
                 (items[i].expected && !copy_text(arena, &copies[i].expected)) ||
                 (items[i].got && !copy_text(arena, &copies[i].got));
    }
    if (failed) {
        kernels_arena_free(arena);
        return kernels_fail_no_memory(error);
    }
    *copy = (kernels_violations){copies, count, arena};
    return KERNELS_OK;
}

kernels_status kernels_digest_validate(const kernels_variant_digest *expected, const kernels_variant_digest *got,
                                       kernels_violations *violations, kernels_error *error) {
    KERNELS_CLEANUP_FREE kernels_violation *items = kernels_calloc(expected->count + got->count + 1, sizeof(*items));
    if (!items) {
        return kernels_fail_no_memory(error);
    }
    size_t count = collect(expected, got, items);
    if (count == 0) {
        return KERNELS_OK;
    }
    if (violations) {
        KERNELS_TRY(copy_violations(items, count, violations, error));
    }
    kernels_status status = fail_validation(items, count, error);
    if (status != KERNELS_INTEGRITY && violations) {
        kernels_violations_dispose(violations);
    }
    return status;
}

void kernels_violations_dispose(kernels_violations *violations) {
    if (violations) {
        kernels_arena_free(violations->owner);
        *violations = (kernels_violations){0};
    }
}
