/* SPDX-License-Identifier: Apache-2.0 */
#include "build/import_check.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "build/build_data.h"

#define PROGRAM_PATH "src/build/check_import.py"
#define TIMEOUT_MS (5u * 60u * 1000u)
/* Most of what the child said that goes into an error. */
#define MESSAGE_TAIL ((size_t)3000)

static void forward_line(void *payload, kernels_view line) {
    const kernels_import_check *check = payload;
    KERNELS_CLEANUP_FREE char *text = kernels_strndup(line.data, line.size);
    if (text != NULL && check->log != NULL) {
        check->log(check->payload, text);
    }
}

static kernels_status judge(const kernels_process_result *result, char **detail, kernels_error *error) {
    kernels_view output = kernels_view_trim_ascii(kernels_buffer_view(&result->output));
    kernels_view said = kernels_view_trim_ascii(kernels_buffer_view(&result->errors));
    kernels_view last = kernels_view_slice(said, kernels_view_find_last(said, '\n') + 1, said.size);
    if (result->timed_out) {
        return kernels_fail(error, KERNELS_TIMEOUT, "importing the package did not end within %u s", TIMEOUT_MS / 1000);
    }
    if (result->exit_code == 0) {
        *detail = kernels_strndup(output.data != NULL ? output.data : "", output.size);
        return *detail != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
    }
    if (kernels_view_starts_with(last, KERNELS_VIEW("error: "))) {
        last = kernels_view_slice(last, strlen("error: "), last.size);
        return kernels_fail(error, KERNELS_CHECK_FAILED, "%.*s", KERNELS_VIEW_ARGS(last));
    }
    said = kernels_view_slice(said, said.size > MESSAGE_TAIL ? said.size - MESSAGE_TAIL : 0, said.size);
    return kernels_fail(error, KERNELS_CHECK_FAILED, "importing the package ended the process with %s %d: %.*s",
                        result->signal != 0 ? "signal" : "code",
                        result->signal != 0 ? result->signal : result->exit_code, KERNELS_VIEW_ARGS(said));
}

static kernels_status start(const kernels_import_check *check, const char *scratch, char **detail,
                            kernels_error *error) {
    kernels_buffer variables KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT * 4);
    kernels_buffer_printf(&variables, "HOME=%s%cTMPDIR=%s%cTPU_LOG_DIR=%s", scratch, '\0', scratch, '\0', scratch);
    KERNELS_TRY(kernels_buffer_status(&variables, error));
    const char *home = variables.data, *temporary = home + strlen(home) + 1;
    const char *environment[] = {home,
                                 temporary,
                                 temporary + strlen(temporary) + 1,
                                 "PATH=/usr/bin:/bin",
                                 "LC_ALL=C.UTF-8",
                                 "TZ=UTC",
                                 "PYTHONHASHSEED=0",
                                 "PYTHONWARNINGS=ignore",
                                 "JAX_PLATFORMS=cpu",
                                 "TPU_SKIP_MDS_QUERY=1",
                                 "TPU_ACCELERATOR_TYPE=v5litepod-1",
                                 "TPU_WORKER_HOSTNAMES=localhost",
                                 "TPU_WORKER_ID=0",
                                 NULL};
    const char *arguments[] = {check->python, "-I", "-B", "-", check->variant_dir, check->package, NULL};
    kernels_process_options options = {
        .arguments = arguments,
        .environment = environment,
        .clear_environment = true,
        .working_directory = scratch,
        .input = kernels_build_data_find(PROGRAM_PATH),
        .timeout_ms = TIMEOUT_MS,
        .on_error_line = forward_line,
        .payload = (void *)(uintptr_t)check,
    };
    kernels_process_result result;
    kernels_status status = kernels_process_run(&options, &result, error);
    if (status != KERNELS_OK && status != KERNELS_TIMEOUT) {
        return kernels_wrap(error, status, "the import check cannot be started");
    }
    status = judge(&result, detail, error);
    kernels_process_result_dispose(&result);
    return status;
}

kernels_status kernels_import_check_run(const kernels_import_check *check, char **detail, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *scratch = NULL;
    KERNELS_TRY(kernels_make_temporary_directory(NULL, "kernel-builder-import-", &scratch, error));
    kernels_status status = start(check, scratch, detail, error);
    kernels_status removed = kernels_remove_tree(scratch, status == KERNELS_OK ? error : NULL);
    return status != KERNELS_OK ? status : removed;
}
