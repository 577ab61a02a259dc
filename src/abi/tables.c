/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/tables.h"

#include <string.h>

#include "base/view.h"

extern const kernels_abi_source kernels_abi_sources[]; /* made from data/abi/ */
extern const size_t kernels_abi_source_count;

size_t kernels_abi_names_find(const kernels_abi_names *names, kernels_view name) {
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kernels_view_compare(name, kernels_view_of(names->text + names->offsets[middle]));
        if (order == 0) {
            return middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return SIZE_MAX;
}

const kernels_abi_source *kernels_abi_data_sources(size_t *count) {
    *count = kernels_abi_source_count;
    return kernels_abi_sources;
}
