/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"

#define PIECE_LIMIT ((size_t)100000)
#define TEXT_LIMIT KERNELS_BUFFER_DEFAULT_LIMIT
/* Bytes of a file that become base64 at a time: a multiple of 3, so that no padding falls inside. */
#define BASE64_BLOCK ((size_t)12 * 1024)

typedef enum piece_type { PIECE_TEXT, PIECE_FILE, PIECE_FILE_BASE64 } piece_type;

typedef struct piece {
    piece_type type;
    char *path;
    uint64_t offset; /* into the text, or into the file */
    uint64_t size;   /* of the text or of the file's part, before encoding */
} piece;

struct kernels_body {
    kernels_buffer text;
    piece *pieces;
    size_t count, capacity;
    bool no_memory;
    /* reading */
    size_t current;
    uint64_t done; /* source bytes of the current piece already taken */
    FILE *file;
    kernels_buffer encoded; /* base64 not handed out yet */
    size_t encoded_taken;
};

kernels_body *kernels_body_new(void) {
    kernels_body *body = kernels_calloc(1, sizeof(*body));
    if (body) {
        body->text = KERNELS_BUFFER_INIT(TEXT_LIMIT);
        body->encoded = KERNELS_BUFFER_INIT(2 * BASE64_BLOCK);
    }
    return body;
}

void kernels_body_free(kernels_body *body) {
    if (!body) {
        return;
    }
    kernels_body_rewind(body);
    for (size_t i = 0; i < body->count; i++) {
        kernels_free(body->pieces[i].path);
    }
    kernels_free(body->pieces);
    kernels_buffer_dispose(&body->text);
    kernels_buffer_dispose(&body->encoded);
    kernels_free(body);
}

static void add_piece(kernels_body *body, piece added) {
    if (!kernels_grow((void **)&body->pieces, &body->capacity, body->count, sizeof(piece), PIECE_LIMIT)) {
        body->no_memory = true;
        kernels_free(added.path);
        return;
    }
    body->pieces[body->count] = added;
    body->count++;
}

/* Gives what was added to the text buffer since `start` to the last piece if that is text, else to a new one. */
static void claim_text(kernels_body *body, size_t start) {
    uint64_t size = body->text.size - start;
    piece *last = body->count > 0 ? &body->pieces[body->count - 1] : NULL;
    if (last && last->type == PIECE_TEXT) {
        last->size += size;
    } else {
        add_piece(body, (piece){.type = PIECE_TEXT, .offset = start, .size = size});
    }
}

void kernels_body_add_text(kernels_body *body, kernels_view text) {
    size_t start = body->text.size;
    kernels_buffer_add_view(&body->text, text);
    claim_text(body, start);
}

void kernels_body_add_base64(kernels_body *body, kernels_view content) {
    size_t start = body->text.size;
    kernels_encode_base64(&body->text, content.data, content.size);
    claim_text(body, start);
}

static void add_file(kernels_body *body, piece_type type, const char *path, uint64_t offset, uint64_t size) {
    char *copy = kernels_strdup(path);
    if (!copy) {
        body->no_memory = true;
        return;
    }
    add_piece(body, (piece){.type = type, .path = copy, .offset = offset, .size = size});
}

void kernels_body_add_file(kernels_body *body, const char *path, uint64_t offset, uint64_t size) {
    add_file(body, PIECE_FILE, path, offset, size);
}

void kernels_body_add_file_base64(kernels_body *body, const char *path, uint64_t size) {
    add_file(body, PIECE_FILE_BASE64, path, 0, size);
}

kernels_status kernels_body_status(const kernels_body *body, kernels_error *error) {
    return body->no_memory ? kernels_fail_no_memory(error) : kernels_buffer_status(&body->text, error);
}

uint64_t kernels_body_size(const kernels_body *body) {
    uint64_t total = 0;
    for (size_t i = 0; i < body->count; i++) {
        const piece *p = &body->pieces[i];
        total += p->type == PIECE_FILE_BASE64 ? (p->size + 2) / 3 * 4 : p->size;
    }
    return total;
}

static void close_file(kernels_body *body) {
    if (body->file) {
        fclose(body->file);
        body->file = NULL;
    }
}

void kernels_body_rewind(kernels_body *body) {
    close_file(body);
    body->current = 0;
    body->done = 0;
    kernels_buffer_reset(&body->encoded);
    body->encoded_taken = 0;
}

/* Reads exactly size bytes of the current piece's file. */
static kernels_status read_file(kernels_body *body, const piece *p, char *out, size_t size, kernels_error *error) {
    if (!body->file) {
        body->file = fopen(p->path, "rb");
        if (!body->file || fseeko(body->file, (off_t)p->offset, SEEK_SET) != 0) {
            return kernels_fail_errno(error, errno, "cannot read %s for the upload", p->path);
        }
    }
    if (fread(out, 1, size, body->file) != size) {
        if (ferror(body->file)) {
            return kernels_fail_errno(error, errno, "cannot read %s for the upload", p->path);
        }
        return kernels_fail(error, KERNELS_IO, "%s became shorter while it was uploaded; try again", p->path);
    }
    body->done += size;
    return KERNELS_OK;
}

static size_t least(uint64_t a, size_t b) { return a < b ? (size_t)a : b; }

static kernels_status read_base64(kernels_body *body, const piece *p, char *out, size_t capacity, size_t *got,
                                  kernels_error *error) {
    if (body->encoded_taken == body->encoded.size) {
        char block[BASE64_BLOCK];
        size_t size = least(p->size - body->done, BASE64_BLOCK);
        KERNELS_TRY(read_file(body, p, block, size, error));
        kernels_buffer_reset(&body->encoded);
        body->encoded_taken = 0;
        kernels_encode_base64(&body->encoded, block, size);
        KERNELS_TRY(kernels_buffer_status(&body->encoded, error));
    }
    *got = least(body->encoded.size - body->encoded_taken, capacity);
    memcpy(out, body->encoded.data + body->encoded_taken, *got);
    body->encoded_taken += *got;
    return KERNELS_OK;
}

static kernels_status read_piece(kernels_body *body, const piece *p, char *out, size_t capacity, size_t *got,
                                 kernels_error *error) {
    if (p->type == PIECE_FILE_BASE64) {
        return read_base64(body, p, out, capacity, got, error);
    }
    *got = least(p->size - body->done, capacity);
    if (p->type == PIECE_FILE) {
        return read_file(body, p, out, *got, error);
    }
    memcpy(out, body->text.data + p->offset + body->done, *got);
    body->done += *got;
    return KERNELS_OK;
}

kernels_status kernels_body_read(kernels_body *body, char *out, size_t capacity, size_t *got, kernels_error *error) {
    while (body->current < body->count) {
        const piece *p = &body->pieces[body->current];
        if (body->done < p->size || body->encoded_taken < body->encoded.size) {
            return read_piece(body, p, out, capacity, got, error);
        }
        close_file(body);
        body->current++;
        body->done = 0;
    }
    *got = 0;
    return KERNELS_OK;
}
