/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lfs_pointer.h"

#include <inttypes.h>
#include <string.h>

#include "base/view.h"

#define VERSION_LINE "version https://git-lfs.github.com/spec/v1"

bool kernels_lfs_pointer_parse(kernels_view text, char sha256[KERNELS_SHA256_HEX_SIZE], uint64_t *size) {
    kernels_view rest = text, version, oid, length;
    if (text.size > KERNELS_LFS_POINTER_LIMIT || !kernels_view_split(&rest, '\n', &version) ||
        !kernels_view_split(&rest, '\n', &oid) || !kernels_view_split(&rest, '\n', &length)) {
        return false;
    }
    const kernels_view oid_prefix = KERNELS_VIEW("oid sha256:"), size_prefix = KERNELS_VIEW("size ");
    if (!kernels_view_equal_text(version, VERSION_LINE) || !kernels_view_starts_with(oid, oid_prefix) ||
        !kernels_view_starts_with(length, size_prefix) || rest.data == NULL || rest.size != 0) {
        return false;
    }
    oid = kernels_view_slice(oid, oid_prefix.size, oid.size);
    if (!kernels_is_sha256(oid) ||
        !kernels_view_to_u64(kernels_view_slice(length, size_prefix.size, length.size), size)) {
        return false;
    }
    memcpy(sha256, oid.data, oid.size);
    sha256[oid.size] = '\0';
    return true;
}

void kernels_lfs_pointer_print(kernels_buffer *out, const char *sha256, uint64_t size) {
    kernels_buffer_printf(out, VERSION_LINE "\noid sha256:%s\nsize %" PRIu64 "\n", sha256, size);
}
