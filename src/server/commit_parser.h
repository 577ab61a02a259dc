/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a commit: one JSON object a line, as it comes from the network, in any pieces. File contents (base64
 * in the member "content") are handed on while they arrive and never kept; the rest of a line is at most
 * KERNELS_COMMIT_LINE_LIMIT bytes. Pure: what the lines do is up to the sink.
 */
#ifndef KERNELS_SRC_SERVER_COMMIT_PARSER_H
#define KERNELS_SRC_SERVER_COMMIT_PARSER_H

#include "kernels/base.h"

#define KERNELS_COMMIT_LINE_LIMIT ((size_t)1024 * 1024)

typedef enum kernels_commit_line_type {
    KERNELS_LINE_HEADER,
    KERNELS_LINE_FILE,
    KERNELS_LINE_LFS_FILE,
    KERNELS_LINE_DELETED_FILE,
    KERNELS_LINE_DELETED_FOLDER,
} kernels_commit_line_type;

/* One line; the views are valid during the call. Paths are not checked here. */
typedef struct kernels_commit_line {
    kernels_commit_line_type type;
    kernels_view path;                         /* all but HEADER */
    kernels_view summary, description, parent; /* HEADER; parent data NULL when absent */
    kernels_view sha256;                       /* LFS_FILE */
    uint64_t size;                             /* LFS_FILE */
} kernels_commit_line;

typedef struct kernels_commit_sink {
    /* Decoded bytes of the content of the line that is being read; its path may not be known yet. */
    kernels_status (*content)(void *payload, const void *data, size_t size, kernels_error *error);
    /* A complete line. For FILE all of its content was delivered before. */
    kernels_status (*line)(void *payload, const kernels_commit_line *line, kernels_error *error);
    void *payload;
} kernels_commit_sink;

typedef struct kernels_commit_parser kernels_commit_parser;
kernels_status kernels_commit_parser_new(const kernels_commit_sink *sink, kernels_commit_parser **parser,
                                         kernels_error *error);
/* After a failure the parser must only be freed. Malformed input is KERNELS_BAD_REQUEST and names the line. */
kernels_status kernels_commit_parser_feed(kernels_commit_parser *parser, const void *data, size_t size,
                                          kernels_error *error);
/* End of the body: a last line without a newline is taken; a body without a header line is refused. */
kernels_status kernels_commit_parser_finish(kernels_commit_parser *parser, kernels_error *error);
void kernels_commit_parser_free(kernels_commit_parser *parser);

#endif
