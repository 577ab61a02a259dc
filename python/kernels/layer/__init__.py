# SPDX-License-Identifier: Apache-2.0
"""Layers of a torch model that kernels of the Hub stand in for.

    from kernels import LayerRepository, Mode, kernelize, register_kernel_mapping, use_kernel_forward_from_hub

    @use_kernel_forward_from_hub("RMSNorm")
    class RMSNorm(nn.Module): ...

    register_kernel_mapping({
        "RMSNorm": {"tpu": LayerRepository("kernels-test/rmsnorm-tpu", layer_name="RMSNorm", version=1)},
    })
    model = kernelize(model, mode=Mode.INFERENCE)

torch is imported when a model is kernelized, not before.
"""

from kernels.layer.device import CUDAProperties, Device, ROCMProperties, TPUProperties
from kernels.layer.func import FuncRepository, LocalFuncRepository, LockedFuncRepository, use_kernel_func_from_hub
from kernels.layer.kernelize import kernelize, register_kernel_mapping, use_kernel_mapping
from kernels.layer.layer import (
    KernelizeFallback,
    LayerRepository,
    LocalLayerRepository,
    LockedLayerRepository,
    replace_kernel_forward_from_hub,
    use_kernel_forward_from_hub,
    use_kernelized_func,
)
from kernels.layer.mode import Mode

__all__ = [
    "CUDAProperties",
    "Device",
    "FuncRepository",
    "KernelizeFallback",
    "LayerRepository",
    "LocalFuncRepository",
    "LocalLayerRepository",
    "LockedFuncRepository",
    "LockedLayerRepository",
    "Mode",
    "ROCMProperties",
    "TPUProperties",
    "kernelize",
    "register_kernel_mapping",
    "replace_kernel_forward_from_hub",
    "use_kernel_forward_from_hub",
    "use_kernel_func_from_hub",
    "use_kernel_mapping",
    "use_kernelized_func",
]
