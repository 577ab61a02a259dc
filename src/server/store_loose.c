/* SPDX-License-Identifier: Apache-2.0 */
#include "server/store_loose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/view.h"

#define INPUT_BLOCK ((size_t)16 * 1024)
/* "commit 18446744073709551615" and its NUL */
#define HEADER_LIMIT ((size_t)32)

struct kernels_loose_reader {
    FILE *file;
    z_stream inflater;
    bool inflater_is_ready, has_ended;
    char header[HEADER_LIMIT]; /* what was inflated to find the end of the header */
    size_t header_size, header_used;
    unsigned char *input; /* INPUT_BLOCK bytes behind this struct, not zeroed */
};

static kernels_status damaged(kernels_error *error) { return kernels_fail(error, KERNELS_IO, "an object is damaged"); }

static kernels_status refill(kernels_loose_reader *reader, kernels_error *error) {
    size_t got = fread(reader->input, 1, INPUT_BLOCK, reader->file);
    if (got == 0) {
        return ferror(reader->file) ? kernels_fail(error, KERNELS_IO, "cannot read an object") : damaged(error);
    }
    reader->inflater.next_in = reader->input;
    reader->inflater.avail_in = (unsigned)got;
    return KERNELS_OK;
}

/* At least one byte, unless the object ends. */
static kernels_status inflate_some(kernels_loose_reader *reader, void *data, size_t size, size_t *got,
                                   kernels_error *error) {
    unsigned wanted = size > INT32_MAX ? INT32_MAX : (unsigned)size;
    reader->inflater.next_out = data;
    reader->inflater.avail_out = wanted;
    while (reader->inflater.avail_out == wanted && !reader->has_ended && wanted > 0) {
        if (reader->inflater.avail_in == 0) {
            KERNELS_TRY(refill(reader, error));
        }
        int code = inflate(&reader->inflater, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            return damaged(error);
        }
        reader->has_ended = code == Z_STREAM_END;
    }
    *got = wanted - reader->inflater.avail_out;
    return KERNELS_OK;
}

/* "blob 12\0"; what follows it in the same piece is kept for the first read. */
static kernels_status skip_header(kernels_loose_reader *reader, kernels_error *error) {
    while (memchr(reader->header, '\0', reader->header_size) == NULL) {
        size_t got = 0;
        KERNELS_TRY(inflate_some(reader, reader->header + reader->header_size, HEADER_LIMIT - reader->header_size, &got,
                                 error));
        if (got == 0) {
            return damaged(error);
        }
        reader->header_size += got;
    }
    reader->header_used = strlen(reader->header) + 1;
    return KERNELS_OK;
}

static kernels_status open_reader(kernels_loose_reader *reader, const char *path, kernels_error *error) {
    reader->file = fopen(path, "rb");
    if (reader->file == NULL) {
        return errno == ENOENT ? kernels_fail(error, KERNELS_NOT_FOUND, "%s is not there", path)
                               : kernels_fail_errno(error, errno, "cannot open %s", path);
    }
    setvbuf(reader->file, NULL, _IONBF, 0); /* our blocks are large enough */
    reader->inflater_is_ready = inflateInit(&reader->inflater) == Z_OK;
    return reader->inflater_is_ready ? skip_header(reader, error) : kernels_fail_no_memory(error);
}

kernels_status kernels_loose_reader_open(const char *directory, const char *oid, kernels_loose_reader **reader,
                                         kernels_error *error) {
    kernels_buffer path = KERNELS_BUFFER_INIT(8192);
    kernels_loose_reader *opened = kernels_malloc(sizeof *opened + INPUT_BLOCK);
    if (opened != NULL) {
        *opened = (kernels_loose_reader){.input = (unsigned char *)(opened + 1)};
    }
    kernels_buffer_printf(&path, "%s/%.2s/%s", directory, oid, oid + 2);
    kernels_status status = opened != NULL ? kernels_buffer_status(&path, error) : kernels_fail_no_memory(error);
    if (status == KERNELS_OK) {
        status = open_reader(opened, kernels_buffer_text(&path), error);
    }
    kernels_buffer_dispose(&path);
    if (status != KERNELS_OK) {
        kernels_loose_reader_close(opened);
        return status;
    }
    *reader = opened;
    return KERNELS_OK;
}

kernels_status kernels_loose_reader_read(kernels_loose_reader *reader, void *data, size_t size, size_t *got,
                                         kernels_error *error) {
    size_t kept = reader->header_size - reader->header_used;
    if (kept == 0) {
        return inflate_some(reader, data, size, got, error);
    }
    *got = kept < size ? kept : size;
    memcpy(data, reader->header + reader->header_used, *got);
    reader->header_used += *got;
    return KERNELS_OK;
}

void kernels_loose_reader_close(kernels_loose_reader *reader) {
    if (reader == NULL) {
        return;
    }
    if (reader->inflater_is_ready) {
        inflateEnd(&reader->inflater);
    }
    if (reader->file != NULL) {
        fclose(reader->file);
    }
    kernels_free(reader);
}
