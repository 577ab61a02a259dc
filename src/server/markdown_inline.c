/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/view.h"
#include "server/html.h"
#include "server/markdown.h"

/* Most bytes that are looked through for the end of a link. */
#define LINK_LIMIT ((size_t)1024)

typedef enum mark { MARK_EM, MARK_STRONG, MARK_LINK, MARK_COUNT } mark;

static const char *const mark_ends[] = {"</em>", "</strong>", "</a>"};

typedef struct inliner {
    kernels_buffer *out;
    kernels_view text;
    size_t position;
    mark open[MARK_COUNT]; /* each at most once, outermost first */
    size_t depth;
    size_t link_end, link_next;      /* of the open link: its "]", and what follows all of it */
    bool no_more_em, no_more_strong; /* a search for an end found none */
} inliner;

static char at(const inliner *in, size_t position) { return position < in->text.size ? in->text.data[position] : '\0'; }

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\0'; }

static void add_escaped(inliner *in, size_t from, size_t to) {
    kernels_html_text(in->out, kernels_view_slice(in->text, from, to));
}

/* ---- marks that may be open ---- */

static bool is_open(const inliner *in, mark m) {
    for (size_t i = 0; i < in->depth; i++) {
        if (in->open[i] == m) {
            return true;
        }
    }
    return false;
}

static void open_mark(inliner *in, mark m) { in->open[in->depth++] = m; }

static void close_until(inliner *in, size_t depth) {
    while (in->depth > depth) {
        kernels_buffer_add_text(in->out, mark_ends[in->open[--in->depth]]);
    }
}

static void close_link(inliner *in) {
    size_t depth = in->depth;
    while (depth > 0 && in->open[depth - 1] != MARK_LINK) {
        depth--;
    }
    close_until(in, depth > 0 ? depth - 1 : 0);
    in->position = in->link_next;
}

/* ---- code ---- */

static size_t run_length(const inliner *in, size_t position, char c) {
    size_t length = 0;
    while (at(in, position + length) == c && position + length < in->text.size) {
        length++;
    }
    return length;
}

/* `code`, with any number of backticks on both sides. */
static bool take_code(inliner *in) {
    size_t ticks = run_length(in, in->position, '`'), start = in->position + ticks;
    for (size_t i = start; i < in->text.size;) {
        size_t run = run_length(in, i, '`');
        if (run == ticks) {
            kernels_view code = kernels_view_trim_ascii(kernels_view_slice(in->text, start, i));
            kernels_buffer_add_text(in->out, "<code>");
            kernels_html_text(in->out, code);
            kernels_buffer_add_text(in->out, "</code>");
            in->position = i + ticks;
            return true;
        }
        i += run > 0 ? run : 1;
    }
    add_escaped(in, in->position, start);
    in->position = start;
    return true;
}

/* ---- links ---- */

