/* SPDX-License-Identifier: Apache-2.0 */
/* Running: a client on the plugin's first device, compiled programs, host arrays in and out. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/view.h"
#include "runtime/dtype.h"
#include "runtime/pjrt_plugin.h"

#define PLATFORM_NAME_SIZE 32

struct kernels_pjrt_client {
    atomic_uint owners;
    pid_t process;              /* that made it */
    kernels_pjrt_plugin plugin; /* our own record */
    kernels_pjrt_api_client *client;
    kernels_pjrt_api_device *device;
    char platform[PLATFORM_NAME_SIZE];
};

struct kernels_pjrt_executable {
    kernels_pjrt_client *client;
    kernels_pjrt_api_loaded *loaded;
    size_t output_count;
};

/* ---- client ---- */

/* fork() copies the plugin's memory but not its threads: in the child, waiting for them would never end. */
static bool client_is_inherited(const kernels_pjrt_client *client) { return client->process != getpid(); }

static kernels_status client_check_process(const kernels_pjrt_client *client, kernels_error *error) {
    if (!client_is_inherited(client)) {
        return KERNELS_OK;
    }
    return kernels_fail(error, KERNELS_PLUGIN,
                        "the function was opened before fork(), and %s does not work on in the child process; load "
                        "the kernel again there",
                        client->plugin.path);
}

static kernels_status client_check_table(const kernels_pjrt_plugin *plugin, kernels_error *error) {
    KERNELS_PJRT_NEED(plugin, PJRT_Client_Create, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Client_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Client_PlatformName, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Client_AddressableDevices, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Client_Compile, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Client_BufferFromHostBuffer, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Executable_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Executable_NumOutputs, error);
    KERNELS_PJRT_NEED(plugin, PJRT_LoadedExecutable_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_LoadedExecutable_GetExecutable, error);
    KERNELS_PJRT_NEED(plugin, PJRT_LoadedExecutable_Execute, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Buffer_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Buffer_ToHostBuffer, error);
    return KERNELS_OK;
}

static kernels_status client_read_platform(kernels_pjrt_client *client, kernels_error *error) {
    const kernels_pjrt_api *api = client->plugin.api;
    kernels_pjrt_client_platform_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_client_platform_args, .client = client->client);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Client_PlatformName(&arguments), KERNELS_PLUGIN,
                                   "the PJRT plugin does not tell its platform", error));
    kernels_view name = {arguments.platform_name, arguments.platform_name_size};
    (void)snprintf(client->platform, sizeof(client->platform), "%.*s",
                   KERNELS_VIEW_ARGS(kernels_view_slice(name, 0, PLATFORM_NAME_SIZE - 1)));
    return KERNELS_OK;
}

static kernels_status client_read_device(kernels_pjrt_client *client, kernels_error *error) {
    const kernels_pjrt_api *api = client->plugin.api;
    kernels_pjrt_client_devices_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_client_devices_args, .client = client->client);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Client_AddressableDevices(&arguments), KERNELS_PLUGIN,
                                   "the PJRT plugin does not list its devices", error));
    if (arguments.num_addressable_devices == 0) {
        return kernels_fail(error, KERNELS_PLUGIN, "the PJRT plugin %s (platform %s) has no device",
                            client->plugin.path, client->platform);
    }
    client->device = arguments.addressable_devices[0];
    return KERNELS_OK;
}

static kernels_status client_create(kernels_pjrt_client *client, kernels_error *error) {
    const kernels_pjrt_api *api = client->plugin.api;
    KERNELS_TRY(kernels_pjrt_initialize(&client->plugin, error));
    kernels_pjrt_client_create_args arguments = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_client_create_args, );
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Client_Create(&arguments), KERNELS_PLUGIN,
                                   "the PJRT plugin cannot take its device", error));
    client->client = arguments.client;
    KERNELS_TRY(client_read_platform(client, error));
    return client_read_device(client, error);
}

kernels_status kernels_pjrt_client_new(const kernels_pjrt_plugin *plugin, kernels_pjrt_client **client,
                                       kernels_error *error) {
    KERNELS_TRY(client_check_table(plugin, error));
    kernels_pjrt_client *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    atomic_init(&made->owners, 1);
    made->process = getpid();
    made->plugin.api = plugin->api;
    made->plugin.path = kernels_strdup(plugin->path);
    kernels_status status = made->plugin.path ? client_create(made, error) : kernels_fail_no_memory(error);
    if (status) {
        status = kernels_pjrt_explain_lock(status, error);
        kernels_error_set_subject(error, plugin->path);
        kernels_pjrt_client_free(made);
        return status;
    }
    *client = made;
    return KERNELS_OK;
}

