/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/view.h"
#include "build/tpu_compare.h"
#include "kernels/runtime.h"
#include "runtime/pjrt.h"

#define LINE_LIMIT ((size_t)16 * 1024 * 1024)
#define ARRAY_SIZE_LIMIT ((size_t)4 * 1024 * 1024 * 1024)
#define TIMEOUT_LIMIT UINT64_C(86400)

typedef struct tpu_worker {
    kernels_pjrt_plugin *plugin;
    kernels_pjrt_client *client; /* made by the first job that needs it */
    unsigned timeout;
    void (*emit)(void *payload, kernels_view line);
    void *payload;
} tpu_worker;

/* What one job gave. */
typedef struct job_result {
    bool has_stats, has_difference;
    kernels_pjrt_stats stats;
    double difference;
} job_result;

/* ---- request ---- */

static kernels_status malformed(const char *key, kernels_error *error) {
    return kernels_fail(error, KERNELS_SCHEMA, "the request to the TPU worker has no usable \"%s\"", key);
}

/* Text of a key as a path: heap memory. */
static kernels_status copy_text(const kernels_node *object, const char *key, char **text, kernels_error *error) {
    kernels_view view = kernels_node_text(kernels_node_find(object, key));
    if (view.data == NULL) {
        return malformed(key, error);
    }
    *text = kernels_strndup(view.data, view.size);
    return *text != NULL ? KERNELS_OK : kernels_fail_no_memory(error);
}

static double number(const kernels_node *object, const char *key) {
    const kernels_node *node = kernels_node_find(object, key);
    if (kernels_node_is(node, KERNELS_NODE_UNSIGNED)) {
        return (double)node->as.unsigned_value;
    }
    if (!kernels_node_is(node, KERNELS_NODE_NUMBER)) {
        return 0;
    }
    KERNELS_CLEANUP_FREE char *text = kernels_strndup(node->as.text.data, node->as.text.size);
    return text != NULL ? strtod(text, NULL) : 0;
}

/* ---- compile ---- */

static kernels_status run_compile(tpu_worker *worker, const char *topology, kernels_view program, job_result *result,
                                  kernels_error *error) {
    KERNELS_TRY(kernels_pjrt_compile_for_topology(worker->plugin, topology, program, &result->stats, error));
    result->has_stats = true;
    return KERNELS_OK;
}

/* ---- run and compare ---- */

/* Arrays of one side of a comparison, read from their files. */
typedef struct array_set {
    size_t count;
    kernels_shape shapes[KERNELS_OPERANDS_MAX];
    kernels_pjrt_array arrays[KERNELS_OPERANDS_MAX];
} array_set;

static void array_set_dispose(array_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        kernels_free(set->arrays[i].data);
    }
    set->count = 0;
}

static kernels_status read_array(const kernels_node *node, kernels_shape *shape, char **data, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *file = NULL;
    size_t size;
    KERNELS_TRY(kernels_shape_parse(kernels_node_text(kernels_node_find(node, "shape")), shape, error));
    KERNELS_TRY(copy_text(node, "file", &file, error));
    KERNELS_TRY(kernels_file_read(file, ARRAY_SIZE_LIMIT, data, &size, error));
    if (size != kernels_shape_bytes(shape)) {
        kernels_free(*data);
        return kernels_fail(error, KERNELS_SCHEMA, "%s: expected %llu bytes, found %zu", file,
                            (unsigned long long)kernels_shape_bytes(shape), size);
    }
    return KERNELS_OK;
}

static kernels_status read_arrays(const kernels_node *job, const char *key, array_set *set, kernels_error *error) {
    const kernels_node *list = kernels_node_find(job, key);
    if (!kernels_node_is(list, KERNELS_NODE_ARRAY) || list->count > KERNELS_OPERANDS_MAX) {
        return malformed(key, error);
    }
    for (size_t i = 0; i < list->count; i++) {
        char *data = NULL;
        KERNELS_TRY(read_array(list->as.items[i], &set->shapes[i], &data, error));
        set->arrays[i] = (kernels_pjrt_array){.shape = &set->shapes[i], .data = data};
        set->count = i + 1;
    }
    return KERNELS_OK;
}

static kernels_status allocate_like(const array_set *want, array_set *got, kernels_error *error) {
    for (size_t i = 0; i < want->count; i++) {
        size_t size = (size_t)kernels_shape_bytes(&want->shapes[i]);
        got->shapes[i] = want->shapes[i];
        got->arrays[i] = (kernels_pjrt_array){.shape = &got->shapes[i], .data = kernels_calloc(size + 1, 1)};
        got->count = i + 1;
        if (got->arrays[i].data == NULL) {
            return kernels_fail_no_memory(error);
        }
    }
    return KERNELS_OK;
}

