/* SPDX-License-Identifier: Apache-2.0 */
#include "server/markdown.h"

#include <string.h>

#include "base/view.h"
#include "server/html.h"

#define LIST_DEPTH_LIMIT 8
#define COLUMNS_LIMIT 32
/* Most bytes of one paragraph whose marks are looked at; longer ones are shown as they are. */
#define PARAGRAPH_LIMIT ((size_t)64 * 1024)

typedef struct open_list {
    size_t indent; /* of its markers */
    bool is_ordered;
} open_list;

typedef struct renderer {
    kernels_buffer *out;
    kernels_view rest;        /* lines to come */
    kernels_buffer paragraph; /* collected, not yet written */
    open_list lists[LIST_DEPTH_LIMIT];
    size_t list_count;
    bool in_quote, in_item;
    bool after_blank;
} renderer;

/* ---- lines ---- */

static bool next_line(renderer *r, kernels_view *line) {
    if (!kernels_view_split(&r->rest, '\n', line)) {
        return false;
    }
    if (kernels_view_ends_with(*line, KERNELS_VIEW("\r"))) {
        line->size--;
    }
    return true;
}

static size_t indent_of(kernels_view line) {
    size_t indent = 0;
    while (indent < line.size && line.data[indent] == ' ') {
        indent++;
    }
    return indent;
}

static bool starts_with(kernels_view text, const char *prefix) {
    return kernels_view_starts_with(text, kernels_view_of(prefix));
}

static void skip_front_matter(renderer *r) {
    kernels_view before = r->rest, line;
    if (!next_line(r, &line) || !kernels_view_equal_text(line, "---")) {
        r->rest = before;
        return;
    }
    while (next_line(r, &line)) {
        if (kernels_view_equal_text(line, "---") || kernels_view_equal_text(line, "...")) {
            return;
        }
    }
    r->rest = before; /* it never ends: no front matter */
}

/* ---- what is open ---- */

static void write_paragraph(renderer *r) {
    kernels_view text = kernels_buffer_view(&r->paragraph);
    if (text.size > PARAGRAPH_LIMIT) {
        kernels_html_text(r->out, text);
    } else {
        kernels_markdown_inline(r->out, text);
    }
    kernels_buffer_reset(&r->paragraph);
}

static void close_paragraph(renderer *r) {
    if (r->paragraph.size == 0) {
        return;
    }
    if (r->in_item) {
        write_paragraph(r);
        return;
    }
    kernels_buffer_add_text(r->out, "<p>");
    write_paragraph(r);
    kernels_buffer_add_text(r->out, "</p>\n");
}

static void close_lists(renderer *r, size_t count) {
    close_paragraph(r);
    while (r->list_count > count) {
        kernels_buffer_add_text(r->out, r->lists[--r->list_count].is_ordered ? "</li>\n</ol>\n" : "</li>\n</ul>\n");
    }
    r->in_item = r->list_count > 0;
}

static void close_all(renderer *r) {
    close_lists(r, 0);
    if (r->in_quote) {
        kernels_buffer_add_text(r->out, "</blockquote>\n");
        r->in_quote = false;
    }
}

/* ---- blocks ---- */

static bool take_heading(renderer *r, kernels_view text) {
    size_t level = 0;
    while (level < text.size && text.data[level] == '#') {
        level++;
    }
    if (level == 0 || level > 6 || (level < text.size && text.data[level] != ' ')) {
        return false;
    }
    close_all(r);
    kernels_buffer_printf(r->out, "<h%zu>", level);
    kernels_markdown_inline(r->out, kernels_view_trim_ascii(kernels_view_slice(text, level, level + PARAGRAPH_LIMIT)));
    kernels_buffer_printf(r->out, "</h%zu>\n", level);
    return true;
}

static bool take_rule(renderer *r, kernels_view text) {
    size_t marks = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != ' ' && (text.data[i] != text.data[0] || strchr("-*_", text.data[i]) == NULL)) {
            return false;
        }
        marks += text.data[i] != ' ';
    }
    if (marks < 3) {
        return false;
    }
    close_all(r);
    kernels_buffer_add_text(r->out, "<hr>\n");
    return true;
}

static bool take_fence(renderer *r, kernels_view text) {
    bool is_fence = starts_with(text, "```") || starts_with(text, "~~~");
    kernels_view fence = kernels_view_slice(text, 0, 3), line;
    if (!is_fence || kernels_view_find(kernels_view_slice(text, 3, text.size), '`') != SIZE_MAX) {
        return false;
    }
    close_paragraph(r);
    kernels_buffer_add_text(r->out, "<pre><code>");
    while (next_line(r, &line) && !kernels_view_starts_with(kernels_view_trim_ascii(line), fence)) {
        kernels_html_text(r->out, line);
        kernels_buffer_add_char(r->out, '\n');
    }
    kernels_buffer_add_text(r->out, "</code></pre>\n");
    return true;
}

/* A comment that begins a block is left out, to its end. */
static bool take_comment(renderer *r, kernels_view text) {
    kernels_view line = text;
    if (!starts_with(text, "<!--")) {
        return false;
    }
    close_paragraph(r);
    while (!kernels_view_contains(line, KERNELS_VIEW("-->")) && next_line(r, &line)) {
    }
    return true;
}

/* ---- tables ---- */

static bool is_delimiter_row(kernels_view line) {
    bool has_dash = false, has_bar = false;
    for (size_t i = 0; i < line.size; i++) {
        has_dash = has_dash || line.data[i] == '-';
        has_bar = has_bar || line.data[i] == '|';
        if (strchr("-|: ", line.data[i]) == NULL || line.data[i] == '\0') {
            return false;
        }
    }
    return has_dash && has_bar;
}

