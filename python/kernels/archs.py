# SPDX-License-Identifier: Apache-2.0
"""Does a variant run on the GPU in use?"""

from kernels import _machine
from kernels._rust import Backend, Metadata


def _parse_cuda_arch(arch: str) -> tuple[int, int, str, bool] | None:
    """(major, minor, "" or "a" or "f", PTX?) of "9.0a+PTX"; None for what is no such text."""
    text = arch.removesuffix("+PTX")
    suffix = text[-1:] if text[-1:] in ("a", "f") else ""
    major, dot, minor = text.removesuffix(suffix).partition(".")
    digits = major + minor
    if not (dot and major and minor and digits.isascii() and digits.isdigit()):
        return None
    return int(major), int(minor), suffix, text != arch


def _cuda_arch_supports(arch: str, capability: tuple[int, int]) -> bool | None:
    """Does code for an architecture run on a device of this capability? None: the architecture is unknown."""
    parsed = _parse_cuda_arch(arch)
    if parsed is None:
        return None
    major, minor, suffix, ptx = parsed
    if suffix == "a":
        return tuple(capability) == (major, minor)
    if ptx and not suffix:
        return tuple(capability) >= (major, minor)
    return capability[0] == major and capability[1] >= minor


def _supports_cuda_capability(archs: list[str], capability: tuple[int, int]) -> bool:
    """Does one of them support the device? Also true when all are unknown."""
    answers = [_cuda_arch_supports(arch, capability) for arch in archs]
    return any(answers) or all(answer is None for answer in answers)


def _check_arch_incompatibility(metadata: Metadata, variant: str) -> None:
    """RuntimeError when the variant was not built for the current device of the imported torch.

    Only CUDA and ROCm variants that list their architectures are looked at, and only while there is such a device.
    """
    archs, backend = metadata.backend.archs, metadata.backend.backend_type
    if not archs or backend not in (Backend.CUDA, Backend.ROCm):
        return
    torch = _import_torch()
    if torch is None or not _has_device(torch, backend):
        return
    if backend == Backend.CUDA:
        capability = tuple(torch.cuda.get_device_capability())
        if _supports_cuda_capability(archs, capability):
            return
        device = f"CUDA capability {capability[0]}.{capability[1]}"
    else:
        name = torch.cuda.get_device_properties(torch.cuda.current_device()).gcnArchName.split(":")[0]
        if name in archs:
            return
        device = f"ROCm arch {name}"
    raise RuntimeError(
        f"Kernel '{metadata.name}' variant '{variant}' does not support the current device ({device}): it was built for "
        f"{', '.join(archs)}. Use `check_arch=False` to load it all the same."
    )


def _import_torch():
    if _machine.find_spec("torch") is None:
        return None
    import torch

    return torch


def _has_device(torch, backend: Backend) -> bool:
    built_for = torch.version.cuda if backend == Backend.CUDA else getattr(torch.version, "hip", None)
    return built_for is not None and torch.cuda.is_available()
