/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_exporter.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "build/build_data.h"

#define EXPORTER_PATH "src/build/export_aot.py"
#define REQUEST_NAME "request.json"
#define RESULT_NAME "result.json"
#define RESULT_SIZE_LIMIT ((size_t)16 * 1024 * 1024)
/* Most of its messages that go into an error. */
#define MESSAGE_TAIL ((size_t)3000)

/* ---- request ---- */

static void write_inputs(kernels_json_writer *writer, const kernels_aot_function *function) {
    kernels_json_key(writer, "inputs");
    kernels_json_begin_array(writer);
    for (size_t i = 0; i < function->specialisation_count; i++) {
        kernels_json_begin_array(writer);
        for (size_t j = 0; j < function->arguments.count; j++) {
            char *text = kernels_shape_print(&function->inputs[i * function->arguments.count + j]);
            if (text == NULL) {
                writer->out->failure = KERNELS_NO_MEMORY;
            }
            kernels_json_text(writer, text);
            kernels_string_free(text);
        }
        kernels_json_end_array(writer);
    }
    kernels_json_end_array(writer);
}

static void write_source(kernels_json_writer *writer, const char *key, const kernels_aot_source *source) {
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    if (source->file == NULL) {
        return;
    }
    kernels_buffer_printf(&text, "%s:%s", source->file, source->attribute);
    if (text.failure != KERNELS_OK) {
        writer->out->failure = text.failure;
    }
    kernels_json_member_view(writer, key, kernels_buffer_view(&text));
}

static void write_function(kernels_json_writer *writer, const kernels_aot_function *function) {
    kernels_json_begin_object(writer);
    kernels_json_member_text(writer, "name", function->name);
    write_source(writer, "source", &function->source);
    write_source(writer, "reference", &function->reference);
    kernels_json_key(writer, "platforms");
    kernels_json_begin_array(writer);
    if (function->for_tpu) {
        kernels_json_text(writer, "tpu");
    }
    if (function->for_cpu) {
        kernels_json_text(writer, "cpu");
    }
    kernels_json_end_array(writer);
    write_inputs(writer, function);
    kernels_json_end_object(writer);
}

static kernels_status write_request(const kernels_tpu_exporter *exporter, kernels_tpu_exporter_mode mode,
                                    const kernels_aot_config *config, const char *source_dir, const char *path,
                                    kernels_error *error) {
    kernels_buffer text KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    kernels_json_writer writer;
    kernels_json_writer_init(&writer, &text, 2, false);
    kernels_json_begin_object(&writer);
    kernels_json_member_text(&writer, "source_dir", source_dir);
    kernels_json_member_text(&writer, "output_dir", exporter->output_dir);
    kernels_json_key(&writer, "functions");
    kernels_json_begin_array(&writer);
    for (size_t i = 0; i < config->count; i++) {
        if (mode == KERNELS_TPU_EXPORTER_EXPORT || config->functions[i].reference.file != NULL) {
            write_function(&writer, &config->functions[i]);
        }
    }
    kernels_json_end_array(&writer);
    kernels_json_end_object(&writer);
    KERNELS_TRY(kernels_buffer_status(&text, error));
    return kernels_file_write(path, kernels_buffer_view(&text), 0, error);
}

/* ---- run ---- */

static void forward_line(void *payload, kernels_view line) {
    const kernels_tpu_exporter *exporter = payload;
    KERNELS_CLEANUP_FREE char *text = kernels_strndup(line.data, line.size);
    if (text != NULL && exporter->log != NULL) {
        exporter->log(exporter->payload, text);
    }
}

/* Its last line "error: ..." when it gave one; else the end of all it said. */
static kernels_view failure_text(const kernels_process_result *result) {
    kernels_view text = kernels_view_trim_ascii(kernels_buffer_view(&result->errors));
    size_t newline = kernels_view_find_last(text, '\n');
    kernels_view last = newline == SIZE_MAX ? text : kernels_view_slice(text, newline + 1, text.size);
    if (kernels_view_starts_with(last, KERNELS_VIEW("error: "))) {
        return kernels_view_slice(last, strlen("error: "), last.size);
    }
    return kernels_view_slice(text, text.size > MESSAGE_TAIL ? text.size - MESSAGE_TAIL : 0, text.size);
}

