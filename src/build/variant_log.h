/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one variant's build: kept in memory, written to a file at the end, its tail shown on failure. */
#ifndef KERNELS_SRC_BUILD_VARIANT_LOG_H
#define KERNELS_SRC_BUILD_VARIANT_LOG_H

#include "base/buffer.h"

#define KERNELS_LOG_TAIL_LINES 30

typedef struct kernels_variant_log {
    const char *variant;
    kernels_buffer text;
    void (*stream)(void *payload, const char *line); /* also gets every line, "<variant>> " before it; may be NULL */
    void *payload;
} kernels_variant_log;

void kernels_variant_log_init(kernels_variant_log *log, const char *variant);
/* A function for the callbacks of the build's steps: the payload is the log. */
void kernels_variant_log_add(void *payload, const char *line);
/* The last lines. */
kernels_view kernels_variant_log_tail(const kernels_variant_log *log);
void kernels_variant_log_dispose(kernels_variant_log *log);

#endif
