/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/view.h"

static const char hex_digits[] = "0123456789abcdef";
static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void kernels_encode_hex(kernels_buffer *out, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        kernels_buffer_add_char(out, hex_digits[bytes[i] >> 4]);
        kernels_buffer_add_char(out, hex_digits[bytes[i] & 15]);
    }
}

void kernels_encode_base64(kernels_buffer *out, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        char text[4] = {base64_digits[group >> 18], base64_digits[group >> 12 & 63],
                        left > 1 ? base64_digits[group >> 6 & 63] : '=', left > 2 ? base64_digits[group & 63] : '='};
        kernels_buffer_add(out, text, sizeof text);
    }
}

void kernels_encode_base32_lower(kernels_buffer *out, const void *data, size_t size) {
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    const unsigned char *bytes = data;
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | bytes[i];
        for (count += 8; count >= 5; count -= 5) {
            kernels_buffer_add_char(out, digits[bits >> (count - 5) & 31]);
        }
        bits &= (1u << count) - 1;
    }
    if (count > 0) {
        kernels_buffer_add_char(out, digits[bits << (5 - count) & 31]);
    }
}

static int base64_value(char c) {
    if (kernels_is_upper(c)) {
        return c - 'A';
    }
    if (kernels_is_lower(c)) {
        return c - 'a' + 26;
    }
    if (kernels_is_digit(c)) {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool kernels_decode_base64(kernels_buffer *out, kernels_view text) {
    if (text.size % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.size; i += 4) {
        size_t padding = 0;
        if (i + 4 == text.size) {
            padding = text.data[i + 3] != '=' ? 0 : text.data[i + 2] != '=' ? 1 : 2;
        }
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int value = j < 4 - padding ? base64_value(text.data[i + j]) : 0;
            if (value < 0) {
                return false;
            }
            group = group << 6 | (uint32_t)value;
        }
        if ((padding == 1 && (group & 0xFF)) || (padding == 2 && (group & 0xFFFF))) {
            return false; /* bits that no encoder writes */
        }
        char bytes[3] = {(char)(group >> 16), (char)(group >> 8), (char)group};
        kernels_buffer_add(out, bytes, 3 - padding);
    }
    return true;
}

static int hex_value(char c) {
    c = kernels_to_lower(c);
    return kernels_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode_hex_pair(const char *digits, char *byte) {
    int high = hex_value(digits[0]), low = hex_value(digits[1]);
    *byte = (char)(high * 16 + low);
    return high >= 0 && low >= 0;
}

bool kernels_decode_hex(kernels_buffer *out, kernels_view text) {
    if (text.size % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.size; i += 2) {
        char byte;
        if (!decode_hex_pair(text.data + i, &byte)) {
            return false;
        }
        kernels_buffer_add_char(out, byte);
    }
    return true;
}

void kernels_encode_percent(kernels_buffer *out, kernels_view text, bool keep_slash) {
    static const char upper[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (kernels_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash)) {
            kernels_buffer_add_char(out, c);
        } else {
            char escaped[3] = {'%', upper[(unsigned char)c >> 4], upper[(unsigned char)c & 15]};
            kernels_buffer_add(out, escaped, sizeof escaped);
        }
    }
}

bool kernels_decode_percent(kernels_buffer *out, kernels_view text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%') {
            if (text.size - i < 3 || !decode_hex_pair(text.data + i + 1, &c)) {
                return false;
            }
            i += 2;
        }
        kernels_buffer_add_char(out, c);
    }
    return true;
}

kernels_status kernels_random(void *bytes, size_t size, kernels_error *error) {
    size_t done = 0;
    while (done < size) {
        size_t chunk = size - done < 256 ? size - done : 256; /* getentropy's limit */
        if (getentropy((char *)bytes + done, chunk) != 0) {
            return kernels_fail_errno(error, errno, "cannot get random bytes from the system");
        }
        done += chunk;
    }
    return KERNELS_OK;
}

kernels_status kernels_random_hex(char *text, size_t digits, kernels_error *error) {
    unsigned char bytes[64]; /* one digit each: few calls of the system matter more than few bytes */
    for (size_t i = 0; i < digits; i++) {
        if (i % sizeof bytes == 0) {
            KERNELS_TRY(kernels_random(bytes, digits - i < sizeof bytes ? digits - i : sizeof bytes, error));
        }
        text[i] = hex_digits[bytes[i % sizeof bytes] & 15];
    }
    text[digits] = '\0';
    return KERNELS_OK;
}
