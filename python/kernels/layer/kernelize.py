# SPDX-License-Identifier: Apache-2.0
"""Kernelizing a model, and what is registered for its layers."""

from contextvars import ContextVar

from kernels import _native
from kernels.layer._mapping import KernelMapping
from kernels.layer.device import Device
from kernels.layer.globals import _KERNEL_MAPPING
from kernels.layer.layer import KernelizeFallback, LayerChoice, _always, current_mapping
from kernels.layer.mode import Mode
from kernels.layer.repos import _DEVICE_INDEX


# ---- registering ----


def register_kernel_mapping(mapping: dict, inherit_mapping: bool = True) -> None:
    """Says which kernels stand in for layers.

        register_kernel_mapping({
            "RMSNorm": {
                "tpu": LayerRepository("kernels-test/rmsnorm-tpu", layer_name="RMSNorm", version=1),
                Device("cuda", CUDAProperties(90, sys.maxsize)): {
                    Mode.INFERENCE: LayerRepository("owner/norm", layer_name="RMSNorm", version=2),
                },
            },
        })

    mapping is {layer name: {device: repository or {mode: repository}}}, a device a Device or the name of its type. What
    was registered before stays, but for the same layers, devices and properties; inherit_mapping=False forgets all of
    it. An empty dictionary in place of a repository switches a kernel off.

    Outside of use_kernel_mapping it counts for the whole process, inside of it until that ends. ValueError: unknown
    device type. When an exception is raised nothing has changed.
    """
    if inherit_mapping or _KERNEL_MAPPING.get(None) is None:
        current_mapping().register(mapping, clear=not inherit_mapping)
    else:
        fresh = KernelMapping()
        fresh.register(mapping)
        _KERNEL_MAPPING.set(fresh)


_entered: ContextVar[tuple] = ContextVar("_entered", default=())
"""What is entered in this context, outermost first: (object, token of _KERNEL_MAPPING)."""


class _MappingContext:
    """Can be entered again, also while it is entered, and in several threads and tasks at the same time."""

    def __init__(self, mapping: dict, inherit_mapping: bool):
        self._mapping = mapping
        self._inherit_mapping = inherit_mapping

    def __enter__(self) -> None:
        inner = current_mapping().copy() if self._inherit_mapping else KernelMapping()
        inner.register(self._mapping)
        _entered.set((*_entered.get(), (self, _KERNEL_MAPPING.set(inner))))

    def __exit__(self, *exception) -> None:
        entered = list(_entered.get())
        last = max((i for i, (context, _) in enumerate(entered) if context is self), default=None)
        if last is None:
            raise RuntimeError("use_kernel_mapping is left in another context than it was entered in")
        _, token = entered.pop(last)
        _entered.set(tuple(entered))
        _KERNEL_MAPPING.reset(token)


def use_kernel_mapping(mapping: dict, *, inherit_mapping: bool = True):
    """A context manager in which further kernels are registered; afterwards all is as before.

        with use_kernel_mapping({"RMSNorm": {"tpu": {}}}):  # no kernel for RMSNorm
            model = kernelize(model, mode=Mode.INFERENCE)

    mapping as in register_kernel_mapping; inherit_mapping=False: only this one counts. It is seen by the thread or task
    that enters it. Exceptions come when it is entered, and then nothing has changed.
    """
    return _MappingContext(mapping, inherit_mapping)


# ---- kernelizing ----


def kernelize(model, *, mode: Mode, device=None, use_fallback: bool | KernelizeFallback = True):
    """Replaces the forward of all layers of a model for which kernels are registered; the model itself.

        model = kernelize(model, mode=Mode.INFERENCE)
        model = kernelize(model, mode=Mode.TRAINING | Mode.TORCH_COMPILE, device="tpu")

    device is a device type, a torch.device or a Device; None: that of the model's first parameter. It selects what is
    registered for it; which build of a kernel is loaded depends on the machine. Parameters, hooks and classes stay as
    they are, and so does a layer without a kernel. Kernelizing again, with another mode or mapping, starts from the
    original layers.

    use_fallback says for which reasons a layer may keep its own forward: True is KernelizeFallback.DEFAULT, all but
    CANNOT_LOAD; False is NONE. For others: ValueError (nothing is registered or fits), FileNotFoundError (the kernel has
    no variant for this machine). Always raised: TypeError (the kernel's layer cannot stand in for this one), ValueError
    (mode, device, a layer that was registered for what it cannot do), what else goes wrong when a kernel is loaded.
    """
    if not isinstance(mode, Mode):
        raise TypeError(f"mode must be a Mode, not {mode!r}")
    _native.mode_check_request(mode.value)
    device_type = _device_type(model, device)
    if isinstance(use_fallback, bool):
        use_fallback = KernelizeFallback.DEFAULT if use_fallback else KernelizeFallback.NONE
    token = _DEVICE_INDEX.set(_device_index(model, device))
    try:
        _kernelize_modules(model, LayerChoice(mode, device_type, use_fallback))
    finally:
        _DEVICE_INDEX.reset(token)
    return model


