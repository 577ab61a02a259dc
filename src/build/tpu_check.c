/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_check.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/aot_config.h"
#include "build/tpu_reference.h"
#include "runtime/manifest.h"

typedef struct tpu_check {
    const kernels_tpu_check_options *options;
    kernels_signatures functions;
    kernels_tpu_report *report;
    kernels_error *error;
} tpu_check;

bool kernels_tpu_check_is_possible(void) {
#if defined(__x86_64__) && defined(__linux__)
    return true;
#else
    return false;
#endif
}

bool kernels_tpu_check_is_wanted(const char *variant_dir) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(variant_dir, "aot");
    return path != NULL && kernels_file_is_directory(path);
}

void kernels_tpu_report_dispose(kernels_tpu_report *report) {
    kernels_arena_free(report->arena);
    *report = (kernels_tpu_report){0};
}

/* ---- helpers ---- */

static kernels_status copy_text(const tpu_check *check, const char *text, const char **copy) {
    *copy = kernels_arena_copy_text(check->report->arena, kernels_view_of(text));
    return *copy != NULL ? KERNELS_OK : kernels_fail_no_memory(check->error);
}

/* "f32[256,1024], f32[1024]" */
static kernels_status inputs_text(const tpu_check *check, const kernels_specialisation *specialisation,
                                  const char **text) {
    kernels_buffer joined KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < specialisation->input_count; i++) {
        char *shape = kernels_shape_print(&specialisation->inputs[i]);
        if (shape == NULL) {
            return kernels_fail_no_memory(check->error);
        }
        kernels_buffer_printf(&joined, "%s%s", i > 0 ? ", " : "", shape);
        kernels_string_free(shape);
    }
    KERNELS_TRY(kernels_buffer_status(&joined, check->error));
    return copy_text(check, kernels_buffer_text(&joined), text);
}

static kernels_status program_path(const tpu_check *check, const kernels_specialisation *specialisation,
                                   const char **path) {
    KERNELS_CLEANUP_FREE char *joined = kernels_path_join3(check->options->variant_dir, "aot", specialisation->file);
    KERNELS_CLEANUP_FREE char *absolute = joined != NULL ? kernels_path_absolute(joined) : NULL;
    return absolute != NULL ? copy_text(check, absolute, path) : kernels_fail_no_memory(check->error);
}

/* Nothing reaches a plugin that is not what the manifest says. */
static kernels_status verify_programs(const tpu_check *check) {
    for (size_t i = 0; i < check->functions.count; i++) {
        const kernels_signature *function = &check->functions.items[i];
        for (size_t j = 0; j < function->specialisation_count; j++) {
            char *program = NULL;
            size_t size;
            KERNELS_TRY(kernels_manifest_read_program(check->options->variant_dir, &function->specialisations[j],
                                                      &program, &size, check->error));
            kernels_free(program);
        }
    }
    return KERNELS_OK;
}

static kernels_status find_plugin(const tpu_check *check, const char *platform, const char *given, const char **path) {
    kernels_pjrt_search_options search = {.plugin = given, .site_packages = check->options->site_packages};
    KERNELS_CLEANUP_FREE char *found = NULL;
    KERNELS_TRY(kernels_pjrt_plugin_search(platform, &search, &found, NULL, check->error));
    return copy_text(check, found, path);
}

static kernels_tpu_jobs_options jobs_options(const tpu_check *check, const char *plugin) {
    const kernels_tpu_check_options *options = check->options;
    return (kernels_tpu_jobs_options){
        .plugin = plugin,
        .timeout_seconds = options->timeout_seconds != 0 ? options->timeout_seconds : KERNELS_TPU_COMPILE_TIMEOUT,
        .log = options->log,
        .payload = options->payload,
        .arena = check->report->arena,
    };
}

/* ---- compile ---- */

static const char *const *generations_of(const tpu_check *check, const kernels_signature *function, size_t *count) {
    if (check->options->generation_count > 0) {
        *count = check->options->generation_count;
        return check->options->generations;
    }
    *count = function->generation_count;
    return function->generations;
}

static bool is_platform(const kernels_specialisation *specialisation, const char *platform) {
    return strcmp(specialisation->platform, platform) == 0;
}

