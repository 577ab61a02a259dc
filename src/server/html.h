/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of HTML. Every text that comes from outside goes through kernels_html_text. */
#ifndef KERNELS_SRC_SERVER_HTML_H
#define KERNELS_SRC_SERVER_HTML_H

#include "base/buffer.h"

/* Text, also inside a quoted attribute. */
void kernels_html_text(kernels_buffer *out, kernels_view text);
/* <tag>text</tag>; tag may carry attributes: "td class=\"number\"". */
void kernels_html_element(kernels_buffer *out, const char *tag, kernels_view text);
/* "1.5 MB" */
void kernels_html_size(kernels_buffer *out, uint64_t bytes);
/* Everything before and behind the content of a page. */
void kernels_html_begin(kernels_buffer *out, kernels_view title);
void kernels_html_end(kernels_buffer *out);

extern const char kernels_html_style[]; /* style.css */

#endif
