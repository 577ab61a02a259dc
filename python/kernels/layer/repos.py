# SPDX-License-Identifier: Apache-2.0
"""What is registered for one layer on one type of device, and which capability the device here has."""

import contextvars

from kernels import _native
from kernels._record import Protocol
from kernels.layer.device import CUDAProperties, Device, ROCMProperties, TPUProperties
from kernels.layer.mode import Mode


class RepositoryProtocol(Protocol):
    """What can be registered. It must be hashable and comparable: equal ones share what was loaded."""

    def load(self) -> type:
        """The layer class (or the class around a function)."""


_REQUESTS = (Mode.INFERENCE, Mode.TRAINING, Mode(12), Mode(10))
_MODE_FALLBACK_PRIORITY = {mode: [Mode(tried) for tried in _native.mode_order(mode.value)] for mode in _REQUESTS}
"""Registered modes that serve a request, best first."""


def _select_repository(
    repositories: dict[Mode, RepositoryProtocol], *, mode: Mode
) -> tuple[RepositoryProtocol, Mode] | None:
    """The repository that serves a request and the mode it was registered for. ValueError: no such request."""
    tried = _MODE_FALLBACK_PRIORITY.get(mode)
    if tried is None:
        raise ValueError(f"Unsupported mode: {mode}")
    return next(((repositories[each], each) for each in tried if each in repositories), None)


# ---- capabilities ----

_DEVICE_INDEX: contextvars.ContextVar[int | None] = contextvars.ContextVar("_DEVICE_INDEX", default=None)
"""Index of the GPU that a model is on; None: the current one. Set by kernelize."""

_capabilities: dict[int, int] = {}


def _find_capability() -> int | None:
    """Capability of the GPU in question, major * 10 + minor; None when there is none that works."""
    try:
        import torch

        index = _DEVICE_INDEX.get()
        index = torch.cuda.current_device() if index is None else index
        if index not in _capabilities:
            major, minor = torch.cuda.get_device_capability(index)
            _capabilities[index] = major * 10 + minor
    except (ImportError, RuntimeError, AssertionError):  # no torch, no driver, built without CUDA
        return None
    return _capabilities[index]


def _find_tpu_generation() -> int | None:
    """Number of the TPU generation here, from the PCI device: no TPU is opened. None when there is none."""
    from kernels import _machine

    return _native.tpu_generation_number(_machine.facts()["tpu_generation"])


def _device_capability(device_type: str) -> int | None:
    """The number that ranges of this type of device are about; None when it has none, or is not there."""
    if device_type in ("cuda", "rocm"):
        return _find_capability()
    return _find_tpu_generation() if device_type == "tpu" else None


# ---- what is registered ----


class DeviceRepos:
    """One layer on one type of device: `repos` is {mode: repository} for the device here."""

    _type = ""

    def __init__(self, _mapping=None, _layer: str = ""):
        self._mapping = _mapping or _native.LayerMapping()
        self._layer = _layer

    @staticmethod
    def create_repo(device: Device) -> "DeviceRepos":
        """An empty one for a type of device. ValueError: an unknown one."""
        return _class_of(device.type)()

    @property
    def repos(self) -> dict[Mode, RepositoryProtocol] | None:
        """None: nothing for the capability of the device here."""
        capability = _device_capability(self._type)
        _, choices = self._mapping.choices(self._layer, self._type, capability)
        return {Mode(mode): repository for mode, repository in choices}

    def insert(self, device: Device, repos: dict[Mode, RepositoryProtocol]) -> None:
        """Registers in place of what there was for the same properties."""
        self._mapping.register((_entry(self._layer, device, repos),), False)

    def _entries(self) -> list[tuple]:
        return [each for each in self._mapping.entries() if each[:2] == (self._layer, self._type)]

    def __eq__(self, other):
        return type(self) is type(other) and [each[2:] for each in self._entries()] == [
            each[2:] for each in other._entries()
        ]

    __hash__ = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {[each[2:] for each in self._entries()]}>"


class _RangedRepos(DeviceRepos):
    @property
    def repos(self) -> dict[Mode, RepositoryProtocol] | None:
        reason, choices = self._mapping.choices(self._layer, self._type, _device_capability(self._type))
        return None if reason else {Mode(mode): repository for mode, repository in choices}


class _CPURepos(DeviceRepos):
    _type = "cpu"


class _CUDARepos(_RangedRepos):
    _type = "cuda"


class _MPSRepos(DeviceRepos):
    _type = "mps"


class _NeuronRepos(DeviceRepos):
    _type = "neuron"


class _NPURepos(DeviceRepos):
    _type = "npu"


class _ROCMRepos(_RangedRepos):
    _type = "rocm"


class _TPURepos(DeviceRepos):
    _type = "tpu"


class _XPURepos(DeviceRepos):
    _type = "xpu"


_KINDS = (_CPURepos, _CUDARepos, _MPSRepos, _NeuronRepos, _NPURepos, _ROCMRepos, _TPURepos, _XPURepos)


def _class_of(device_type: str) -> type[DeviceRepos]:
    for kind in _KINDS:
        if kind._type == device_type:
            return kind
    raise ValueError(f"Unknown device type `{device_type}`: expected one of {', '.join(_native.device_types())}")


# ---- reading a registration ----


def _entry(layer: str, device: Device | str, target) -> tuple:
    """One device of one layer as the native mapping takes it. target: a repository, or {mode: repository}."""
    if isinstance(device, str):
        device = Device(device)
    repositories = target if isinstance(target, dict) else {Mode.FALLBACK: target}
    choices = tuple(
        (mode.value, repository) for mode, repository in repositories.items() if _is_useful(mode, layer)
    )
    return layer, device.type, _range(device), choices


def _range(device: Device) -> tuple[int, int] | None:
    properties = getattr(device, "properties", None)
    if device.type in ("cuda", "rocm") and properties is not None:
        wanted = CUDAProperties if device.type == "cuda" else ROCMProperties
        if not isinstance(properties, wanted):
            raise AssertionError(f"device type {device.type} takes {wanted.__name__}, not {properties!r}")
        return properties.min_capability, properties.max_capability
    if device.type == "tpu" and isinstance(properties, TPUProperties):
        return properties.min_generation, properties.max_generation
    return None


def _is_useful(mode, layer: str) -> bool:
    """Can it be kept? What no request asks for is told."""
    known = isinstance(mode, Mode)
    if not known or not _native.mode_is_reachable(mode.value):
        import logging

        logging.getLogger("kernels.layer.kernelize").warning(
            "Layer `%s`: a repository that is registered for %s is never used", layer, mode
        )
    return known