/* Most programs there can be: rows that the second pass fills. */
static size_t count_compiles(const tpu_check *check) {
    size_t total = 0;
    for (size_t i = 0; i < check->functions.count; i++) {
        const kernels_signature *function = &check->functions.items[i];
        size_t generations;
        generations_of(check, function, &generations);
        for (size_t j = 0; j < function->specialisation_count; j++) {
            total += is_platform(&function->specialisations[j], "tpu") ? generations : 0;
        }
    }
    return total;
}

static kernels_status add_compiles(const tpu_check *check, const kernels_signature *function,
                                   const kernels_specialisation *specialisation, kernels_tpu_job *jobs) {
    kernels_tpu_report *report = check->report;
    const char *name, *inputs, *program;
    size_t count;
    const char *const *generations = generations_of(check, function, &count);
    KERNELS_TRY(copy_text(check, function->name, &name));
    KERNELS_TRY(inputs_text(check, specialisation, &inputs));
    KERNELS_TRY(program_path(check, specialisation, &program));
    for (size_t i = 0; i < count; i++) {
        const char *topology = kernels_tpu_topology(generations[i]);
        if (topology == NULL) {
            return kernels_fail(check->error, KERNELS_INVALID_ARGUMENT, "unknown TPU generation \"%s\"; known: %s",
                                generations[i], kernels_tpu_generation_list());
        }
        kernels_tpu_compile *compile = &report->compiles[report->compile_count];
        *compile = (kernels_tpu_compile){.function = name, .inputs = inputs};
        KERNELS_TRY(copy_text(check, generations[i], &compile->generation));
        jobs[report->compile_count++] = (kernels_tpu_job){.program = program, .topology = topology};
    }
    return KERNELS_OK;
}

static kernels_status plan_compiles(const tpu_check *check, kernels_tpu_job **jobs) {
    size_t total = count_compiles(check);
    kernels_arena *arena = check->report->arena;
    check->report->compiles = kernels_arena_array(arena, total + 1, sizeof(*check->report->compiles));
    *jobs = kernels_arena_array(arena, total + 1, sizeof(**jobs));
    if (check->report->compiles == NULL || *jobs == NULL) {
        return kernels_fail_no_memory(check->error);
    }
    for (size_t i = 0; i < check->functions.count; i++) {
        const kernels_signature *function = &check->functions.items[i];
        for (size_t j = 0; j < function->specialisation_count; j++) {
            if (is_platform(&function->specialisations[j], "tpu")) {
                KERNELS_TRY(add_compiles(check, function, &function->specialisations[j], *jobs));
            }
        }
    }
    return KERNELS_OK;
}

static void take_compile(kernels_tpu_report *report, const kernels_tpu_job *job, kernels_tpu_compile *compile) {
    compile->outcome = job->outcome;
    compile->message = job->message;
    compile->seconds = job->seconds;
    compile->stats = job->stats;
    if (job->outcome == KERNELS_TPU_FAILED) {
        report->passed = false;
        compile->has_allocation = kernels_tpu_message_allocation(kernels_view_of(job->message), &compile->allocation);
    }
}

static kernels_status run_compiles(const tpu_check *check) {
    kernels_tpu_report *report = check->report;
    kernels_tpu_job *jobs;
    KERNELS_TRY(plan_compiles(check, &jobs));
    if (report->compile_count == 0) {
        return KERNELS_OK;
    }
    if (!kernels_tpu_check_is_possible()) {
        return kernels_fail(check->error, KERNELS_UNSUPPORTED,
                            "TPU kernels can be checked on x86_64 Linux only: "
                            "there is no libtpu for this machine");
    }
    KERNELS_TRY(find_plugin(check, "tpu", check->options->libtpu, &report->libtpu));
    kernels_tpu_jobs_options options = jobs_options(check, report->libtpu);
    KERNELS_TRY(kernels_tpu_jobs_run(&options, jobs, report->compile_count, check->error));
    for (size_t i = 0; i < report->compile_count; i++) {
        take_compile(report, &jobs[i], &report->compiles[i]);
    }
    return KERNELS_OK;
}

/* ---- compare ---- */

static kernels_status add_comparison(const tpu_check *check, const kernels_signature *function,
                                     const kernels_specialisation *specialisation) {
    kernels_tpu_comparison *row = &check->report->comparisons[check->report->comparison_count];
    *row = (kernels_tpu_comparison){.inputs = "",
                                    .outcome = KERNELS_TPU_SKIPPED,
                                    .message = "not exported for cpu",
                                    .largest_difference = (double)NAN};
    KERNELS_TRY(copy_text(check, function->name, &row->function));
    if (specialisation != NULL) {
        row->message = NULL;
        KERNELS_TRY(inputs_text(check, specialisation, &row->inputs));
    }
    check->report->comparison_count++;
    return KERNELS_OK;
}

