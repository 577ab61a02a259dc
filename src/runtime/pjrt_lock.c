/* SPDX-License-Identifier: Apache-2.0 */
/* libtpu lets one process at a time use the TPU, by a lock file that it names in its error. */
#include <fcntl.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "runtime/pjrt_plugin.h"

/* The path in `... multi-process lockfile. Run "$ sudo rm /tmp/libtpu_lockfile".`, heap text; NULL: another error. */
static char *find_lock_file(const char *message) {
    kernels_view rest = kernels_view_of(message);
    size_t start = kernels_view_find(rest, '/');
    if (start == SIZE_MAX || !kernels_view_contains(rest, KERNELS_VIEW("multi-process lockfile"))) {
        return NULL;
    }
    rest = kernels_view_slice(rest, start, rest.size);
    rest = kernels_view_slice(rest, 0, kernels_view_find(rest, '"'));
    return kernels_strndup(rest.data, rest.size);
}

/* The process that holds the lock, or 0. */
static long find_holder(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    FILE *file = fopen(path, "r");
    if (!file) {
        return 0;
    }
    bool asked = fcntl(fileno(file), F_GETLK, &lock) == 0;
    (void)fclose(file);
    return asked && lock.l_type != F_UNLCK ? (long)lock.l_pid : 0;
}

kernels_status kernels_pjrt_explain_lock(kernels_status status, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = error ? find_lock_file(kernels_error_message(error)) : NULL;
    if (!path) {
        return status;
    }
    long holder = find_holder(path);
    if (holder == 0) {
        return kernels_wrap(error, status, "another process used the TPU a moment ago (lock file %s); try again", path);
    }
    return kernels_wrap(
        error, status,
        "process %ld uses the TPU (it holds %s, which must stay); one process at a time can, so wait for it "
        "or end it",
        holder, path);
}
