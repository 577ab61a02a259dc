/* SPDX-License-Identifier: Apache-2.0 */
/* Which build variants fit a system, and which of them is best. */
#ifndef KERNELS_SRC_RESOLVE_DECIDE_H
#define KERNELS_SRC_RESOLVE_DECIDE_H

#include "base/buffer.h"
#include "kernels/resolve.h"

/* Writes why the variant does not fit; leaves the buffer empty when it fits. These texts are part of the API. */
void kernels_variant_judge(const kernels_system *system, const kernels_variant *variant, kernels_buffer *reason);

/* What a caller's own rule says of one variant, before the rules of the system are asked. */
typedef enum kernels_rule_verdict {
    KERNELS_RULE_NO_OPINION, /* the system decides */
    KERNELS_RULE_REJECT,     /* with the reason that the rule wrote */
    KERNELS_RULE_FALLBACK,   /* accepted, after all others, when the system would reject it */
} kernels_rule_verdict;

typedef struct kernels_rule {
    kernels_rule_verdict (*judge)(const void *payload, const kernels_variant *variant, kernels_buffer *reason);
    const void *payload;
} kernels_rule;

/* As kernels_resolve_variants, with a rule (may be NULL). `names` are taken in the given order, which decides
 * between equals: a caller that wants an answer that does not depend on it gives them sorted. */
kernels_status kernels_resolve_with_rule(const kernels_system *system, const char *const *names, size_t count,
                                         const kernels_rule *rule, void (*on_invalid)(void *payload, const char *name),
                                         void *payload, kernels_decisions *decisions, kernels_error *error);

/* A sorted copy of the pointers (ascending by bytes), for the function above; kernels_free. NULL: no memory. */
const char **kernels_names_sorted(const char *const *names, size_t count);

#endif
