/* SPDX-License-Identifier: Apache-2.0 */
#include "base/view.h"

#include <assert.h>
#include <string.h>

kernels_view kernels_view_of(const char *text) {
    return text ? (kernels_view){text, strlen(text)} : (kernels_view){NULL, 0};
}

bool kernels_view_equal(kernels_view a, kernels_view b) {
    assert((a.data || a.size == 0) && (b.data || b.size == 0));
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool kernels_view_equal_text(kernels_view a, const char *text) { return kernels_view_equal(a, kernels_view_of(text)); }

bool kernels_view_equal_ascii_case(kernels_view a, kernels_view b) {
    if (a.size != b.size) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if (kernels_to_lower(a.data[i]) != kernels_to_lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

int kernels_view_compare(kernels_view a, kernels_view b) {
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order != 0) {
        return order;
    }
    return (a.size > b.size) - (a.size < b.size);
}

bool kernels_view_starts_with(kernels_view text, kernels_view prefix) {
    return text.size >= prefix.size && kernels_view_equal(kernels_view_slice(text, 0, prefix.size), prefix);
}

bool kernels_view_ends_with(kernels_view text, kernels_view suffix) {
    return text.size >= suffix.size &&
           kernels_view_equal(kernels_view_slice(text, text.size - suffix.size, text.size), suffix);
}

kernels_view kernels_view_slice(kernels_view text, size_t from, size_t to) {
    if (to > text.size) {
        to = text.size;
    }
    if (from > to) {
        from = to;
    }
    return (kernels_view){text.data ? text.data + from : NULL, to - from};
}

size_t kernels_view_find(kernels_view text, char byte) {
    const char *found = text.size ? memchr(text.data, byte, text.size) : NULL;
    return found ? (size_t)(found - text.data) : SIZE_MAX;
}

size_t kernels_view_find_last(kernels_view text, char byte) {
    for (size_t i = text.size; i > 0; i--) {
        if (text.data[i - 1] == byte) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

bool kernels_view_contains(kernels_view text, kernels_view part) {
    if (part.size == 0) {
        return true;
    }
    for (size_t i = 0; i + part.size <= text.size; i++) {
        if (memcmp(text.data + i, part.data, part.size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

kernels_view kernels_view_trim_ascii(kernels_view text) {
    size_t from = 0, to = text.size;
    while (from < to && is_blank(text.data[from])) {
        from++;
    }
    while (to > from && is_blank(text.data[to - 1])) {
        to--;
    }
    return kernels_view_slice(text, from, to);
}

bool kernels_view_split(kernels_view *rest, char separator, kernels_view *piece) {
    if (!rest->data) {
        return false;
    }
    size_t at = kernels_view_find(*rest, separator);
    if (at == SIZE_MAX) {
        *piece = *rest;
        *rest = (kernels_view){NULL, 0};
    } else {
        *piece = kernels_view_slice(*rest, 0, at);
        *rest = kernels_view_slice(*rest, at + 1, rest->size);
    }
    return true;
}

bool kernels_view_to_u64(kernels_view text, uint64_t *value) {
    uint64_t result = 0;
    if (text.size == 0) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (!kernels_is_digit(text.data[i])) {
            return false;
        }
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (result > (UINT64_MAX - digit) / 10) {
            return false;
        }
        result = result * 10 + digit;
    }
    *value = result;
    return true;
}

bool kernels_view_is_hex(kernels_view text, size_t digits) {
    if (text.size != digits) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = kernels_to_lower(text.data[i]);
        if (!kernels_is_digit(c) && !(c >= 'a' && c <= 'f')) {
            return false;
        }
    }
    return true;
}

/* Length of the UTF-8 sequence at p (of at most `left` bytes), 0 when it is malformed. */
static size_t utf8_sequence(const unsigned char *p, size_t left) {
    if (p[0] < 0x80) {
        return 1;
    }
    size_t size = p[0] >= 0xC2 && p[0] <= 0xDF   ? 2
                  : p[0] >= 0xE0 && p[0] <= 0xEF ? 3
                  : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                                 : 0;
    if (size == 0 || size > left) {
        return 0;
    }
    unsigned low = 0x80, high = 0xBF; /* bounds of the second byte: no overlong forms, no surrogates */
    if (p[0] == 0xE0) {
        low = 0xA0;
    } else if (p[0] == 0xED) {
        high = 0x9F;
    } else if (p[0] == 0xF0) {
        low = 0x90;
    } else if (p[0] == 0xF4) {
        high = 0x8F;
    }
    if (p[1] < low || p[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return size;
}

bool kernels_view_is_utf8(kernels_view text) {
    size_t at = 0;
    while (at < text.size) {
        size_t size = utf8_sequence((const unsigned char *)text.data + at, text.size - at);
        if (size == 0) {
            return false;
        }
        at += size;
    }
    return true;
}

int kernels_compare_texts(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}
