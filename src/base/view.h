/* SPDX-License-Identifier: Apache-2.0 */
/* Reading text: views by value, no NUL termination, no locale. */
#ifndef KERNELS_SRC_BASE_VIEW_H
#define KERNELS_SRC_BASE_VIEW_H

#include "kernels/base.h"

kernels_view kernels_view_of(const char *text); /* NULL gives an empty view */
bool kernels_view_equal(kernels_view a, kernels_view b);
bool kernels_view_equal_text(kernels_view a, const char *text);
bool kernels_view_equal_ascii_case(kernels_view a, kernels_view b); /* ASCII case folded */
int kernels_view_compare(kernels_view a, kernels_view b);           /* byte order, as memcmp */
bool kernels_view_starts_with(kernels_view text, kernels_view prefix);
bool kernels_view_ends_with(kernels_view text, kernels_view suffix);
kernels_view kernels_view_slice(kernels_view text, size_t from, size_t to); /* clamped */
/* index of the first/last `byte`, or SIZE_MAX */
size_t kernels_view_find(kernels_view text, char byte);
size_t kernels_view_find_last(kernels_view text, char byte);
bool kernels_view_contains(kernels_view text, kernels_view part);
kernels_view kernels_view_trim_ascii(kernels_view text); /* blanks, \t \n \v \f \r */
/* Next piece of *rest up to `separator`; *rest moves behind it. false when nothing is left
 * (*rest has data == NULL). "a,,b" gives "a" "" "b"; "" gives one empty piece. */
bool kernels_view_split(kernels_view *rest, char separator, kernels_view *piece);

/* Decimal digits only (at least one), value <= 2^64-1; false otherwise. */
bool kernels_view_to_u64(kernels_view text, uint64_t *value);
bool kernels_view_is_hex(kernels_view text, size_t digits); /* exactly that many hex digits */

/* Orders arrays of texts (const char *) by bytes, for qsort and bsearch. */
int kernels_compare_texts(const void *left, const void *right);

/* UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool kernels_view_is_utf8(kernels_view text);

static inline bool kernels_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool kernels_is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool kernels_is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool kernels_is_alpha(char c) { return kernels_is_lower(c) || kernels_is_upper(c); }
static inline bool kernels_is_alnum(char c) { return kernels_is_digit(c) || kernels_is_alpha(c); }
static inline char kernels_to_lower(char c) { return kernels_is_upper(c) ? (char)(c + 32) : c; }

#endif