static kernels_status judge(const kernels_tpu_exporter *exporter, const kernels_process_result *result,
                            kernels_error *error) {
    if (result->timed_out) {
        return kernels_fail(error, KERNELS_TIMEOUT, "the exporter did not end within %u s and was stopped",
                            exporter->timeout_seconds);
    }
    if (result->signal != 0) {
        return kernels_fail(error, KERNELS_PROCESS, "the exporter was ended by signal %d: %.*s", result->signal,
                            KERNELS_VIEW_ARGS(failure_text(result)));
    }
    if (result->exit_code != 0) {
        return kernels_fail(error, KERNELS_COMPILE, "%.*s", KERNELS_VIEW_ARGS(failure_text(result)));
    }
    return KERNELS_OK;
}

/* Nothing of the caller's environment reaches the exporter: the same source gives the same bytes everywhere.
 * No TPU is looked for; libtpu is told what it would else ask a metadata service for. */
static kernels_status start(const kernels_tpu_exporter *exporter, kernels_tpu_exporter_mode mode, const char *request,
                            kernels_error *error) {
    KERNELS_CLEANUP_FREE char *home = kernels_path_absolute(exporter->output_dir);
    kernels_buffer variables KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_PATH_LIMIT * 2);
    if (home == NULL) {
        return kernels_fail_no_memory(error);
    }
    kernels_buffer_printf(&variables, "HOME=%s%cTMPDIR=%s", home, '\0', home);
    KERNELS_TRY(kernels_buffer_status(&variables, error));
    const char *environment[] = {variables.data,
                                 variables.data + strlen(variables.data) + 1,
                                 "PATH=/usr/bin:/bin",
                                 "LC_ALL=C",
                                 "TZ=UTC",
                                 "PYTHONHASHSEED=0",
                                 "SOURCE_DATE_EPOCH=315532800",
                                 "JAX_PLATFORMS=cpu",
                                 "TPU_SKIP_MDS_QUERY=1",
                                 "TPU_ACCELERATOR_TYPE=v5litepod-1",
                                 "TPU_WORKER_HOSTNAMES=localhost",
                                 "TPU_WORKER_ID=0",
                                 NULL};
    const char *arguments[] = {
        exporter->python, "-I", "-B", "-", mode == KERNELS_TPU_EXPORTER_EXPORT ? "export" : "reference", request, NULL};
    kernels_process_options options = {
        .arguments = arguments,
        .environment = environment,
        .clear_environment = true,
        .working_directory = exporter->output_dir,
        .input = kernels_build_data_find(EXPORTER_PATH),
        .timeout_ms = exporter->timeout_seconds * 1000,
        .on_error_line = forward_line,
        .payload = (void *)(uintptr_t)exporter,
    };
    kernels_process_result result;
    kernels_status status = kernels_process_run(&options, &result, error);
    if (status != KERNELS_OK && status != KERNELS_TIMEOUT) {
        return kernels_wrap(error, status, "the exporter cannot be started");
    }
    status = judge(exporter, &result, error);
    kernels_process_result_dispose(&result);
    return status;
}

kernels_status kernels_tpu_exporter_run(const kernels_tpu_exporter *exporter, kernels_tpu_exporter_mode mode,
                                        const kernels_aot_config *config, kernels_document *result,
                                        kernels_error *error) {
    KERNELS_CLEANUP_FREE char *source_dir = kernels_path_resolve(exporter->source_dir);
    KERNELS_CLEANUP_FREE char *request = kernels_path_join(exporter->output_dir, REQUEST_NAME);
    KERNELS_CLEANUP_FREE char *answer = kernels_path_join(exporter->output_dir, RESULT_NAME);
    if (source_dir == NULL) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "%s: no such folder", exporter->source_dir);
    }
    if (request == NULL || answer == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(write_request(exporter, mode, config, source_dir, request, error));
    KERNELS_TRY(start(exporter, mode, request, error));
    return kernels_json_read_file(answer, RESULT_SIZE_LIMIT, result, error);
}
