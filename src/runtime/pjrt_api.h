/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the PJRT C API that we use, declared here so that building needs no plugin's header.
 * Names and order follow pjrt_c_api.h (API major 0; the layouts below are those of minor 81 and have
 * only been added to since). tests/unit/runtime/pjrt_abi_test.c compares every offset and size with that header.
 *
 * Every argument struct begins with struct_size, the size the caller knows; a member of the function table
 * may be used only if it lies within the struct_size the plugin states: KERNELS_PJRT_HAS.
 */
#ifndef KERNELS_SRC_RUNTIME_PJRT_API_H
#define KERNELS_SRC_RUNTIME_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNELS_PJRT_API_MAJOR 0
#define KERNELS_PJRT_API_MINOR 81

/* Opaque objects of the plugin. */
typedef struct kernels_pjrt_api_error kernels_pjrt_api_error;
typedef struct kernels_pjrt_api_event kernels_pjrt_api_event;
typedef struct kernels_pjrt_api_client kernels_pjrt_api_client;
typedef struct kernels_pjrt_api_device kernels_pjrt_api_device;
typedef struct kernels_pjrt_api_description kernels_pjrt_api_description;
typedef struct kernels_pjrt_api_topology kernels_pjrt_api_topology;
typedef struct kernels_pjrt_api_executable kernels_pjrt_api_executable;
typedef struct kernels_pjrt_api_loaded kernels_pjrt_api_loaded;
typedef struct kernels_pjrt_api_buffer kernels_pjrt_api_buffer;

/* The two members that every struct begins with. */
#define KERNELS_PJRT_HEADER \
    size_t struct_size;     \
    void *extension_start

typedef struct kernels_pjrt_version {
    KERNELS_PJRT_HEADER;
    int major_version, minor_version;
} kernels_pjrt_version;

typedef enum kernels_pjrt_code {
    KERNELS_PJRT_CODE_INVALID_ARGUMENT = 3,
    KERNELS_PJRT_CODE_NOT_FOUND = 5,
    KERNELS_PJRT_CODE_RESOURCE_EXHAUSTED = 8,
} kernels_pjrt_code;

typedef enum kernels_pjrt_value_type {
    KERNELS_PJRT_VALUE_STRING = 0,
    KERNELS_PJRT_VALUE_INT64 = 1,
    KERNELS_PJRT_VALUE_INT64_LIST = 2,
    KERNELS_PJRT_VALUE_FLOAT = 3,
    KERNELS_PJRT_VALUE_BOOL = 4,
} kernels_pjrt_value_type;

typedef struct kernels_pjrt_named_value {
    KERNELS_PJRT_HEADER;
    const char *name;
    size_t name_size;
    int type; /* kernels_pjrt_value_type */
    union {
        const char *string_value;
        int64_t int64_value;
        const int64_t *int64_array_value;
        float float_value;
        bool bool_value;
    } as;
    size_t value_size; /* elements of a string or list */
} kernels_pjrt_named_value;

/* Element types, PJRT_Buffer_Type. */
typedef enum kernels_pjrt_type {
    KERNELS_PJRT_PRED = 1,
    KERNELS_PJRT_S8,
    KERNELS_PJRT_S16,
    KERNELS_PJRT_S32,
    KERNELS_PJRT_S64,
    KERNELS_PJRT_U8,
    KERNELS_PJRT_U16,
    KERNELS_PJRT_U32,
    KERNELS_PJRT_U64,
    KERNELS_PJRT_F16,
    KERNELS_PJRT_F32,
    KERNELS_PJRT_F64,
    KERNELS_PJRT_BF16,
} kernels_pjrt_type;

/* PJRT_HostBufferSemantics: the runtime may not hold the data after the call. */
#define KERNELS_PJRT_IMMUTABLE_ONLY_DURING_CALL 0
/* PJRT_Buffer_MemoryLayout_Type */
#define KERNELS_PJRT_LAYOUT_TILED 0

/* ---- argument structs; "out" members are written by the plugin ---- */

typedef struct kernels_pjrt_error_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_error *error;
} kernels_pjrt_error_destroy_args;

typedef struct kernels_pjrt_error_message_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_api_error *error;
    const char *message; /* out; lives as long as error */
    size_t message_size; /* out */
} kernels_pjrt_error_message_args;

