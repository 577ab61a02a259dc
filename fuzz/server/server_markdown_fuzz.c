/* SPDX-License-Identifier: Apache-2.0 */
/* Cards become HTML that holds no tags but ours, each closed in order, whatever the card says. */
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "server/markdown.h"

#define DEPTH_LIMIT 256

static const char *const tags[] = {"p",  "h1", "h2", "h3",         "h4",  "h5",   "h6", "hr", "ul",     "ol", "li",
                                   "br", "em", "a",  "blockquote", "pre", "code", "tr", "th", "strong", "td", "table"};

static size_t tag_number(kernels_view name) {
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (kernels_view_equal_text(name, tags[i])) {
            return i;
        }
    }
    abort(); /* a tag of the card's own */
}

static void check(kernels_view html) {
    size_t open[DEPTH_LIMIT], depth = 0;
    for (size_t i = 0; i < html.size; i++) {
        if (html.data[i] != '<') {
            continue;
        }
        kernels_view rest = kernels_view_slice(html, i + 1, html.size);
        kernels_view tag = kernels_view_slice(rest, 0, kernels_view_find(rest, '>'));
        bool is_end = kernels_view_starts_with(tag, KERNELS_VIEW("/"));
        kernels_view name = kernels_view_slice(tag, is_end, kernels_view_find(tag, ' '));
        size_t number = tag_number(name);
        if (is_end && (depth == 0 || open[--depth] != number)) {
            abort();
        }
        if (!is_end && strcmp(tags[number], "br") != 0 && strcmp(tags[number], "hr") != 0) {
            if (depth == DEPTH_LIMIT) {
                abort();
            }
            open[depth++] = number;
        }
    }
    if (depth != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kernels_buffer out = KERNELS_BUFFER_INIT((size_t)64 * 1024 * 1024);
    kernels_markdown_render(&out, (kernels_view){(const char *)data, size});
    if (out.failure == KERNELS_OK) {
        check(kernels_buffer_view(&out));
    }
    kernels_buffer_dispose(&out);
    return 0;
}