kernels_pjrt_client *kernels_pjrt_client_share(kernels_pjrt_client *client) {
    atomic_fetch_add_explicit(&client->owners, 1, memory_order_relaxed);
    return client;
}

void kernels_pjrt_client_free(kernels_pjrt_client *client) {
    if (!client || atomic_fetch_sub_explicit(&client->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (client->client && !client_is_inherited(client)) {
        const kernels_pjrt_api *api = client->plugin.api;
        kernels_pjrt_client_destroy_args arguments =
            KERNELS_PJRT_ARGUMENTS(kernels_pjrt_client_destroy_args, .client = client->client);
        (void)kernels_pjrt_check(api, api->PJRT_Client_Destroy(&arguments), KERNELS_PLUGIN, "client", NULL);
    }
    kernels_free(client->plugin.path);
    kernels_free(client);
}

const char *kernels_pjrt_client_platform(const kernels_pjrt_client *client) { return client->platform; }
const char *kernels_pjrt_client_plugin_path(const kernels_pjrt_client *client) { return client->plugin.path; }

/* ---- compiling ---- */

/* The plugin writes that many pointers into our array at each call. */
static kernels_status executable_check_outputs(const kernels_pjrt_executable *executable, const char *name,
                                               kernels_error *error) {
    const kernels_pjrt_api *api = executable->client->plugin.api;
    kernels_pjrt_get_executable_args get =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_get_executable_args, .loaded_executable = executable->loaded);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_LoadedExecutable_GetExecutable(&get), KERNELS_PLUGIN,
                                   "the PJRT plugin does not describe the compiled program", error));
    kernels_pjrt_num_outputs_args outputs =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_num_outputs_args, .executable = get.executable);
    kernels_status status = kernels_pjrt_check(api, api->PJRT_Executable_NumOutputs(&outputs), KERNELS_PLUGIN,
                                               "the PJRT plugin does not tell the number of results", error);
    kernels_pjrt_executable_destroy_args destroy =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_executable_destroy_args, .executable = get.executable);
    (void)kernels_pjrt_check(api, api->PJRT_Executable_Destroy(&destroy), KERNELS_PLUGIN, "executable", NULL);
    if (!status && outputs.num_outputs != executable->output_count) {
        status = kernels_fail(error, KERNELS_SCHEMA, "%s: the program has %zu results, the manifest says %zu", name,
                              outputs.num_outputs, executable->output_count);
    }
    return status;
}

static kernels_status executable_compile(kernels_pjrt_executable *executable, kernels_view bytes, const char *name,
                                         kernels_error *error) {
    const kernels_pjrt_api *api = executable->client->plugin.api;
    kernels_pjrt_program program = kernels_pjrt_program_of(bytes);
    kernels_pjrt_client_compile_args arguments = KERNELS_PJRT_ARGUMENTS(
        kernels_pjrt_client_compile_args, .client = executable->client->client, .program = &program,
        .compile_options = kernels_pjrt_compile_options, .compile_options_size = sizeof(kernels_pjrt_compile_options));
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Client_Compile(&arguments), KERNELS_COMPILE, name, error));
    executable->loaded = arguments.executable;
    return executable_check_outputs(executable, name, error);
}

static kernels_status executable_deserialize(kernels_pjrt_executable *executable, kernels_view bytes, const char *name,
                                             kernels_error *error) {
    const kernels_pjrt_api *api = executable->client->plugin.api;
    kernels_pjrt_deserialize_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_deserialize_args, .client = executable->client->client,
                               .serialized_executable = bytes.data, .serialized_executable_size = bytes.size);
    KERNELS_TRY(
        kernels_pjrt_check(api, api->PJRT_Executable_DeserializeAndLoad(&arguments), KERNELS_PLUGIN, name, error));
    executable->loaded = arguments.loaded_executable;
    return executable_check_outputs(executable, name, error);
}

/* make: one of the two above. */
static kernels_status executable_new(kernels_pjrt_client *client, kernels_view bytes, const char *name,
                                     size_t output_count,
                                     kernels_status (*make)(kernels_pjrt_executable *executable, kernels_view bytes,
                                                            const char *name, kernels_error *error),
                                     kernels_pjrt_executable **executable, kernels_error *error) {
    if (output_count > KERNELS_OPERANDS_MAX) {
        return kernels_fail(error, KERNELS_LIMIT, "%s: %zu results, more than the limit of %d", name, output_count,
                            KERNELS_OPERANDS_MAX);
    }
    KERNELS_TRY(client_check_process(client, error));
    kernels_pjrt_executable *made = kernels_calloc(1, sizeof(*made));
    if (!made) {
        return kernels_fail_no_memory(error);
    }
    made->client = kernels_pjrt_client_share(client);
    made->output_count = output_count;
    kernels_status status = make(made, bytes, name, error);
    if (status) {
        kernels_pjrt_executable_free(made);
        return status;
    }
    *executable = made;
    return KERNELS_OK;
}

