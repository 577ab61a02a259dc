/* SPDX-License-Identifier: Apache-2.0 */
#include "base/similar.h"

#include <string.h>

#include "base/view.h"

#define WORD_MAX 32 /* longer words are no slips of the pen */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Steps from one word to the other: a letter removed, added or changed, two neighbours exchanged. */
static size_t distance_of(kernels_view a, kernels_view b) {
    size_t rows[3][WORD_MAX + 1]; /* of the table of all prefixes: this one and the two before */
    for (size_t j = 0; j <= b.size; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t changed = above[j - 1] + (a.data[i - 1] == b.data[j - 1] ? 0 : 1);
            row[j] = smaller(changed, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1]) {
                row[j] = smaller(row[j], second[j - 2] + 1);
            }
        }
    }
    return rows[a.size % 3][b.size];
}

void kernels_similar_consider(kernels_similar *best, kernels_view word, const char *name) {
    kernels_view other = kernels_view_of(name);
    if (word.size < 2 || word.size > WORD_MAX || other.size > WORD_MAX) {
        return;
    }
    size_t limit = word.size > 3 ? 2 : 1;
    size_t distance = kernels_view_starts_with(other, word) ? 1 : distance_of(word, other);
    if (distance <= limit && (!best->name || distance < best->distance)) {
        *best = (kernels_similar){name, distance};
    }
}
