/* SPDX-License-Identifier: Apache-2.0 */
#include "build/config_update.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/git.h"

kernels_status kernels_config_update_make(const char *kernel_dir, const char *license, kernels_config_update *update,
                                          kernels_error *error) {
    *update = (kernels_config_update){0};
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(kernel_dir, "build.toml");
    KERNELS_CLEANUP_FREE char *text = NULL;
    size_t size = 0;
    KERNELS_TRY(path ? kernels_file_read(path, KERNELS_BUILD_SIZE_LIMIT, &text, &size, error)
                     : kernels_fail_no_memory(error));
    const kernels_view before = {text, size};
    KERNELS_TRY(kernels_build_migrate(before, path, license, &update->edition, &update->text, error));
    kernels_status status = KERNELS_OK;
    if (update->text) {
        status = kernels_git_diff("build.toml", before, kernels_view_of(update->text), &update->difference, error);
    }
    if (status) {
        kernels_config_update_dispose(update);
    }
    return status;
}

kernels_status kernels_config_update_write(const char *kernel_dir, const kernels_config_update *update,
                                           kernels_error *error) {
    if (!update->text) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(kernel_dir, "build.toml");
    KERNELS_CLEANUP_FREE char *real = path ? kernels_path_resolve(path) : NULL;
    struct stat facts;
    if (!path) {
        return kernels_fail_no_memory(error);
    }
    if (!real || stat(real, &facts) != 0) {
        return kernels_fail_errno(error, errno, "cannot find `%s`", path);
    }
    return kernels_file_write(real, kernels_view_of(update->text), facts.st_mode & 0777, error);
}

void kernels_config_update_dispose(kernels_config_update *update) {
    kernels_string_free(update->text);
    kernels_free(update->difference);
    *update = (kernels_config_update){0};
}
