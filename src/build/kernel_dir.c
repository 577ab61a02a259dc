/* SPDX-License-Identifier: Apache-2.0 */
#include "build/kernel_dir.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "data/text.h"

#define VARIANT_LIMIT 10000

const char *kernels_extension_directory(const kernels_build *build) {
    return build->kind == KERNELS_KIND_TVM_FFI ? "tvm-ffi-ext" : "torch-ext";
}

/* ---- built variants ---- */

static kernels_status add_variant(kernels_built *built, size_t *capacity, const char *name, kernels_error *error) {
    kernels_built_variant variant = {kernels_strdup(name), kernels_path_join(built->directory, name)};
    KERNELS_CLEANUP_FREE char *metadata = variant.path ? kernels_path_join(variant.path, "metadata.json") : NULL;
    bool wanted = metadata && kernels_file_is_regular(metadata);
    if (!wanted || !variant.name ||
        !kernels_grow((void **)&built->variants, capacity, built->count, sizeof *built->variants, VARIANT_LIMIT)) {
        bool no_memory = wanted || !metadata || !variant.name;
        kernels_free(variant.name);
        kernels_free(variant.path);
        return no_memory ? kernels_fail_no_memory(error) : KERNELS_OK;
    }
    built->variants[built->count++] = variant;
    return KERNELS_OK;
}

/* Looks into one place; built->count stays 0 when it holds none. */
static kernels_status look_into(const char *directory, kernels_built *built, kernels_error *error) {
    kernels_listing listing;
    size_t capacity = 0;
    if (!kernels_file_is_directory(directory)) {
        return KERNELS_OK;
    }
    built->directory = kernels_strdup(directory);
    KERNELS_TRY(built->directory ? KERNELS_OK : kernels_fail_no_memory(error));
    KERNELS_TRY(kernels_list(directory, KERNELS_LIST_CHILDREN, &listing, error));
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        status = add_variant(built, &capacity, listing.entries[i].path, error);
    }
    kernels_listing_dispose(&listing);
    return status;
}

kernels_status kernels_built_find(const char *kernel_dir, kernels_built *built, kernels_error *error) {
    static const char *const places[] = {"result", "build", "."};
    *built = (kernels_built){0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool is_own = strcmp(places[i], ".") == 0;
        KERNELS_CLEANUP_FREE char *path =
            is_own ? kernels_strdup(kernel_dir) : kernels_path_join(kernel_dir, places[i]);
        kernels_status status = path ? look_into(path, built, error) : kernels_fail_no_memory(error);
        if (!status && built->count) {
            return KERNELS_OK;
        }
        kernels_built_dispose(built);
        KERNELS_TRY(status);
    }
    return kernels_fail(error, KERNELS_NOT_FOUND,
                        "no built variant (a folder with a metadata.json) in %s/result, %s/build or %s: build the "
                        "kernel first",
                        kernel_dir, kernel_dir, kernel_dir);
}

void kernels_built_dispose(kernels_built *built) {
    for (size_t i = 0; i < built->count; i++) {
        kernels_free(built->variants[i].name);
        kernels_free(built->variants[i].path);
    }
    kernels_free(built->variants);
    kernels_free(built->directory);
    *built = (kernels_built){0};
}

static kernels_status read_metadata(const char *variant_dir, char **path, kernels_metadata *metadata,
                                    kernels_error *error) {
    *path = kernels_path_join(variant_dir, "metadata.json");
    return *path ? kernels_metadata_read(*path, metadata, error) : kernels_fail_no_memory(error);
}

kernels_status kernels_built_check(const kernels_built *built, kernels_error *error) {
    for (size_t i = 0; i < built->count; i++) {
        KERNELS_CLEANUP_FREE char *path = NULL;
        kernels_metadata metadata;
        KERNELS_TRY(read_metadata(built->variants[i].path, &path, &metadata, error));
        kernels_metadata_dispose(&metadata);
    }
    return KERNELS_OK;
}

/* ---- digests ---- */

static bool has_content(const char *path, const char *text) {
    KERNELS_CLEANUP_FREE char *present = NULL;
    size_t size = 0;
    return !kernels_file_read(path, KERNELS_METADATA_SIZE_LIMIT, &present, &size, NULL) && size == strlen(text) &&
           memcmp(present, text, size) == 0;
}

static kernels_status store_digest(const char *path, kernels_metadata *metadata, const char *variant_dir,
                                   kernels_error *error) {
    kernels_variant_digest digest;
    char *text = NULL;
    KERNELS_TRY(kernels_digest_hash_variant(KERNELS_DIGEST_SHA256, variant_dir, &digest, error));
    kernels_status status = kernels_metadata_set_digest(metadata, &digest, error);
    kernels_variant_digest_dispose(&digest);
    status = status ? status : kernels_metadata_print(metadata, &text, error);
    if (!status && !has_content(path, text)) {
        status = kernels_file_write(path, kernels_view_of(text), 0, error);
    }
    kernels_string_free(text);
    return status;
}

kernels_status kernels_variant_hash(const char *variant_dir, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *path = NULL;
    kernels_metadata metadata;
    KERNELS_TRY(read_metadata(variant_dir, &path, &metadata, error));
    kernels_status status = store_digest(path, &metadata, variant_dir, error);
    kernels_metadata_dispose(&metadata);
    return status;
}

/* The digest holds such names in another form, so that verification cannot find the files. */
static void warn_name(const char *variant_dir, const char *path, const kernels_hash_listener *listener) {
    const kernels_view name = kernels_view_of(path);
    const char *fault = kernels_view_contains(name, KERNELS_VIEW("\\")) ? "holds a backslash"
                        : kernels_view_is_utf8(name)                    ? NULL
                                                                        : "is not UTF-8";
    if (fault) {
        kernels_buffer message = KERNELS_BUFFER_INIT(KERNELS_BUFFER_DEFAULT_LIMIT);
        char quoted[KERNELS_QUOTE_SIZE];
        kernels_buffer_printf(&message, "%s: the file name %s %s: loaders refuse the variant, rename the file",
                              variant_dir, kernels_quote(name, quoted), fault);
        listener->warning(listener->payload, kernels_buffer_text(&message));
        kernels_buffer_dispose(&message);
    }
}

static kernels_status warn_names(const char *variant_dir, const kernels_hash_listener *listener, kernels_error *error) {
    kernels_listing listing;
    KERNELS_TRY(kernels_list(variant_dir, KERNELS_LIST_RECURSIVE, &listing, error));
    for (size_t i = 0; i < listing.count; i++) {
        if (listing.entries[i].type != KERNELS_ENTRY_DIRECTORY) {
            warn_name(variant_dir, listing.entries[i].path, listener);
        }
    }
    kernels_listing_dispose(&listing);
    return KERNELS_OK;
}

kernels_status kernels_built_hash(const kernels_built *built, const kernels_hash_listener *listener,
                                  kernels_error *error) {
    for (size_t i = 0; i < built->count; i++) {
        const char *path = built->variants[i].path;
        if (listener->variant) {
            listener->variant(listener->payload, path);
        }
        kernels_status status = kernels_variant_hash(path, error);
        if (!status && listener->warning) {
            status = warn_names(path, listener, error);
        }
        if (status) {
            return kernels_wrap(error, status, "cannot hash %s", path);
        }
    }
    return KERNELS_OK;
}
