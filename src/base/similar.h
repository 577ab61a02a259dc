/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that somebody meant who wrote another word.
 *
 *     kernels_similar best = KERNELS_SIMILAR_INIT;
 *     for each name: kernels_similar_consider(&best, word, name);
 *     if (best.name) "did you mean `%s`?"
 */
#ifndef KERNELS_SRC_BASE_SIMILAR_H
#define KERNELS_SRC_BASE_SIMILAR_H

#include "kernels/base.h"

typedef struct kernels_similar {
    const char *name; /* the closest so far, the first of equally close ones; NULL = none is close */
    size_t distance;
} kernels_similar;

#define KERNELS_SIMILAR_INIT ((kernels_similar){0})

/* Close is what the word begins, or at most two letters are missing, added, changed or exchanged with their neighbour
 * (one in words of up to three letters). */
void kernels_similar_consider(kernels_similar *best, kernels_view word, const char *name);

#endif
