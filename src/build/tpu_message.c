/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_message.h"

#include <string.h>

#include "base/view.h"

#define NUMBER_DIGITS_MAX 15u

/* Moves *text behind the first `part`; false when it does not occur. */
static bool skip_past(kernels_view *text, const char *part) {
    size_t size = strlen(part);
    for (size_t i = 0; i + size <= text->size; i++) {
        if (memcmp(text->data + i, part, size) == 0) {
            *text = kernels_view_slice(*text, i + size, text->size);
            return true;
        }
    }
    return false;
}

static kernels_view take_word(kernels_view text) {
    size_t end = 0;
    while (end < text.size && (kernels_is_alnum(text.data[end]) || text.data[end] == '_')) {
        end++;
    }
    return kernels_view_slice(text, 0, end);
}

static void copy_space(kernels_view word, kernels_tpu_allocation *allocation) {
    size_t size = word.size < sizeof(allocation->space) ? word.size : sizeof(allocation->space) - 1;
    memcpy(allocation->space, word.size > 0 ? word.data : "", size);
    allocation->space[size] = '\0';
}

static bool take_integer(kernels_view text, uint64_t *number) {
    size_t end = 0;
    while (end < text.size && kernels_is_digit(text.data[end])) {
        end++;
    }
    return kernels_view_to_u64(kernels_view_slice(text, 0, end), number);
}

static unsigned unit_shift(kernels_view text, size_t at) {
    static const char units[] = "KMGT";
    const char *unit = at < text.size && text.data[at] != '\0' ? strchr(units, text.data[at]) : NULL;
    return unit != NULL ? 10u * (unsigned)(unit - units + 1) : 0;
}

/* "128.00M", "4.0K", "512B": bytes, to the nearest. */
static bool take_size(kernels_view text, uint64_t *bytes) {
    double value = 0, scale = 1;
    bool behind_point = false;
    size_t end = 0, digits = 0;
    for (; end < text.size && digits <= NUMBER_DIGITS_MAX; end++) {
        char c = text.data[end];
        if (c == '.' && !behind_point && digits > 0) {
            behind_point = true;
        } else if (kernels_is_digit(c)) {
            value = value * 10 + (c - '0');
            scale *= behind_point ? 10 : 1;
            digits++;
        } else {
            break;
        }
    }
    if (digits == 0 || digits > NUMBER_DIGITS_MAX) {
        return false;
    }
    double exact = value / scale * (double)(UINT64_C(1) << unit_shift(text, end));
    if (exact >= 9e18) {
        return false;
    }
    *bytes = (uint64_t)(exact + 0.5);
    return true;
}

static bool parse_allocation(kernels_view text, kernels_tpu_allocation *allocation) {
    if (!skip_past(&text, "Allocation (size=") || !take_integer(text, &allocation->wanted) ||
        !skip_past(&text, "would exceed memory (size=") || !take_integer(text, &allocation->available)) {
        return false;
    }
    if (skip_past(&text, "space=")) {
        copy_space(take_word(text), allocation);
    }
    return true;
}

static bool parse_out_of_memory(kernels_view text, kernels_tpu_allocation *allocation) {
    uint64_t excess;
    if (!skip_past(&text, "Ran out of memory in memory space ")) {
        return false;
    }
    copy_space(take_word(text), allocation);
    if (!skip_past(&text, "Used ") || !take_size(text, &allocation->wanted) || !skip_past(&text, " of ") ||
        !take_size(text, &allocation->available)) {
        return false;
    }
    /* Both figures are rounded and may look equal; the excess is told by itself. */
    if (allocation->wanted <= allocation->available && skip_past(&text, "capacity by ") && take_size(text, &excess)) {
        allocation->wanted = allocation->available + excess;
    }
    return true;
}

bool kernels_tpu_message_allocation(kernels_view message, kernels_tpu_allocation *allocation) {
    kernels_tpu_allocation found = {0};
    if (!parse_allocation(message, &found)) {
        found = (kernels_tpu_allocation){0};
        if (!parse_out_of_memory(message, &found)) {
            return false;
        }
    }
    *allocation = found;
    return true;
}

kernels_view kernels_tpu_message_summary(kernels_view message, size_t limit) {
    kernels_view text = kernels_view_trim_ascii(message);
    size_t newline = kernels_view_find(text, '\n');
    return kernels_view_slice(text, 0, newline < limit ? newline : limit);
}
