/* SPDX-License-Identifier: Apache-2.0 */
/* The card of a kernel: CARD.md is a template, what is filled in comes from build.toml and the Python files. */
#ifndef KERNELS_SRC_BUILD_CARD_H
#define KERNELS_SRC_BUILD_CARD_H

#include "base/buffer.h"
#include "kernels/data.h"

#define KERNELS_CARD_SIZE_LIMIT ((size_t)4 * 1024 * 1024)

typedef struct kernels_card_facts {
    kernels_strings functions; /* __all__ without "layers" */
    kernels_strings layers;    /* classes of the layers module, when __all__ names it */
    bool has_benchmark;
    void *owner; /* private */
} kernels_card_facts;

/* Reads the Python files below kernel_dir. Files that are missing or not Python hold nothing. */
kernels_status kernels_card_facts_read(const char *kernel_dir, const kernels_build *build, kernels_card_facts *facts,
                                       kernels_error *error);
void kernels_card_facts_dispose(kernels_card_facts *facts);

/* Renders kernel_dir/CARD.md. Missing file or no general.hub.repo-id: an error that says so. */
kernels_status kernels_card_render(const char *kernel_dir, const kernels_build *build, kernels_buffer *out,
                                   kernels_error *error);

#endif