typedef struct kernels_pjrt_error_code_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_api_error *error;
    int code; /* out */
} kernels_pjrt_error_code_args;

typedef struct kernels_pjrt_initialize_args {
    KERNELS_PJRT_HEADER;
} kernels_pjrt_initialize_args;

typedef struct kernels_pjrt_attributes_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_named_value *attributes; /* out */
    size_t num_attributes;                      /* out */
} kernels_pjrt_attributes_args;

/* Destroy and await take the same struct. */
typedef struct kernels_pjrt_event_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_event *event;
} kernels_pjrt_event_args;

typedef struct kernels_pjrt_client_create_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_named_value *create_options;
    size_t num_options;
    void (*kv_get_callback)(void);
    void *kv_get_user_arg;
    void (*kv_put_callback)(void);
    void *kv_put_user_arg;
    kernels_pjrt_api_client *client; /* out */
    void (*kv_try_get_callback)(void);
    void *kv_try_get_user_arg;
} kernels_pjrt_client_create_args;

typedef struct kernels_pjrt_client_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
} kernels_pjrt_client_destroy_args;

typedef struct kernels_pjrt_client_platform_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
    const char *platform_name; /* out; lives as long as client */
    size_t platform_name_size; /* out */
} kernels_pjrt_client_platform_args;

typedef struct kernels_pjrt_client_devices_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
    kernels_pjrt_api_device *const *addressable_devices; /* out */
    size_t num_addressable_devices;                      /* out */
} kernels_pjrt_client_devices_args;

typedef struct kernels_pjrt_program {
    KERNELS_PJRT_HEADER;
    char *code;
    size_t code_size;
    const char *format; /* "mlir" */
    size_t format_size;
} kernels_pjrt_program;

typedef struct kernels_pjrt_client_compile_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
    const kernels_pjrt_program *program;
    const char *compile_options; /* serialised CompileOptionsProto */
    size_t compile_options_size;
    kernels_pjrt_api_loaded *executable; /* out */
} kernels_pjrt_client_compile_args;

typedef struct kernels_pjrt_layout {
    KERNELS_PJRT_HEADER;
    struct {
        KERNELS_PJRT_HEADER;
        const int64_t *minor_to_major;
        size_t minor_to_major_size;
        const int64_t *tile_dims;
        const size_t *tile_dim_sizes;
        size_t num_tiles;
    } tiled; /* the larger half of the header's union */
    int type;
} kernels_pjrt_layout;

typedef struct kernels_pjrt_from_host_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
    const void *data;
    int type; /* kernels_pjrt_type */
    const int64_t *dims;
    size_t num_dims;
    const int64_t *byte_strides;
    size_t num_byte_strides;
    int host_buffer_semantics;
    kernels_pjrt_api_device *device;
    void *memory;
    kernels_pjrt_layout *device_layout;
    kernels_pjrt_api_event *done_with_host_buffer; /* out */
    kernels_pjrt_api_buffer *buffer;               /* out */
} kernels_pjrt_from_host_args;

typedef struct kernels_pjrt_description_kind_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_description *device_description;
    const char *device_kind; /* out */
    size_t device_kind_size; /* out */
} kernels_pjrt_description_kind_args;

typedef struct kernels_pjrt_executable_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_executable *executable;
} kernels_pjrt_executable_destroy_args;

typedef struct kernels_pjrt_num_outputs_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_executable *executable;
    size_t num_outputs; /* out */
} kernels_pjrt_num_outputs_args;

typedef struct kernels_pjrt_code_size_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_executable *executable;
    int64_t size_in_bytes; /* out */
} kernels_pjrt_code_size_args;

typedef struct kernels_pjrt_cost_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_executable *executable;
    size_t num_properties;                      /* out */
    const kernels_pjrt_named_value *properties; /* out; live as long as executable */
} kernels_pjrt_cost_args;

typedef struct kernels_pjrt_memory_stats_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_executable *executable;
    int64_t generated_code_size_in_bytes, argument_size_in_bytes, output_size_in_bytes, alias_size_in_bytes,
        temp_size_in_bytes; /* out; device memory */
    int64_t host_generated_code_size_in_bytes, host_argument_size_in_bytes, host_output_size_in_bytes,
        host_alias_size_in_bytes, host_temp_size_in_bytes; /* out */
    int64_t peak_memory_in_bytes;                          /* out */
} kernels_pjrt_memory_stats_args;

