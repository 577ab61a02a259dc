/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_jobs.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "build/tpu_worker.h"

#define WORKER_PROGRAM "kernel-builder"
#define WORKER_COMMAND "tpu-worker"
#define CAPTURE_LIMIT ((size_t)64 * 1024 * 1024)
/* Beside the limits of the jobs: starting, and opening the plugin. */
#define START_SECONDS 60u
#define TIMEOUT_MS_MAX 2000000000u
/* Most of the compiler's own words that go into a message about its end. */
#define MESSAGE_TAIL ((size_t)1000)

/* ---- request ---- */

static void write_arrays(kernels_json_writer *writer, const char *key, const kernels_tpu_array *arrays, size_t count) {
    kernels_json_key(writer, key);
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        char *shape = kernels_shape_print(&arrays[i].shape);
        if (shape == NULL) {
            writer->out->failure = KERNELS_NO_MEMORY;
        }
        kernels_json_begin_object(writer);
        kernels_json_member_text(writer, "shape", shape);
        kernels_json_member_text(writer, "file", arrays[i].file);
        kernels_json_end_object(writer);
        kernels_string_free(shape);
    }
    kernels_json_end_array(writer);
}

static void write_job(kernels_json_writer *writer, const kernels_tpu_job *job) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "program", job->program);
    if (job->topology != NULL) {
        kernels_json_member_text(writer, "topology", job->topology);
    } else {
        kernels_json_member_double(writer, "rtol", job->rtol);
        kernels_json_member_double(writer, "atol", job->atol);
        write_arrays(writer, "inputs", job->inputs, job->input_count);
        write_arrays(writer, "outputs", job->outputs, job->output_count);
    }
    kernels_json_end_object(writer);
}

static kernels_status write_request(const kernels_tpu_jobs_options *options, const kernels_tpu_job *jobs, size_t count,
                                    kernels_buffer *text, kernels_error *error) {
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, text, 0, false);
    kernels_json_begin_object(&writer);
    kernels_json_member_text(&writer, "plugin", options->plugin);
    kernels_json_member_unsigned(&writer, "timeout", options->timeout_seconds);
    kernels_json_key(&writer, "jobs");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        write_job(&writer, &jobs[i]);
    }
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
    return kernels_buffer_status(text, error);
}

/* ---- answer ---- */

static int64_t integer(const kernels_node *object, const char *key) {
    const kernels_node *node = kernels_node_find(object, key);
    return kernels_node_is(node, KERNELS_NODE_UNSIGNED) && node->as.unsigned_value <= INT64_MAX
               ? (int64_t)node->as.unsigned_value
               : -1;
}

/* NaN is written as null and read back as NaN. */
static double real(const kernels_node *object, const char *key) {
    const kernels_node *node = kernels_node_find(object, key);
    char text[64];
    if (kernels_node_is(node, KERNELS_NODE_UNSIGNED)) {
        return (double)node->as.unsigned_value;
    }
    if (kernels_node_is(node, KERNELS_NODE_NEGATIVE)) {
        return (double)node->as.negative;
    }
    if (!kernels_node_is(node, KERNELS_NODE_NUMBER) || node->as.text.size >= sizeof(text)) {
        return strtod("nan", NULL);
    }
    memcpy(text, node->as.text.data, node->as.text.size);
    text[node->as.text.size] = '\0';
    return strtod(text, NULL);
}

static void read_stats(const kernels_node *node, kernels_pjrt_stats *stats) {
    kernels_view kind = kernels_node_text(kernels_node_find(node, "device_kind"));
    *stats = (kernels_pjrt_stats){
        .code_bytes = integer(node, "code_bytes"),
        .argument_bytes = integer(node, "argument_bytes"),
        .output_bytes = integer(node, "output_bytes"),
        .temporary_bytes = integer(node, "temporary_bytes"),
        .alias_bytes = integer(node, "alias_bytes"),
        .peak_bytes = integer(node, "peak_bytes"),
        .flops = real(node, "flops"),
        .bytes_accessed = real(node, "bytes_accessed"),
    };
    if (kind.size > 0 && kind.size < sizeof(stats->device_kind)) {
        memcpy(stats->device_kind, kind.data, kind.size);
    }
}

/* How far one child came. */
typedef struct progress {
    size_t begun, ended; /* jobs of this child, from its first */
} progress;

