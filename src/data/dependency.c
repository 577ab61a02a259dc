/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/data.h"

int kernels_dependency_compare(const kernels_dependency *a, const kernels_dependency *b) {
    int order = strcmp(a->repo_id, b->repo_id);
    if (order != 0) {
        return order;
    }
    if (!a->revision && !b->revision) {
        return (a->version > b->version) - (a->version < b->version);
    }
    if (!a->revision || !b->revision) {
        return a->revision ? 1 : -1;
    }
    return strcmp(a->revision, b->revision);
}
