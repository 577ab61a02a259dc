/* SPDX-License-Identifier: Apache-2.0 */
/* Showing foreign text in messages, and text helpers of this room. */
#ifndef KERNELS_SRC_DATA_TEXT_H
#define KERNELS_SRC_DATA_TEXT_H

#include "base/buffer.h"

/* Room for a shortened text of at most KERNELS_QUOTE_MAX bytes, each of which may grow to "\xff". */
#define KERNELS_QUOTE_MAX 120
#define KERNELS_QUOTE_SIZE (4 * KERNELS_QUOTE_MAX + 8)

/* Writes text between back-ticks, control characters and broken UTF-8 as \xNN, long text cut with
 * "..."; returns `quoted`, which a message can print as one line. */
const char *kernels_quote(kernels_view text, char quoted[KERNELS_QUOTE_SIZE]);

/* What messages expect where a backend is wanted. */
#define KERNELS_BACKENDS_TEXT "one of cann, cpu, cuda, metal, neuron, rocm, tpu, xpu"

/* Hands the buffer's text to the caller, or reports its failure; disposes the buffer. */
kernels_status kernels_give_text(kernels_buffer *out, char **text, kernels_error *error);

/* Without Unicode white space at both ends. */
kernels_view kernels_trim_unicode(kernels_view text);

#endif
