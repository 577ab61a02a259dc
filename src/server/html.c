/* SPDX-License-Identifier: Apache-2.0 */
#include "server/html.h"

#include <inttypes.h>

#include "base/view.h"

static const char *escape_of(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void kernels_html_text(kernels_buffer *out, kernels_view text) {
    size_t plain = 0; /* where the text that needs no escapes begins */
    for (size_t i = 0; i < text.size; i++) {
        const char *escape = escape_of(text.data[i]);
        if (escape != NULL) {
            kernels_buffer_add_view(out, kernels_view_slice(text, plain, i));
            kernels_buffer_add_text(out, escape);
            plain = i + 1;
        }
    }
    kernels_buffer_add_view(out, kernels_view_slice(text, plain, text.size));
}

void kernels_html_element(kernels_buffer *out, const char *tag, kernels_view text) {
    kernels_view name = kernels_view_of(tag);
    kernels_buffer_printf(out, "<%s>", tag);
    kernels_html_text(out, text);
    kernels_buffer_printf(out, "</%.*s>\n",
                          KERNELS_VIEW_ARGS(kernels_view_slice(name, 0, kernels_view_find(name, ' '))));
}

void kernels_html_size(kernels_buffer *out, uint64_t bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    uint64_t unit = 1000;
    size_t i = 0;
    if (bytes < 1000) {
        kernels_buffer_printf(out, "%" PRIu64 " B", bytes);
        return;
    }
    while (i + 1 < sizeof units / sizeof units[0] && bytes / unit >= 1000) {
        unit *= 1000;
        i++;
    }
    kernels_buffer_printf(out, "%" PRIu64 ".%" PRIu64 " %s", bytes / unit, bytes % unit / (unit / 10), units[i]);
}

void kernels_html_begin(kernels_buffer *out, kernels_view title) {
    kernels_buffer_add_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    kernels_html_element(out, "title", title);
    kernels_buffer_add_text(out, "<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n"
                                 "<header><a href=\"/\">Kernel hub</a></header>\n<main>\n");
}

void kernels_html_end(kernels_buffer *out) { kernels_buffer_add_text(out, "</main>\n</body>\n</html>\n"); }

const char kernels_html_style[] =
    ":root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #0b62c4; }\n"
    "@media (prefers-color-scheme: dark) { :root { --link: #7ab7ff; } }\n"
    "body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }\n"
    "header { border-bottom: 1px solid var(--line); padding: .7rem 1.2rem; font-weight: 600; }\n"
    "main { max-width: 62rem; margin: 0 auto; padding: 1.2rem; }\n"
    "a[href] { color: var(--link); text-decoration: none; }\n"
    "a[href]:hover { text-decoration: underline; }\n"
    "h1 { font-size: 1.7rem; margin: .4rem 0; }\n"
    "h2 { font-size: 1.2rem; margin: 1.8rem 0 .6rem; }\n"
    "table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }\n"
    "th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); }\n"
    "td.number, th.number { text-align: right; white-space: nowrap; }\n"
    "code, pre { font: .9em/1.45 ui-monospace, monospace; }\n"
    "pre { background: var(--soft); padding: .8rem 1rem; border-radius: .4rem; overflow-x: auto; }\n"
    ".badge { border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; font-size: .8rem; }\n"
    ".soft { opacity: .7; }\n"
    ".versions a, .versions strong { margin-right: .9rem; }\n"
    ".card { border: 1px solid var(--line); border-radius: .4rem; padding: .4rem 1.2rem; }\n"
    ".card h1 { font-size: 1.35rem; }\n"
    "blockquote { border-left: .25rem solid var(--line); margin: 0; padding-left: 1rem; }\n";
