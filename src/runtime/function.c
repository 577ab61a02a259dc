/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a loaded kernel to a call: choose platform and plugin, choose the specialisation by the tensors,
 * compile it once, run it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/view.h"
#include "runtime/compiled_cache.h"
#include "runtime/manifest.h"
#include "runtime/pjrt.h"
#include "runtime/tensor.h"

/* Longest list of names or shapes in one message. */
#define LIST_LIMIT ((size_t)64 * 1024)
/* Room for "argument 63 (<name>) of <function>". */
#define WHO_SIZE (2 * KERNELS_MANIFEST_NAME_MAX + 64)

struct kernels_function {
    char *directory; /* the variant */
    kernels_signatures signatures;
    const kernels_signature *signature; /* one of them */
    kernels_pjrt_client *client;
    kernels_pjrt_plugin *plugin;
    kernels_pjrt_executable **executables; /* one a specialisation, compiled at its first call */
};

/* What one call works on. */
typedef struct kernels_call {
    const kernels_specialisation *specialisation;
    kernels_pjrt_executable *executable;
    kernels_shape shapes[KERNELS_OPERANDS_MAX];
    kernels_pjrt_array inputs[KERNELS_OPERANDS_MAX];
    kernels_pjrt_array outputs[KERNELS_OPERANDS_MAX];
} kernels_call;

/* ---- lists for messages ---- */

static void list_functions(kernels_buffer *out, const kernels_signatures *functions) {
    for (size_t i = 0; i < functions->count; i++) {
        kernels_buffer_printf(out, "%s%s", i ? ", " : "", functions->items[i].name);
    }
}

static void list_shapes(kernels_buffer *out, const kernels_shape *shapes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        KERNELS_CLEANUP_FREE char *text = kernels_shape_print(&shapes[i]);
        kernels_buffer_printf(out, "%s%s", i ? ", " : "", text ? text : "?");
    }
}

static void list_specialisations(kernels_buffer *out, const kernels_signature *signature, const char *platform) {
    for (size_t i = 0; i < signature->specialisation_count; i++) {
        const kernels_specialisation *item = &signature->specialisations[i];
        if (strcmp(item->platform, platform) == 0) {
            kernels_buffer_printf(out, "\n  %s(", signature->name);
            list_shapes(out, item->inputs, item->input_count);
            kernels_buffer_add_text(out, ") -> (");
            list_shapes(out, item->outputs, item->output_count);
            kernels_buffer_add_char(out, ')');
        }
    }
}

static void list_platforms(kernels_buffer *out, const kernels_signature *signature) {
    for (size_t i = 0; i < signature->specialisation_count; i++) {
        const char *platform = signature->specialisations[i].platform;
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++) {
            seen = strcmp(signature->specialisations[j].platform, platform) == 0;
        }
        if (!seen) {
            kernels_buffer_printf(out, "%s%s", out->size ? ", " : "", platform);
        }
    }
}

/* ---- finding the function ---- */

kernels_status kernels_kernel_functions(const kernels_kernel *kernel, kernels_signatures *functions,
                                        kernels_error *error) {
    return kernels_manifest_read(kernels_kernel_path(kernel), functions, error);
}

static kernels_status find_signature(kernels_function *function, const char *name, kernels_error *error) {
    for (size_t i = 0; i < function->signatures.count; i++) {
        if (strcmp(function->signatures.items[i].name, name) == 0) {
            function->signature = &function->signatures.items[i];
            return KERNELS_OK;
        }
    }
    kernels_buffer names = KERNELS_BUFFER_INIT(LIST_LIMIT);
    list_functions(&names, &function->signatures);
    kernels_status status =
        kernels_fail(error, KERNELS_FUNCTION_NOT_FOUND, "the kernel in %s has no function \"%.*s\"; it has: %s",
                     function->directory, KERNELS_VIEW_ARGS(kernels_view_slice(kernels_view_of(name), 0, 255)),
                     names.size ? kernels_buffer_text(&names) : "none");
    kernels_buffer_dispose(&names);
    return status;
}

