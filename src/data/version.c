/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/view.h"
#include "data/text.h"
#include "kernels/data.h"

static bool parse_part(kernels_view part, uint64_t *value) {
    if (part.size > 0 && part.data[0] == '+') {
        part = kernels_view_slice(part, 1, part.size);
    }
    return kernels_view_to_u64(part, value);
}

kernels_status kernels_version_parse(kernels_view text, kernels_version *version, kernels_error *error) {
    char quoted[KERNELS_QUOTE_SIZE];
    kernels_version result = {0};
    kernels_view rest = kernels_trim_unicode(text);
    kernels_view part;
    while (kernels_view_split(&rest, '.', &part)) {
        if (result.count == KERNELS_VERSION_PARTS_MAX) {
            return kernels_fail(error, KERNELS_LIMIT, "version %s has more than %d parts", kernels_quote(text, quoted),
                                KERNELS_VERSION_PARTS_MAX);
        }
        if (!parse_part(part, &result.parts[result.count++])) {
            return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                                "%s is no version: expected numbers joined by dots, such as 2.10",
                                kernels_quote(text, quoted));
        }
    }
    *version = result;
    return KERNELS_OK;
}

void kernels_version_print(const kernels_version *version, char text[KERNELS_VERSION_TEXT_SIZE]) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < version->count; i++) {
        used += (size_t)snprintf(text + used, KERNELS_VERSION_TEXT_SIZE - used, i ? ".%" PRIu64 : "%" PRIu64,
                                 version->parts[i]);
    }
}

int kernels_version_compare(const kernels_version *a, const kernels_version *b) {
    for (size_t i = 0; i < KERNELS_VERSION_PARTS_MAX; i++) {
        if (a->parts[i] != b->parts[i]) {
            return a->parts[i] < b->parts[i] ? -1 : 1;
        }
    }
    return 0;
}
