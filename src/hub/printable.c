/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/printable.h"

#include <stdio.h>
#include <string.h>

#include "base/view.h"

/* Bytes of the UTF-8 sequence at text, or 0 when there is no valid one. */
static size_t sequence_size(kernels_view text) {
    for (size_t size = 1; size <= 4 && size <= text.size; size++) {
        if (kernels_view_is_utf8(kernels_view_slice(text, 0, size))) {
            return size;
        }
    }
    return 0;
}

/* U+0080..9F (C1 controls), U+200B..200F, U+2028..202E, U+2060..206F (bidirectional and invisible marks), U+FEFF. */
static bool is_hidden_mark(const unsigned char *c, size_t size) {
    if (size == 2) {
        return c[0] == 0xc2 && c[1] < 0xa0;
    }
    if (size != 3) {
        return false;
    }
    if (c[0] == 0xe2 && c[1] == 0x80) {
        return (c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae);
    }
    return (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa0 && c[2] <= 0xaf) ||
           (c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf);
}

void kernels_printable(char out[KERNELS_PRINTABLE_SIZE], kernels_view text) {
    const size_t ellipsis = 4; /* "..." and the NUL */
    size_t used = 0;
    size_t at = 0;
    while (at < text.size) {
        kernels_view rest = kernels_view_slice(text, at, text.size);
        const unsigned char *c = (const unsigned char *)rest.data;
        size_t size = sequence_size(rest);
        bool escape = size == 0 || c[0] < 0x20 || c[0] == 0x7f || is_hidden_mark(c, size);
        size_t step = size == 0 ? 1 : size;
        if (used + (escape ? 4 * step : step) + ellipsis > KERNELS_PRINTABLE_SIZE) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        for (size_t i = 0; i < step; i++) {
            if (escape) {
                snprintf(out + used, 5, "\\x%02x", c[i]);
            } else {
                out[used] = (char)c[i];
            }
            used += escape ? 4 : 1;
        }
        at += step;
    }
    out[used] = '\0';
}