kernels_status kernels_pjrt_compile(kernels_pjrt_client *client, kernels_view program, const char *name,
                                    size_t output_count, kernels_pjrt_executable **executable, kernels_error *error) {
    KERNELS_TRY(kernels_pjrt_program_check(program, name, error));
    return executable_new(client, program, name, output_count, executable_compile, executable, error);
}

kernels_status kernels_pjrt_deserialize(kernels_pjrt_client *client, kernels_view bytes, const char *name,
                                        size_t output_count, kernels_pjrt_executable **executable,
                                        kernels_error *error) {
    KERNELS_PJRT_NEED(&client->plugin, PJRT_Executable_DeserializeAndLoad, error);
    return executable_new(client, bytes, name, output_count, executable_deserialize, executable, error);
}

static kernels_status serialize(const kernels_pjrt_api *api, const kernels_pjrt_api_executable *executable,
                                char **bytes, size_t *size, kernels_error *error) {
    kernels_pjrt_serialize_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_serialize_args, .executable = executable);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Executable_Serialize(&arguments), KERNELS_UNSUPPORTED,
                                   "the PJRT plugin does not hand out compiled programs", error));
    *size = arguments.serialized_bytes_size;
    *bytes = kernels_malloc(*size + 1);
    if (*bytes) {
        memcpy(*bytes, arguments.serialized_bytes, *size);
    }
    arguments.serialized_executable_deleter(arguments.serialized_executable);
    return *bytes ? KERNELS_OK : kernels_fail_no_memory(error);
}

kernels_status kernels_pjrt_serialize(const kernels_pjrt_executable *executable, char **bytes, size_t *size,
                                      kernels_error *error) {
    const kernels_pjrt_api *api = executable->client->plugin.api;
    KERNELS_PJRT_NEED(&executable->client->plugin, PJRT_Executable_Serialize, error);
    kernels_pjrt_get_executable_args get =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_get_executable_args, .loaded_executable = executable->loaded);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_LoadedExecutable_GetExecutable(&get), KERNELS_PLUGIN,
                                   "the PJRT plugin does not describe the compiled program", error));
    kernels_status status = serialize(api, get.executable, bytes, size, error);
    kernels_pjrt_executable_destroy_args destroy =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_executable_destroy_args, .executable = get.executable);
    (void)kernels_pjrt_check(api, api->PJRT_Executable_Destroy(&destroy), KERNELS_PLUGIN, "executable", NULL);
    return status;
}

void kernels_pjrt_executable_free(kernels_pjrt_executable *executable) {
    if (!executable) {
        return;
    }
    if (executable->loaded && !client_is_inherited(executable->client)) {
        const kernels_pjrt_api *api = executable->client->plugin.api;
        kernels_pjrt_loaded_destroy_args arguments =
            KERNELS_PJRT_ARGUMENTS(kernels_pjrt_loaded_destroy_args, .executable = executable->loaded);
        (void)kernels_pjrt_check(api, api->PJRT_LoadedExecutable_Destroy(&arguments), KERNELS_PLUGIN, "executable",
                                 NULL);
    }
    kernels_pjrt_client_free(executable->client);
    kernels_free(executable);
}

/* ---- executing ---- */

/* Device buffers of one call. */
typedef struct kernels_pjrt_operands {
    kernels_pjrt_api_buffer *inputs[KERNELS_OPERANDS_MAX];
    kernels_pjrt_api_buffer *outputs[KERNELS_OPERANDS_MAX];
} kernels_pjrt_operands;

static void buffers_destroy(const kernels_pjrt_api *api, kernels_pjrt_api_buffer *const *buffers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (buffers[i]) {
            kernels_pjrt_buffer_destroy_args arguments =
                KERNELS_PJRT_ARGUMENTS(kernels_pjrt_buffer_destroy_args, .buffer = buffers[i]);
            (void)kernels_pjrt_check(api, api->PJRT_Buffer_Destroy(&arguments), KERNELS_PLUGIN, "buffer", NULL);
        }
    }
}

static kernels_status copy_in(const kernels_pjrt_client *client, const kernels_pjrt_array *array,
                              kernels_pjrt_api_buffer **buffer, kernels_error *error) {
    const kernels_pjrt_api *api = client->plugin.api;
    /* an empty array may have no memory, which the plugin would take for a missing argument */
    static const char nothing[1] = {0};
    kernels_pjrt_from_host_args arguments = KERNELS_PJRT_ARGUMENTS(
        kernels_pjrt_from_host_args, .client = client->client, .data = array->data ? array->data : nothing,
        .dims = array->shape->dimensions, .num_dims = (size_t)array->shape->rank,
        .host_buffer_semantics = KERNELS_PJRT_IMMUTABLE_ONLY_DURING_CALL, .device = client->device);
    KERNELS_TRY(kernels_dtype_pjrt(array->shape->dtype, &arguments.type, error));
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Client_BufferFromHostBuffer(&arguments), KERNELS_PLUGIN,
                                   "copying an argument to the device", error));
    *buffer = arguments.buffer;
    return kernels_pjrt_wait(api, arguments.done_with_host_buffer, "copying an argument to the device", error);
}

