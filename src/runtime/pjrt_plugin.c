/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/pjrt_plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"

/* Longest message of a plugin that we keep. */
#define PLUGIN_MESSAGE_LIMIT ((size_t)64 * 1024)
/* Most attributes of a plugin that we look at. */
#define PLUGIN_ATTRIBUTES_LIMIT ((size_t)4096)
/* Most parts of a version attribute: major.minor.patch. */
#define PLUGIN_VERSION_PARTS_LIMIT ((size_t)4)
/* Bytes that every MLIR bytecode file begins with. */
static const char bytecode_magic[4] = {'M', 'L', '\xef', 'R'};

const char kernels_pjrt_compile_options[6] = {0x1a, 0x04, 0x20, 0x01, 0x28, 0x01};

/* ---- errors and events ---- */

int kernels_pjrt_error_code(const kernels_pjrt_api *api, const kernels_pjrt_api_error *failure) {
    kernels_pjrt_error_code_args arguments = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_error_code_args, .error = failure);
    kernels_pjrt_api_error *second = api->PJRT_Error_GetCode(&arguments);
    if (second) {
        kernels_pjrt_error_destroy_args destroy =
            KERNELS_PJRT_ARGUMENTS(kernels_pjrt_error_destroy_args, .error = second);
        api->PJRT_Error_Destroy(&destroy);
        return 0;
    }
    return arguments.code;
}

kernels_status kernels_pjrt_check(const kernels_pjrt_api *api, kernels_pjrt_api_error *failure, kernels_status status,
                                  const char *doing, kernels_error *error) {
    if (!failure) {
        return KERNELS_OK;
    }
    kernels_pjrt_error_message_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_error_message_args, .error = failure);
    api->PJRT_Error_Message(&arguments);
    kernels_view message = {arguments.message, arguments.message_size};
    message = kernels_view_trim_ascii(kernels_view_slice(message, 0, PLUGIN_MESSAGE_LIMIT));
    status = kernels_fail(error, status, "%s: %.*s", doing, KERNELS_VIEW_ARGS(message));
    kernels_pjrt_error_destroy_args destroy = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_error_destroy_args, .error = failure);
    api->PJRT_Error_Destroy(&destroy);
    return status;
}

kernels_status kernels_pjrt_wait(const kernels_pjrt_api *api, kernels_pjrt_api_event *event, const char *doing,
                                 kernels_error *error) {
    if (!event) {
        return KERNELS_OK;
    }
    kernels_pjrt_event_args arguments = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_event_args, .event = event);
    kernels_status status = kernels_pjrt_check(api, api->PJRT_Event_Await(&arguments), KERNELS_PLUGIN, doing, error);
    /* the first failure is the one that tells something */
    kernels_status destroyed =
        kernels_pjrt_check(api, api->PJRT_Event_Destroy(&arguments), KERNELS_PLUGIN, doing, status ? NULL : error);
    return status ? status : destroyed;
}

kernels_status kernels_pjrt_missing(const kernels_pjrt_plugin *plugin, const char *member, kernels_error *error) {
    return kernels_fail(
        error, KERNELS_TOO_OLD, "the PJRT plugin %s (API %d.%d) has no %s, which is needed here; use a newer plugin",
        plugin->path, plugin->api->pjrt_api_version.major_version, plugin->api->pjrt_api_version.minor_version, member);
}

/* ---- programs ---- */

kernels_pjrt_program kernels_pjrt_program_of(kernels_view bytes) {
    static const char format[] = "mlir";
    kernels_pjrt_program program = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_program, .code_size = bytes.size);
    program.code = (char *)(uintptr_t)bytes.data; /* the API forgets const here; it only reads */
    program.format = format;
    program.format_size = sizeof(format) - 1;
    return program;
}

kernels_status kernels_pjrt_program_check(kernels_view bytes, const char *name, kernels_error *error) {
    if (bytes.size > KERNELS_PJRT_PROGRAM_SIZE_LIMIT) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: the program has %zu bytes, more than the limit of %zu", name,
                            bytes.size, KERNELS_PJRT_PROGRAM_SIZE_LIMIT);
    }
    if (bytes.size < sizeof(bytecode_magic) || memcmp(bytes.data, bytecode_magic, sizeof(bytecode_magic)) != 0) {
        return kernels_fail(error, KERNELS_SYNTAX,
                            "%s: expected portable StableHLO (MLIR bytecode), found %zu bytes of something else", name,
                            bytes.size);
    }
    return KERNELS_OK;
}

/* ---- opening ---- */

static kernels_status plugin_map(const char *path, const kernels_pjrt_api **api, kernels_error *error) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return kernels_fail(error, KERNELS_PLUGIN, "cannot open the PJRT plugin %s: %s", path,
                            reason ? reason : "unknown reason");
    }
    kernels_pjrt_entry *entry = (kernels_pjrt_entry *)(uintptr_t)dlsym(library, KERNELS_PJRT_ENTRY);
    if (!entry) {
        return kernels_fail(error, KERNELS_PLUGIN, "%s is no PJRT plugin: it does not export %s", path,
                            KERNELS_PJRT_ENTRY);
    }
    *api = entry();
    if (!*api) {
        return kernels_fail(error, KERNELS_PLUGIN, "the PJRT plugin %s gave no function table", path);
    }
    return KERNELS_OK;
}

