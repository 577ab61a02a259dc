/* SPDX-License-Identifier: Apache-2.0 */
#include "server/versions.h"

#include "base/view.h"

bool kernels_ref_version(const char *name, uint64_t *version) {
    const kernels_view prefix = KERNELS_VIEW("refs/heads/v");
    kernels_view view = kernels_view_of(name);
    if (!kernels_view_starts_with(view, prefix)) {
        return false;
    }
    view = kernels_view_slice(view, prefix.size, view.size);
    return kernels_view_to_u64(view, version) && (view.size == 1 || view.data[0] != '0');
}

bool kernels_refs_latest_version(const kernels_store_ref *refs, size_t count, uint64_t *version) {
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t one;
        if (kernels_ref_version(refs[i].name, &one) && (!found || one > *version)) {
            *version = one;
            found = true;
        }
    }
    return found;
}
