/* SPDX-License-Identifier: Apache-2.0 */
/* The mapping itself: a lock around the pointer to the current table. Queries work on the table they found and
 * registrations build a new one, so the lock is held for a moment only and no function of the caller runs under it: the
 * caller's release may run anything, for example another registration. */
#include "kernels/mapping.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "resolve/mapping_table.h"

struct kernels_layer_mapping {
    pthread_mutex_t mutex; /* guards `table` */
    kernels_layer_table *table;
    kernels_layer_repositories repositories;
};

static kernels_layer_table *current_table(kernels_layer_mapping *mapping) {
    pthread_mutex_lock(&mapping->mutex);
    kernels_layer_table *table = mapping->table;
    kernels_layer_table_retain(table);
    pthread_mutex_unlock(&mapping->mutex);
    return table;
}

/* Exchanges *table for the current one, but only if that is still `expected` (NULL: whatever it is). */
static bool exchange_table(kernels_layer_mapping *mapping, const kernels_layer_table *expected,
                           kernels_layer_table **table) {
    pthread_mutex_lock(&mapping->mutex);
    bool exchanged = expected == NULL || mapping->table == expected;
    if (exchanged) {
        kernels_layer_table *replaced = mapping->table;
        mapping->table = *table;
        *table = replaced;
    }
    pthread_mutex_unlock(&mapping->mutex);
    return exchanged;
}

/* Takes over `table`, also on failure. */
static kernels_status new_over(kernels_layer_table *table, const kernels_layer_repositories *repositories,
                               kernels_layer_mapping **mapping, kernels_error *error) {
    kernels_layer_mapping *made = table == NULL ? NULL : kernels_calloc(1, sizeof *made);
    if (made == NULL) {
        kernels_layer_table_release(table, repositories);
        return kernels_fail_no_memory(error);
    }
    pthread_mutex_init(&made->mutex, NULL); /* with default attributes this does not fail on Linux and macOS */
    made->table = table;
    made->repositories = *repositories;
    *mapping = made;
    return KERNELS_OK;
}

kernels_status kernels_layer_mapping_new(const kernels_layer_repositories *repositories,
                                         kernels_layer_mapping **mapping, kernels_error *error) {
    static const kernels_layer_repositories borrowed = {NULL, NULL};
    const kernels_layer_repositories *kept = repositories != NULL ? repositories : &borrowed;
    return new_over(kernels_layer_table_with(NULL, NULL, 0, kept), kept, mapping, error);
}

void kernels_layer_mapping_free(kernels_layer_mapping *mapping) {
    if (mapping != NULL) {
        kernels_layer_table_release(mapping->table, &mapping->repositories);
        pthread_mutex_destroy(&mapping->mutex);
        kernels_free(mapping);
    }
}

kernels_status kernels_layer_mapping_copy(kernels_layer_mapping *mapping, kernels_layer_mapping **copy,
                                          kernels_error *error) {
    return new_over(current_table(mapping), &mapping->repositories, copy, error);
}

/* ---- registration ---- */

static bool may_have_range(kernels_device device) {
    return device == KERNELS_DEVICE_CUDA || device == KERNELS_DEVICE_ROCM || device == KERNELS_DEVICE_TPU;
}

static kernels_status check_entry(const kernels_layer_entry *entry, kernels_error *error) {
    if (entry->layer.size > KERNELS_LAYER_NAME_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "a layer name of %zu bytes: at most %zu", entry->layer.size,
                            KERNELS_LAYER_NAME_LIMIT);
    }
    if (!entry->has_device) {
        return KERNELS_OK;
    }
    if ((unsigned)entry->device >= KERNELS_DEVICE_COUNT) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "Unknown device type %u of layer `%.*s`",
                            (unsigned)entry->device, KERNELS_VIEW_ARGS(entry->layer));
    }
    if (entry->has_range && !may_have_range(entry->device)) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "layer `%.*s`: device %s has no capabilities; register it without a range",
                            KERNELS_VIEW_ARGS(entry->layer), kernels_device_name(entry->device));
    }
    for (size_t i = 0; i < entry->choice_count; i++) {
        if (entry->choices[i].mode >= KERNELS_MODE_COUNT) {
            return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "layer `%.*s`: mode %u is no set of modes",
                                KERNELS_VIEW_ARGS(entry->layer), entry->choices[i].mode);
        }
    }
    return KERNELS_OK;
}

