/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/mapping_table.h"

#include <string.h>

#include "base/memory.h"
#include "base/view.h"

/* ---- layers ---- */

static kernels_view name_of(const kernels_layer *layer) { return (kernels_view){layer->name, layer->name_size}; }

static void layer_release(kernels_layer *layer, const kernels_layer_repositories *repositories) {
    if (layer == NULL || atomic_fetch_sub_explicit(&layer->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < KERNELS_DEVICE_COUNT; i++) {
        kernels_device_set_release(layer->devices[i], repositories);
    }
    kernels_free(layer);
}

static void layer_share_devices(kernels_layer *layer, const kernels_layer *old) {
    for (size_t i = 0; i < KERNELS_DEVICE_COUNT; i++) {
        layer->devices[i] = old->devices[i];
        if (layer->devices[i] != NULL) {
            atomic_fetch_add_explicit(&layer->devices[i]->references, 1, memory_order_relaxed);
        }
    }
}

/* old: NULL = a new layer. */
static kernels_layer *layer_with(const kernels_layer *old, const kernels_layer_entry *entry,
                                 const kernels_layer_repositories *repositories) {
    kernels_layer *layer = kernels_calloc(1, sizeof *layer + entry->layer.size);
    if (layer == NULL) {
        return NULL;
    }
    atomic_init(&layer->references, 1);
    layer->name_size = entry->layer.size;
    if (entry->layer.size > 0) {
        memcpy(layer->name, entry->layer.data, entry->layer.size);
    }
    if (old != NULL) {
        layer_share_devices(layer, old);
    }
    if (!entry->has_device) {
        return layer;
    }
    kernels_device_set **place = &layer->devices[entry->device];
    kernels_device_set *set = kernels_device_set_with(*place, entry, repositories);
    if (set == NULL) {
        layer_release(layer, repositories);
        return NULL;
    }
    kernels_device_set_release(*place, repositories);
    *place = set;
    return layer;
}

/* ---- tables ---- */

/* Where a name stands or would stand. */
static size_t place_of(const kernels_layer_table *table, kernels_view name, bool *found) {
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kernels_view_compare(name_of(table->layers[middle]), name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    *found = false;
    return low;
}

/* A copy with room for further layers. */
static kernels_layer_table *table_copy(const kernels_layer_table *old, size_t room) {
    size_t count = old == NULL ? 0 : old->count;
    kernels_layer_table *table = kernels_malloc(sizeof *table + (count + room) * sizeof(kernels_layer *));
    if (table == NULL) {
        return NULL;
    }
    atomic_init(&table->references, 1);
    table->count = count;
    for (size_t i = 0; i < count; i++) {
        table->layers[i] = old->layers[i];
        atomic_fetch_add_explicit(&table->layers[i]->references, 1, memory_order_relaxed);
    }
    return table;
}

static bool table_put(kernels_layer_table *table, const kernels_layer_entry *entry,
                      const kernels_layer_repositories *repositories) {
    bool found;
    size_t at = place_of(table, entry->layer, &found);
    kernels_layer *layer = layer_with(found ? table->layers[at] : NULL, entry, repositories);
    if (layer == NULL) {
        return false;
    }
    if (found) {
        layer_release(table->layers[at], repositories);
    } else {
        memmove(&table->layers[at + 1], &table->layers[at], (table->count - at) * sizeof *table->layers);
        table->count++;
    }
    table->layers[at] = layer;
    return true;
}

kernels_layer_table *kernels_layer_table_with(const kernels_layer_table *old, const kernels_layer_entry *entries,
                                              size_t count, const kernels_layer_repositories *repositories) {
    kernels_layer_table *table = table_copy(old, count);
    for (size_t i = 0; table != NULL && i < count; i++) {
        if (!table_put(table, &entries[i], repositories)) {
            kernels_layer_table_release(table, repositories);
            table = NULL;
        }
    }
    return table;
}

void kernels_layer_table_retain(kernels_layer_table *table) {
    atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
}

void kernels_layer_table_release(kernels_layer_table *table, const kernels_layer_repositories *repositories) {
    if (table == NULL || atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        layer_release(table->layers[i], repositories);
    }
    kernels_free(table);
}

const kernels_layer *kernels_layer_table_find(const kernels_layer_table *table, kernels_view name) {
    bool found;
    size_t at = place_of(table, name, &found);
    return found ? table->layers[at] : NULL;
}

static bool layer_equal(const kernels_layer *a, const kernels_layer *b) {
    for (size_t i = 0; i < KERNELS_DEVICE_COUNT; i++) {
        if (!kernels_device_set_equal(a->devices[i], b->devices[i])) {
            return false;
        }
    }
    return kernels_view_equal(name_of(a), name_of(b));
}

bool kernels_layer_table_equal(const kernels_layer_table *a, const kernels_layer_table *b) {
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->layers[i] != b->layers[i] && !layer_equal(a->layers[i], b->layers[i])) {
            return false;
        }
    }
    return true;
}

/* ---- visiting ---- */

static bool visit_set(kernels_layer_entry entry, const kernels_choice_set *set,
                      bool (*visit)(void *payload, const kernels_layer_entry *entry), void *payload) {
    entry.choices = set->items;
    entry.choice_count = set->count;
    return visit(payload, &entry);
}

static bool visit_device(kernels_layer_entry entry, const kernels_device_set *set,
                         bool (*visit)(void *payload, const kernels_layer_entry *entry), void *payload) {
    if (set->plain != NULL && !visit_set(entry, set->plain, visit, payload)) {
        return false;
    }
    entry.has_range = true;
    for (size_t i = 0; i < set->count; i++) {
        entry.minimum = set->ranges[i].minimum;
        entry.maximum = set->ranges[i].maximum;
        if (!visit_set(entry, set->ranges[i].set, visit, payload)) {
            return false;
        }
    }
    return true;
}

static bool visit_layer(const kernels_layer *layer, bool (*visit)(void *payload, const kernels_layer_entry *entry),
                        void *payload) {
    kernels_layer_entry entry = {.layer = name_of(layer)};
    for (size_t i = 0; i < KERNELS_DEVICE_COUNT; i++) {
        if (layer->devices[i] != NULL) {
            entry.has_device = true;
            entry.device = (kernels_device)i;
            if (!visit_device(entry, layer->devices[i], visit, payload)) {
                return false;
            }
        }
    }
    return entry.has_device || visit(payload, &entry);
}

void kernels_layer_table_visit(const kernels_layer_table *table,
                               bool (*visit)(void *payload, const kernels_layer_entry *entry), void *payload) {
    for (size_t i = 0; i < table->count && visit_layer(table->layers[i], visit, payload); i++) {
    }
}
