/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/headers.h"

#include "base/view.h"

kernels_view kernels_headers_find(kernels_view headers, const char *name) {
    kernels_view wanted = kernels_view_of(name);
    kernels_view rest = headers;
    kernels_view line;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
        size_t colon = kernels_view_find(line, ':');
        if (colon == wanted.size && kernels_view_equal_ascii_case(kernels_view_slice(line, 0, colon), wanted)) {
            return kernels_view_trim_ascii(kernels_view_slice(line, colon + 1, line.size));
        }
    }
    return (kernels_view){0};
}

kernels_view kernels_headers_find_any(kernels_view headers, const char *const *names) {
    for (; *names; names++) {
        kernels_view value = kernels_headers_find(headers, *names);
        if (value.size > 0) {
            return value;
        }
    }
    return (kernels_view){0};
}

/* Does the parameter list behind "<url>" name the relation? */
static bool has_relation(kernels_view parameters, kernels_view relation) {
    kernels_view rest = parameters;
    kernels_view piece;
    while (kernels_view_split(&rest, ';', &piece)) {
        kernels_view parameter = kernels_view_trim_ascii(piece);
        if (!kernels_view_equal_ascii_case(kernels_view_slice(parameter, 0, 4), KERNELS_VIEW("rel="))) {
            continue;
        }
        kernels_view value = kernels_view_slice(parameter, 4, parameter.size);
        if (value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"') {
            value = kernels_view_slice(value, 1, value.size - 1);
        }
        return kernels_view_equal(value, relation);
    }
    return false;
}

/* One Link value may hold several, separated by commas; a comma inside "<...>" separates nothing. */
static kernels_view find_link(kernels_view value, kernels_view relation) {
    kernels_view rest = value;
    while (rest.size > 0) {
        size_t open = kernels_view_find(rest, '<');
        size_t close = kernels_view_find(rest, '>');
        if (open == SIZE_MAX || close == SIZE_MAX || close < open) {
            break;
        }
        kernels_view url = kernels_view_slice(rest, open + 1, close);
        rest = kernels_view_slice(rest, close + 1, rest.size);
        size_t comma = kernels_view_find(rest, ',');
        if (has_relation(kernels_view_slice(rest, 0, comma), relation)) {
            return url;
        }
        rest = comma == SIZE_MAX ? (kernels_view){0} : kernels_view_slice(rest, comma + 1, rest.size);
    }
    return (kernels_view){0};
}

kernels_view kernels_headers_link(kernels_view headers, const char *relation) {
    kernels_view rest = headers;
    kernels_view line;
    while (rest.size > 0 && kernels_view_split(&rest, '\n', &line)) {
        if (!kernels_view_equal_ascii_case(kernels_view_slice(line, 0, 5), KERNELS_VIEW("link:"))) {
            continue;
        }
        kernels_view url = find_link(kernels_view_slice(line, 5, line.size), kernels_view_of(relation));
        if (url.size > 0) {
            return url;
        }
    }
    return (kernels_view){0};
}

kernels_view kernels_etag_normalise(kernels_view etag) {
    kernels_view text = etag;
    while (text.size > 0 && (text.data[0] == 'W' || text.data[0] == '/')) {
        text = kernels_view_slice(text, 1, text.size);
    }
    while (text.size > 0 && text.data[0] == '"') {
        text = kernels_view_slice(text, 1, text.size);
    }
    while (text.size > 0 && text.data[text.size - 1] == '"') {
        text = kernels_view_slice(text, 0, text.size - 1);
    }
    return text;
}

unsigned kernels_status_line_code(kernels_view line) {
    size_t blank = kernels_view_find(line, ' ');
    if (!kernels_view_starts_with(line, KERNELS_VIEW("HTTP/")) || blank == SIZE_MAX) {
        return 0;
    }
    uint64_t code = 0;
    kernels_view digits = kernels_view_slice(line, blank + 1, blank + 4);
    return kernels_view_to_u64(digits, &code) && code >= 100 ? (unsigned)code : 0;
}

bool kernels_content_range_start(kernels_view value, uint64_t *start) {
    kernels_view unit = KERNELS_VIEW("bytes ");
    if (!kernels_view_equal_ascii_case(kernels_view_slice(value, 0, unit.size), unit)) {
        return false;
    }
    kernels_view range = kernels_view_slice(value, unit.size, value.size);
    size_t dash = kernels_view_find(range, '-');
    return dash != SIZE_MAX && kernels_view_to_u64(kernels_view_slice(range, 0, dash), start);
}
