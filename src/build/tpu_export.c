/* SPDX-License-Identifier: Apache-2.0 */
#include "build/tpu_export.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "build/aot_config.h"
#include "build/aot_manifest.h"
#include "build/tpu_exporter.h"

#define MANIFEST_SIZE_LIMIT ((size_t)16 * 1024 * 1024)

bool kernels_tpu_export_is_wanted(const char *source_dir) {
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(source_dir, KERNELS_AOT_CONFIG_NAME);
    return path != NULL && kernels_file_exists(path);
}

static kernels_status check_source(const char *source_dir, const kernels_aot_function *function,
                                   const kernels_aot_source *source, kernels_error *error) {
    if (source->file == NULL) {
        return KERNELS_OK;
    }
    KERNELS_CLEANUP_FREE char *path = kernels_path_join(source_dir, source->file);
    if (path == NULL) {
        return kernels_fail_no_memory(error);
    }
    if (!kernels_file_is_regular(path)) {
        return kernels_fail(error, KERNELS_FILE_NOT_FOUND, "%s: function %s: there is no file %s in the project",
                            KERNELS_AOT_CONFIG_NAME, function->name, source->file);
    }
    return KERNELS_OK;
}

static kernels_status check_sources(const char *source_dir, const kernels_aot_config *config, kernels_error *error) {
    for (size_t i = 0; i < config->count; i++) {
        KERNELS_TRY(check_source(source_dir, &config->functions[i], &config->functions[i].source, error));
        KERNELS_TRY(check_source(source_dir, &config->functions[i], &config->functions[i].reference, error));
    }
    return KERNELS_OK;
}

/* Programs go from the exporter's folder to the one that will be aot/, the manifest last. */
static kernels_status collect(const kernels_aot_config *config, const kernels_node *result, const char *output_dir,
                              const char *aot_dir, kernels_error *error) {
    kernels_buffer manifest KERNELS_CLEANUP(kernels_cleanup_buffer) = KERNELS_BUFFER_INIT(MANIFEST_SIZE_LIMIT);
    KERNELS_CLEANUP_FREE char *manifest_path = kernels_path_join(aot_dir, "manifest.json");
    kernels_listing listing = {0};
    if (manifest_path == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_aot_manifest_write(config, result, output_dir, &manifest, error));
    KERNELS_TRY(kernels_list(output_dir, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && status == KERNELS_OK; i++) {
        const char *name = listing.entries[i].path;
        if (!kernels_view_ends_with(kernels_view_of(name), KERNELS_VIEW(".mlirbc"))) {
            continue;
        }
        KERNELS_CLEANUP_FREE char *from = kernels_path_join(output_dir, name);
        KERNELS_CLEANUP_FREE char *to = kernels_path_join(aot_dir, name);
        status = from != NULL && to != NULL ? kernels_file_copy(from, to, 0, error) : kernels_fail_no_memory(error);
    }
    kernels_listing_dispose(&listing);
    if (status == KERNELS_OK) {
        status = kernels_file_write(manifest_path, kernels_buffer_view(&manifest), 0, error);
    }
    return status;
}

static kernels_status replace(const char *from, const char *variant_dir, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *to = kernels_path_join(variant_dir, "aot");
    if (to == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_remove_tree(to, error));
    return kernels_rename(from, to, error);
}

static kernels_status export_in(const kernels_tpu_export_options *options, const kernels_aot_config *config,
                                const char *scratch, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *output_dir = kernels_path_join(scratch, "output");
    KERNELS_CLEANUP_FREE char *aot_dir = kernels_path_join(scratch, "aot");
    kernels_document result = {0};
    if (output_dir == NULL || aot_dir == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_directory(output_dir, error));
    KERNELS_TRY(kernels_make_directory(aot_dir, error));
    kernels_tpu_exporter exporter = {
        .python = options->python,
        .source_dir = options->source_dir,
        .output_dir = output_dir,
        .timeout_seconds = options->timeout_seconds != 0 ? options->timeout_seconds : KERNELS_TPU_EXPORT_TIMEOUT,
        .log = options->log,
        .payload = options->payload,
    };
    KERNELS_TRY(kernels_tpu_exporter_run(&exporter, KERNELS_TPU_EXPORTER_EXPORT, config, &result, error));
    kernels_status status = collect(config, result.root, output_dir, aot_dir, error);
    kernels_document_dispose(&result);
    return status == KERNELS_OK ? replace(aot_dir, options->variant_dir, error) : status;
}

/* The scratch folder lies beside the variant: on the same file system, and never part of its digest. */
static kernels_status export_config(const kernels_tpu_export_options *options, const kernels_aot_config *config,
                                    kernels_error *error) {
    KERNELS_TRY(check_sources(options->source_dir, config, error));
    KERNELS_CLEANUP_FREE char *variant = kernels_path_absolute(options->variant_dir);
    KERNELS_CLEANUP_FREE char *parent = variant != NULL ? kernels_path_parent(variant) : NULL;
    KERNELS_CLEANUP_FREE char *scratch = NULL;
    if (parent == NULL) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_make_temporary_directory(parent, ".aot-", &scratch, error));
    kernels_status status = export_in(options, config, scratch, error);
    kernels_remove_tree(scratch, NULL);
    return status;
}

kernels_status kernels_tpu_export(const kernels_tpu_export_options *options, kernels_error *error) {
    kernels_aot_config config;
    KERNELS_TRY(kernels_aot_config_read(options->source_dir, &config, error));
    kernels_status status = export_config(options, &config, error);
    kernels_aot_config_dispose(&config);
    return status == KERNELS_OK ? status : kernels_wrap(error, status, "export to aot/ failed");
}
