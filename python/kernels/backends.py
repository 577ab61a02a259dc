# SPDX-License-Identifier: Apache-2.0
"""Families of devices, and which of them this process would use."""

import sys

from kernels import _machine, _native
from kernels._record import Protocol
from kernels._rust import _make, _Value

__all__ = ["Backend", "CANN", "CPU", "CUDA", "Metal", "Neuron", "ROCm", "TPU", "XPU", "parse_backend"]


class Backend(Protocol):
    """What the classes of this module have in common."""

    @property
    def name(self) -> str:
        """"cuda": what the argument `backend` of the loading functions takes."""

    @property
    def variant_str(self) -> str:
        """"cu130": how variants name it."""


class _Plain(_Value):
    __slots__ = ()

    def __new__(cls):
        return _make(cls)

    name = property(lambda self: self._name)
    variant_str = property(lambda self: self._name)

    def __repr__(self):
        return f"{type(self).__name__}()"


class _MajorMinor(_Value):
    """Has a version, of which major and minor count; `version` is a packaging.version.Version. Classes below add no slots:
    theirs are these."""

    __slots__ = ("_numbers",)

    def __new__(cls, version):
        return _make(cls, major_minor(version))

    @property
    def version(self):
        return as_version(self._numbers)

    @property
    def variant_str(self) -> str:
        return f"{self._prefix}{self._numbers[0]}{self._numbers[1]}"


class _Versioned(_MajorMinor):
    name = property(lambda self: self._name)

    def __repr__(self):
        return f"{type(self).__name__}(version=<Version('{self._numbers[0]}.{self._numbers[1]}')>)"


class CPU(_Plain):
    """The processor of the host."""

    __slots__ = ()
    _name = "cpu"


class Metal(_Plain):
    """GPUs of Apple."""

    __slots__ = ()
    _name = "metal"


class Neuron(_Plain):
    """Trainium and Inferentia."""

    __slots__ = ()
    _name = "neuron"


class TPU(_Plain):
    """TPUs of Google."""

    __slots__ = ()
    _name = "tpu"


class CANN(_Versioned):
    """NPUs of Ascend; the version of CANN."""

    _name = _prefix = "cann"


class CUDA(_Versioned):
    """GPUs of NVIDIA; the version of CUDA."""

    _name, _prefix = "cuda", "cu"


class ROCm(_Versioned):
    """GPUs of AMD; the version of ROCm."""

    _name = _prefix = "rocm"


class XPU(_Versioned):
    """GPUs of Intel; the version of oneAPI."""

    _name = _prefix = "xpu"


_PLAIN = {kind._name: kind for kind in (CPU, Metal, Neuron, TPU)}
_VERSIONED = (CUDA, ROCm, XPU, CANN)
_OF_NAME = {**_PLAIN, **{kind._name: kind for kind in _VERSIONED}}


def major_minor(version) -> tuple[int, int]:
    """(12, 8) of "12.8.1+x" or of a version object."""
    major, _, rest = str(version).partition(".")
    minor = rest[: next((i for i, c in enumerate(rest) if not c.isdigit()), len(rest))]
    return int(major), int(minor or 0)


def as_version(numbers: tuple[int, int]):
    """A packaging.version.Version; where packaging is not installed, the version class of this package."""
    text = f"{numbers[0]}.{numbers[1]}"
    try:
        from packaging.version import Version
    except ImportError:
        from kernels._rust import Version

        return Version.from_str(text)
    return Version(text)


def parse_backend(s: str) -> Backend:
    """The backend that a variant names: "cu128", "tpu". The last digit is the minor version. ValueError for others."""
    if s in _PLAIN:
        return _PLAIN[s]()
    for kind in _VERSIONED:
        if s.startswith(kind._prefix):
            digits = s[len(kind._prefix) :]
            if len(digits) < 2 or not (digits.isascii() and digits.isdigit()):
                raise ValueError(f"Invalid version in backend {s!r}: expected {kind._prefix} and at least two digits")
            return _make(kind, (int(digits[:-1]), int(digits[-1])))
    raise ValueError(f"Invalid backend {s!r}: expected cpu, metal, neuron, tpu, or cu, rocm, xpu, cann with a version")


