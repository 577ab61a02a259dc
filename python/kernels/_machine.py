# SPDX-License-Identifier: Apache-2.0
"""What this process runs on, as the dictionary System of _native.pyi.

While torch is imported it is asked, at each call: a device back end may be imported any time later. Only attributes are
read and device nodes looked for; no device is initialised. Before that files decide, and torch is imported only when they
do not tell enough.
"""

import os
import sys

from kernels import _native, _simulate

_root = ""  # prefix of /sys, /dev and /etc; a test puts a folder here

_from_files: tuple = (None, None)  # key and result of the last detection from files
_import_failure: str | None = None  # why torch could not be imported


def find_spec(name: str):
    """The spec of a top-level module that can be imported, else None. Nothing is imported."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__spec__", None) or sys.modules[name]
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, None) if find else None
        if spec is not None:
            return spec
    return None


def loaded_torch():
    """torch, when it has been imported completely, else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "version") else None


def system() -> dict:
    """The facts that decide on a variant; every value can be hashed. Texts are None where unknown.

    Imports torch when files do not tell the backend, or do not tell the C++ ABI of the torch that is installed.
    """
    found = facts()
    if found["torch"] and found["torch_cxx11_abi"] is None and found["os"] == "linux" and loaded_torch() is None:
        _import_torch()
        found = facts()
    return {key: value for key, value in found.items() if key != "origins"}


def facts() -> dict:
    """All facts, with `origins`: where each comes from. The dictionary is the caller's."""
    return _simulate.describe(_detect())


def _detect() -> dict:
    torch = loaded_torch()
    if torch is not None:
        return _with_torch(_detect_from_files(), torch)
    found = _detect_from_files()
    if not found["needs_torch"] or _simulate.simulated():
        return found
    torch = _import_torch()
    if torch is not None:
        return _with_torch(_detect_from_files(), torch)
    found["backend_reason"] += f"; it cannot be imported: {_import_failure}"
    return found


def _import_torch():
    """torch, or None when it cannot be imported: then a kernel that needs it says so when it is imported itself. Tried once."""
    global _import_failure
    if _import_failure is None:
        try:
            import torch  # noqa: F401
        except Exception as error:
            _import_failure = ascii(error)[:100]  # short: C has limited room for the whole reason
    return loaded_torch()


def is_free_threaded() -> bool:
    """A Python without the global lock that cannot import what was compiled for the stable ABI."""
    return "t" in getattr(sys, "abiflags", "") and sys.version_info < (3, 15)


# ---- from files ----


def _package_folders() -> list[str]:
    """Folders that packages are imported from, that of torch first, without torch that of installed packages."""
    folders = [folder for folder in dict.fromkeys(path or os.getcwd() for path in sys.path) if os.path.isdir(folder)]
    spec = find_spec("torch")
    if spec is None:  # what cannot be imported does not count
        folders = [folder for folder in folders if not os.path.isdir(os.path.join(folder, "torch"))]
    origin = getattr(spec, "origin", None) or getattr(spec, "__file__", None)
    if origin:
        home = os.path.dirname(os.path.dirname(origin))
    else:
        home = next((folder for folder in folders if folder.endswith(("site-packages", "dist-packages"))), "")
    return [home, *(folder for folder in folders if folder != home)] if os.path.isdir(home) else folders


def _state_of_files() -> tuple:
    """Changes when a package is installed or removed, or the search path changes."""
    times = []
    for path in sys.path:
        try:
            times.append(os.stat(path or ".").st_mtime_ns)
        except OSError:
            times.append(None)
    blocked = sys.modules.get("torch", "") is None
    return _root, tuple(sys.path), tuple(times), blocked, os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")


def _detect_from_files() -> dict:
    global _from_files
    state = _state_of_files()
    last, found = _from_files
    if last != state:
        found = _native.system_detect(_package_folders() or [os.path.dirname(os.__file__)], _root)
        _note_cuda_runtime(found)
        _take_tvm_ffi_without_metadata(found)
        _from_files = state, found
    found = dict(found, origins=dict(found["origins"]))
    found["python"] = sys.version.split()[0].rstrip("+")
    found["free_threaded"] = is_free_threaded()
    found["origins"]["python"] = "the running interpreter"
    found["origins"]["site_packages"] = "sys.path"
    _take_tvm_ffi(found, sys.modules.get("tvm_ffi"))
    return found


def _note_cuda_runtime(found: dict) -> None:
    if not found["torch"] and found["backend"] == "cpu" and _native.cuda_runtime_version(_root) == (0, 0):
        import logging

        logging.getLogger("kernels.backends").warning("the CUDA runtime library does not tell its version; it is not used")


def _take_tvm_ffi_without_metadata(found: dict) -> None:
    if not found["tvm_ffi"] and "tvm_ffi" not in sys.modules and find_spec("tvm_ffi") is not None:
        import tvm_ffi

        _take_tvm_ffi(found, tvm_ffi)


def _take_tvm_ffi(found: dict, module) -> None:
    version = getattr(module, "__version__", None)
    if version:
        found["tvm_ffi"] = str(version)
        found["origins"]["tvm_ffi"] = "the imported tvm_ffi"


# ---- from torch ----


def _with_torch(found: dict, torch) -> dict:
    from kernels.backends import _detect

    backend, alternative, reason = _detect(torch)
    found["backend"], found["backend_version"] = backend.name, _numbers(backend)
    found["alternative"], found["alternative_version"] = None, None
    if alternative is not None and alternative.name != "cpu":
        found["alternative"], found["alternative_version"] = alternative.name, _numbers(alternative)
    found["backend_reason"] = reason
    found["needs_torch"] = False
    version = getattr(torch, "__version__", None)
    if version is not None:
        found["torch"] = str(version)
        found["origins"]["torch"] = "the imported torch"
    abi = getattr(torch, "compiled_with_cxx11_abi", None)
    if abi is not None and found["os"] == "linux":
        found["torch_cxx11_abi"] = bool(abi())
        found["origins"]["torch_cxx11_abi"] = "the imported torch"
    return found


def _numbers(backend) -> str | None:
    numbers = getattr(backend, "_numbers", None)
    return None if numbers is None else f"{numbers[0]}.{numbers[1]}"
