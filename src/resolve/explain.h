/* SPDX-License-Identifier: Apache-2.0 */
/* In words for people: why a variant fits, and what decides between several that do. Why one does not fit stands in
 * the decision itself. */
#ifndef KERNELS_SRC_RESOLVE_EXPLAIN_H
#define KERNELS_SRC_RESOLVE_EXPLAIN_H

#include "base/buffer.h"
#include "kernels/resolve.h"

/* "built for torch 2.15, as here; CUDA 13.0, here 13.2". For variants that the system accepts. */
void kernels_explain_fit(const kernels_system *system, const kernels_variant *variant, kernels_buffer *out);

/* Why the first of two variants that fit stands before the second: "newer stable ABI of torch". */
const char *kernels_explain_order(const kernels_variant *first, const kernels_variant *second);

#endif