static void read_end(const kernels_tpu_jobs_options *options, const kernels_node *node, kernels_tpu_job *job) {
    const kernels_node *passed = kernels_node_find(node, "passed");
    const kernels_node *stats = kernels_node_find(node, "stats");
    kernels_view message = kernels_node_text(kernels_node_find(node, "message"));
    job->outcome =
        kernels_node_is(passed, KERNELS_NODE_BOOLEAN) && passed->as.boolean ? KERNELS_TPU_PASSED : KERNELS_TPU_FAILED;
    job->message = message.data != NULL ? kernels_arena_copy_text(options->arena, message) : NULL;
    job->seconds = real(node, "seconds");
    job->largest_difference = real(node, "difference");
    if (stats != NULL) {
        read_stats(stats, &job->stats);
    }
}

/* Lines come in order, one job after the other; anything else on that stream is not ours and is ignored. */
static void read_line(const kernels_tpu_jobs_options *options, kernels_view line, kernels_tpu_job *jobs, size_t count,
                      progress *at) {
    kernels_document document;
    if (kernels_json_parse(line, "answer", &document, NULL) != KERNELS_OK) {
        return;
    }
    if (integer(document.root, "begin") == (int64_t)at->begun && at->begun < count) {
        at->begun++;
    } else if (integer(document.root, "end") == (int64_t)at->ended && at->ended < at->begun) {
        read_end(options, document.root, &jobs[at->ended]);
        at->ended++;
    }
    kernels_document_dispose(&document);
}

static void describe_end(const kernels_tpu_jobs_options *options, const kernels_process_result *result,
                         kernels_buffer *text) {
    kernels_view said = kernels_view_trim_ascii(kernels_buffer_view(&result->errors));
    if (result->signal == SIGALRM || result->timed_out) {
        kernels_buffer_printf(text, "no answer within %u s, stopped", options->timeout_seconds);
        return;
    }
    if (result->signal != 0) {
        kernels_buffer_printf(text, "the child process was ended by signal %d (%s)", result->signal,
                              strsignal(result->signal));
    } else {
        kernels_buffer_printf(text, "the child process ended with exit code %d", result->exit_code);
    }
    if (said.size > 0) {
        said = kernels_view_slice(said, said.size > MESSAGE_TAIL ? said.size - MESSAGE_TAIL : 0, said.size);
        kernels_buffer_printf(text, ": %.*s", KERNELS_VIEW_ARGS(said));
    }
}

static void fail_jobs(const kernels_tpu_jobs_options *options, const kernels_process_result *result,
                      kernels_tpu_job *jobs, size_t count) {
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    describe_end(options, result, &text);
    const char *message = kernels_arena_copy_text(options->arena, kernels_buffer_view(&text));
    for (size_t i = 0; i < count; i++) {
        jobs[i].outcome = KERNELS_TPU_FAILED;
        jobs[i].message = message;
    }
}

/* Takes the child's answer; *done becomes the number of jobs that are settled by it. */
static void settle(const kernels_tpu_jobs_options *options, const kernels_process_result *result, kernels_tpu_job *jobs,
                   size_t count, size_t *done) {
    progress at = {0};
    kernels_view rest = kernels_buffer_view(&result->output), line;
    while (kernels_view_split(&rest, '\n', &line)) {
        read_line(options, line, jobs, count, &at);
    }
    *done = at.ended;
    if (at.ended < at.begun) {
        fail_jobs(options, result, &jobs[at.ended], 1);
        *done = at.ended + 1;
    } else if (at.ended == 0 && count > 0) { /* it never came to work: the next one would not either */
        fail_jobs(options, result, jobs, count);
        *done = count;
    }
}

/* ---- children ---- */

static void forward_line(void *payload, kernels_view line) {
    const kernels_tpu_jobs_options *options = payload;
    KERNELS_CLEANUP_FREE char *text = kernels_strndup(line.data, line.size);
    if (text != NULL && options->log != NULL) {
        options->log(options->payload, text);
    }
}

static unsigned child_timeout_ms(const kernels_tpu_jobs_options *options, size_t count) {
    uint64_t seconds = (uint64_t)options->timeout_seconds * count + START_SECONDS;
    return seconds * 1000 < TIMEOUT_MS_MAX ? (unsigned)(seconds * 1000) : TIMEOUT_MS_MAX;
}

/*
 * libtpu is only asked to compile: it must not look for a metadata service, nor take the lock that says who
 * runs on the TPU. Its log files, which cannot be switched off, go to a folder that is removed. What the user has
 * set of the rest stays.
 */