static void write_row(renderer *r, kernels_view line, const char *cell) {
    kernels_view text = kernels_view_trim_ascii(line), piece;
    size_t columns = 0;
    if (starts_with(text, "|")) {
        text = kernels_view_slice(text, 1, text.size);
    }
    if (kernels_view_ends_with(text, KERNELS_VIEW("|"))) {
        text.size--;
    }
    kernels_buffer_add_text(r->out, "<tr>");
    while (columns++ < COLUMNS_LIMIT && kernels_view_split(&text, '|', &piece)) {
        kernels_buffer_printf(r->out, "<%s>", cell);
        kernels_markdown_inline(r->out, kernels_view_slice(kernels_view_trim_ascii(piece), 0, PARAGRAPH_LIMIT));
        kernels_buffer_printf(r->out, "</%s>", cell);
    }
    kernels_buffer_add_text(r->out, "</tr>\n");
}

static bool take_table(renderer *r, kernels_view text) {
    kernels_view before = r->rest, line;
    if (kernels_view_find(text, '|') == SIZE_MAX) {
        return false;
    }
    if (!next_line(r, &line) || !is_delimiter_row(line)) {
        r->rest = before;
        return false;
    }
    close_all(r);
    kernels_buffer_add_text(r->out, "<table>\n");
    write_row(r, text, "th");
    for (before = r->rest; next_line(r, &line) && kernels_view_find(line, '|') != SIZE_MAX; before = r->rest) {
        write_row(r, line, "td");
    }
    r->rest = before;
    kernels_buffer_add_text(r->out, "</table>\n");
    return true;
}

/* ---- lists ---- */

/* Bytes of the marker and the blank behind it; 0: no item. */
static size_t marker_size(kernels_view text, bool *is_ordered) {
    size_t digits = 0;
    *is_ordered = false;
    if (text.size >= 2 && strchr("-*+", text.data[0]) != NULL && text.data[0] != '\0' && text.data[1] == ' ') {
        return 2;
    }
    while (digits < text.size && digits < 9 && kernels_is_digit(text.data[digits])) {
        digits++;
    }
    *is_ordered = true;
    bool is_item = digits > 0 && text.size >= digits + 2 && (text.data[digits] == '.' || text.data[digits] == ')') &&
                   text.data[digits + 1] == ' ';
    return is_item ? digits + 2 : 0;
}

static bool take_item(renderer *r, size_t indent, kernels_view text) {
    bool is_ordered;
    size_t size = marker_size(text, &is_ordered);
    if (size == 0) {
        return false;
    }
    size_t keep = r->list_count; /* lists that the item does not end */
    while (keep > 0 && r->lists[keep - 1].indent > indent) {
        keep--;
    }
    if (keep > 0 && r->lists[keep - 1].is_ordered != is_ordered && indent < r->lists[keep - 1].indent + 2) {
        keep--; /* a list of the other kind begins */
    }
    close_lists(r, keep);
    bool is_deeper = keep == 0 || indent >= r->lists[keep - 1].indent + 2;
    if (is_deeper && keep < LIST_DEPTH_LIMIT) {
        r->lists[r->list_count++] = (open_list){indent, is_ordered};
        kernels_buffer_add_text(r->out, is_ordered ? "<ol>\n<li>" : "<ul>\n<li>");
    } else {
        kernels_buffer_add_text(r->out, "</li>\n<li>");
    }
    r->in_item = true;
    kernels_buffer_add_view(&r->paragraph, kernels_view_slice(text, size, text.size));
    return true;
}

/* ---- all together ---- */

static kernels_view enter_quote(renderer *r, kernels_view line) {
    if (!r->in_quote) {
        close_all(r);
        kernels_buffer_add_text(r->out, "<blockquote>\n");
        r->in_quote = true;
    }
    line = kernels_view_slice(line, 1, line.size);
    return starts_with(line, " ") ? kernels_view_slice(line, 1, line.size) : line;
}

static void take_text(renderer *r, size_t indent, kernels_view text) {
    if (r->after_blank && r->list_count > 0 && indent == 0) {
        close_lists(r, 0);
    }
    if (r->paragraph.size > 0) {
        kernels_buffer_add_char(&r->paragraph, '\n');
    } else if (r->in_item) {
        kernels_buffer_add_text(r->out, "<br>\n"); /* a further paragraph of the item */
    }
    kernels_buffer_add_view(&r->paragraph, text);
}

static void take_line(renderer *r, kernels_view line) {
    if (starts_with(line, ">")) {
        line = enter_quote(r, line);
    } else if (r->in_quote) {
        close_all(r);
    }
    size_t indent = indent_of(line);
    kernels_view text = kernels_view_trim_ascii(line);
    if (text.size == 0) {
        close_paragraph(r);
    } else if (!take_heading(r, text) && !take_rule(r, text) && !take_fence(r, text) && !take_comment(r, text) &&
               !take_table(r, text) && !take_item(r, indent, text)) {
        take_text(r, indent, text);
    }
    r->after_blank = text.size == 0;
}

void kernels_markdown_render(kernels_buffer *out, kernels_view text) {
    renderer r = {.out = out, .rest = text, .paragraph = KERNELS_BUFFER_INIT(text.size + 1)};
    kernels_view line;
    skip_front_matter(&r);
    while (next_line(&r, &line)) {
        take_line(&r, line);
    }
    close_all(&r);
    if (r.paragraph.failure != KERNELS_OK && out->failure == KERNELS_OK) {
        out->failure = r.paragraph.failure;
    }
    kernels_buffer_dispose(&r.paragraph);
}