# ---- detection ----


def _backend() -> Backend:
    """The backend that this process uses. Imports torch only when files do not tell."""
    found = _machine.facts()
    return _of(found["backend"], found["backend_version"])


def _supported_backends() -> dict[str, Backend]:
    """Those that may be asked for, by name: cpu, the detected one, and where torch_tpu decided, the other it decided on."""
    found = _machine.facts()
    supported: dict[str, Backend] = {"cpu": CPU()}
    if found["alternative"] is not None:
        supported[found["alternative"]] = _of(found["alternative"], found["alternative_version"])
    supported[found["backend"]] = _of(found["backend"], found["backend_version"])
    return supported


def _select_backend(backend: str | None) -> Backend:
    """The detected backend for None, else the one of that name; ValueError when this process cannot use it."""
    if backend is None:
        return _backend()
    supported = _supported_backends()
    if backend not in supported:
        raise ValueError(f"Invalid backend {backend!r}, system supported backends: {', '.join(sorted(supported))}")
    return supported[backend]


def _get_torch_privateuse_backend_name() -> str | None:
    """What the imported torch calls its private backend; None without torch."""
    torch = _machine.loaded_torch()
    query = getattr(getattr(torch, "_C", None), "_get_privateuse1_backend_name", None)
    return None if query is None else query()


def _get_cuda() -> CUDA | None:
    """The CUDA runtime of a machine without torch."""
    version = _native.cuda_runtime_version(_machine._root)
    return _make(CUDA, version) if version and version != (0, 0) else None


def _of(name: str, version: str | None) -> Backend:
    return _OF_NAME[name](version) if version else _PLAIN[name]()


def _detect(torch) -> tuple[Backend, Backend | None, str]:
    """(backend, another one that may be asked for, why) of a process that has imported torch.

    Reads attributes and looks for device nodes, no more. A TPU goes before everything else:
    T1 torch_tpu before 0.2.0 sets torch.backends.tpu; T2 later ones rename the private backend when there is a TPU;
    T3 they are loaded without a TPU, and no GPU is there for this torch.
    """
    if hasattr(getattr(torch, "backends", None), "tpu"):
        return TPU(), None, "torch.backends.tpu is there"
    if _get_torch_privateuse_backend_name() == "tpu":
        return TPU(), None, "torch names its private backend tpu"
    other, reason = _detect_without_tpu(torch)
    if "torch_tpu" not in sys.modules or not hasattr(torch, "tpu"):
        return other, None, reason
    versions = (_version_attribute(torch, name) for name in ("cuda", "hip", "xpu"))
    if _native.gpu_usable(*versions, _machine._root):
        return other, TPU(), reason
    return TPU(), other, "torch_tpu is imported and torch can use no GPU"


def _version_attribute(torch, name: str) -> str | None:
    version = getattr(torch.version, name, None)
    return None if version is None else str(version)


def _detect_without_tpu(torch) -> tuple[Backend, str]:
    """The order of the released package."""
    cuda, hip, xpu = (_version_attribute(torch, name) for name in ("cuda", "hip", "xpu"))
    if hasattr(torch, "neuron"):
        return Neuron(), "torch.neuron is there"
    if cuda is not None:
        return CUDA(cuda), "torch is built for CUDA"
    if hip is not None:
        return ROCm(hip.split("-")[0]), "torch is built for ROCm"
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    if mps is not None and mps.is_available():
        return Metal(), "torch has Metal"
    if xpu is not None and len(xpu) >= 6:
        return XPU(f"{xpu[:4]}.{xpu[5]}"), "torch is built for XPU"  # "20250300" is 2025.3
    if _get_torch_privateuse_backend_name() == "npu":
        return _cann(), "torch names its private backend npu"
    return CPU(), "torch is built for the CPU"


def _cann() -> CANN:
    """Variants have one digit for the minor version: 8.12 is cann81, as in the released package."""
    from torch_npu.utils.collect_env import get_cann_version

    major, _, rest = get_cann_version().partition(".")
    return CANN(f"{major}.{rest[:1] or 0}")
