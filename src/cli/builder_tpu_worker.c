/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-builder tpu-worker: the child process of build/tpu_jobs.h. Not for people. */
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "build/tpu_worker.h"
#include "cli/builder_commands.h"

/* Where the answers go: the standard output we were given. Whatever a plugin prints goes to standard error. */
typedef struct answers {
    FILE *stream;
} answers;

static void emit(void *payload, kernels_view line) {
    answers *to = payload;
    (void)fprintf(to->stream, "%.*s\n", KERNELS_VIEW_ARGS(line));
    (void)fflush(to->stream);
}

static bool take_output(answers *to) {
    int descriptor = dup(STDOUT_FILENO);
    to->stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    return to->stream != NULL && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static bool read_input(kernels_buffer *text) {
    char block[65536];
    size_t size;
    while ((size = fread(block, 1, sizeof(block), stdin)) > 0) {
        kernels_buffer_add(text, block, size);
    }
    return ferror(stdin) == 0 && text->failure == KERNELS_OK;
}

static int run(const kernels_arguments *arguments, void *payload) {
    kernels_buffer request = KERNELS_BUFFER_INIT(KERNELS_TPU_WORKER_REQUEST_LIMIT);
    kernels_error error = KERNELS_ERROR_INIT;
    answers to = {0};
    int code = KERNELS_EXIT_OK;
    (void)arguments;
    if (!take_output(&to) || !read_input(&request)) {
        code = kernels_terminal_failure(payload, "the TPU worker cannot read its request");
    } else if (kernels_tpu_worker_run(kernels_buffer_view(&request), emit, &to, &error) != KERNELS_OK) {
        code = kernels_terminal_fail(payload, &error);
    }
    kernels_buffer_dispose(&request);
    /* The plugins' own threads and destructors are not to be trusted at exit, and what they leave allocated is
     * not ours to report. */
    _exit(code);
}

const kernels_command kernels_builder_tpu_worker_command = {
    .name = "tpu-worker",
    .summary = "Compile and run programs for check-tpu (internal)",
    .hidden = true,
    .run = run,
};
