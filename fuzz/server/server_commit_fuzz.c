/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_commit_parser: fed as a whole and byte by byte, it must say the same. */
#include <assert.h>

#include "base/error.h"
#include "server/commit_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct summary {
    uint64_t hash;
    size_t lines;
} summary;

static void mix(summary *s, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        s->hash = (s->hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    }
}

static kernels_status take_content(void *payload, const void *data, size_t size, kernels_error *error) {
    (void)error;
    mix(payload, data, size);
    return KERNELS_OK;
}

static kernels_status take_line(void *payload, const kernels_commit_line *line, kernels_error *error) {
    summary *s = payload;
    (void)error;
    s->lines++;
    mix(s, line->path.data, line->path.size);
    mix(s, line->summary.data, line->summary.size);
    mix(s, line->sha256.data, line->sha256.size);
    return KERNELS_OK;
}

static kernels_status parse(const uint8_t *data, size_t size, size_t piece, summary *s) {
    const kernels_commit_sink sink = {take_content, take_line, s};
    kernels_commit_parser *parser = NULL;
    KERNELS_TRY(kernels_commit_parser_new(&sink, &parser, NULL));
    kernels_status status = KERNELS_OK;
    for (size_t at = 0; at < size && status == KERNELS_OK; at += piece) {
        status = kernels_commit_parser_feed(parser, data + at, size - at < piece ? size - at : piece, NULL);
    }
    if (status == KERNELS_OK) {
        status = kernels_commit_parser_finish(parser, NULL);
    }
    kernels_commit_parser_free(parser);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    summary whole = {0}, bytes = {0};
    kernels_status first = parse(data, size, size > 0 ? size : 1, &whole);
    kernels_status second = parse(data, size, 1, &bytes);
    assert(first == second && whole.lines == bytes.lines);
    assert(first != KERNELS_OK || whole.hash == bytes.hash);
    return 0;
}