typedef struct kernels_pjrt_loaded_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_loaded *executable;
} kernels_pjrt_loaded_destroy_args;

typedef struct kernels_pjrt_get_executable_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_loaded *loaded_executable;
    kernels_pjrt_api_executable *executable; /* out; to be destroyed */
} kernels_pjrt_get_executable_args;

typedef struct kernels_pjrt_api_serialized kernels_pjrt_api_serialized;

typedef struct kernels_pjrt_serialize_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_api_executable *executable;
    const char *serialized_bytes;                       /* out; live as long as serialized_executable */
    size_t serialized_bytes_size;                       /* out */
    kernels_pjrt_api_serialized *serialized_executable; /* out */
    void (*serialized_executable_deleter)(kernels_pjrt_api_serialized *serialized); /* out */
} kernels_pjrt_serialize_args;

typedef struct kernels_pjrt_deserialize_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_client *client;
    const char *serialized_executable;
    size_t serialized_executable_size;
    kernels_pjrt_api_loaded *loaded_executable;        /* out */
    const char *overridden_serialized_compile_options; /* NULL: those of the serialised program */
    size_t overridden_serialized_compile_options_size;
} kernels_pjrt_deserialize_args;

typedef struct kernels_pjrt_execute_options {
    KERNELS_PJRT_HEADER;
    void **send_callbacks;
    void **recv_callbacks;
    size_t num_send_ops;
    size_t num_recv_ops;
    int launch_id;
    const int64_t *non_donatable_input_indices;
    size_t num_non_donatable_input_indices;
    void *context;
    const char *call_location;
    size_t num_tasks;
    int *task_ids;
    int64_t *incarnation_ids;
} kernels_pjrt_execute_options;

typedef struct kernels_pjrt_execute_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_loaded *executable;
    kernels_pjrt_execute_options *options;
    kernels_pjrt_api_buffer *const *const *argument_lists; /* [num_devices][num_args] */
    size_t num_devices;
    size_t num_args;
    kernels_pjrt_api_buffer **const *output_lists;   /* [num_devices][outputs]; elements are out */
    kernels_pjrt_api_event **device_complete_events; /* [num_devices]; elements are out */
    kernels_pjrt_api_device *execute_device;
} kernels_pjrt_execute_args;

typedef struct kernels_pjrt_buffer_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_buffer *buffer;
} kernels_pjrt_buffer_destroy_args;

typedef struct kernels_pjrt_to_host_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_buffer *src;
    kernels_pjrt_layout *host_layout; /* NULL: that of src */
    void *dst;                        /* NULL: only dst_size is written */
    size_t dst_size;
    kernels_pjrt_api_event *event; /* out */
} kernels_pjrt_to_host_args;

typedef struct kernels_pjrt_topology_create_args {
    KERNELS_PJRT_HEADER;
    const char *topology_name;
    size_t topology_name_size;
    const kernels_pjrt_named_value *create_options;
    size_t num_options;
    kernels_pjrt_api_topology *topology; /* out */
} kernels_pjrt_topology_create_args;

typedef struct kernels_pjrt_topology_destroy_args {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_api_topology *topology;
} kernels_pjrt_topology_destroy_args;

typedef struct kernels_pjrt_topology_devices_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_api_topology *topology;
    kernels_pjrt_api_description *const *descriptions; /* out */
    size_t num_descriptions;                           /* out */
} kernels_pjrt_topology_devices_args;

typedef struct kernels_pjrt_compile_args {
    KERNELS_PJRT_HEADER;
    const kernels_pjrt_api_topology *topology;
    const kernels_pjrt_program *program;
    const char *compile_options;
    size_t compile_options_size;
    kernels_pjrt_api_client *client;         /* may be NULL */
    kernels_pjrt_api_executable *executable; /* out; to be destroyed */
} kernels_pjrt_compile_args;

/* ---- the function table ---- */

typedef kernels_pjrt_api_error kernels_pjrt_result_; /* keeps the lines below short */
/* A function we call; one we skip. */
#define KERNELS_PJRT_USED(name, args) kernels_pjrt_result_ *(*name)(args * arguments)
#define KERNELS_PJRT_SKIPPED(name) void (*name)(void)