static kernels_status run(const kernels_pjrt_executable *executable, kernels_pjrt_operands *operands,
                          size_t input_count, kernels_error *error) {
    const kernels_pjrt_api *api = executable->client->plugin.api;
    kernels_pjrt_api_buffer *const *argument_list = operands->inputs;
    kernels_pjrt_api_buffer **output_list = operands->outputs;
    kernels_pjrt_api_event *complete = NULL;
    kernels_pjrt_execute_options options = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_execute_options, );
    kernels_pjrt_execute_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_execute_args, .executable = executable->loaded, .options = &options,
                               .argument_lists = &argument_list, .num_devices = 1, .num_args = input_count,
                               .output_lists = &output_list, .device_complete_events = &complete);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_LoadedExecutable_Execute(&arguments), KERNELS_PLUGIN,
                                   "running the program", error));
    return kernels_pjrt_wait(api, complete, "running the program", error);
}

/* Row-major, whatever layout the device keeps the array in. */
static kernels_pjrt_layout layout_row_major(int32_t rank, int64_t minor_to_major[KERNELS_RANK_MAX]) {
    for (int32_t i = 0; i < rank; i++) {
        minor_to_major[i] = rank - 1 - i;
    }
    kernels_pjrt_layout layout = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_layout, .type = KERNELS_PJRT_LAYOUT_TILED);
    layout.tiled.struct_size = sizeof(layout.tiled);
    layout.tiled.minor_to_major = minor_to_major;
    layout.tiled.minor_to_major_size = (size_t)rank;
    return layout;
}

static kernels_status copy_out(const kernels_pjrt_client *client, kernels_pjrt_api_buffer *buffer,
                               const kernels_pjrt_array *array, size_t index, kernels_error *error) {
    static const char doing[] = "copying a result to the host";
    const kernels_pjrt_api *api = client->plugin.api;
    int64_t minor_to_major[KERNELS_RANK_MAX];
    kernels_pjrt_layout layout = layout_row_major(array->shape->rank, minor_to_major);
    kernels_pjrt_to_host_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_to_host_args, .src = buffer, .host_layout = &layout);
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Buffer_ToHostBuffer(&arguments), KERNELS_PLUGIN, doing, error));
    KERNELS_TRY(kernels_pjrt_wait(api, arguments.event, doing, error));
    uint64_t expected = kernels_shape_bytes(array->shape);
    if (arguments.dst_size != expected) {
        return kernels_fail(error, KERNELS_SCHEMA,
                            "result %zu of the program has %zu bytes, the manifest says %llu; the kernel's aot/ "
                            "folder is inconsistent",
                            index, arguments.dst_size, (unsigned long long)expected);
    }
    if (expected == 0) {
        return KERNELS_OK;
    }
    arguments.dst = array->data;
    arguments.event = NULL;
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Buffer_ToHostBuffer(&arguments), KERNELS_PLUGIN, doing, error));
    return kernels_pjrt_wait(api, arguments.event, doing, error);
}

kernels_status kernels_pjrt_execute(kernels_pjrt_executable *executable, const kernels_pjrt_array *inputs,
                                    size_t input_count, const kernels_pjrt_array *outputs, size_t output_count,
                                    kernels_error *error) {
    if (input_count > KERNELS_OPERANDS_MAX || output_count != executable->output_count) {
        return kernels_fail(error, KERNELS_INVALID_ARGUMENT,
                            "%zu arguments and %zu results; expected at most %d arguments and %zu results", input_count,
                            output_count, KERNELS_OPERANDS_MAX, executable->output_count);
    }
    const kernels_pjrt_client *client = executable->client;
    KERNELS_TRY(client_check_process(client, error));
    kernels_pjrt_operands operands = {0};
    kernels_status status = KERNELS_OK;
    for (size_t i = 0; i < input_count && !status; i++) {
        status = copy_in(client, &inputs[i], &operands.inputs[i], error);
    }
    if (!status) {
        status = run(executable, &operands, input_count, error);
    }
    for (size_t i = 0; i < output_count && !status; i++) {
        status = copy_out(client, operands.outputs[i], &outputs[i], i, error);
    }
    buffers_destroy(client->plugin.api, operands.inputs, input_count);
    buffers_destroy(client->plugin.api, operands.outputs, output_count);
    return status;
}
