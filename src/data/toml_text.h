/* SPDX-License-Identifier: Apache-2.0 */
/* Writing TOML values as text. */
#ifndef KERNELS_SRC_DATA_TOML_TEXT_H
#define KERNELS_SRC_DATA_TOML_TEXT_H

#include "base/buffer.h"
#include "base/document.h"

/* "basic", 'literal' when it holds a quote or a backslash, or a multi-line string. */
void kernels_toml_add_string(kernels_buffer *out, kernels_view text);
/* A bare key where that is possible, else a quoted one. */
void kernels_toml_add_key(kernels_buffer *out, kernels_view key);
/* A list of strings: up to one on a line, more with one on each line. */
void kernels_toml_add_list(kernels_buffer *out, const kernels_view *items, size_t count);

#endif
