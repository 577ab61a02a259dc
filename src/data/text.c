/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text.h"

#include <stdio.h>
#include <string.h>

#include "base/view.h"

const char *kernels_quote(kernels_view text, char quoted[KERNELS_QUOTE_SIZE]) {
    size_t shown = text.size < KERNELS_QUOTE_MAX ? text.size : KERNELS_QUOTE_MAX;
    /* Do not cut a character in two: step back over continuation bytes. */
    while (shown < text.size && shown > 0 && ((unsigned char)text.data[shown] & 0xc0) == 0x80) {
        shown--;
    }
    bool utf8 = kernels_view_is_utf8(kernels_view_slice(text, 0, shown));
    size_t used = 0;
    quoted[used++] = '`';
    for (size_t i = 0; i < shown; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
            used += (size_t)snprintf(quoted + used, KERNELS_QUOTE_SIZE - used, "\\x%02x", byte);
        } else {
            quoted[used++] = (char)byte;
        }
    }
    snprintf(quoted + used, KERNELS_QUOTE_SIZE - used, "%s`", shown < text.size ? "..." : "");
    return quoted;
}

/* The code points of the Unicode property White_Space that are not ASCII, as UTF-8. */
static const char *const wide_spaces[] = {
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
    "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
    "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
};

static bool trim_wide(kernels_view *text) {
    for (size_t i = 0; i < sizeof(wide_spaces) / sizeof(wide_spaces[0]); i++) {
        kernels_view space = kernels_view_of(wide_spaces[i]);
        if (kernels_view_starts_with(*text, space)) {
            *text = kernels_view_slice(*text, space.size, text->size);
            return true;
        }
        if (kernels_view_ends_with(*text, space)) {
            *text = kernels_view_slice(*text, 0, text->size - space.size);
            return true;
        }
    }
    return false;
}

kernels_view kernels_trim_unicode(kernels_view text) {
    do {
        text = kernels_view_trim_ascii(text);
    } while (trim_wide(&text));
    return text;
}

kernels_status kernels_give_text(kernels_buffer *out, char **text, kernels_error *error) {
    kernels_status status = kernels_buffer_status(out, error);
    if (status == KERNELS_OK) {
        *text = kernels_buffer_take(out);
    }
    kernels_buffer_dispose(out);
    return status;
}
