/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/memory.h"
#include "resolve/mapping_table.h"

/* ---- choices ---- */

static void choice_set_retain(kernels_choice_set *set) {
    if (set != NULL) {
        atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
    }
}

static void choice_set_release(kernels_choice_set *set, const kernels_layer_repositories *repositories) {
    if (set == NULL || atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; repositories->release != NULL && i < set->count; i++) {
        repositories->release(set->items[i].repository);
    }
    kernels_free(set);
}

/* Sets a mode; the set has room for all modes that will come. */
static void choice_set_put(kernels_choice_set *set, kernels_layer_choice choice) {
    size_t i = 0;
    while (i < set->count && set->items[i].mode != choice.mode) {
        i++;
    }
    set->items[i] = choice;
    set->count = i == set->count ? i + 1 : set->count;
}

static kernels_choice_set *choice_set_new(const kernels_layer_entry *entry,
                                          const kernels_layer_repositories *repositories) {
    size_t room = entry->choice_count < KERNELS_MODE_COUNT ? entry->choice_count : KERNELS_MODE_COUNT;
    kernels_choice_set *set = kernels_malloc(sizeof *set + room * sizeof *set->items);
    if (set == NULL) {
        return NULL;
    }
    atomic_init(&set->references, 1);
    set->count = 0;
    for (size_t i = 0; i < entry->choice_count; i++) {
        choice_set_put(set, entry->choices[i]);
    }
    for (size_t i = 0; repositories->retain != NULL && i < set->count; i++) {
        repositories->retain(set->items[i].repository);
    }
    return set;
}

static bool choice_set_equal(const kernels_choice_set *a, const kernels_choice_set *b) {
    if (a == NULL || b == NULL || a->count != b->count) {
        return a == b;
    }
    for (size_t i = 0; i < a->count; i++) {
        size_t j = 0;
        while (j < b->count && a->items[i].mode != b->items[j].mode) {
            j++;
        }
        if (j == b->count || a->items[i].repository != b->items[j].repository) {
            return false;
        }
    }
    return true;
}

/* ---- ranges ---- */

/* Where a range stands among those of the set; *found tells whether it is there. */
static size_t range_place(const kernels_device_set *set, int64_t minimum, int64_t maximum, bool *found) {
    size_t i = 0;
    while (
        set != NULL && i < set->count &&
        (set->ranges[i].minimum < minimum || (set->ranges[i].minimum == minimum && set->ranges[i].maximum < maximum))) {
        i++;
    }
    *found = set != NULL && i < set->count && set->ranges[i].minimum == minimum && set->ranges[i].maximum == maximum;
    return i;
}

/* cuda and rocm always have a capability; the others may be registered for all machines. */
static bool entry_range(const kernels_layer_entry *entry, int64_t *minimum, int64_t *maximum) {
    bool always = entry->device == KERNELS_DEVICE_CUDA || entry->device == KERNELS_DEVICE_ROCM;
    *minimum = entry->has_range ? entry->minimum : 0;
    *maximum = entry->has_range ? entry->maximum : INT64_MAX;
    return entry->has_range || always;
}

/* A copy with `gap` free places at `at`; its plain set and its ranges are retained. */
static kernels_device_set *device_set_copy(const kernels_device_set *old, size_t at, size_t gap) {
    size_t count = old == NULL ? 0 : old->count;
    kernels_device_set *set = kernels_calloc(1, sizeof *set + (count + gap) * sizeof *set->ranges);
    if (set == NULL) {
        return NULL;
    }
    atomic_init(&set->references, 1);
    set->count = count + gap;
    if (old != NULL) {
        set->plain = old->plain;
        memcpy(set->ranges, old->ranges, at * sizeof *set->ranges);
        memcpy(set->ranges + at + gap, old->ranges + at, (count - at) * sizeof *set->ranges);
        choice_set_retain(set->plain);
        for (size_t i = 0; i < count; i++) {
            choice_set_retain(old->ranges[i].set);
        }
    }
    return set;
}

kernels_device_set *kernels_device_set_with(const kernels_device_set *old, const kernels_layer_entry *entry,
                                            const kernels_layer_repositories *repositories) {
    int64_t minimum, maximum;
    bool found = true;
    bool has_range = entry_range(entry, &minimum, &maximum);
    size_t at = has_range ? range_place(old, minimum, maximum, &found) : 0;
    kernels_choice_set *choices = choice_set_new(entry, repositories);
    kernels_device_set *set = choices == NULL ? NULL : device_set_copy(old, at, found ? 0 : 1);
    if (set == NULL) {
        choice_set_release(choices, repositories);
        return NULL;
    }
    kernels_choice_set **place = has_range ? &set->ranges[at].set : &set->plain;
    choice_set_release(*place, repositories);
    *place = choices;
    if (has_range) {
        set->ranges[at].minimum = minimum;
        set->ranges[at].maximum = maximum;
    }
    return set;
}

void kernels_device_set_release(kernels_device_set *set, const kernels_layer_repositories *repositories) {
    if (set == NULL || atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    choice_set_release(set->plain, repositories);
    for (size_t i = 0; i < set->count; i++) {
        choice_set_release(set->ranges[i].set, repositories);
    }
    kernels_free(set);
}

/* Narrower, or as narrow and beginning higher: then more is meant for this very capability. The width of a range
 * from a negative number may not fit in a signed one. */
static bool is_closer(const kernels_choice_range *range, const kernels_choice_range *other) {
    uint64_t width = (uint64_t)range->maximum - (uint64_t)range->minimum;
    uint64_t other_width = (uint64_t)other->maximum - (uint64_t)other->minimum;
    return width != other_width ? width < other_width : range->minimum > other->minimum;
}

const kernels_choice_set *kernels_device_set_choose(const kernels_device_set *set, bool has_capability,
                                                    int64_t capability) {
    const kernels_choice_range *best = NULL;
    for (size_t i = 0; has_capability && i < set->count; i++) {
        const kernels_choice_range *range = &set->ranges[i];
        if (range->minimum <= capability && capability <= range->maximum && (best == NULL || is_closer(range, best))) {
            best = range;
        }
    }
    return best != NULL ? best->set : set->plain;
}

bool kernels_device_set_equal(const kernels_device_set *a, const kernels_device_set *b) {
    if (a == NULL || b == NULL || a->count != b->count || !choice_set_equal(a->plain, b->plain)) {
        return a == b;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->ranges[i].minimum != b->ranges[i].minimum || a->ranges[i].maximum != b->ranges[i].maximum ||
            !choice_set_equal(a->ranges[i].set, b->ranges[i].set)) {
            return false;
        }
    }
    return true;
}