typedef struct kernels_pjrt_api {
    KERNELS_PJRT_HEADER;
    kernels_pjrt_version pjrt_api_version;
    void (*PJRT_Error_Destroy)(kernels_pjrt_error_destroy_args *arguments);
    void (*PJRT_Error_Message)(kernels_pjrt_error_message_args *arguments);
    KERNELS_PJRT_USED(PJRT_Error_GetCode, kernels_pjrt_error_code_args);
    KERNELS_PJRT_USED(PJRT_Plugin_Initialize, kernels_pjrt_initialize_args);
    KERNELS_PJRT_USED(PJRT_Plugin_Attributes, kernels_pjrt_attributes_args);
    KERNELS_PJRT_USED(PJRT_Event_Destroy, kernels_pjrt_event_args);
    KERNELS_PJRT_SKIPPED(PJRT_Event_IsReady);
    KERNELS_PJRT_SKIPPED(PJRT_Event_Error);
    KERNELS_PJRT_USED(PJRT_Event_Await, kernels_pjrt_event_args);
    KERNELS_PJRT_SKIPPED(PJRT_Event_OnReady);
    KERNELS_PJRT_USED(PJRT_Client_Create, kernels_pjrt_client_create_args);
    KERNELS_PJRT_USED(PJRT_Client_Destroy, kernels_pjrt_client_destroy_args);
    KERNELS_PJRT_USED(PJRT_Client_PlatformName, kernels_pjrt_client_platform_args);
    KERNELS_PJRT_SKIPPED(PJRT_Client_ProcessIndex);
    KERNELS_PJRT_SKIPPED(PJRT_Client_PlatformVersion);
    KERNELS_PJRT_SKIPPED(PJRT_Client_Devices);
    KERNELS_PJRT_USED(PJRT_Client_AddressableDevices, kernels_pjrt_client_devices_args);
    KERNELS_PJRT_SKIPPED(PJRT_Client_LookupDevice);
    KERNELS_PJRT_SKIPPED(PJRT_Client_LookupAddressableDevice);
    KERNELS_PJRT_SKIPPED(PJRT_Client_AddressableMemories);
    KERNELS_PJRT_USED(PJRT_Client_Compile, kernels_pjrt_client_compile_args);
    KERNELS_PJRT_SKIPPED(PJRT_Client_DefaultDeviceAssignment);
    KERNELS_PJRT_USED(PJRT_Client_BufferFromHostBuffer, kernels_pjrt_from_host_args);
    KERNELS_PJRT_SKIPPED(PJRT_DeviceDescription_Id);
    KERNELS_PJRT_SKIPPED(PJRT_DeviceDescription_ProcessIndex);
    KERNELS_PJRT_SKIPPED(PJRT_DeviceDescription_Attributes);
    KERNELS_PJRT_USED(PJRT_DeviceDescription_Kind, kernels_pjrt_description_kind_args);
    KERNELS_PJRT_SKIPPED(PJRT_DeviceDescription_DebugString);
    KERNELS_PJRT_SKIPPED(PJRT_DeviceDescription_ToString);
    KERNELS_PJRT_SKIPPED(PJRT_Device_GetDescription);
    KERNELS_PJRT_SKIPPED(PJRT_Device_IsAddressable);
    KERNELS_PJRT_SKIPPED(PJRT_Device_LocalHardwareId);
    KERNELS_PJRT_SKIPPED(PJRT_Device_AddressableMemories);
    KERNELS_PJRT_SKIPPED(PJRT_Device_DefaultMemory);
    KERNELS_PJRT_SKIPPED(PJRT_Device_MemoryStats);
    KERNELS_PJRT_SKIPPED(PJRT_Memory_Id);
    KERNELS_PJRT_SKIPPED(PJRT_Memory_Kind);
    KERNELS_PJRT_SKIPPED(PJRT_Memory_DebugString);
    KERNELS_PJRT_SKIPPED(PJRT_Memory_ToString);
    KERNELS_PJRT_SKIPPED(PJRT_Memory_AddressableByDevices);
    KERNELS_PJRT_USED(PJRT_Executable_Destroy, kernels_pjrt_executable_destroy_args);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_Name);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_NumReplicas);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_NumPartitions);
    KERNELS_PJRT_USED(PJRT_Executable_NumOutputs, kernels_pjrt_num_outputs_args);
    KERNELS_PJRT_USED(PJRT_Executable_SizeOfGeneratedCodeInBytes, kernels_pjrt_code_size_args);
    KERNELS_PJRT_USED(PJRT_Executable_GetCostAnalysis, kernels_pjrt_cost_args);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_OutputMemoryKinds);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_OptimizedProgram);
    KERNELS_PJRT_USED(PJRT_Executable_Serialize, kernels_pjrt_serialize_args);
    KERNELS_PJRT_USED(PJRT_LoadedExecutable_Destroy, kernels_pjrt_loaded_destroy_args);
    KERNELS_PJRT_USED(PJRT_LoadedExecutable_GetExecutable, kernels_pjrt_get_executable_args);
    KERNELS_PJRT_SKIPPED(PJRT_LoadedExecutable_AddressableDevices);
    KERNELS_PJRT_SKIPPED(PJRT_LoadedExecutable_Delete);
    KERNELS_PJRT_SKIPPED(PJRT_LoadedExecutable_IsDeleted);
    KERNELS_PJRT_USED(PJRT_LoadedExecutable_Execute, kernels_pjrt_execute_args);
    KERNELS_PJRT_USED(PJRT_Executable_DeserializeAndLoad, kernels_pjrt_deserialize_args);
    KERNELS_PJRT_SKIPPED(PJRT_LoadedExecutable_Fingerprint);
    KERNELS_PJRT_USED(PJRT_Buffer_Destroy, kernels_pjrt_buffer_destroy_args);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_ElementType);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_Dimensions);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_UnpaddedDimensions);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_DynamicDimensionIndices);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_GetMemoryLayout);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_OnDeviceSizeInBytes);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_Device);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_Memory);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_Delete);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_IsDeleted);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_CopyToDevice);
    KERNELS_PJRT_USED(PJRT_Buffer_ToHostBuffer, kernels_pjrt_to_host_args);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_IsOnCpu);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_ReadyEvent);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_UnsafePointer);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_IncreaseExternalReferenceCount);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_DecreaseExternalReferenceCount);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
    KERNELS_PJRT_SKIPPED(PJRT_CopyToDeviceStream_Destroy);
    KERNELS_PJRT_SKIPPED(PJRT_CopyToDeviceStream_AddChunk);
    KERNELS_PJRT_SKIPPED(PJRT_CopyToDeviceStream_TotalBytes);
    KERNELS_PJRT_SKIPPED(PJRT_CopyToDeviceStream_GranuleSize);
    KERNELS_PJRT_SKIPPED(PJRT_CopyToDeviceStream_CurrentBytes);
    KERNELS_PJRT_USED(PJRT_TopologyDescription_Create, kernels_pjrt_topology_create_args);
    KERNELS_PJRT_USED(PJRT_TopologyDescription_Destroy, kernels_pjrt_topology_destroy_args);
    KERNELS_PJRT_SKIPPED(PJRT_TopologyDescription_PlatformName);
    KERNELS_PJRT_SKIPPED(PJRT_TopologyDescription_PlatformVersion);
    KERNELS_PJRT_USED(PJRT_TopologyDescription_GetDeviceDescriptions, kernels_pjrt_topology_devices_args);
    KERNELS_PJRT_SKIPPED(PJRT_TopologyDescription_Serialize);
    KERNELS_PJRT_SKIPPED(PJRT_TopologyDescription_Attributes);
    KERNELS_PJRT_USED(PJRT_Compile, kernels_pjrt_compile_args);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_OutputElementTypes);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_OutputDimensions);
    KERNELS_PJRT_SKIPPED(PJRT_Buffer_CopyToMemory);
    KERNELS_PJRT_SKIPPED(PJRT_Client_CreateViewOfDeviceBuffer);
    KERNELS_PJRT_SKIPPED(PJRT_Executable_Fingerprint);
    KERNELS_PJRT_SKIPPED(PJRT_Client_TopologyDescription);
    KERNELS_PJRT_USED(PJRT_Executable_GetCompiledMemoryStats, kernels_pjrt_memory_stats_args);
} kernels_pjrt_api;

/* The one symbol that a plugin exports. */
#define KERNELS_PJRT_ENTRY "GetPjrtApi"
typedef const kernels_pjrt_api *kernels_pjrt_entry(void);

#define KERNELS_PJRT_HAS(api, member) \
    (offsetof(kernels_pjrt_api, member) + sizeof((api)->member) <= (api)->struct_size && (api)->member != NULL)

#endif