static kernels_status execute(tpu_worker *worker, kernels_view program, const array_set *inputs,
                              const array_set *outputs, kernels_error *error) {
    kernels_pjrt_executable *executable = NULL;
    if (worker->client == NULL) {
        KERNELS_TRY(kernels_pjrt_client_new(worker->plugin, &worker->client, error));
    }
    KERNELS_TRY(kernels_pjrt_compile(worker->client, program, "the function", outputs->count, &executable, error));
    kernels_status status =
        kernels_pjrt_execute(executable, inputs->arrays, inputs->count, outputs->arrays, outputs->count, error);
    kernels_pjrt_executable_free(executable);
    return status;
}

static kernels_status judge(const kernels_node *job, const array_set *got, const array_set *want, job_result *result,
                            kernels_error *error) {
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < want->count; i++) {
        kernels_tpu_difference difference;
        kernels_tpu_compare(&want->shapes[i], got->arrays[i].data, want->arrays[i].data, number(job, "rtol"),
                            number(job, "atol"), &difference);
        result->has_difference = true;
        if (!(difference.largest <= result->difference)) {
            result->difference = difference.largest;
        }
        if (difference.wrong_count > 0 && status == KERNELS_OK) {
            status =
                kernels_fail(error, KERNELS_CHECK_FAILED,
                             "output %zu: %llu of %llu elements differ from the reference by more than %g + %g * "
                             "|reference|; the first is element %llu: %.9g, the reference %.9g",
                             i, (unsigned long long)difference.wrong_count,
                             (unsigned long long)difference.element_count, number(job, "atol"), number(job, "rtol"),
                             (unsigned long long)difference.first_wrong, difference.first_got, difference.first_want);
        }
    }
    return status;
}

static kernels_status compare_with(tpu_worker *worker, const kernels_node *job, kernels_view program, array_set sets[3],
                                   job_result *result, kernels_error *error) {
    array_set *inputs = &sets[0], *want = &sets[1], *got = &sets[2];
    KERNELS_TRY(read_arrays(job, "inputs", inputs, error));
    KERNELS_TRY(read_arrays(job, "outputs", want, error));
    KERNELS_TRY(allocate_like(want, got, error));
    KERNELS_TRY(execute(worker, program, inputs, got, error));
    return judge(job, got, want, result, error);
}

