/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels serve`: the server is a program of its own, so that the other commands do not carry its libraries. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/kernels_commands.h"
#include "cli/serve_options.h"

#define HELPER "kernels-serve"

/* Beside this program (a build folder), or where the installation puts it. */
static char *find_helper(void) {
    KERNELS_CLEANUP_FREE char *own = kernels_process_own_directory();
    if (own == NULL) {
        return NULL;
    }
    static const char *const places[] = {HELPER, "../libexec/kernels/" HELPER};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *path = kernels_path_join(own, places[i]);
        if (path != NULL && kernels_file_is_regular(path)) {
            return path;
        }
        kernels_free(path);
    }
    return NULL;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_terminal *terminal = payload;
    int count = 0;
    char **words = kernels_arguments_raw(arguments, &count);
    KERNELS_CLEANUP_FREE char *helper = find_helper();
    if (helper == NULL) {
        return kernels_terminal_failure(terminal,
                                        "%s is missing from this installation: expected it beside this "
                                        "program or in ../libexec/kernels",
                                        HELPER);
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

const kernels_command kernels_command_serve = {
    .name = "serve",
    .summary = kernels_serve_summary,
    .description = kernels_serve_description,
    .options = kernels_serve_options,
    .positionals = kernels_serve_positionals,
    .examples = kernels_serve_examples,
    .run = run,
};
