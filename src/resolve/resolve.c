/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of names to decisions in order of preference. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "resolve/decide.h"

/* Most variants of one kernel that are looked at. */
#define VARIANT_LIMIT ((size_t)100000)
#define REASON_LIMIT ((size_t)4096)

/* Where a decision stands in the order; smaller keys come first. Decisions are large, so that these are sorted. */
typedef struct candidate {
    int64_t key[5];
    size_t position; /* among the names: decides between equals */
    size_t index;    /* among the decisions */
} candidate;

/* Ranks of noarch builds, best first. */
enum { NOARCH_OWN = 0, NOARCH_CANN = 1, NOARCH_UNIVERSAL = 2, NOARCH_FALLBACK = 3 };

static int64_t negated(uint64_t value) { return value > INT64_MAX ? -INT64_MAX : -(int64_t)value; }

/* Newest stable ABI and its newest CUDA minor; torch without a tag before one with; tvm-ffi; then noarch builds,
 * those of the backend before universal ones. */
static void fill_key(const kernels_decision *decision, bool fallback, candidate *entry) {
    const kernels_variant *variant = &decision->variant;
    int64_t *key = entry->key;
    key[0] = decision->accepted ? 0 : 1;
    switch (variant->framework) {
    case KERNELS_FRAMEWORK_TORCH_STABLE_ABI:
        key[1] = 0;
        key[2] = negated(variant->framework_major);
        key[3] = negated(variant->framework_minor);
        break;
    case KERNELS_FRAMEWORK_TORCH:
        key[1] = 1;
        key[3] = variant->cxx11_abi == KERNELS_CXX11_ABI_NONE ? 0 : 1;
        break;
    case KERNELS_FRAMEWORK_TVM_FFI:
        key[1] = 2;
        break;
    case KERNELS_FRAMEWORK_TORCH_NOARCH:
        key[1] = 3;
        key[4] = fallback                                         ? NOARCH_FALLBACK
                 : strcmp(variant->noarch_name, "universal") == 0 ? NOARCH_UNIVERSAL
                 : strcmp(variant->noarch_name, "cann") == 0      ? NOARCH_CANN
                                                                  : NOARCH_OWN;
        return;
    }
    if (variant->backend_has_version) {
        key[4] = negated(variant->backend_minor);
    }
}

static int compare_candidates(const void *left, const void *right) {
    const candidate *a = left;
    const candidate *b = right;
    for (size_t i = 0; i < sizeof a->key / sizeof a->key[0]; i++) {
        if (a->key[i] != b->key[i]) {
            return a->key[i] < b->key[i] ? -1 : 1;
        }
    }
    return a->position < b->position ? -1 : 1;
}

/* Everything about one resolution but its result. */
typedef struct resolution {
    const kernels_system *system;
    const kernels_rule *rule;
    void (*on_invalid)(void *payload, const char *name);
    void *payload;
    candidate *entries;
    kernels_buffer reason; /* of the decision that is being made */
} resolution;

static kernels_status judge(resolution *work, kernels_decision *decision, candidate *entry, kernels_error *error) {
    kernels_buffer *reason = &work->reason;
    kernels_rule_verdict verdict = KERNELS_RULE_NO_OPINION;
    kernels_buffer_reset(reason);
    if (work->rule != NULL) {
        verdict = work->rule->judge(work->rule->payload, &decision->variant, reason);
    }
    bool fallback = false;
    if (verdict != KERNELS_RULE_REJECT) {
        kernels_buffer_reset(reason);
        kernels_variant_judge(work->system, &decision->variant, reason);
        fallback = verdict == KERNELS_RULE_FALLBACK && reason->size > 0;
    }
    KERNELS_TRY(kernels_buffer_status(reason, error));
    decision->accepted = reason->size == 0 || fallback;
    if (!decision->accepted) {
        decision->reason = kernels_strdup(kernels_buffer_text(reason));
        if (decision->reason == NULL) {
            return kernels_fail_no_memory(error);
        }
    }
    fill_key(decision, fallback, entry);
    return KERNELS_OK;
}

/* Parses and judges all names; what is no variant name is reported and left out. */
static kernels_status collect(resolution *work, const char *const *names, size_t count, kernels_decisions *decisions,
                              kernels_error *error) {
    for (size_t i = 0; i < count; i++) {
        kernels_decision *decision = &decisions->items[decisions->count];
        candidate *entry = &work->entries[decisions->count];
        if (kernels_variant_parse(kernels_view_of(names[i]), &decision->variant, NULL) != KERNELS_OK) {
            if (work->on_invalid != NULL) {
                work->on_invalid(work->payload, names[i]);
            }
            continue;
        }
        /* A Python without its lock cannot import compiled builds: they are no candidates at all. */
        if (work->system->free_threaded && decision->variant.framework != KERNELS_FRAMEWORK_TORCH_NOARCH) {
            continue;
        }
        decision->position = i;
        *entry = (candidate){.position = i, .index = decisions->count};
        KERNELS_TRY(judge(work, decision, entry, error));
        decisions->accepted_count += decision->accepted ? 1 : 0;
        decisions->count++;
    }
    return KERNELS_OK;
}

