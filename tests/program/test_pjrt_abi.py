# SPDX-License-Identifier: Apache-2.0
"""Our declaration of the PJRT C API (src/runtime/pjrt_api.h) against the header that plugins ship.

Every struct and every member that ours declares is compared, by a C file made here and only compiled: a struct that
is added to ours without a line in STRUCTS fails the test too.
"""
import os
import pathlib
import re
import subprocess

import pytest

# our struct -> the header's
STRUCTS = {
    "kernels_pjrt_version": "PJRT_Api_Version",
    "kernels_pjrt_named_value": "PJRT_NamedValue",
    "kernels_pjrt_error_destroy_args": "PJRT_Error_Destroy_Args",
    "kernels_pjrt_error_message_args": "PJRT_Error_Message_Args",
    "kernels_pjrt_error_code_args": "PJRT_Error_GetCode_Args",
    "kernels_pjrt_initialize_args": "PJRT_Plugin_Initialize_Args",
    "kernels_pjrt_attributes_args": "PJRT_Plugin_Attributes_Args",
    "kernels_pjrt_event_args": "PJRT_Event_Await_Args",
    "kernels_pjrt_client_create_args": "PJRT_Client_Create_Args",
    "kernels_pjrt_client_destroy_args": "PJRT_Client_Destroy_Args",
    "kernels_pjrt_client_platform_args": "PJRT_Client_PlatformName_Args",
    "kernels_pjrt_client_devices_args": "PJRT_Client_AddressableDevices_Args",
    "kernels_pjrt_program": "PJRT_Program",
    "kernels_pjrt_client_compile_args": "PJRT_Client_Compile_Args",
    "kernels_pjrt_layout": "PJRT_Buffer_MemoryLayout",
    "kernels_pjrt_from_host_args": "PJRT_Client_BufferFromHostBuffer_Args",
    "kernels_pjrt_description_kind_args": "PJRT_DeviceDescription_Kind_Args",
    "kernels_pjrt_executable_destroy_args": "PJRT_Executable_Destroy_Args",
    "kernels_pjrt_num_outputs_args": "PJRT_Executable_NumOutputs_Args",
    "kernels_pjrt_code_size_args": "PJRT_Executable_SizeOfGeneratedCodeInBytes_Args",
    "kernels_pjrt_cost_args": "PJRT_Executable_GetCostAnalysis_Args",
    "kernels_pjrt_memory_stats_args": "PJRT_Executable_GetCompiledMemoryStats_Args",
    "kernels_pjrt_loaded_destroy_args": "PJRT_LoadedExecutable_Destroy_Args",
    "kernels_pjrt_get_executable_args": "PJRT_LoadedExecutable_GetExecutable_Args",
    "kernels_pjrt_serialize_args": "PJRT_Executable_Serialize_Args",
    "kernels_pjrt_deserialize_args": "PJRT_Executable_DeserializeAndLoad_Args",
    "kernels_pjrt_execute_options": "PJRT_ExecuteOptions",
    "kernels_pjrt_execute_args": "PJRT_LoadedExecutable_Execute_Args",
    "kernels_pjrt_buffer_destroy_args": "PJRT_Buffer_Destroy_Args",
    "kernels_pjrt_to_host_args": "PJRT_Buffer_ToHostBuffer_Args",
    "kernels_pjrt_topology_create_args": "PJRT_TopologyDescription_Create_Args",
    "kernels_pjrt_topology_destroy_args": "PJRT_TopologyDescription_Destroy_Args",
    "kernels_pjrt_topology_devices_args": "PJRT_TopologyDescription_GetDeviceDescriptions_Args",
    "kernels_pjrt_compile_args": "PJRT_Compile_Args",
    "kernels_pjrt_api": "PJRT_Api",
}
# one of our structs serves two calls
ALIKE = {"kernels_pjrt_event_args": ["PJRT_Event_Destroy_Args"]}
# ours gives a name to what is an anonymous union there: the members below it
RENAMED = {"as": "string_value"}
CONSTANTS = {
    "KERNELS_PJRT_API_MAJOR": "PJRT_API_MAJOR",
    "KERNELS_PJRT_CODE_INVALID_ARGUMENT": "PJRT_Error_Code_INVALID_ARGUMENT",
    "KERNELS_PJRT_CODE_NOT_FOUND": "PJRT_Error_Code_NOT_FOUND",
    "KERNELS_PJRT_VALUE_STRING": "PJRT_NamedValue_kString",
    "KERNELS_PJRT_VALUE_INT64": "PJRT_NamedValue_kInt64",
    "KERNELS_PJRT_VALUE_INT64_LIST": "PJRT_NamedValue_kInt64List",
    "KERNELS_PJRT_VALUE_FLOAT": "PJRT_NamedValue_kFloat",
    "KERNELS_PJRT_VALUE_BOOL": "PJRT_NamedValue_kBool",
    "KERNELS_PJRT_IMMUTABLE_ONLY_DURING_CALL": "PJRT_HostBufferSemantics_kImmutableOnlyDuringCall",
    "KERNELS_PJRT_LAYOUT_TILED": "PJRT_Buffer_MemoryLayout_Type_Tiled",
    **{f"KERNELS_PJRT_{name}": f"PJRT_Buffer_Type_{name}" for name in
       "PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16".split()},
}


