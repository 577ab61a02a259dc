# SPDX-License-Identifier: Apache-2.0
"""Which devices a kernel is registered for."""

import functools

from kernels._record import dataclass

UNBOUNDED = 2**63 - 1  # sys.maxsize of 64-bit machines: "and all later ones"


@dataclass(frozen=True)
class CUDAProperties:
    """GPUs of NVIDIA by compute capability, major * 10 + minor, both bounds inclusive: 75 for 7.5, 103 for 10.3.

    Device("cuda", CUDAProperties(min_capability=90, max_capability=99))

    sys.maxsize stands for "and all later ones". ValueError (StrictDataclassClassValidationError of huggingface_hub):
    min_capability > max_capability. TypeError: no integers.
    """

    min_capability: int
    max_capability: int

    def __post_init__(self):
        _check_range(self, "min_capability", "max_capability")


@dataclass(frozen=True)
class ROCMProperties:
    """GPUs of AMD by capability as torch tells it, both bounds inclusive: 94 for gfx942, 115 for gfx1151."""

    min_capability: int
    max_capability: int

    def __post_init__(self):
        _check_range(self, "min_capability", "max_capability")


@dataclass(frozen=True)
class TPUProperties:
    """TPUs by generation, both bounds inclusive: 20 v2, 30 v3, 40 v4, 50 v5e, 51 v5p, 60 v6e, 70 v7.

    Device("tpu", TPUProperties(min_generation=50, max_generation=59))

    Where no TPU is attached, or one that is not known, only what is registered without properties is used.
    """

    min_generation: int
    max_generation: int

    def __post_init__(self):
        _check_range(self, "min_generation", "max_generation")


_TYPE_OF = {CUDAProperties: "cuda", ROCMProperties: "rocm", TPUProperties: "tpu"}


@dataclass(frozen=True)
class Device:
    """A type of device, all of its kind or those with certain properties.

    Device("tpu")
    Device("cuda", CUDAProperties(75, 89))

    type is one of cpu, cuda, mps, neuron, npu, rocm, tpu, xpu; others can be constructed, not registered. ValueError:
    properties of another type of device.
    """

    type: str
    properties: CUDAProperties | ROCMProperties | TPUProperties | None = None

    def __post_init__(self):
        if not isinstance(self.type, str):
            raise TypeError(f"the type of a device is a text such as 'cuda', not {self.type!r}")
        kind = type(self.properties)
        supported = _TYPE_OF.get(kind)
        if supported is not None and supported != self.type:
            raise ValueError(f"{kind.__name__} is only supported for device type '{supported}', not '{self.type}'")


def _check_range(properties, low: str, high: str) -> None:
    minimum, maximum = getattr(properties, low), getattr(properties, high)
    for name, value in ((low, minimum), (high, maximum)):
        if not isinstance(value, int):
            raise TypeError(f"{name} of {type(properties).__name__} is an integer, not {value!r}")
    if minimum > maximum:
        cause = ValueError(f"{low} ({minimum}) must be <= {high} ({maximum})")
        name = "validate_capability_range"
        raise _validation_error()(f"Class validation error for validator '{name}':\n    ValueError: {cause}") from cause


@functools.cache
def _validation_error() -> type:
    """A ValueError that is also the class of huggingface_hub, which the released package raises, if there is one."""
    name = "StrictDataclassClassValidationError"
    try:
        from huggingface_hub import errors
    except ImportError:
        return type(name, (ValueError,), {"__module__": __name__})
    base = getattr(errors, name, None)
    bases = (base, ValueError) if base else (ValueError,)
    return type(name, bases, {"__module__": __name__, "__init__": ValueError.__init__})
