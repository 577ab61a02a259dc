/* SPDX-License-Identifier: Apache-2.0 */
/* Base64, base32, hex, percent-encoding, random names. Appends to a buffer (sticky failure). */
#ifndef KERNELS_SRC_BASE_ENCODE_H
#define KERNELS_SRC_BASE_ENCODE_H

#include "base/buffer.h"

void kernels_encode_hex(kernels_buffer *out, const void *data, size_t size);          /* lower case */
void kernels_encode_base64(kernels_buffer *out, const void *data, size_t size);       /* padded */
void kernels_encode_base32_lower(kernels_buffer *out, const void *data, size_t size); /* no padding */
bool kernels_decode_base64(kernels_buffer *out, kernels_view text); /* strict, padded; false = malformed */
bool kernels_decode_hex(kernels_buffer *out, kernels_view text);
/* Everything but A-Z a-z 0-9 - . _ ~ becomes %XX; keep_slash keeps "/". */
void kernels_encode_percent(kernels_buffer *out, kernels_view text, bool keep_slash);
bool kernels_decode_percent(kernels_buffer *out, kernels_view text); /* false = malformed %XX */

/* Random bytes from the system. */
kernels_status kernels_random(void *bytes, size_t size, kernels_error *error);
/* `digits` random lower-case hex digits and a NUL (array of digits + 1). */
kernels_status kernels_random_hex(char *text, size_t digits, kernels_error *error);

#endif