static bool has_platform(const kernels_signature *signature, const char *platform) {
    for (size_t i = 0; i < signature->specialisation_count; i++) {
        if (strcmp(signature->specialisations[i].platform, platform) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- choosing plugin and platform ---- */

static kernels_status fail_platform(const kernels_function *function, const char *reason, const char *platform,
                                    kernels_error *error) {
    kernels_buffer platforms = KERNELS_BUFFER_INIT(LIST_LIMIT);
    list_platforms(&platforms, function->signature);
    kernels_status status = kernels_fail(
        error, KERNELS_UNSUPPORTED, "%s of the kernel in %s was exported for: %s; %s %s", function->signature->name,
        function->directory, platforms.size ? kernels_buffer_text(&platforms) : "nothing", reason, platform);
    kernels_buffer_dispose(&platforms);
    return status;
}

/* A TPU is used only where the PCI test saw one: everything else that looks like a TPU proves nothing. NULL: the
 * function was exported for nothing that this machine has. */
static const char *choose_platform(const kernels_function *function, const kernels_system *system, const char *wanted) {
    if (wanted) {
        return has_platform(function->signature, wanted) ? wanted : NULL;
    }
    if (system->tpu_generation[0] != '\0' && has_platform(function->signature, "tpu")) {
        return "tpu";
    }
    return has_platform(function->signature, "cpu") ? "cpu" : NULL;
}

static void warn(const kernels_function_options *options, const char *message) {
    if (options && options->warning && message) {
        options->warning(options->payload, message);
    }
}

/* Was the function compiled for the TPU that is here before it was published? */
static kernels_status check_generation(const kernels_function *function, const kernels_system *system,
                                       const kernels_function_options *options, kernels_error *error) {
    const kernels_signature *signature = function->signature;
    kernels_buffer text = KERNELS_BUFFER_INIT(LIST_LIMIT);
    for (size_t i = 0; i < signature->generation_count; i++) {
        if (strcmp(signature->generations[i], system->tpu_generation) == 0) {
            return KERNELS_OK;
        }
        kernels_buffer_printf(&text, "%s%s", i ? ", " : "", signature->generations[i]);
    }
    kernels_error found = KERNELS_ERROR_INIT;
    kernels_status status = kernels_fail(
        &found, KERNELS_ARCHITECTURE, "%s was checked for TPU %s, this machine has TPU %s", signature->name,
        text.size ? kernels_buffer_text(&text) : "of no generation", system->tpu_generation);
    kernels_buffer_dispose(&text);
    if (options && options->strict) {
        kernels_error_move(error, &found);
        return status;
    }
    warn(options, kernels_error_message(&found));
    kernels_error_dispose(&found);
    return KERNELS_OK;
}

static kernels_status open_client(kernels_function *function, const char *path, kernels_error *error) {
    KERNELS_TRY(kernels_pjrt_plugin_open(path, &function->plugin, error));
    return kernels_pjrt_client_new(function->plugin, &function->client, error);
}

/* The plugin was named: what it is decides. */
static kernels_status use_named_plugin(kernels_function *function, const kernels_function_options *options,
                                       kernels_error *error) {
    const kernels_pjrt_search_options search = {.plugin = options->plugin};
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(kernels_pjrt_plugin_search("cpu", &search, &path, NULL, error));
    return open_client(function, path, error);
}

/* The kernel's context has looked at this machine already, unless it was told what it is, or looked into other
 * packages. */
static kernels_status find_system(const kernels_kernel *kernel, const kernels_function_options *options,
                                  kernels_system *detected, const kernels_system **system, kernels_error *error) {
    const char *packages = options ? options->site_packages : NULL;
    const kernels_system *known = kernels_kernel_system(kernel);
    if (known && (!packages || strcmp(packages, known->site_packages) == 0)) {
        *system = known;
        return KERNELS_OK;
    }
    const kernels_system_options where = {.site_packages = packages};
    *system = detected;
    return kernels_system_detect(&where, detected, error);
}

static kernels_status use_found_plugin(kernels_function *function, const kernels_kernel *kernel,
                                       const kernels_function_options *options, kernels_error *error) {
    kernels_system detected;
    const kernels_system *system = NULL;
    KERNELS_TRY(find_system(kernel, options, &detected, &system, error));
    const char *platform = choose_platform(function, system, options ? options->platform : NULL);
    if (!platform) {
        bool has_tpu = system->tpu_generation[0] != '\0';
        return fail_platform(function, has_tpu ? "this machine runs" : "this machine has no TPU, so it runs only",
                             has_tpu ? "tpu and cpu" : "cpu", error);
    }
    if (strcmp(platform, "tpu") == 0) {
        KERNELS_TRY(check_generation(function, system, options, error));
    }
    const kernels_pjrt_search_options search = {.site_packages = system->site_packages};
    KERNELS_CLEANUP_FREE char *path = NULL;
    KERNELS_TRY(kernels_pjrt_plugin_search(platform, &search, &path, NULL, error));
    return open_client(function, path, error);
}

static kernels_status use_shared_plugin(kernels_function *function, const kernels_function *other,
                                        kernels_error *error) {
    KERNELS_TRY(kernels_pjrt_plugin_open(kernels_pjrt_plugin_path(other->plugin), &function->plugin, error));
    function->client = kernels_pjrt_client_share(other->client);
    return KERNELS_OK;
}

static kernels_status choose_client(kernels_function *function, const kernels_kernel *kernel,
                                    const kernels_function_options *options, kernels_error *error) {
    kernels_status status;
    if (options && options->share) {
        status = use_shared_plugin(function, options->share, error);
    } else if (options && options->plugin) {
        status = use_named_plugin(function, options, error);
    } else {
        status = use_found_plugin(function, kernel, options, error);
    }
    KERNELS_TRY(status);
    const char *platform = kernels_pjrt_client_platform(function->client);
    if (!has_platform(function->signature, platform)) {
        return fail_platform(function, "the plugin runs", platform, error);
    }
    return KERNELS_OK;
}

static kernels_status function_fill(kernels_function *function, const kernels_kernel *kernel, const char *name,
                                    const kernels_function_options *options, kernels_error *error) {
    function->directory = kernels_strdup(kernels_kernel_path(kernel));
    if (!function->directory) {
        return kernels_fail_no_memory(error);
    }
    KERNELS_TRY(kernels_manifest_read(function->directory, &function->signatures, error));
    KERNELS_TRY(find_signature(function, name, error));
    function->executables =
        kernels_calloc(function->signature->specialisation_count + 1, sizeof(*function->executables));
    if (!function->executables) {
        return kernels_fail_no_memory(error);
    }
    return choose_client(function, kernel, options, error);
}

kernels_status kernels_function_get(const kernels_kernel *kernel, const char *name,
                                    const kernels_function_options *options, kernels_function **function,
                                    kernels_error *error) {
    if (!kernel || !name || !function) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "kernel, name and function must be given");
    }
    kernels_function *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = function_fill(made, kernel, name, options, error);
    if (status) {
        kernels_function_free(made);
        return status;
    }
    *function = made;
    return KERNELS_OK;
}

void kernels_function_free(kernels_function *function) {
    if (!function) {
        return;
    }
    for (size_t i = 0; function->executables && i < function->signature->specialisation_count; i++) {
        kernels_pjrt_executable_free(function->executables[i]);
    }
    kernels_free(function->executables);
    kernels_pjrt_client_free(function->client);
    kernels_pjrt_plugin_close(function->plugin);
    kernels_signatures_dispose(&function->signatures);
    kernels_free(function->directory);
    kernels_free(function);
}

const char *kernels_function_platform(const kernels_function *function) {
    return kernels_pjrt_client_platform(function->client);
}

const char *kernels_function_plugin(const kernels_function *function) {
    return kernels_pjrt_plugin_path(function->plugin);
}

/* ---- choosing the specialisation ---- */

static kernels_status check_count(const kernels_signature *signature, size_t count, kernels_error *error) {
    if (count == signature->argument_count) {
        return KERNELS_OK;
    }
    kernels_buffer names = KERNELS_BUFFER_INIT(LIST_LIMIT);
    for (size_t i = 0; i < signature->argument_count; i++) {
        kernels_buffer_printf(&names, "%s%s", i ? ", " : "", signature->arguments[i]);
    }
    kernels_status status = kernels_fail(error, KERNELS_MISMATCH, "%s: expected %zu argument%s (%s), given %zu",
                                         signature->name, signature->argument_count,
                                         signature->argument_count == 1 ? "" : "s", kernels_buffer_text(&names), count);
    kernels_buffer_dispose(&names);
    return status;
}

static bool specialisation_fits(const kernels_specialisation *item, const char *platform, const kernels_shape *inputs) {
    if (strcmp(item->platform, platform) != 0) {
        return false;
    }
    for (size_t i = 0; i < item->input_count; i++) {
        if (!kernels_shape_equal(&item->inputs[i], &inputs[i])) {
            return false;
        }
    }
    return true;
}

static kernels_status fail_specialisation(const kernels_function *function, const kernels_shape *inputs, size_t count,
                                          kernels_error *error) {
    const char *platform = kernels_function_platform(function);
    kernels_buffer given = KERNELS_BUFFER_INIT(LIST_LIMIT), exported = KERNELS_BUFFER_INIT(LIST_LIMIT);
    list_shapes(&given, inputs, count);
    list_specialisations(&exported, function->signature, platform);
    kernels_status status = kernels_fail(
        error, KERNELS_SPECIALISATION_NOT_FOUND, "%s was not exported for (%s) on platform %s; exported were:%s",
        function->signature->name, kernels_buffer_text(&given), platform, kernels_buffer_text(&exported));
    kernels_buffer_dispose(&given);
    kernels_buffer_dispose(&exported);
    return status;
}

#define NOT_EXPORTED SIZE_MAX

/* Its index; the count of inputs is right. */
static size_t find_specialisation(const kernels_function *function, const kernels_shape *inputs) {
    const kernels_signature *signature = function->signature;
    for (size_t i = 0; i < signature->specialisation_count; i++) {
        if (specialisation_fits(&signature->specialisations[i], kernels_function_platform(function), inputs)) {
            return i;
        }
    }
    return NOT_EXPORTED;
}

kernels_status kernels_function_find(const kernels_function *function, const kernels_shape *inputs, size_t input_count,
                                     const kernels_specialisation **found, kernels_error *error) {
    KERNELS_TRY(check_count(function->signature, input_count, error));
    size_t index = find_specialisation(function, inputs);
    if (index == NOT_EXPORTED) {
        return fail_specialisation(function, inputs, input_count, error);
    }
    *found = &function->signature->specialisations[index];
    return KERNELS_OK;
}

/* ---- compiling ---- */

/* Both known, and the program's is the newer one. A plugin may read such a program all the same, so this explains
 * a failure and never causes one. */
static bool is_newer_stablehlo(const kernels_function *function, const kernels_specialisation *item,
                               char accepted_text[64]) {
    kernels_version exported, accepted;
    return item->stablehlo &&
           kernels_pjrt_plugin_attribute(function->plugin, "stablehlo_current_version", accepted_text) &&
           !kernels_version_parse(kernels_view_of(item->stablehlo), &exported, NULL) &&
           !kernels_version_parse(kernels_view_of(accepted_text), &accepted, NULL) &&
           kernels_version_compare(&exported, &accepted) > 0;
}

/* The compiler refused: says whether the program is newer than it, and which libtpu would do. */
static kernels_status explain_compile(const kernels_function *function, const kernels_specialisation *item,
                                      kernels_status status, kernels_error *error) {
    const char *libtpu = function->signatures.libtpu ? function->signatures.libtpu : "of the exporter";
    const char *path = kernels_pjrt_plugin_path(function->plugin);
    char accepted[64];
    if (status != KERNELS_COMPILE || !error) {
        return status;
    }
    /* "unsupported Mosaic version, expected <= 7 but got 8" */
    if (item->mosaic &&
        kernels_view_contains(kernels_view_of(kernels_error_message(error)), KERNELS_VIEW("Mosaic version"))) {
        return kernels_wrap(error, status,
                            "%s holds a TPU program of Mosaic version %s, which %s does not accept; "
                            "libtpu %s or newer does",
                            item->file, item->mosaic, path, libtpu);
    }
    if (is_newer_stablehlo(function, item, accepted)) {
        return kernels_wrap(error, status,
                            "%s was exported with StableHLO %s, %s has %s; use a newer plugin (libtpu: %s "
                            "or newer)",
                            item->file, item->stablehlo, path, accepted, libtpu);
    }
    return kernels_wrap(error, status, "%s cannot compile %s", path, item->file);
}

/* Where the compiled program is kept; heap text, NULL = nowhere. Only programs for the CPU are: the file's name tells
 * two CPUs apart, but not two TPUs. */
static char *kept_path(const kernels_function *function, const kernels_specialisation *item) {
    char *path = NULL;
    if (strcmp(item->platform, "cpu") == 0) {
        (void)kernels_compiled_cache_path(kernels_function_plugin(function), item->sha256, &path, NULL);
    }
    return path;
}

/* Without a usable one: false, and the compiler has to do it. */
static bool take_kept(const kernels_function *function, const kernels_specialisation *item, const char *path,
                      kernels_pjrt_executable **executable) {
    KERNELS_CLEANUP_FREE char *contents = NULL;
    kernels_view bytes = {0};
    return path && kernels_compiled_cache_read(path, &contents, &bytes, NULL) == KERNELS_OK &&
           kernels_pjrt_deserialize(function->client, bytes, item->file, item->output_count, executable, NULL) ==
               KERNELS_OK;
}

/* Best effort: a full disk must not stop a call. */
static void keep(const char *path, const kernels_pjrt_executable *executable) {
    KERNELS_CLEANUP_FREE char *bytes = NULL;
    size_t size = 0;
    if (path && kernels_pjrt_serialize(executable, &bytes, &size, NULL) == KERNELS_OK) {
        (void)kernels_compiled_cache_write(path, (kernels_view){bytes, size}, NULL);
    }
}

static kernels_status compile(kernels_function *function, const kernels_specialisation *item,
                              kernels_pjrt_executable **executable, kernels_error *error) {
    KERNELS_CLEANUP_FREE char *program = NULL;
    size_t size = 0;
    /* read and checked even if its compiled form is kept: a damaged kernel does not run */
    KERNELS_TRY(kernels_manifest_read_program(function->directory, item, &program, &size, error));
    KERNELS_CLEANUP_FREE char *path = kept_path(function, item);
    if (take_kept(function, item, path, executable)) {
        return KERNELS_OK;
    }
    kernels_status status = kernels_pjrt_compile(function->client, (kernels_view){program, size}, item->file,
                                                 item->output_count, executable, error);
    if (status != KERNELS_OK) {
        return explain_compile(function, item, status, error);
    }
    keep(path, *executable);
    return KERNELS_OK;
}

static kernels_status get_executable(kernels_function *function, size_t index, kernels_pjrt_executable **executable,
                                     kernels_error *error) {
    if (!function->executables[index]) {
        KERNELS_TRY(
            compile(function, &function->signature->specialisations[index], &function->executables[index], error));
    }
    *executable = function->executables[index];
    return KERNELS_OK;
}

/* ---- calling ---- */

static kernels_status prepare_inputs(kernels_function *function, const DLTensor *const *inputs, size_t count,
                                     kernels_call *call, kernels_error *error) {
    const kernels_signature *signature = function->signature;
    KERNELS_TRY(check_count(signature, count, error));
    for (size_t i = 0; i < count; i++) {
        char who[WHO_SIZE];
        (void)snprintf(who, sizeof(who), "argument %zu (%s) of %s", i, signature->arguments[i], signature->name);
        KERNELS_TRY(kernels_tensor_check(inputs[i], who, &call->shapes[i], error));
        call->inputs[i] = (kernels_pjrt_array){&call->shapes[i], kernels_tensor_data(inputs[i])};
    }
    size_t index = find_specialisation(function, call->shapes);
    if (index == NOT_EXPORTED) {
        return fail_specialisation(function, call->shapes, count, error);
    }
    call->specialisation = &signature->specialisations[index];
    return get_executable(function, index, &call->executable, error);
}

static kernels_status check_output_count(const kernels_function *function, const kernels_call *call, size_t count,
                                         kernels_error *error) {
    size_t expected = call->specialisation->output_count;
    if (count != expected) {
        return kernels_fail(error, KERNELS_MISMATCH, "%s: expected room for %zu result%s, given %zu",
                            function->signature->name, expected, expected == 1 ? "" : "s", count);
    }
    return KERNELS_OK;
}

static kernels_status prepare_output(const kernels_function *function, kernels_call *call, size_t index,
                                     const DLTensor *output, kernels_error *error) {
    const kernels_shape *expected = &call->specialisation->outputs[index];
    char who[WHO_SIZE];
    kernels_shape given;
    (void)snprintf(who, sizeof(who), "result %zu of %s", index, function->signature->name);
    KERNELS_TRY(kernels_tensor_check(output, who, &given, error));
    if (!kernels_shape_equal(expected, &given)) {
        KERNELS_CLEANUP_FREE char *expected_text = kernels_shape_print(expected);
        KERNELS_CLEANUP_FREE char *given_text = kernels_shape_print(&given);
        return kernels_fail(error, KERNELS_MISMATCH, "%s: expected a tensor %s, given %s", who,
                            expected_text ? expected_text : "?", given_text ? given_text : "?");
    }
    call->outputs[index] = (kernels_pjrt_array){expected, kernels_tensor_data(output)};
    return KERNELS_OK;
}

static kernels_status execute(const kernels_function *function, const kernels_call *call, size_t input_count,
                              size_t output_count, kernels_error *error) {
    kernels_status status =
        kernels_pjrt_execute(call->executable, call->inputs, input_count, call->outputs, output_count, error);
    return status ? kernels_wrap(error, status, "%s failed on platform %s", function->signature->name,
                                 kernels_function_platform(function))
                  : KERNELS_OK;
}

kernels_status kernels_function_call(kernels_function *function, const DLTensor *const *inputs, size_t input_count,
                                     DLTensor *const *outputs, size_t output_count, kernels_error *error) {
    kernels_call call;
    KERNELS_TRY(prepare_inputs(function, inputs, input_count, &call, error));
    KERNELS_TRY(check_output_count(function, &call, output_count, error));
    for (size_t i = 0; i < output_count; i++) {
        KERNELS_TRY(prepare_output(function, &call, i, outputs[i], error));
    }
    return execute(function, &call, input_count, output_count, error);
}

static void delete_tensors(DLManagedTensorVersioned **tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tensors[i]->deleter(tensors[i]);
    }
}

kernels_status kernels_function_call_allocate(kernels_function *function, const DLTensor *const *inputs,
                                              size_t input_count, DLManagedTensorVersioned **outputs,
                                              size_t output_count, kernels_error *error) {
    kernels_call call;
    DLManagedTensorVersioned *made[KERNELS_OPERANDS_MAX];
    KERNELS_TRY(prepare_inputs(function, inputs, input_count, &call, error));
    KERNELS_TRY(check_output_count(function, &call, output_count, error));
    kernels_status status = KERNELS_OK;
    size_t count = 0;
    for (; count < output_count && !status; count += !status) {
        const kernels_shape *shape = &call.specialisation->outputs[count];
        status = kernels_tensor_new(shape, &made[count], error);
        if (!status) {
            call.outputs[count] = (kernels_pjrt_array){shape, made[count]->dl_tensor.data};
        }
    }
    if (!status) {
        status = execute(function, &call, input_count, output_count, error);
    }
    if (status) {
        delete_tensors(made, count);
        return status;
    }
    memcpy(outputs, made, output_count * sizeof(*outputs));
    return KERNELS_OK;
}
