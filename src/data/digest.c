/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of variant folders: copying, comparing. How they are made: digest_hash.c. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "data/metadata.h"

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

static int compare_files(const void *a, const void *b) {
    return strcmp(((const kernels_file_digest *)a)->path, ((const kernels_file_digest *)b)->path);
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