static bool is_address(kernels_view url) {
    static const char *const schemes[] = {"https://", "http://", "mailto:", "#"};
    for (size_t i = 0; i < url.size; i++) {
        if ((unsigned char)url.data[i] <= ' ') {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (kernels_view_starts_with(url, kernels_view_of(schemes[i]))) {
            return true;
        }
    }
    return false;
}

static void begin_link(inliner *in, kernels_view url) {
    kernels_buffer_add_text(in->out, "<a rel=\"nofollow noreferrer\" href=\"");
    kernels_html_text(in->out, url);
    kernels_buffer_add_text(in->out, "\">");
}

/* The "]" that belongs to the "[" at `start`, or SIZE_MAX. */
static size_t find_bracket(const inliner *in, size_t start) {
    size_t depth = 0;
    for (size_t i = start; i < in->text.size && i < start + LINK_LIMIT; i++) {
        char c = in->text.data[i];
        if (c == '\\') {
            i++;
        } else if (c == '[') {
            depth++;
        } else if (c == ']' && --depth == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t find_parenthesis(const inliner *in, size_t start) {
    size_t depth = 0;
    for (size_t i = start; i < in->text.size && i < start + LINK_LIMIT; i++) {
        char c = in->text.data[i];
        if (c == '(') {
            depth++;
        } else if (c == ')' && --depth == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* [text](address "title") or, as a link too, ![text](address). The text is read on with the link open. */
static bool take_link(inliner *in) {
    size_t start = in->position + (at(in, in->position) == '!' ? 1 : 0);
    if (at(in, start) != '[' || is_open(in, MARK_LINK)) {
        return false;
    }
    size_t end = find_bracket(in, start);
    if (end == SIZE_MAX || at(in, end + 1) != '(') {
        return false;
    }
    size_t last = find_parenthesis(in, end + 1);
    if (last == SIZE_MAX) {
        return false;
    }
    kernels_view address = kernels_view_trim_ascii(kernels_view_slice(in->text, end + 2, last));
    address = kernels_view_slice(address, 0, kernels_view_find(address, ' '));
    if (is_address(address)) {
        begin_link(in, address);
    } else { /* into the repository, or nowhere: only the text */
        kernels_buffer_add_text(in->out, "<a>");
    }
    open_mark(in, MARK_LINK);
    in->link_end = end;
    in->link_next = last + 1;
    in->position = start + 1;
    return true;
}

/* <https://...> */
static bool take_address(inliner *in) {
    kernels_view rest = kernels_view_slice(in->text, in->position + 1, in->position + LINK_LIMIT);
    size_t end = kernels_view_find(rest, '>');
    kernels_view url = kernels_view_slice(rest, 0, end);
    if (end == SIZE_MAX || is_open(in, MARK_LINK) || at(in, in->position + 1) == '#' || !is_address(url)) {
        return false;
    }
    begin_link(in, url);
    kernels_html_text(in->out, url);
    kernels_buffer_add_text(in->out, "</a>");
    in->position += end + 2;
    return true;
}

/* ---- emphasis ---- */

static bool has_end(inliner *in, mark m, char c, size_t length) {
    bool *none = m == MARK_EM ? &in->no_more_em : &in->no_more_strong;
    size_t limit = is_open(in, MARK_LINK) ? in->link_end : in->text.size;
    for (size_t i = in->position + length; !*none && i < limit; i++) {
        if (in->text.data[i] == c && run_length(in, i, c) >= length && !is_blank(in->text.data[i - 1])) {
            return true;
        }
    }
    *none = *none || limit == in->text.size;
    return false;
}

/* *em*, **strong**, and the same with "_" at the edges of words. */
static bool take_emphasis(inliner *in) {
    char c = at(in, in->position);
    size_t length = run_length(in, in->position, c) >= 2 ? 2 : 1;
    mark m = length == 2 ? MARK_STRONG : MARK_EM;
    char before = in->position > 0 ? at(in, in->position - 1) : '\0', after = at(in, in->position + length);
    if (is_open(in, m)) {
        bool is_last = in->open[in->depth - 1] == m;
        if (!is_last || is_blank(before) || (c == '_' && kernels_is_alnum(after))) {
            return false;
        }
        close_until(in, in->depth - 1);
    } else {
        if (is_blank(after) || (c == '_' && kernels_is_alnum(before)) || !has_end(in, m, c, length)) {
            return false;
        }
        kernels_buffer_add_text(in->out, m == MARK_STRONG ? "<strong>" : "<em>");
        open_mark(in, m);
    }
    in->position += length;
    return true;
}

/* ---- one after the other ---- */

static bool take_escape(inliner *in) {
    char next = at(in, in->position + 1);
    if (next == '\0' || strchr("\\`*_{}[]()#+-.!|<>~\"'", next) == NULL) {
        return false;
    }
    add_escaped(in, in->position + 1, in->position + 2);
    in->position += 2;
    return true;
}

static bool take_special(inliner *in) {
    switch (at(in, in->position)) {
    case '\\':
        return take_escape(in);
    case '`':
        return take_code(in);
    case '[':
    case '!':
        return take_link(in);
    case '<':
        return take_address(in);
    case '*':
    case '_':
        return take_emphasis(in);
    default:
        return false;
    }
}

void kernels_markdown_inline(kernels_buffer *out, kernels_view text) {
    inliner in = {.out = out, .text = text};
    while (in.position < text.size) {
        if (is_open(&in, MARK_LINK) && in.position >= in.link_end) {
            close_link(&in);
        } else if (!take_special(&in)) {
            /* a run of the same mark stays together, so that "***" is not looked at three times */
            add_escaped(&in, in.position, in.position + 1);
            in.position++;
        }
    }
    close_until(&in, 0);
}