/* Bounds that a table may have reached together with what it had before. */
static kernels_status check_table(const kernels_layer_table *table, kernels_error *error) {
    if (table->count > KERNELS_LAYER_COUNT_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "a mapping of %zu layers: at most %zu", table->count,
                            KERNELS_LAYER_COUNT_LIMIT);
    }
    for (size_t i = 0; i < table->count; i++) {
        for (size_t device = 0; device < KERNELS_DEVICE_COUNT; device++) {
            const kernels_device_set *set = table->layers[i]->devices[device];
            if (set != NULL && set->count > KERNELS_LAYER_RANGE_LIMIT) {
                return kernels_fail(error, KERNELS_LIMIT, "layer `%.*s` has %zu capability ranges: at most %zu",
                                    (int)table->layers[i]->name_size, table->layers[i]->name, set->count,
                                    KERNELS_LAYER_RANGE_LIMIT);
            }
        }
    }
    return KERNELS_OK;
}

/* One attempt; *done is false when another registration came first. */
static kernels_status try_register(kernels_layer_mapping *mapping, const kernels_layer_entry *entries, size_t count,
                                   bool clear, bool *done, kernels_error *error) {
    const kernels_layer_repositories *repositories = &mapping->repositories;
    kernels_layer_table *old = clear ? NULL : current_table(mapping);
    kernels_layer_table *table = kernels_layer_table_with(old, entries, count, repositories);
    kernels_status status = table == NULL ? kernels_fail_no_memory(error) : check_table(table, error);
    *done = status != KERNELS_OK || exchange_table(mapping, old, &table);
    kernels_layer_table_release(table, repositories);
    kernels_layer_table_release(old, repositories);
    return status;
}

kernels_status kernels_layer_mapping_register(kernels_layer_mapping *mapping, const kernels_layer_entry *entries,
                                              size_t count, bool clear, kernels_error *error) {
    if (count > KERNELS_LAYER_ENTRY_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%zu entries at once: at most %zu", count, KERNELS_LAYER_ENTRY_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        KERNELS_TRY(check_entry(&entries[i], error));
    }
    for (bool done = false; !done;) {
        KERNELS_TRY(try_register(mapping, entries, count, clear, &done, error));
    }
    return KERNELS_OK;
}

bool kernels_layer_mapping_equal(kernels_layer_mapping *a, kernels_layer_mapping *b) {
    kernels_layer_table *left = current_table(a);
    kernels_layer_table *right = current_table(b);
    bool equal = kernels_layer_table_equal(left, right);
    kernels_layer_table_release(left, &a->repositories);
    kernels_layer_table_release(right, &b->repositories);
    return equal;
}

/* ---- queries ---- */

static kernels_layer_result choose(const kernels_layer_table *table, const kernels_layer_query *query,
                                   const kernels_choice_set **choices) {
    const kernels_layer *layer = kernels_layer_table_find(table, query->layer);
    if (layer == NULL) {
        return KERNELS_LAYER_NO_LAYER;
    }
    kernels_device device;
    if (kernels_device_parse(query->device, &device, NULL) != KERNELS_OK || layer->devices[device] == NULL) {
        return KERNELS_LAYER_NO_DEVICE;
    }
    *choices = kernels_device_set_choose(layer->devices[device], query->has_capability, query->capability);
    return *choices == NULL ? KERNELS_LAYER_NO_PROPERTIES : KERNELS_LAYER_FOUND;
}

static kernels_layer_result choose_mode(const kernels_choice_set *choices, unsigned requested,
                                        const kernels_layer_choice **chosen) {
    size_t count;
    const unsigned *tried = kernels_mode_order(requested, &count);
    if (tried == NULL) {
        return KERNELS_LAYER_BAD_MODE;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < choices->count; j++) {
            if (choices->items[j].mode == tried[i]) {
                *chosen = &choices->items[j];
                return KERNELS_LAYER_FOUND;
            }
        }
    }
    return KERNELS_LAYER_NO_MODE;
}

