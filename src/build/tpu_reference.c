/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_reference.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/aot_config.h"
#include "build/tpu_export.h"
#include "build/tpu_exporter.h"

typedef struct reference_check {
    const kernels_tpu_check_options *options;
    const kernels_tpu_reference_row *rows;
    kernels_tpu_report *report;
    kernels_aot_config config;
    const char *scratch;      /* where the exporter left its arrays */
    kernels_document answers; /* its result.json */
    kernels_tpu_job *jobs;    /* with the row each belongs to */
    size_t *job_rows;
    size_t job_count;
    kernels_error *error;
} reference_check;

static void set_row(kernels_tpu_report *report, size_t row, kernels_tpu_outcome outcome, const char *message) {
    report->comparisons[row].outcome = outcome;
    report->comparisons[row].message = message;
    if (outcome == KERNELS_TPU_FAILED) {
        report->passed = false;
    }
}

/* Number of the specialisation of aot.toml with these inputs; SIZE_MAX: there is none. */
static size_t find_inputs(const kernels_aot_function *function, const kernels_specialisation *wanted) {
    size_t count = function->arguments.count;
    for (size_t i = 0; i < function->specialisation_count && count == wanted->input_count; i++) {
        bool equal = true;
        for (size_t j = 0; j < count && equal; j++) {
            equal = kernels_shape_equal(&function->inputs[i * count + j], &wanted->inputs[j]);
        }
        if (equal) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The exporter answers for the functions with a reference, in the order of aot.toml. */
static const kernels_node *find_answer(const reference_check *check, const kernels_aot_function *function,
                                       size_t index) {
    const kernels_node *answers = kernels_node_find(check->answers.root, "functions");
    size_t position = 0;
    for (const kernels_aot_function *before = check->config.functions; before != function; before++) {
        position += before->reference.file != NULL ? 1 : 0;
    }
    if (!kernels_node_is(answers, KERNELS_NODE_ARRAY) || position >= answers->count) {
        return NULL;
    }
    const kernels_node *list = kernels_node_find(answers->as.items[position], "specialisations");
    return kernels_node_is(list, KERNELS_NODE_ARRAY) && index < list->count ? list->as.items[index] : NULL;
}

static kernels_status read_arrays(const reference_check *check, const kernels_node *answer, const char *key,
                                  const kernels_tpu_array **arrays, size_t *count) {
    const kernels_node *list = kernels_node_find(answer, key);
    if (!kernels_node_is(list, KERNELS_NODE_ARRAY) || list->count > KERNELS_OPERANDS_MAX) {
        return kernels_fail(check->error, KERNELS_SCHEMA, "the exporter's result.json has no usable \"%s\"", key);
    }
    kernels_tpu_array *items = kernels_arena_array(check->report->arena, list->count + 1, sizeof(*items));
    if (items == NULL) {
        return kernels_fail_no_memory(check->error);
    }
    for (size_t i = 0; i < list->count; i++) {
        kernels_view file = kernels_node_text(kernels_node_find(list->as.items[i], "file"));
        kernels_view shape = kernels_node_text(kernels_node_find(list->as.items[i], "shape"));
        KERNELS_TRY(kernels_shape_parse(shape, &items[i].shape, check->error));
        items[i].file = kernels_arena_printf(check->report->arena, "%s/%.*s", check->scratch, KERNELS_VIEW_ARGS(file));
        if (items[i].file == NULL) {
            return kernels_fail_no_memory(check->error);
        }
    }
    *arrays = items;
    *count = list->count;
    return KERNELS_OK;
}

static bool outputs_match(const kernels_specialisation *specialisation, const kernels_tpu_job *job) {
    bool match = specialisation->output_count == job->output_count;
    for (size_t i = 0; i < job->output_count && match; i++) {
        match = kernels_shape_equal(&specialisation->outputs[i], &job->outputs[i].shape);
    }
    return match;
}

static kernels_status plan_row(reference_check *check, size_t row) {
    const kernels_tpu_reference_row *of = &check->rows[row];
    const kernels_aot_function *function = kernels_aot_config_find(&check->config, of->function->name);
    if (function == NULL || function->reference.file == NULL) {
        set_row(check->report, row, KERNELS_TPU_SKIPPED, KERNELS_AOT_CONFIG_NAME " names no reference function");
        return KERNELS_OK;
    }
    size_t index = find_inputs(function, of->specialisation);
    const kernels_node *answer = index != SIZE_MAX ? find_answer(check, function, index) : NULL;
    if (answer == NULL) {
        set_row(check->report, row, KERNELS_TPU_SKIPPED, "these shapes do not stand in " KERNELS_AOT_CONFIG_NAME);
        return KERNELS_OK;
    }
    kernels_tpu_job *job = &check->jobs[check->job_count];
    *job = (kernels_tpu_job){.rtol = of->function->rtol, .atol = of->function->atol};
    job->program =
        kernels_arena_printf(check->report->arena, "%s/aot/%s", check->options->variant_dir, of->specialisation->file);
    if (job->program == NULL) {
        return kernels_fail_no_memory(check->error);
    }
    KERNELS_TRY(read_arrays(check, answer, "inputs", &job->inputs, &job->input_count));
    KERNELS_TRY(read_arrays(check, answer, "outputs", &job->outputs, &job->output_count));
    if (!outputs_match(of->specialisation, job)) {
        set_row(check->report, row, KERNELS_TPU_FAILED,
                "the reference function gives results of other shapes or dtypes than the kernel");
        return KERNELS_OK;
    }
    check->job_rows[check->job_count++] = row;
    return KERNELS_OK;
}

static kernels_status run_rows(reference_check *check, const kernels_tpu_jobs_options *jobs) {
    kernels_tpu_report *report = check->report;
    check->jobs = kernels_arena_array(report->arena, report->comparison_count + 1, sizeof(*check->jobs));
    check->job_rows = kernels_arena_array(report->arena, report->comparison_count + 1, sizeof(*check->job_rows));
    if (check->jobs == NULL || check->job_rows == NULL) {
        return kernels_fail_no_memory(check->error);
    }
    for (size_t i = 0; i < report->comparison_count; i++) {
        if (check->rows[i].specialisation != NULL) {
            KERNELS_TRY(plan_row(check, i));
        }
    }
    KERNELS_TRY(kernels_tpu_jobs_run(jobs, check->jobs, check->job_count, check->error));
    for (size_t i = 0; i < check->job_count; i++) {
        set_row(report, check->job_rows[i], check->jobs[i].outcome, check->jobs[i].message);
        report->comparisons[check->job_rows[i]].largest_difference = check->jobs[i].largest_difference;
    }
    return KERNELS_OK;
}

static void fail_all(reference_check *check, const char *message) {
    const char *copy = kernels_arena_copy_text(check->report->arena, kernels_view_of(message));
    for (size_t i = 0; i < check->report->comparison_count; i++) {
        if (check->rows[i].specialisation != NULL) {
            set_row(check->report, i, KERNELS_TPU_FAILED, copy);
        }
    }
}

static kernels_status run_in(reference_check *check, const kernels_tpu_jobs_options *jobs) {
    kernels_error failure = KERNELS_ERROR_INIT;
    kernels_tpu_exporter exporter = {
        .python = check->options->python,
        .source_dir = check->options->source_dir,
        .output_dir = check->scratch,
        .timeout_seconds = KERNELS_TPU_EXPORT_TIMEOUT,
        .log = check->options->log,
        .payload = check->options->payload,
    };
    kernels_status status =
        kernels_tpu_exporter_run(&exporter, KERNELS_TPU_EXPORTER_REFERENCE, &check->config, &check->answers, &failure);
    if (status == KERNELS_OK) {
        status = run_rows(check, jobs);
        kernels_document_dispose(&check->answers);
    } else if (status == KERNELS_COMPILE || status == KERNELS_TIMEOUT || status == KERNELS_PROCESS) {
        fail_all(check, kernels_error_message(&failure));
        status = KERNELS_OK;
    } else {
        kernels_error_move(check->error, &failure);
    }
    kernels_error_dispose(&failure);
    return status;
}

kernels_status kernels_tpu_reference_compare(const kernels_tpu_check_options *options,
                                             const kernels_tpu_jobs_options *jobs,
                                             const kernels_tpu_reference_row *rows, kernels_tpu_report *report,
                                             kernels_error *error) {
    reference_check check = {.options = options, .rows = rows, .report = report, .error = error};
    KERNELS_CLEANUP_FREE char *scratch = NULL;
    KERNELS_TRY(kernels_aot_config_read(options->source_dir, &check.config, error));
    kernels_status status = kernels_make_temporary_directory(NULL, "kernel-builder-check-", &scratch, error);
    if (status == KERNELS_OK) {
        check.scratch = scratch;
        status = run_in(&check, jobs);
        kernels_remove_tree(scratch, NULL);
    }
    kernels_aot_config_dispose(&check.config);
    return status;
}