static const char *const tpu_defaults[] = {"TPU_ACCELERATOR_TYPE=v5litepod-1", "TPU_WORKER_HOSTNAMES=localhost",
                                           "TPU_WORKER_ID=0"};
#define TPU_DEFAULT_COUNT (sizeof(tpu_defaults) / sizeof(tpu_defaults[0]))
#define CHILD_VARIABLES (TPU_DEFAULT_COUNT + 4)

static bool is_set(const char *assignment) {
    char name[64];
    size_t size = (size_t)(strchr(assignment, '=') - assignment);
    if (size >= sizeof(name)) {
        return false;
    }
    memcpy(name, assignment, size);
    name[size] = '\0';
    return getenv(name) != NULL;
}

static void child_environment(const char *log_dir, const char *environment[CHILD_VARIABLES]) {
    size_t count = 0;
    environment[count++] = "TPU_SKIP_MDS_QUERY=1";
    environment[count++] = "ALLOW_MULTIPLE_LIBTPU_LOAD=1";
    environment[count++] = log_dir;
    for (size_t i = 0; i < TPU_DEFAULT_COUNT; i++) {
        if (!is_set(tpu_defaults[i])) {
            environment[count++] = tpu_defaults[i];
        }
    }
    environment[count] = NULL;
}

/* What all children of one list share. */
typedef struct children {
    const kernels_tpu_jobs_options *options;
    const char *program; /* the worker */
    const char *log_dir; /* "TPU_LOG_DIR=..." */
} children;

static kernels_status run_child(const children *family, kernels_tpu_job *jobs, size_t count, size_t *done,
                                kernels_error *error) {
    const kernels_tpu_jobs_options *options = family->options;
    kernels_buffer request KERNELS_CLEANUP(kernels_cleanup_buffer) =
        KERNELS_BUFFER_INIT(KERNELS_TPU_WORKER_REQUEST_LIMIT);
    KERNELS_TRY(write_request(options, jobs, count, &request, error));
    const char *environment[CHILD_VARIABLES];
    child_environment(family->log_dir, environment);
    const char *arguments[] = {family->program, WORKER_COMMAND, NULL};
    kernels_process_options process = {
        .arguments = arguments,
        .environment = environment,
        .input = kernels_buffer_view(&request),
        .capture_limit = CAPTURE_LIMIT,
        .timeout_ms = child_timeout_ms(options, count),
        .on_error_line = forward_line,
        .payload = (void *)(uintptr_t)options,
    };
    kernels_process_result result;
    kernels_status status = kernels_process_run(&process, &result, error);
    if (status != KERNELS_OK && status != KERNELS_TIMEOUT) {
        return kernels_wrap(error, status, "the TPU worker cannot be started");
    }
    settle(options, &result, jobs, count, done);
    kernels_process_result_dispose(&result);
    return KERNELS_OK;
}

static kernels_status run_children(const children *family, kernels_tpu_job *jobs, size_t count, kernels_error *error) {
    for (size_t first = 0, done = 0; first < count; first += done) {
        KERNELS_TRY(run_child(family, jobs + first, count - first, &done, error));
    }
    return KERNELS_OK;
}

kernels_status kernels_tpu_jobs_run(const kernels_tpu_jobs_options *options, kernels_tpu_job *jobs, size_t count,
                                    kernels_error *error) {
    if (count > KERNELS_TPU_JOBS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "%zu programs to compile or run, more than the limit of %u", count,
                            KERNELS_TPU_JOBS_MAX);
    }
    KERNELS_CLEANUP_FREE char *directory = kernels_process_own_directory();
    KERNELS_CLEANUP_FREE char *program = directory != NULL ? kernels_path_join(directory, WORKER_PROGRAM) : NULL;
    KERNELS_CLEANUP_FREE char *scratch = NULL;
    kernels_buffer log_dir KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(2 * KERNELS_PATH_LIMIT);
    if (program == NULL) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "the folder of this program cannot be found");
    }
    KERNELS_TRY(kernels_make_temporary_directory(NULL, "kernel-builder-tpu-", &scratch, error));
    kernels_buffer_printf(&log_dir, "TPU_LOG_DIR=%s", scratch);
    kernels_status status = kernels_buffer_status(&log_dir, error);
    if (status == KERNELS_OK) {
        children family = {.options = options, .program = program, .log_dir = kernels_buffer_text(&log_dir)};
        status = run_children(&family, jobs, count, error);
    }
    kernels_remove_tree(scratch, NULL);
    return status;
}
