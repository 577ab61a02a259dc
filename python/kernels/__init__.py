# SPDX-License-Identifier: Apache-2.0
"""Kernels of the Kernel Hub: found, checked, downloaded and imported.

    import kernels

    relu = kernels.get_kernel("owner/relu", version=1)

kernels.native loads and calls kernels without torch. Names are imported when they are first used, so that this package
costs next to nothing until then.
"""

import sys

from kernels._native import version as __version__

_HOMES = {
    "kernels._rust": ("Metadata",),
    "kernels.benchmark": ("Benchmark",),
    "kernels.deps": ("get_kernel_dep",),
    "kernels.hf_hub": ("RepoInfo",),
    "kernels.importer": ("LoadedKernel", "get_loaded_kernels"),
    "kernels.install": ("install_kernel",),
    "kernels.layer": (
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
        "kernelize",
        "register_kernel_mapping",
        "replace_kernel_forward_from_hub",
        "use_kernel_forward_from_hub",
        "use_kernel_func_from_hub",
        "use_kernel_mapping",
        "use_kernelized_func",
    ),
    "kernels.load": ("get_kernel", "get_local_kernel", "get_locked_kernel", "has_kernel", "load_kernel"),
    "kernels.variants": ("VariantAccepted", "VariantRejected", "get_kernel_variants"),
}
_EXTENSIONS = {"simulate": "kernels._simulate"}  # not in the released package, and not in __all__
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("_rust", "_system", "_versions", "_windows", "archs", "backends", "benchmark", "compat", "deps", "errors", "hf_hub",
            "importer", "install", "layer", "load", "locking", "native", "python_deps", "resolver", "status", "validate",
            "variants")  # fmt: skip

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name):
    from importlib import import_module

    home = _HOME_OF.get(name) or _EXTENSIONS.get(name)
    if home:
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"kernels.{name}")
    raise AttributeError(f"module 'kernels' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_EXTENSIONS, *_MODULES})


if sys.platform == "win32":
    from kernels._windows import _add_additional_dll_paths

    _add_additional_dll_paths()