static kernels_status explain(const kernels_layer_query *query, kernels_layer_result result, kernels_error *error) {
    char mode[KERNELS_MODE_TEXT_SIZE];
    char capability[32] = "unknown";
    kernels_mode_print(query->mode, mode);
    if (query->has_capability) {
        (void)snprintf(capability, sizeof capability, "%" PRId64, query->capability);
    }
    switch (result) {
    case KERNELS_LAYER_FOUND:
        return KERNELS_OK;
    case KERNELS_LAYER_NO_LAYER:
        return kernels_fail(error, KERNELS_NOT_FOUND, "No layer mapping for `%.*s`: register one for this name",
                            KERNELS_VIEW_ARGS(query->layer));
    case KERNELS_LAYER_NO_DEVICE:
        return kernels_fail(error, KERNELS_NOT_FOUND, "No layer mapping for `%.*s` on device type `%.*s`",
                            KERNELS_VIEW_ARGS(query->layer), KERNELS_VIEW_ARGS(query->device));
    case KERNELS_LAYER_NO_PROPERTIES:
        return kernels_fail(
            error, KERNELS_NOT_FOUND,
            "No layer mapping for `%.*s` on device type `%.*s` with the right properties: the capability "
            "here is %s",
            KERNELS_VIEW_ARGS(query->layer), KERNELS_VIEW_ARGS(query->device), capability);
    case KERNELS_LAYER_NO_MODE:
        return kernels_fail(error, KERNELS_NOT_FOUND, "No repository for `%.*s` on device type `%.*s` fits mode %s",
                            KERNELS_VIEW_ARGS(query->layer), KERNELS_VIEW_ARGS(query->device), mode);
    case KERNELS_LAYER_BAD_MODE:
        break;
    }
    return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                        "Unsupported mode %s: request INFERENCE or TRAINING, alone or with TORCH_COMPILE", mode);
}

kernels_status kernels_layer_mapping_find(kernels_layer_mapping *mapping, const kernels_layer_query *query,
                                          kernels_layer_answer *answer, kernels_error *error) {
    const kernels_choice_set *choices = NULL;
    const kernels_layer_choice *chosen = NULL;
    kernels_layer_table *table = current_table(mapping);
    *answer = (kernels_layer_answer){.result = choose(table, query, &choices)};
    if (choices != NULL) {
        answer->result = choose_mode(choices, query->mode, &chosen);
    }
    if (chosen != NULL) {
        answer->repository = chosen->repository;
        answer->mode = chosen->mode;
        if (mapping->repositories.retain != NULL) {
            mapping->repositories.retain(chosen->repository);
        }
    }
    kernels_layer_table_release(table, &mapping->repositories);
    return explain(query, answer->result, error);
}

kernels_layer_result kernels_layer_mapping_choices(kernels_layer_mapping *mapping, const kernels_layer_query *query,
                                                   kernels_layer_choice choices[KERNELS_MODE_COUNT], size_t *count) {
    const kernels_choice_set *set = NULL;
    kernels_layer_table *table = current_table(mapping);
    kernels_layer_result result = choose(table, query, &set);
    *count = result == KERNELS_LAYER_FOUND ? set->count : 0;
    for (size_t i = 0; i < *count; i++) {
        choices[i] = set->items[i];
        if (mapping->repositories.retain != NULL) {
            mapping->repositories.retain(choices[i].repository);
        }
    }
    kernels_layer_table_release(table, &mapping->repositories);
    return result;
}

void kernels_layer_mapping_visit(kernels_layer_mapping *mapping,
                                 bool (*visit)(void *payload, const kernels_layer_entry *entry), void *payload) {
    kernels_layer_table *table = current_table(mapping);
    kernels_layer_table_visit(table, visit, payload);
    kernels_layer_table_release(table, &mapping->repositories);
}
