/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const uint8_t nothing[1];

static kernels_status fail_path(kernels_error *error, int number, const char *what, const char *path) {
    kernels_status status = kernels_fail_errno(error, number, "cannot %s `%s`", what, path);
    kernels_error_set_subject(error, path);
    return status;
}

static kernels_status map(const char *path, int descriptor, kernels_mapping *mapping, kernels_error *error) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        return fail_path(error, errno, "read", path);
    }
    if (!S_ISREG(facts.st_mode)) {
        return fail_path(error, S_ISDIR(facts.st_mode) ? EISDIR : EINVAL, "read", path);
    }
    *mapping = (kernels_mapping){nothing, 0};
    if (facts.st_size == 0) {
        return KERNELS_OK;
    }
    void *pages = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (pages == MAP_FAILED) {
        return fail_path(error, errno, "map", path);
    }
    *mapping = (kernels_mapping){pages, (size_t)facts.st_size};
    return KERNELS_OK;
}

kernels_status kernels_mapping_open(const char *path, kernels_mapping *mapping, kernels_error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return fail_path(error, errno, "open", path);
    }
    kernels_status status = map(path, descriptor, mapping, error);
    (void)close(descriptor);
    return status;
}

void kernels_mapping_close(kernels_mapping *mapping) {
    if (mapping->size > 0) {
        (void)munmap((void *)(uintptr_t)mapping->data, mapping->size);
    }
    *mapping = (kernels_mapping){nothing, 0};
}

void kernels_mapping_forget(const kernels_mapping *mapping) {
    if (mapping->size > 0) {
        (void)madvise((void *)(uintptr_t)mapping->data, mapping->size, MADV_DONTNEED);
    }
}
