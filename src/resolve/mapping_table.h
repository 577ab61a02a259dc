/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mapping holds at one moment: layers by name, for each device what is registered. Everything is immutable once
 * it is published, counted, and shared between the mappings that hold it; a change makes new nodes on the way to what
 * changes and shares the rest.
 */
#ifndef KERNELS_SRC_RESOLVE_MAPPING_TABLE_H
#define KERNELS_SRC_RESOLVE_MAPPING_TABLE_H

#include <stdatomic.h>

#include "kernels/mapping.h"

/* What is registered for one range: a repository a mode. */
typedef struct kernels_choice_set {
    atomic_size_t references;
    size_t count;
    kernels_layer_choice items[];
} kernels_choice_set;

typedef struct kernels_choice_range {
    int64_t minimum, maximum;
    kernels_choice_set *set;
} kernels_choice_range;

/* One layer on one device. */
typedef struct kernels_device_set {
    atomic_size_t references;
    kernels_choice_set *plain; /* without a range; NULL: none */
    size_t count;
    kernels_choice_range ranges[]; /* ascending by minimum, then maximum */
} kernels_device_set;

typedef struct kernels_layer {
    atomic_size_t references;
    kernels_device_set *devices[KERNELS_DEVICE_COUNT]; /* NULL: no entry */
    size_t name_size;
    char name[];
} kernels_layer;

typedef struct kernels_layer_table {
    atomic_size_t references;
    size_t count;
    kernels_layer *layers[]; /* ascending by name */
} kernels_layer_table;

/* A new table with these entries in place of those of `old` (NULL: empty); the entries have been checked. NULL when
 * out of memory. */
kernels_layer_table *kernels_layer_table_with(const kernels_layer_table *old, const kernels_layer_entry *entries,
                                              size_t count, const kernels_layer_repositories *repositories);
void kernels_layer_table_retain(kernels_layer_table *table);
/* NULL allowed. */
void kernels_layer_table_release(kernels_layer_table *table, const kernels_layer_repositories *repositories);

/* NULL: no such layer. */
const kernels_layer *kernels_layer_table_find(const kernels_layer_table *table, kernels_view name);
bool kernels_layer_table_equal(const kernels_layer_table *a, const kernels_layer_table *b);
/* As kernels_layer_mapping_visit. */
void kernels_layer_table_visit(const kernels_layer_table *table,
                               bool (*visit)(void *payload, const kernels_layer_entry *entry), void *payload);

/* mapping_set.c */

/* `old` (NULL: empty) with the entry's choices in place of those of the same range. NULL when out of memory. */
kernels_device_set *kernels_device_set_with(const kernels_device_set *old, const kernels_layer_entry *entry,
                                            const kernels_layer_repositories *repositories);
void kernels_device_set_release(kernels_device_set *set, const kernels_layer_repositories *repositories);
/* What holds for a capability. NULL: nothing. */
const kernels_choice_set *kernels_device_set_choose(const kernels_device_set *set, bool has_capability,
                                                    int64_t capability);
bool kernels_device_set_equal(const kernels_device_set *a, const kernels_device_set *b);

#endif