/* Brings the decisions into the order of the entries, each moved once: along every cycle of the permutation. */
static void reorder(candidate *entries, kernels_decision *items, size_t count) {
    for (size_t start = 0; start < count; start++) {
        if (entries[start].index == start) {
            continue;
        }
        kernels_decision first = items[start];
        size_t at = start;
        while (entries[at].index != start) {
            size_t from = entries[at].index;
            items[at] = items[from];
            entries[at].index = at;
            at = from;
        }
        items[at] = first;
        entries[at].index = at;
    }
}

kernels_status kernels_resolve_with_rule(const kernels_system *system, const char *const *names, size_t count,
                                         const kernels_rule *rule, void (*on_invalid)(void *payload, const char *name),
                                         void *payload, kernels_decisions *decisions, kernels_error *error) {
    if (count > VARIANT_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "expected at most %zu build variants, found %zu", VARIANT_LIMIT,
                            count);
    }
    KERNELS_CLEANUP_FREE candidate *entries = kernels_calloc(count > 0 ? count : 1, sizeof *entries);
    kernels_decisions made = {.items = kernels_calloc(count > 0 ? count : 1, sizeof *made.items)};
    if (entries == NULL || made.items == NULL) {
        kernels_decisions_dispose(&made);
        return kernels_fail_no_memory(error);
    }
    resolution work = {.system = system,
                       .rule = rule,
                       .on_invalid = on_invalid,
                       .payload = payload,
                       .entries = entries,
                       .reason = KERNELS_BUFFER_INIT(REASON_LIMIT)};
    kernels_status status = collect(&work, names, count, &made, error);
    kernels_buffer_dispose(&work.reason);
    if (status != KERNELS_OK) {
        kernels_decisions_dispose(&made);
        return status;
    }
    qsort(entries, made.count, sizeof *entries, compare_candidates);
    reorder(entries, made.items, made.count);
    *decisions = made;
    return KERNELS_OK;
}

const char **kernels_names_sorted(const char *const *names, size_t count) {
    const char **sorted = kernels_calloc(count > 0 ? count : 1, sizeof *sorted);
    if (sorted != NULL && count > 0) {
        memcpy(sorted, names, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, kernels_compare_texts);
    }
    return sorted;
}

kernels_status kernels_resolve_variants(const kernels_system *system, const char *const *names, size_t count,
                                        void (*on_invalid)(void *payload, const char *name), void *payload,
                                        kernels_decisions *decisions, kernels_error *error) {
    const char **sorted = kernels_names_sorted(names, count);
    if (sorted == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status =
        kernels_resolve_with_rule(system, sorted, count, NULL, on_invalid, payload, decisions, error);
    kernels_free(sorted);
    return status;
}

kernels_status kernels_resolve_in_order(const kernels_system *system, const char *const *names, size_t count,
                                        kernels_decisions *decisions, kernels_error *error) {
    return kernels_resolve_with_rule(system, names, count, NULL, NULL, NULL, decisions, error);
}

void kernels_decisions_dispose(kernels_decisions *decisions) {
    if (decisions == NULL) {
        return;
    }
    for (size_t i = 0; i < decisions->count; i++) {
        kernels_free(decisions->items[i].reason);
    }
    kernels_free(decisions->items);
    *decisions = (kernels_decisions){0};
}

char *kernels_decisions_trace(const kernels_decisions *decisions) {
    kernels_buffer text = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < decisions->count; i++) {
        const kernels_decision *decision = &decisions->items[i];
        char name[KERNELS_VARIANT_NAME_MAX + 1];
        kernels_variant_print(&decision->variant, name);
        kernels_buffer_add_text(&text, i > 0 ? "\n" : "");
        kernels_buffer_add_text(&text, name);
        if (decision->accepted) {
            kernels_buffer_add_text(&text, i == 0 ? " compatible, preferred \u2705" : " compatible \u2705");
        } else {
            kernels_buffer_add_text(&text, ": ");
            kernels_buffer_add_text(&text, decision->reason);
        }
    }
    char *taken = text.size == 0 ? kernels_strdup("") : kernels_buffer_take(&text);
    kernels_buffer_dispose(&text);
    return taken;
}
