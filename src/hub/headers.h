/* SPDX-License-Identifier: Apache-2.0 */
/* Header fields of one answer, kept as the text "Name: value\n" a line, and the meaning of the few we use. Pure. */
#ifndef KERNELS_SRC_HUB_HEADERS_H
#define KERNELS_SRC_HUB_HEADERS_H

#include "base/buffer.h"

/* Bounds on what a server may send: the whole block, and one field. */
#define KERNELS_HEADERS_LIMIT ((size_t)64 * 1024)
#define KERNELS_HEADER_LIMIT ((size_t)16 * 1024)

/* First field of that name (ASCII case ignored), without the blanks around it; data NULL when absent. */
kernels_view kernels_headers_find(kernels_view headers, const char *name);
/* The same, from the first non-empty of several names, NULL-terminated. */
kernels_view kernels_headers_find_any(kernels_view headers, const char *const *names);
/* Target of the first `Link: <url>; rel="relation"`; data NULL when there is none. */
kernels_view kernels_headers_link(kernels_view headers, const char *relation);
/* An ETag without leading "W" and "/" and without the quotes around it. */
kernels_view kernels_etag_normalise(kernels_view etag);
/* Status of an answer's first line ("HTTP/1.1 200 OK"), 0 when it is none. */
unsigned kernels_status_line_code(kernels_view line);
/* Range start of "bytes 5-9/10"; false when malformed. */
bool kernels_content_range_start(kernels_view value, uint64_t *start);

#endif
