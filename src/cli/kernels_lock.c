/* SPDX-License-Identifier: Apache-2.0 */
/* `kernels lock`: writes which commits the kernels of a project are now. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "cli/context.h"
#include "cli/kernels_commands.h"
#include "kernels/lock.h"

typedef struct lock_run {
    kernels_context *context;
    const char *project_dir;
    bool older; /* the format of releases before 0.17 */
} lock_run;

static kernels_status make_text(const lock_run *run, const kernels_project_dependencies *wanted, char **text,
                                kernels_error *error) {
    if (run->older) {
        return kernels_lock_dependencies_older(run->context, wanted->items, wanted->count, text, error);
    }
    kernels_locks locks = {0};
    KERNELS_TRY(kernels_lock_dependencies(run->context, wanted->items, wanted->count, &locks, error));
    kernels_status status = kernels_locks_print(&locks, text, error);
    kernels_locks_dispose(&locks);
    return status;
}

/* The old lock file stays as it is until the new one is complete. */
static kernels_status write_lock(const lock_run *run, const char *text, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(run->project_dir, "kernels.lock");
    return path == NULL ? kernels_fail_no_memory(error) : kernels_file_write(path, kernels_view_of(text), 0, error);
}

static kernels_status lock(const lock_run *run, kernels_error *error) {
    kernels_project_dependencies wanted = {0};
    char *text = NULL;
    KERNELS_TRY(kernels_project_dependencies_read(run->project_dir, &wanted, error));
    kernels_status status = make_text(run, &wanted, &text, error);
    kernels_project_dependencies_dispose(&wanted);
    if (status == KERNELS_OK) {
        status = write_lock(run, text, error);
    }
    kernels_string_free(text);
    return status;
}

static int run_command(const kernels_arguments *arguments, void *payload) {
    const char *format = kernels_arguments_text(arguments, "format");
    const char *folder = kernels_arguments_positional(arguments, 0);
    lock_run run = {.project_dir = folder[0] != '\0' ? folder : ".", /* as the released program has it */
                    .older = format != NULL && strcmp(format, "1") == 0};
    kernels_error error = KERNELS_ERROR_INIT;
    kernels_status status = kernels_terminal_context_new(payload, NULL, &run.context, &error);
    if (status != KERNELS_OK) {
        return kernels_terminal_fail(payload, &error);
    }
    status = lock(&run, &error);
    int code = status == KERNELS_OK ? KERNELS_EXIT_OK : kernels_terminal_fail(payload, &error);
    kernels_terminal_context_free(payload, run.context);
    return code;
}

static const char *const formats[] = {"1", "2", NULL};

static const kernels_option options[] = {
    {.name = "format",
     .type = KERNELS_OPTION_CHOICE,
     .value_name = "N",
     .choices = formats,
     .exact_name = true,
     .help = "Format of the file: 2 (default) with all dependencies; 1 for releases of kernels before 0.17."},
    {0},
};

static const kernels_positional positionals[] = {
    {.name = "PROJECT_DIR",
     .help = "Folder of the project, with its pyproject.toml.",
     .required = true,
     .may_be_empty = true},
    {0},
};

const kernels_command kernels_command_lock = {
    .name = "lock",
    .summary = "Lock the kernels of a project, and all that they depend on, to the commits that they are now.",
    .description =
        "Reads [tool.kernels.dependencies] of pyproject.toml, lines of the form \"owner/name\" = VERSION, asks the\n"
        "Hub and writes kernels.lock beside it. The lock holds the dependencies of every build variant: it is the\n"
        "same on every machine. Nothing is printed; after a failure the old kernels.lock is unchanged. Kernels of\n"
        "publishers that are not trusted cannot be locked.",
    .options = options,
    .positionals = positionals,
    .examples = "kernels lock my-project\nkernels download my-project\n",
    .run = run_command,
};
