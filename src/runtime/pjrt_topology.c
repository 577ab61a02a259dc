/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling for a device that is not there. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/view.h"
#include "runtime/pjrt_plugin.h"

/* Most properties of a cost analysis that we look at. */
#define COST_PROPERTIES_LIMIT ((size_t)4096)
/* A topology of more devices than this is not one of ours. */
#define TOPOLOGY_DEVICES_LIMIT ((size_t)1 << 20)

static kernels_status topology_check_table(const kernels_pjrt_plugin *plugin, kernels_error *error) {
    KERNELS_PJRT_NEED(plugin, PJRT_TopologyDescription_Create, error);
    KERNELS_PJRT_NEED(plugin, PJRT_TopologyDescription_Destroy, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Compile, error);
    KERNELS_PJRT_NEED(plugin, PJRT_Executable_Destroy, error);
    return KERNELS_OK;
}

static kernels_status topology_create(const kernels_pjrt_plugin *plugin, const char *name,
                                      kernels_pjrt_api_topology **topology, kernels_error *error) {
    const kernels_pjrt_api *api = plugin->api;
    kernels_pjrt_topology_create_args arguments = KERNELS_PJRT_ARGUMENTS(
        kernels_pjrt_topology_create_args, .topology_name = name, .topology_name_size = strlen(name));
    kernels_pjrt_api_error *failure = api->PJRT_TopologyDescription_Create(&arguments);
    if (failure) {
        char doing[128];
        (void)snprintf(doing, sizeof(doing), "topology %s", name);
        int code = kernels_pjrt_error_code(api, failure);
        bool unknown = code == KERNELS_PJRT_CODE_INVALID_ARGUMENT || code == KERNELS_PJRT_CODE_NOT_FOUND;
        return kernels_pjrt_check(api, failure, unknown ? KERNELS_NOT_FOUND : KERNELS_PLUGIN, doing, error);
    }
    *topology = arguments.topology;
    return KERNELS_OK;
}

static void topology_destroy(const kernels_pjrt_api *api, kernels_pjrt_api_topology *topology) {
    kernels_pjrt_topology_destroy_args arguments =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_topology_destroy_args, .topology = topology);
    (void)kernels_pjrt_check(api, api->PJRT_TopologyDescription_Destroy(&arguments), KERNELS_PLUGIN, "topology", NULL);
}

/* The reports below are extras: a plugin that cannot give one leaves its members at "does not tell". */

static void stats_read_devices(const kernels_pjrt_api *api, const kernels_pjrt_api_topology *topology,
                               kernels_pjrt_stats *stats) {
    if (!KERNELS_PJRT_HAS(api, PJRT_TopologyDescription_GetDeviceDescriptions) ||
        !KERNELS_PJRT_HAS(api, PJRT_DeviceDescription_Kind)) {
        return;
    }
    kernels_pjrt_topology_devices_args devices =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_topology_devices_args, .topology = topology);
    if (kernels_pjrt_check(api, api->PJRT_TopologyDescription_GetDeviceDescriptions(&devices), KERNELS_PLUGIN,
                           "devices", NULL) ||
        devices.num_descriptions == 0 || devices.num_descriptions > TOPOLOGY_DEVICES_LIMIT) {
        return;
    }
    stats->device_count = devices.num_descriptions;
    kernels_pjrt_description_kind_args kind =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_description_kind_args, .device_description = devices.descriptions[0]);
    if (!kernels_pjrt_check(api, api->PJRT_DeviceDescription_Kind(&kind), KERNELS_PLUGIN, "kind", NULL)) {
        kernels_view text = {kind.device_kind, kind.device_kind_size};
        (void)snprintf(stats->device_kind, sizeof(stats->device_kind), "%.*s",
                       KERNELS_VIEW_ARGS(kernels_view_slice(text, 0, sizeof(stats->device_kind) - 1)));
    }
}