/* One row a cpu specialisation, and one for a function without any. `rows` tells which each row is of. */
static kernels_status plan_comparisons(const tpu_check *check, kernels_tpu_reference_row **rows) {
    size_t total = 0;
    for (size_t i = 0; i < check->functions.count; i++) {
        total += check->functions.items[i].specialisation_count + 1;
    }
    kernels_tpu_report *report = check->report;
    report->comparisons = kernels_arena_array(report->arena, total + 1, sizeof(*report->comparisons));
    *rows = kernels_arena_array(report->arena, total + 1, sizeof(**rows));
    if (report->comparisons == NULL || *rows == NULL) {
        return kernels_fail_no_memory(check->error);
    }
    for (size_t i = 0; i < check->functions.count; i++) {
        const kernels_signature *function = &check->functions.items[i];
        size_t before = report->comparison_count;
        for (size_t j = 0; j < function->specialisation_count; j++) {
            if (is_platform(&function->specialisations[j], "cpu")) {
                (*rows)[report->comparison_count] =
                    (kernels_tpu_reference_row){function, &function->specialisations[j]};
                KERNELS_TRY(add_comparison(check, function, &function->specialisations[j]));
            }
        }
        if (report->comparison_count == before) {
            KERNELS_TRY(add_comparison(check, function, NULL));
        }
    }
    return KERNELS_OK;
}

/* All rows that have no reason yet. */
static void skip_all(kernels_tpu_report *report, const char *reason) {
    for (size_t i = 0; i < report->comparison_count; i++) {
        if (report->comparisons[i].message == NULL) {
            report->comparisons[i].message = reason;
        }
    }
}

/* Why numbers cannot be compared at all, or NULL. */
static const char *reason_to_skip(const tpu_check *check) {
    const kernels_tpu_check_options *options = check->options;
    if (options->python == NULL) {
        return "no Python environment with jax: `kernel-builder env fetch jax` makes one";
    }
    KERNELS_CLEANUP_FREE char *config =
        options->source_dir != NULL ? kernels_path_join(options->source_dir, KERNELS_AOT_CONFIG_NAME) : NULL;
    if (config == NULL || !kernels_file_exists(config)) {
        return "no " KERNELS_AOT_CONFIG_NAME " that names a reference function";
    }
    return NULL;
}

static kernels_status run_comparisons(const tpu_check *check) {
    kernels_tpu_report *report = check->report;
    kernels_tpu_reference_row *rows;
    if (check->options->no_compare) {
        return KERNELS_OK;
    }
    KERNELS_TRY(plan_comparisons(check, &rows));
    const char *reason = reason_to_skip(check);
    if (reason != NULL) {
        skip_all(report, reason);
        return KERNELS_OK;
    }
    kernels_status status = find_plugin(check, "cpu", check->options->cpu_plugin, &report->cpu_plugin);
    if (status == KERNELS_PLUGIN_NOT_FOUND && check->options->cpu_plugin == NULL) {
        skip_all(report, "no XLA CPU plugin found: --plugin FILE names one");
        return KERNELS_OK;
    }
    KERNELS_TRY(status);
    kernels_tpu_jobs_options options = jobs_options(check, report->cpu_plugin);
    return kernels_tpu_reference_compare(check->options, &options, rows, report, check->error);
}

/* ---- whole ---- */

static kernels_status run_checks(const tpu_check *check) {
    KERNELS_TRY(verify_programs(check));
    KERNELS_TRY(run_compiles(check));
    return run_comparisons(check);
}

kernels_status kernels_tpu_check(const kernels_tpu_check_options *options, kernels_tpu_report *report,
                                 kernels_error *error) {
    tpu_check check = {.options = options, .report = report, .error = error};
    KERNELS_TRY(kernels_manifest_read(options->variant_dir, &check.functions, error));
    *report = (kernels_tpu_report){.passed = true, .arena = kernels_arena_new(0)};
    kernels_status status = report->arena != NULL ? run_checks(&check) : kernels_fail_no_memory(error);
    kernels_signatures_dispose(&check.functions);
    if (status != KERNELS_OK) {
        kernels_tpu_report_dispose(report);
    }
    return status;
}
