/* SPDX-License-Identifier: Apache-2.0 */
#include "build/variant_build.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/view.h"
#include "build/environment.h"
#include "build/import_check.h"
#include "build/kernel_dir.h"
#include "build/sources.h"
#include "build/tpu_check.h"
#include "build/tpu_export.h"
#include "build/tree.h"

#define FILE_MODE 0644
#define TABLE_LIMIT ((size_t)4 * 1024 * 1024)

static void begin_step(kernels_variant_build *job, const char *step) {
    job->step = step;
    char line[64];
    snprintf(line, sizeof line, "step: %s", step);
    kernels_variant_log_add(job->log, line);
}

/* ---- copy ---- */

/* Files of the package that the variant gets. */
static kernels_status list_package(const kernels_variant_build *job, const char *package, kernels_paths *files,
                                   kernels_error *error) {
    kernels_paths all = {0};
    kernels_status status = kernels_paths_list(package, &all, error);
    for (size_t i = 0; i < all.count && !status; i++) {
        if (kernels_sources_has_extension(job->build, all.items[i])) {
            status = kernels_paths_add(files, all.items[i], error);
        }
    }
    kernels_paths_dispose(&all);
    return status;
}

static kernels_status copy_metadata(const kernels_variant_build *job, kernels_error *error) {
    char name[64];
    snprintf(name, sizeof name, "metadata-%s.json", kernels_backend_name(job->variant.backend));
    KERNELS_CLEANUP_FREE char *from = kernels_path_join(job->source_dir, name);
    KERNELS_CLEANUP_FREE char *to = kernels_path_join(job->variant_dir, "metadata.json");
    return from && to ? kernels_file_copy(from, to, FILE_MODE, error) : kernels_fail_no_memory(error);
}

static kernels_status copy_package(kernels_variant_build *job, kernels_error *error) {
    begin_step(job, "copy");
    KERNELS_CLEANUP_FREE char *python_name = kernels_name_to_python(kernels_view_of(job->build->name));
    KERNELS_CLEANUP_FREE char *package =
        python_name ? kernels_path_join3(job->source_dir, kernels_extension_directory(job->build), python_name) : NULL;
    kernels_paths files = {0};
    if (!package) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directories(job->variant_dir, error));
    kernels_status status = list_package(job, package, &files, error);
    status = status ? status : kernels_paths_copy(&files, package, job->variant_dir, FILE_MODE, error);
    kernels_paths_dispose(&files);
    return status ? status : copy_metadata(job, error);
}

/* ---- export and compile for TPU ---- */

static kernels_status host_environment(kernels_environment *environment, kernels_error *error) {
    *environment = (kernels_environment){.python = kernels_process_find("python3")};
    return environment->python ? KERNELS_OK
                               : kernels_fail(error, KERNELS_MISSING_DEPENDENCY,
                                              "--env host needs python3 with jax on PATH: there is no python3");
}

/* Making an environment takes minutes the first time: its progress is shown, not only logged. */
static void show_progress(void *payload, const char *line) {
    kernels_variant_build *job = payload;
    kernels_variant_log_add(job->log, line);
    if (job->options->message && !job->options->stream_logs) {
        job->options->message(job->options->payload, KERNELS_BUILD_PROGRESS, line);
    }
}

static kernels_status provide_environment(kernels_variant_build *job, const char *name,
                                          kernels_environment *environment, kernels_error *error) {
    kernels_environment_options options = {
        .name = name,
        .store = job->options->store,
        .licences = job->options->licences,
        .licence_count = job->options->licence_count,
        .progress = show_progress,
        .payload = job,
    };
    return kernels_environment_provide(&options, environment, error);
}

static kernels_status export_aot(kernels_variant_build *job, const kernels_environment *environment,
                                 kernels_error *error) {
    begin_step(job, "export");
    kernels_tpu_export_options options = {
        .source_dir = job->source_dir,
        .variant_dir = job->variant_dir,
        .python = environment->python,
        .log = kernels_variant_log_add,
        .payload = job->log,
    };
    KERNELS_TRY(kernels_tpu_export(&options, error));
    kernels_report_check(job->report, "export", KERNELS_CHECK_PASSED, NULL);
    kernels_report_reason(job->report, "the exporter ran without a sandbox");
    return KERNELS_OK;
}

static void skip_check(kernels_variant_build *job, const char *why) {
    kernels_report_check(job->report, "check-tpu", KERNELS_CHECK_SKIPPED, why);
    kernels_report_reason(job->report, "check-tpu was skipped");
}

static kernels_status judge_check(kernels_variant_build *job, const kernels_tpu_report *tpu, kernels_error *error) {
    KERNELS_CLEANUP(kernels_cleanup_buffer) kernels_buffer table = KERNELS_BUFFER_INIT(TABLE_LIMIT);
    kernels_tpu_report_table(tpu, job->variant.name, &table);
    kernels_view rest = kernels_view_trim_ascii(kernels_buffer_view(&table)), line;
    while (kernels_view_split(&rest, '\n', &line)) {
        KERNELS_CLEANUP_FREE char *text = kernels_strndup(line.data, line.size);
        kernels_variant_log_add(job->log, text ? text : "");
    }
    if (!tpu->passed) {
        return kernels_fail(error, KERNELS_CHECK_FAILED, "the kernel does not pass check-tpu:\n%s",
                            kernels_buffer_text(&table));
    }
    kernels_report_check(job->report, "check-tpu", KERNELS_CHECK_PASSED, NULL);
    return KERNELS_OK;
}