def _kernelize_modules(model, choice: LayerChoice) -> None:
    skipped: set = set()
    hosts: dict[type, tuple | None] = {}  # class -> (condition,), None: no host class
    for module in _modules_of(model):
        functions = module.__dict__.get("_kernel_funcs")
        if functions:
            for function in functions.values():
                _kernelize_host(function, _host(type(function)), choice, skipped)
        cls = type(module)
        if cls not in hosts:
            hosts[cls] = _host(cls)
        host = hosts[cls]
        if host is not None:
            _kernelize_host(module, host, choice, skipped)


def _modules_of(model):
    """The modules of model.named_modules(), in its order; without their names, which take longer than all the rest."""
    from torch.nn import Module

    seen: set = set()
    waiting = [model]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        if type(module).named_modules is Module.named_modules:
            seen.add(module)
            yield module
            waiting.extend([child for child in reversed(module._modules.values()) if child is not None])
            continue
        for _, below in module.named_modules():  # a class that tells its own
            if below not in seen:
                seen.add(below)
                yield below


def _host(cls: type) -> tuple | None:
    """(condition or None,) of a host class, None for any other class."""
    if not hasattr(cls, "kernel_layer_name"):
        return None
    condition = getattr(cls, "kernel_condition", None)
    return (None if condition is _always else condition,)


def _kernelize_host(module, host: tuple, choice: LayerChoice, skipped: set) -> None:
    condition = host[0]
    if condition is None or condition(module):
        choice.apply(module)
        return
    name = type(module).kernel_layer_name
    if name not in skipped:
        skipped.add(name)
        import logging

        logging.getLogger(__name__).info("Layer `%s` stays as it is: its condition is not met", name)


# ---- devices ----


def _device_type(model, device) -> str:
    if device is None:
        return _find_device(model).type
    if isinstance(device, str):
        name, _, index = device.partition(":")
        device_type = name if index.isdecimal() and index.isascii() else device
        _validate_device_type(device_type)
        return device_type
    return device.type


def _validate_device_type(device_type: str) -> None:
    """ValueError for a text that is no device type."""
    supported = _native.device_types()
    if device_type not in supported:
        raise ValueError(f"Unsupported device type '{device_type}'. Supported device types are: {', '.join(supported)}")


def _find_device(model) -> Device:
    """The device of the model's first parameter, ValueError without parameters."""
    parameter = next(model.parameters(), None)
    if parameter is None:
        raise ValueError("Cannot determine model device, since it has no parameters: give `device` to kernelize.")
    device_type = parameter.device.type
    return Device("rocm" if device_type == "cuda" and _is_rocm_platform() else device_type)


def _device_index(model, device) -> int | None:
    """The GPU whose capability counts: the one that is named, else that of the first parameter; None: the current one."""
    if isinstance(device, str):
        number = device.rpartition(":")[2]
        index = int(number) if number.isdecimal() else None
    else:
        index = getattr(device, "index", None)
    if index is not None:
        return index
    place = getattr(next(model.parameters(), None), "device", None)
    return place.index if place is not None and place.type == "cuda" else None


def _is_cuda_platform() -> bool:
    """Was torch built for CUDA?"""
    import torch

    return torch.version.cuda is not None


def _is_rocm_platform() -> bool:
    """Was torch built for ROCm?"""
    import torch

    return torch.version.hip is not None


def _has_neuron_ops() -> bool:
    """Has torch been extended for Neuron?"""
    import torch

    return hasattr(torch, "neuron")
