/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cards as HTML: the part of Markdown that cards use. Headings, paragraphs, lists, quotes, fenced code, tables, rules;
 * emphasis, code, links. Pure, no recursion. HTML in the text is shown as text; links lead to http, https, mailto or
 * within the page; images become links, so that a page loads nothing from elsewhere. Front matter is left out.
 */
#ifndef KERNELS_SRC_SERVER_MARKDOWN_H
#define KERNELS_SRC_SERVER_MARKDOWN_H

#include "base/buffer.h"

/* Appends HTML with as many end tags as start tags, whatever the text. */
void kernels_markdown_render(kernels_buffer *out, kernels_view text);
/* Text of one paragraph. */
void kernels_markdown_inline(kernels_buffer *out, kernels_view text);

#endif