static void stats_read_memory(const kernels_pjrt_api *api, kernels_pjrt_api_executable *executable,
                              kernels_pjrt_stats *stats) {
    if (KERNELS_PJRT_HAS(api, PJRT_Executable_GetCompiledMemoryStats)) {
        kernels_pjrt_memory_stats_args memory =
            KERNELS_PJRT_ARGUMENTS(kernels_pjrt_memory_stats_args, .executable = executable);
        memory.peak_memory_in_bytes = -1; /* stays so in a plugin that is older than this member */
        if (!kernels_pjrt_check(api, api->PJRT_Executable_GetCompiledMemoryStats(&memory), KERNELS_PLUGIN, "memory",
                                NULL)) {
            stats->code_bytes = memory.generated_code_size_in_bytes;
            stats->argument_bytes = memory.argument_size_in_bytes;
            stats->output_bytes = memory.output_size_in_bytes;
            stats->alias_bytes = memory.alias_size_in_bytes;
            stats->temporary_bytes = memory.temp_size_in_bytes;
            stats->peak_bytes = memory.peak_memory_in_bytes;
        }
    }
    if (stats->code_bytes <= 0 && KERNELS_PJRT_HAS(api, PJRT_Executable_SizeOfGeneratedCodeInBytes)) {
        kernels_pjrt_code_size_args code =
            KERNELS_PJRT_ARGUMENTS(kernels_pjrt_code_size_args, .executable = executable);
        if (!kernels_pjrt_check(api, api->PJRT_Executable_SizeOfGeneratedCodeInBytes(&code), KERNELS_PLUGIN, "code",
                                NULL)) {
            stats->code_bytes = code.size_in_bytes;
        }
    }
}

static double value_number(const kernels_pjrt_named_value *value) {
    switch (value->type) {
    case KERNELS_PJRT_VALUE_FLOAT:
        return (double)value->as.float_value;
    case KERNELS_PJRT_VALUE_INT64:
        return (double)value->as.int64_value;
    default:
        return -1.0;
    }
}

static void stats_read_cost(const kernels_pjrt_api *api, kernels_pjrt_api_executable *executable,
                            kernels_pjrt_stats *stats) {
    if (!KERNELS_PJRT_HAS(api, PJRT_Executable_GetCostAnalysis)) {
        return;
    }
    kernels_pjrt_cost_args cost = KERNELS_PJRT_ARGUMENTS(kernels_pjrt_cost_args, .executable = executable);
    if (kernels_pjrt_check(api, api->PJRT_Executable_GetCostAnalysis(&cost), KERNELS_PLUGIN, "cost", NULL)) {
        return;
    }
    for (size_t i = 0; i < cost.num_properties && i < COST_PROPERTIES_LIMIT; i++) {
        const kernels_pjrt_named_value *value = &cost.properties[i];
        kernels_view name = {value->name, value->name_size};
        if (kernels_view_equal_text(name, "flops")) {
            stats->flops = value_number(value);
        } else if (kernels_view_equal_text(name, "bytes accessed")) {
            stats->bytes_accessed = value_number(value);
        }
    }
}

static kernels_status topology_compile(const kernels_pjrt_plugin *plugin, const kernels_pjrt_api_topology *topology,
                                       const char *name, kernels_view bytes, kernels_pjrt_stats *stats,
                                       kernels_error *error) {
    const kernels_pjrt_api *api = plugin->api;
    kernels_pjrt_program program = kernels_pjrt_program_of(bytes);
    kernels_pjrt_compile_args arguments = KERNELS_PJRT_ARGUMENTS(
        kernels_pjrt_compile_args, .topology = topology, .program = &program,
        .compile_options = kernels_pjrt_compile_options, .compile_options_size = sizeof(kernels_pjrt_compile_options));
    KERNELS_TRY(kernels_pjrt_check(api, api->PJRT_Compile(&arguments), KERNELS_COMPILE, name, error));
    stats_read_devices(api, topology, stats);
    stats_read_memory(api, arguments.executable, stats);
    stats_read_cost(api, arguments.executable, stats);
    kernels_pjrt_executable_destroy_args destroy =
        KERNELS_PJRT_ARGUMENTS(kernels_pjrt_executable_destroy_args, .executable = arguments.executable);
    (void)kernels_pjrt_check(api, api->PJRT_Executable_Destroy(&destroy), KERNELS_PLUGIN, "executable", NULL);
    return KERNELS_OK;
}

kernels_status kernels_pjrt_compile_for_topology(const kernels_pjrt_plugin *plugin, const char *topology,
                                                 kernels_view program, kernels_pjrt_stats *stats,
                                                 kernels_error *error) {
    KERNELS_TRY(topology_check_table(plugin, error));
    KERNELS_TRY(kernels_pjrt_program_check(program, topology, error));
    KERNELS_TRY(kernels_pjrt_initialize(plugin, error));
    kernels_pjrt_api_topology *described = NULL;
    KERNELS_TRY(topology_create(plugin, topology, &described, error));
    kernels_pjrt_stats read = {.code_bytes = -1,
                               .argument_bytes = -1,
                               .output_bytes = -1,
                               .temporary_bytes = -1,
                               .alias_bytes = -1,
                               .peak_bytes = -1,
                               .flops = -1.0,
                               .bytes_accessed = -1.0};
    kernels_status status = topology_compile(plugin, described, topology, program, &read, error);
    topology_destroy(plugin->api, described);
    if (!status) {
        *stats = read;
    }
    return status;
}