static kernels_status run_compare(tpu_worker *worker, const kernels_node *job, kernels_view program, job_result *result,
                                  kernels_error *error) {
    array_set *sets = kernels_calloc(3, sizeof(*sets));
    if (sets == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = compare_with(worker, job, program, sets, result, error);
    for (size_t i = 0; i < 3; i++) {
        array_set_dispose(&sets[i]);
    }
    kernels_free(sets);
    return status;
}

/* ---- jobs ---- */

static kernels_status run_job(tpu_worker *worker, const kernels_node *job, job_result *result, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *file = NULL;
    KERNELS_CLEANUP_FREE char *topology = NULL;
    KERNELS_CLEANUP_FREE char *code = NULL;
    size_t size;
    KERNELS_TRY(copy_text(job, "program", &file, error));
    KERNELS_TRY(kernels_file_read(file, KERNELS_PJRT_PROGRAM_SIZE_LIMIT, &code, &size, error));
    if (kernels_node_find(job, "topology") == NULL) {
        return run_compare(worker, job, (kernels_view){code, size}, result, error);
    }
    KERNELS_TRY(copy_text(job, "topology", &topology, error));
    return run_compile(worker, topology, (kernels_view){code, size}, result, error);
}

static void write_stats(kernels_json_writer *writer, const kernels_pjrt_stats *stats) {
    kernels_json_key(writer, "stats");
    kernels_json_begin_object(writer);
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {
        {"code_bytes", stats->code_bytes},     {"argument_bytes", stats->argument_bytes},
        {"output_bytes", stats->output_bytes}, {"temporary_bytes", stats->temporary_bytes},
        {"alias_bytes", stats->alias_bytes},   {"peak_bytes", stats->peak_bytes},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        kernels_json_key(writer, sizes[i].key);
        kernels_json_signed(writer, sizes[i].value);
    }
    kernels_json_member_double(writer, "flops", stats->flops);
    kernels_json_member_double(writer, "bytes_accessed", stats->bytes_accessed);
    kernels_json_member_text(writer, "device_kind", stats->device_kind);
    kernels_json_end_object(writer);
}

static kernels_status emit_begin(const tpu_worker *worker, size_t index, kernels_error *error) {
    kernels_buffer line KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(LINE_LIMIT);
    kernels_buffer_printf(&line, "{\"begin\":%zu}", index);
    KERNELS_TRY(kernels_buffer_status(&line, error));
    worker->emit(worker->payload, kernels_buffer_view(&line));
    return KERNELS_OK;
}

static kernels_status emit_end(const tpu_worker *worker, size_t index, double seconds, const job_result *result,
                               const char *message, kernels_error *error) {
    kernels_buffer line KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(LINE_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &line, 0, true);
    kernels_json_begin_object(&writer);
    kernels_json_member_unsigned(&writer, "end", index);
    kernels_json_member_boolean(&writer, "passed", message == NULL);
    kernels_json_member_text(&writer, "message", message);
    kernels_json_member_double(&writer, "seconds", seconds);
    if (result->has_stats) {
        write_stats(&writer, &result->stats);
    }
    if (result->has_difference) {
        kernels_json_member_double(&writer, "difference", result->difference);
    }
    kernels_json_end_object(&writer);
    KERNELS_TRY(kernels_buffer_status(&line, error));
    worker->emit(worker->payload, kernels_buffer_view(&line));
    return KERNELS_OK;
}

/* The alarm's default action ends the process even when the compiler hangs in a thread of its own. */
static kernels_status prepare_alarm(kernels_error *error) {
    sigset_t alarm_only;
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    if (sigaction(SIGALRM, &action, NULL) != 0 || sigprocmask(SIG_UNBLOCK, &alarm_only, NULL) != 0) {
        return kernels_fail(error, KERNELS_INTERNAL, "the alarm of the TPU worker cannot be set");
    }
    return KERNELS_OK;
}

/* The whole chain of an error on one text, outermost first. */
static const char *full_message(const kernels_error *error, kernels_buffer *text) {
    for (const kernels_error *link = error; link != NULL; link = link->cause) {
        kernels_buffer_printf(text, "%s%s", text->size > 0 ? ": " : "", kernels_error_message(link));
    }
    return kernels_buffer_text(text);
}

static kernels_status run_one(tpu_worker *worker, const kernels_node *job, size_t index, kernels_error *error) {
    kernels_buffer message KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(LINE_LIMIT / 2);
    kernels_error failure = KERNELS_ERROR_INIT;
    job_result result = {0};
    KERNELS_TRY(emit_begin(worker, index, error));
    alarm(worker->timeout);
    uint64_t start = kernels_clock_nanoseconds();
    kernels_status status = run_job(worker, job, &result, &failure);
    double seconds = (double)(kernels_clock_nanoseconds() - start) * 1e-9;
    alarm(0);
    const char *text = status != KERNELS_OK ? full_message(&failure, &message) : NULL;
    status = emit_end(worker, index, seconds, &result, text, error);
    kernels_error_dispose(&failure);
    return status;
}

static kernels_status run_jobs(tpu_worker *worker, const kernels_node *request, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *plugin = NULL;
    const kernels_node *timeout = kernels_node_find(request, "timeout");
    const kernels_node *jobs = kernels_node_find(request, "jobs");
    if (!kernels_node_is(timeout, KERNELS_NODE_UNSIGNED) || timeout->as.unsigned_value > TIMEOUT_LIMIT) {
        return malformed("timeout", error);
    }
    if (!kernels_node_is(jobs, KERNELS_NODE_ARRAY)) {
        return malformed("jobs", error);
    }
    worker->timeout = (unsigned)timeout->as.unsigned_value;
    KERNELS_TRY(copy_text(request, "plugin", &plugin, error));
    KERNELS_TRY(prepare_alarm(error));
    alarm(worker->timeout);
    KERNELS_TRY(kernels_pjrt_plugin_open(plugin, &worker->plugin, error));
    alarm(0);
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < jobs->count && status == KERNELS_OK; i++) {
        status = run_one(worker, jobs->as.items[i], i, error);
    }
    return status;
}

kernels_status kernels_tpu_worker_run(kernels_view request, void (*emit)(void *payload, kernels_view line),
                                      void *payload, kernels_error *error) {
    tpu_worker worker = {.emit = emit, .payload = payload};
    kernels_document document;
    KERNELS_TRY(kernels_json_parse(request, "request", &document, error));
    kernels_status status = run_jobs(&worker, document.root, error);
    kernels_pjrt_client_free(worker.client);
    kernels_pjrt_plugin_close(worker.plugin);
    kernels_document_dispose(&document);
    return status;
}
