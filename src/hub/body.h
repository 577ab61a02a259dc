/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a request, as a list of pieces that are read when they are sent: text, (part of) a file, a file in
 * base64. So a commit of any size needs a buffer of a few kilobytes, and the length is known before the first byte.
 */
#ifndef KERNELS_SRC_HUB_BODY_H
#define KERNELS_SRC_HUB_BODY_H

#include "base/buffer.h"

typedef struct kernels_body kernels_body;

kernels_body *kernels_body_new(void); /* NULL = no memory */
void kernels_body_free(kernels_body *body);

/* Failure to add is sticky; kernels_body_status tells. Text is copied, paths too. */
void kernels_body_add_text(kernels_body *body, kernels_view text);
void kernels_body_add_base64(kernels_body *body, kernels_view content);
void kernels_body_add_file(kernels_body *body, const char *path, uint64_t offset, uint64_t size);
void kernels_body_add_file_base64(kernels_body *body, const char *path, uint64_t size);
kernels_status kernels_body_status(const kernels_body *body, kernels_error *error);

uint64_t kernels_body_size(const kernels_body *body);
/* Next bytes, at most capacity (at least 64); *got 0 at the end. Fails when a file is shorter than announced. */
kernels_status kernels_body_read(kernels_body *body, char *out, size_t capacity, size_t *got, kernels_error *error);
void kernels_body_rewind(kernels_body *body);

#endif