/* The members without which not even an error can be read. */
static kernels_status plugin_check(const kernels_pjrt_plugin *plugin, kernels_error *error) {
    const kernels_pjrt_version *version = &plugin->api->pjrt_api_version;
    if (plugin->api->struct_size < offsetof(kernels_pjrt_api, PJRT_Error_Destroy)) {
        return kernels_fail(error, KERNELS_PLUGIN, "the function table of the PJRT plugin %s has only %zu bytes",
                            plugin->path, plugin->api->struct_size);
    }
    if (version->major_version != KERNELS_PJRT_API_MAJOR) {
        return kernels_fail(error, KERNELS_UNSUPPORTED, "the PJRT plugin %s has API %d.%d, expected major version %d",
                            plugin->path, version->major_version, version->minor_version, KERNELS_PJRT_API_MAJOR);
    }
    KERNELS_PJRT_NEED(plugin, PJRT_Error_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Error_Message, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Error_GetCode, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Event_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Event_Await, error);
    return KERNELS_OK;
}

kernels_status kernels_pjrt_plugin_open(const char *path, kernels_pjrt_plugin **plugin, kernels_error *error) {
    if (!path || !*path) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT, "no path of a PJRT plugin was given");
    }
    kernels_pjrt_plugin *opened = kernels_calloc(1, sizeof(*opened));
    if (!opened) {
        return kernels_fail_no_memory(error);
    }
    kernels_status status = KERNELS_OK;
    opened->path = kernels_strdup(path);
    if (!opened->path) {
        status = kernels_fail_no_memory(error);
    }
    if (!status) {
        status = plugin_map(path, &opened->api, error);
    }
    if (!status) {
        status = plugin_check(opened, error);
    }
    if (status) {
        kernels_error_set_subject(error, path);
        kernels_pjrt_plugin_close(opened);
        return status;
    }
    *plugin = opened;
    return KERNELS_OK;
}

void kernels_pjrt_plugin_close(kernels_pjrt_plugin *plugin) {
    if (plugin) {
        kernels_free(plugin->path);
        kernels_free(plugin);
    }
}

const char *kernels_pjrt_plugin_path(const kernels_pjrt_plugin *plugin) { return plugin->path; }

void kernels_pjrt_plugin_version(const kernels_pjrt_plugin *plugin, int *major, int *minor) {
    *major = plugin->api->pjrt_api_version.major_version;
    *minor = plugin->api->pjrt_api_version.minor_version;
}

kernels_status kernels_pjrt_initialize(const kernels_pjrt_plugin *plugin, kernels_error *error) {
    KERNELS_PJRT_NEED(plugin, PJRT_Plugin_Initialize, error);
    kernels_pjrt_initialize_args arguments = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_initialize_args, );
    return kernels_pjrt_check(plugin->api, plugin->api->PJRT_Plugin_Initialize(&arguments), KERNELS_PLUGIN,
                              "the PJRT plugin cannot be initialised", error);
}

/* ---- attributes ---- */

static void attribute_print(const kernels_pjrt_named_value *value, char text[64]) {
    text[0] = '\0';
    if (value->type == KERNELS_PJRT_VALUE_STRING) {
        kernels_view string = {value->as.string_value, value->value_size};
        (void)snprintf(text, 64, "%.*s", KERNELS_VIEW_ARGS(kernels_view_slice(string, 0, 63)));
    } else if (value->type == KERNELS_PJRT_VALUE_INT64) {
        (void)snprintf(text, 64, "%" PRId64, value->as.int64_value);
    } else if (value->type == KERNELS_PJRT_VALUE_INT64_LIST) {
        size_t used = 0;
        for (size_t i = 0; i < value->value_size && i < PLUGIN_VERSION_PARTS_LIMIT && used < 64; i++) {
            int written = snprintf(text + used, 64 - used, "%s%" PRId64, i ? "." : "", value->as.int64_array_value[i]);
            used += written > 0 ? (size_t)written : 0;
        }
    }
}

bool kernels_pjrt_plugin_attribute(const kernels_pjrt_plugin *plugin, const char *name, char text[64]) {
    if (!KERNELS_PJRT_HAS(plugin->api, PJRT_Plugin_Attributes)) {
        return false;
    }
    kernels_pjrt_attributes_args arguments = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_attributes_args, );
    if (kernels_pjrt_check(plugin->api, plugin->api->PJRT_Plugin_Attributes(&arguments), KERNELS_PLUGIN, "attributes",
                           NULL)) {
        return false;
    }
    for (size_t i = 0; i < arguments.num_attributes && i < PLUGIN_ATTRIBUTES_LIMIT; i++) {
        const kernels_pjrt_named_value *value = &arguments.attributes[i];
        if (kernels_view_equal_text((kernels_view){value->name, value->name_size}, name)) {
            attribute_print(value, text);
            return true;
        }
    }
    return false;
}