@pytest.fixture(scope="module")
def header(request) -> pathlib.Path:
    given = os.environ.get("KERNELS_PJRT_HEADER")
    if given:
        return pathlib.Path(given)
    site_packages = request.getfixturevalue("jax_environment")
    return site_packages / "xla_plugins" / "xla_cpu_pjrt" / "include" / "pjrt_c_api.h"


def members(body: str) -> list[str]:
    """Names of the direct members of a struct body, without those of structs and unions inside it."""
    while re.search(r"\{[^{}]*\}", body):
        body = re.sub(r"\b(struct|union)\s*\{[^{}]*\}", "", body)
    found = ["struct_size", "extension_start"] if "KERNELS_PJRT_HEADER" in body else []
    for statement in body.replace("KERNELS_PJRT_HEADER;", "").split(";"):
        statement = " ".join(statement.split())
        if used := re.match(r"KERNELS_PJRT_(?:USED|SKIPPED)\((\w+)", statement):
            found.append(used.group(1))
        elif pointer := re.match(r"void \(\*(\w+)\)", statement):
            found.append(pointer.group(1))
        elif statement:
            found += [re.search(r"(\w+)$", one.strip()).group(1) for one in statement.split(",")]
    return found


def our_structs(root: pathlib.Path) -> dict[str, list[str]]:
    text = (root / "src" / "runtime" / "pjrt_api.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"typedef struct (\w+) \{\n(.*?)\n\} \1;", text, flags=re.DOTALL)
    return {name: members(body) for name, body in found}


def probe(structs: dict[str, list[str]]) -> str:
    lines = ['#include "pjrt_c_api.h"', '#include "runtime/pjrt_api.h"',
             "#define SIZE(type, member) sizeof(((type *)0)->member)",
             "#define SAME(ours, our, theirs, their)                                               \\",
             "    _Static_assert(offsetof(ours, our) == offsetof(theirs, their), #ours \".\" #our); \\",
             "    _Static_assert(SIZE(ours, our) == SIZE(theirs, their), \"size of \" #ours \".\" #our)"]
    for ours, names in structs.items():
        for theirs in [STRUCTS[ours], *ALIKE.get(ours, [])]:
            lines += [f"SAME({ours}, {name}, {theirs}, {RENAMED.get(name, name)});" for name in names]
            if ours != "kernels_pjrt_api":  # ours ends with the last function that we call
                lines.append(f'_Static_assert(sizeof({ours}) == sizeof({theirs}), "sizeof {ours}");')
    lines += [f'_Static_assert((int){ours} == (int){theirs}, "{ours}");' for ours, theirs in CONSTANTS.items()]
    return "\n".join(lines) + "\n"


def compile_probe(root, header, folder, text) -> subprocess.CompletedProcess:
    source = folder / "probe.c"
    source.write_text(text)
    return subprocess.run(["cc", "-std=c17", "-fsyntax-only", "-I", header.parent, "-I", root / "src", source],
                          capture_output=True, text=True)


def test_every_offset_and_size(root, header, tmp_path):
    structs = our_structs(root)
    assert structs.keys() == STRUCTS.keys()
    assert len(structs["kernels_pjrt_api"]) == 100 and len(structs["kernels_pjrt_execute_args"]) == 10
    done = compile_probe(root, header, tmp_path, probe(structs))
    assert done.returncode == 0, done.stderr


def test_a_difference_would_be_found(root, header, tmp_path):
    text = probe(our_structs(root))
    moved = text.replace("SAME(kernels_pjrt_program, code_size,", "SAME(kernels_pjrt_program, code,")
    assert moved != text
    done = compile_probe(root, header, tmp_path, moved)
    assert done.returncode != 0 and "kernels_pjrt_program.code" in done.stderr
