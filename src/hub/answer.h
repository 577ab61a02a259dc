/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP answer of a Hub means: which failure, in the server's words. Pure. */
#ifndef KERNELS_SRC_HUB_ANSWER_H
#define KERNELS_SRC_HUB_ANSWER_H

#include "base/buffer.h"

/* KERNELS_OK below 400. */
kernels_status kernels_answer_status(unsigned http_status, kernels_view headers, const char *url);
/* What the server says about a failure, one thing a line, each said once; nothing for HTML. */
void kernels_answer_message(kernels_buffer *out, kernels_view headers, kernels_view body);
/* The id support asks for; data NULL when there is none. */
kernels_view kernels_answer_request_id(kernels_view headers);
/* Makes the error for a status >= 400: method, URL, status, server's message, request id, what to do. */
kernels_status kernels_answer_fail(kernels_error *error, const char *method, const char *url, unsigned http_status,
                                   kernels_view headers, kernels_view body);

#endif