static kernels_status check_tpu(kernels_variant_build *job, const kernels_environment *environment,
                                kernels_error *error) {
    begin_step(job, "check-tpu");
    if (job->options->no_check_tpu) {
        skip_check(job, "--no-check-tpu");
        return KERNELS_OK;
    }
    if (!kernels_tpu_check_is_possible()) {
        skip_check(job, "libtpu exists for x86_64 Linux only");
        return KERNELS_OK;
    }
    kernels_tpu_check_options options = {
        .variant_dir = job->variant_dir,
        .source_dir = job->source_dir,
        .python = environment->python,
        .site_packages = environment->site_packages,
        .log = kernels_variant_log_add,
        .payload = job->log,
    };
    kernels_tpu_report tpu;
    KERNELS_TRY(kernels_tpu_check(&options, &tpu, error));
    kernels_status status = judge_check(job, &tpu, error);
    kernels_tpu_report_dispose(&tpu);
    return status;
}

static kernels_status do_tpu(kernels_variant_build *job, kernels_error *error) {
    kernels_environment environment = {0};
    if (job->variant.backend != KERNELS_BACKEND_TPU || !kernels_tpu_export_is_wanted(job->source_dir)) {
        return KERNELS_OK;
    }
    begin_step(job, "environment");
    KERNELS_TRY(job->options->environment == KERNELS_BUILD_ENVIRONMENT_HOST
                    ? host_environment(&environment, error)
                    : provide_environment(job, "jax", &environment, error));
    kernels_status status = export_aot(job, &environment, error);
    status = status ? status : check_tpu(job, &environment, error);
    kernels_environment_dispose(&environment);
    return status;
}

/* ---- checks ---- */

static kernels_status check_metadata(kernels_variant_build *job, kernels_error *error) {
    begin_step(job, "metadata");
    kernels_metadata metadata;
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(job->variant_dir, "metadata.json");
    KERNELS_TRY(path ? kernels_metadata_read(path, &metadata, error) : kernels_fail_no_memory(error));
    kernels_metadata_dispose(&metadata);
    kernels_report_check(job->report, "metadata", KERNELS_CHECK_PASSED, NULL);
    return KERNELS_OK;
}

/* Neuron and cann have no such check. */
static void skip_import_check(kernels_variant_build *job) {
    if (job->variant.backend != KERNELS_BACKEND_NEURON && job->variant.backend != KERNELS_BACKEND_CANN) {
        kernels_report_check(job->report, "import", KERNELS_CHECK_SKIPPED, "it needs torch");
        kernels_report_reason(job->report, "the import check was skipped: it needs torch");
    }
}

static kernels_status run_import_check(kernels_variant_build *job, const kernels_environment *environment,
                                       kernels_error *error) {
    KERNELS_CLEANUP_FREE char *variant_dir = kernels_path_absolute(job->variant_dir);
    KERNELS_CLEANUP_FREE char *package = kernels_name_to_python(kernels_view_of(job->build->name));
    KERNELS_CLEANUP_FREE char *detail = NULL;
    if (!variant_dir || !package) {
        return kernels_fail_no_memory(error);
    }
    kernels_import_check check = {
        .python = environment->python,
        .variant_dir = variant_dir,
        .package = package,
        .log = kernels_variant_log_add,
        .payload = job->log,
    };
    KERNELS_TRY(kernels_import_check_run(&check, &detail, error));
    kernels_report_check(job->report, "import", KERNELS_CHECK_PASSED, detail);
    return KERNELS_OK;
}

static bool wants_torch(const kernels_variant_build *job) {
    return job->variant.backend == KERNELS_BACKEND_TPU &&
           job->options->environment == KERNELS_BUILD_ENVIRONMENT_TORCH_TPU;
}

/* Before all other work: its licences are asked for, and most of the time is spent, here. */
static kernels_status provide_torch(kernels_variant_build *job, kernels_environment *torch, kernels_error *error) {
    if (!wants_torch(job)) {
        return KERNELS_OK;
    }
    begin_step(job, "environment");
    return provide_environment(job, "torch-tpu", torch, error);
}

static kernels_status check_import(kernels_variant_build *job, const kernels_environment *torch, kernels_error *error) {
    if (!wants_torch(job)) {
        skip_import_check(job);
        return KERNELS_OK;
    }
    begin_step(job, "import");
    return run_import_check(job, torch, error);
}

static kernels_status hash(kernels_variant_build *job, kernels_error *error) {
    begin_step(job, "hash");
    KERNELS_CLEANUP_FREE char *bytecode = kernels_path_join(job->variant_dir, "__pycache__");
    KERNELS_TRY(bytecode ? kernels_remove_tree(bytecode, error) : kernels_fail_no_memory(error));
    KERNELS_TRY(kernels_variant_hash(job->variant_dir, error));
    kernels_report_check(job->report, "hash", KERNELS_CHECK_PASSED, NULL);
    return KERNELS_OK;
}

static kernels_status run_steps(kernels_variant_build *job, const kernels_environment *torch, kernels_error *error) {
    KERNELS_TRY(copy_package(job, error));
    KERNELS_TRY(do_tpu(job, error));
    KERNELS_TRY(check_metadata(job, error));
    KERNELS_TRY(check_import(job, torch, error));
    return hash(job, error);
}

kernels_status kernels_variant_build_run(kernels_variant_build *job, kernels_error *error) {
    kernels_environment torch = {0};
    kernels_status status = provide_torch(job, &torch, error);
    status = status ? status : run_steps(job, &torch, error);
    kernels_environment_dispose(&torch);
    return status;
}
