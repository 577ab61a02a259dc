/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/helper.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/process.h"

static char *find_helper(const char *name) {
    static const char *const places[] = {".", "../libexec/kernels"};
    KERNELS_CLEANUP_FREE char *own = kernels_process_own_directory();
    for (size_t i = 0; own != NULL && i < sizeof places / sizeof places[0]; i++) {
        char *path = kernels_path_join3(own, places[i], name);
        if (path != NULL && kernels_file_is_regular(path)) {
            return path;
        }
        kernels_free(path);
    }
    return NULL;
}

int kernels_helper_become(kernels_terminal *terminal, const char *name, const kernels_arguments *arguments) {
    int count = 0;
    char **words = kernels_arguments_raw(arguments, &count);
    KERNELS_CLEANUP_FREE char *helper = find_helper(name);
    if (helper == NULL) {
        return kernels_terminal_failure(terminal,
                                        "%s is missing from this installation: expected it beside this program or in "
                                        "../libexec/kernels. The Python package does not bring it: use the programs "
                                        "of an installed libkernels",
                                        name);
    }
    char **argv = kernels_calloc((size_t)count + 2, sizeof *argv);
    if (argv == NULL) {
        return kernels_terminal_failure(terminal, "out of memory");
    }
    argv[0] = helper;
    for (int i = 0; i < count; i++) {
        argv[i + 1] = words[i];
    }
    (void)execv(helper, argv);
    int code = kernels_terminal_failure(terminal, "cannot start %s: %s", helper, strerror(errno));
    kernels_free(argv);
    return code;
}
