# SPDX-License-Identifier: Apache-2.0
"""Layers that kernels can replace, repositories of such kernels, and replacing one."""

import enum
import functools
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

from kernels import _native
from kernels.layer import _binding
from kernels.layer import globals as _switches
from kernels.layer._function import _create_func_module, make_function_module
from kernels.layer._repositories import _HubRepository, _LocalRepository, _LockedRepository
from kernels.layer._validation import _validate_layer, validate_once
from kernels.layer.device import Device
from kernels.layer.globals import _KERNEL_MAPPING
from kernels.layer.mode import Mode
from kernels.layer.repos import RepositoryProtocol, _device_capability

__all__ = [
    "KernelizeFallback",
    "LayerRepository",
    "LocalLayerRepository",
    "LockedLayerRepository",
    "kernelize_layer",
    "replace_kernel_forward_from_hub",
    "use_kernel_forward_from_hub",
    "use_kernelized_func",
]

_CACHED_LAYER: dict[RepositoryProtocol, type] = {}
"""Layers that were loaded. A folder that changes afterwards is not looked at again."""


class KernelizeFallback(enum.Flag):
    """For which reasons kernelize leaves a layer as it is, in place of raising an exception.

    NO_LAYER                    nothing is registered for the layer's name
    NO_DEVICE                   nothing for the device
    NO_COMPATIBLE_PROPERTIES    nothing for the capability of the device
    NO_COMPATIBLE_MODE          nothing for the mode, or the layer lacks torch.compile or a backward
    CANNOT_LOAD                 no variant for this machine, not in the cache while offline, a Python package is missing
    """

    NONE = 0
    NO_LAYER = 1
    NO_DEVICE = 2
    NO_COMPATIBLE_PROPERTIES = 4
    NO_COMPATIBLE_MODE = 8
    CANNOT_LOAD = 16
    DEFAULT = 15
    ALL = 31


# ---- repositories ----


def _get_kernel_layer(repo, kernel) -> type:
    """The layer of a kernel module. ValueError: it has no layers, or none of that name."""
    layers = getattr(kernel, "layers", None)
    if layers is None:
        raise ValueError(f"Kernel {repo} does not define any layers.")
    layer = getattr(layers, repo.layer_name, None)
    if layer is None:
        raise ValueError(f"Layer `{repo.layer_name}` not found in {repo}")
    return layer


class _LayerRepository:
    _what = "layer"
    _name = property(lambda self: self.layer_name)

    def _take(self, kernel) -> type:
        return _get_kernel_layer(self, kernel)


class LayerRepository(_LayerRepository, _HubRepository):
    """A layer of a kernel of the Hub.

    LayerRepository("kernels-test/rmsnorm-tpu", layer_name="RMSNorm", version=1)

    Exactly one of version and revision must be given (ValueError). The Hub is asked when the layer is loaded, not
    before, also not by str(). trust_remote_code and user_agent as in kernels.get_kernel. Equal ones (user_agent
    does not count) share what was loaded.
    """

    def __init__(
        self,
        repo_id: str,
        *,
        layer_name: str,
        revision: str | None = None,
        version: int | None = None,
        trust_remote_code: bool | list[str] = False,
        user_agent: str | dict | None = None,
    ):
        self.layer_name = layer_name
        super().__init__(repo_id, revision, version, trust_remote_code, user_agent)


class LocalLayerRepository(_LayerRepository, _LocalRepository):
    """A layer of the kernel in a folder: a repository, its build folder, or one variant.

    LocalLayerRepository(Path("result"), layer_name="RMSNorm")

    package_name is accepted for the sake of older programs and does nothing.
    """

    def __init__(self, repo_path: Path, *, layer_name: str, package_name: str | None = None):
        self.layer_name = layer_name
        super().__init__(repo_path)


class LockedLayerRepository(_LayerRepository, _LockedRepository):
    """A layer of a kernel at the commit that a lock file names; what the kernel depends on likewise.

    LockedLayerRepository("owner/activation", layer_name="SiluAndMul")

    lockfile None: the kernels.lock of the distribution that the calling module belongs to. It is read at once:
    FileNotFoundError, or ValueError when the repository is not locked.
    """

    def __init__(
        self,
        repo_id: str,
        *,
        lockfile: Path | None = None,
        layer_name: str,
        trust_remote_code: bool | list[str] = False,
    ):
        self.layer_name = layer_name
        super().__init__(repo_id, lockfile, trust_remote_code)


# ---- marking host layers ----


def _always(module) -> bool:
    return True


def replace_kernel_forward_from_hub(cls, layer_name: str, condition: Callable[..., bool] | None = None) -> None:
    """Makes a class that is written elsewhere a host layer: kernelize may replace the forward of its instances.

    replace_kernel_forward_from_hub(SomeRMSNorm, "RMSNorm")

    condition(instance) is asked for each instance when it is kernelized; where it is false, the instance stays as it
    is. Subclasses are host layers of the same name.
    """
    cls.kernel_layer_name = layer_name
    cls.kernel_condition = staticmethod(condition or _always)


def use_kernel_forward_from_hub(layer_name: str, condition: Callable[..., bool] | None = None):
    """Decorator that makes a class a host layer, or a function a module that is one.

        @use_kernel_forward_from_hub("SiluAndMul")
        class SiluAndMul(nn.Module):
            def forward(self, x): ...

    A function becomes an nn.Module that is called as the function was. There is one for the whole process: kernelizing
    a model that uses it changes it for all. TypeError: neither a class nor a function.
    """

    def mark(cls):
        replace_kernel_forward_from_hub(cls, layer_name, condition)
        return cls

    def decorator(target):
        if isinstance(target, type):
            return mark(target)
        if isinstance(target, FunctionType):
            return make_function_module(target, mark)
        raise TypeError(f"use_kernel_forward_from_hub can only be applied to classes or functions, not to {target!r}")

    return decorator


def use_kernelized_func(*args: Callable):
    """Class decorator: kernelizing an instance also kernelizes these functions, which it calls.

        @use_kernel_forward_from_hub("rotary")
        def rotary(q, k): ...

        @use_kernelized_func(rotary)
        class Attention(nn.Module): ...

    They are no sub-modules. ValueError: a function that use_kernel_forward_from_hub has not decorated.
    """
    for func in args:
        if not hasattr(func, "kernel_layer_name"):
            name = getattr(func, "__name__", None) or repr(func)
            raise ValueError(f"Function `{name}` is not decorated with `use_kernel_forward_from_hub`")
    functions = _by_name(args)

    def decorator(cls):
        construct = cls.__init__

        @functools.wraps(construct)
        def __init__(self, *args, **kwargs):
            construct(self, *args, **kwargs)
            # past nn.Module.__setattr__, which would make them sub-modules
            self.__dict__["_kernel_funcs"] = {**self.__dict__.get("_kernel_funcs", {}), **functions}

        cls.__init__ = __init__
        return cls

    return decorator


def _by_name(functions: tuple) -> dict:
    """By name; a second one of the same name gets a number."""
    found: dict = {}
    for func in functions:
        name = getattr(func, "__name__", None) or func.kernel_layer_name
        same = [key for key, other in found.items() if key.partition("#")[0] == name and other is not func]
        found[f"{name}#{len(same) + 1}" if same else name] = func
    return found


# ---- kernelizing ----


def kernelize_layer(module, *, mode: Mode, device_type: Device, use_fallback: KernelizeFallback) -> None:
    """Gives one instance of a host layer the kernel that is registered for it, or its own forward. Exceptions as of
    kernelize."""
    LayerChoice(mode, device_type.type, use_fallback).apply(module)


def _logger():
    import logging

    return logging.getLogger(__name__)


class LayerChoice:
    """What each host layer of a model gets, decided once for each class."""

    def __init__(self, mode: Mode, device_type: str, use_fallback: KernelizeFallback):
        self._mode = mode
        self._device_type = device_type
        self._use_fallback = use_fallback
        self._mapping = current_mapping().native.copy()  # one state for the whole model
        self._found: dict[str, tuple] = {}  # layer name -> (repository or None, registered mode, layer or None)
        self._kernels: dict[type, _binding._Kernel | None] = {}  # host class -> kernel, None: its own forward
        self._told: set[tuple] = set()

    def apply(self, module) -> None:
        """Binds an instance of a host class."""
        host = type(module)
        try:
            kernel = self._kernels[host]
        except KeyError:
            kernel = self._kernels[host] = self._decide(host)
        if kernel is None:
            _binding.release(module)
        else:
            _binding.bind(module, kernel)

    def _decide(self, host: type) -> "_binding._Kernel | None":
        if _switches._DISABLE_KERNEL_MAPPING:
            return None
        name = str(host.kernel_layer_name)
        if name not in self._found:
            self._found[name] = self._find(name)
        repository, registered, layer = self._found[name]
        if layer is None:
            return None
        validate_once(check_cls=host, cls=layer, repo=repository)
        if not self._supports(name, layer, repository, registered):
            return None
        return _binding.kernel_of(host, layer)

    def _find(self, name: str) -> tuple:
        """The layer for a name, loaded; (None, 0, None) for the original."""
        reason, message, registered, repository = self._look_up(name)
        if reason == "no_layer":
            _logger().warning("No kernel mapping found for layer `%s`. It keeps its own forward.", name)
        if reason is not None:
            self._fall_back(_REASONS.get(reason), message)
            return None, 0, None
        _logger().info("Using function/layer from repo %s for layer `%s`", repository, name)
        _logger().debug("Layer `%s`: registered for %s, requested %s", name, Mode(registered), self._mode)
        return repository, registered, self._load(name, repository)

    def _look_up(self, name: str) -> tuple:
        """The answer of the mapping. A GPU is asked for its capability only when something is registered for GPUs."""
        is_gpu = self._device_type in ("cuda", "rocm")
        capability = None if is_gpu else self._capability
        answer = self._mapping.find(name, self._device_type, capability, self._mode.value)
        if is_gpu and answer[0] == "no_properties":
            answer = self._mapping.find(name, self._device_type, self._capability, self._mode.value)
        return answer

    @functools.cached_property
    def _capability(self) -> int | None:
        return _device_capability(self._device_type)

    def _load(self, name: str, repository) -> type | None:
        try:
            return _get_layer(repository)
        except (FileNotFoundError, ImportError) as error:
            if KernelizeFallback.CANNOT_LOAD not in self._use_fallback:
                raise
            _logger().info("Cannot load layer `%s` from %s, using fallback: %s", name, repository, error)
            return None

    def _supports(self, name: str, layer: type, repository, registered: int) -> bool:
        _validate_layer_has_mode(layer_name=name, module=layer, repo=repository, repo_mode=Mode(registered))
        compiles, trains = _abilities(layer)
        if _native.layer_check(registered, self._mode.value, compiles, trains) is None:
            return True
        self._fall_back(
            KernelizeFallback.NO_COMPATIBLE_MODE, f"Layer `{name}` from {repository} does not support mode {self._mode}"
        )
        lacking = "backward" if compiles or Mode.TORCH_COMPILE not in self._mode else "torch.compile"
        if (name, lacking) not in self._told:
            self._told.add((name, lacking))
            _logger().info("Layer `%s` from %s does not support %s, using fallback", name, repository, lacking)
        return False

    def _fall_back(self, reason: KernelizeFallback | None, message: str) -> None:
        """ValueError unless this reason is one to keep the original. None is never one."""
        if reason is None or reason not in self._use_fallback:
            raise ValueError(message)


_REASONS = {
    "no_layer": KernelizeFallback.NO_LAYER,
    "no_device": KernelizeFallback.NO_DEVICE,
    "no_properties": KernelizeFallback.NO_COMPATIBLE_PROPERTIES,
    "no_mode": KernelizeFallback.NO_COMPATIBLE_MODE,
}


def current_mapping():
    """The mapping of this context. A plain dictionary that somebody has put there is taken over."""
    mapping = _KERNEL_MAPPING.get()
    if isinstance(mapping, dict):
        from kernels.layer._mapping import from_dictionary

        mapping = from_dictionary(mapping)
        _KERNEL_MAPPING.set(mapping)
    return mapping


def _get_layer(repository: RepositoryProtocol) -> type:
    """What a repository loads, loaded once. Failures are not remembered."""
    layer = _CACHED_LAYER.get(repository)
    if layer is None:
        layer = _CACHED_LAYER[repository] = repository.load()
    return layer


def _get_layer_memoize(repo: RepositoryProtocol, module_class: type) -> type:
    """The layer of a repository, checked against a host class."""
    layer = _get_layer(repo)
    validate_once(check_cls=module_class, cls=layer, repo=repo)
    return layer


def _abilities(layer: type) -> tuple[bool, bool]:
    """(can_torch_compile, has_backward)"""
    return bool(getattr(layer, "can_torch_compile", False)), bool(getattr(layer, "has_backward", True))


def _validate_layer_has_mode(*, layer_name: str, module: type, repo, repo_mode: Mode) -> None:
    """ValueError when a layer was registered for what it says it cannot do."""
    lacking = {"lacks_backward": "backward", "lacks_compile": "torch.compile"}.get(
        _native.layer_check(repo_mode.value, 0, *_abilities(module))
    )
    if lacking:
        raise ValueError(
            f"Layer `{layer_name}` from {repo} does not support {lacking}, but it was registered for {repo_mode}"
        )


def _replace_forward(module, layer: type) -> None:
    """Gives an instance the forward of a layer class; its own class stands for the original."""
    if layer is type(module):
        _binding.release(module)
    else:
        _binding.bind(module, _binding.kernel_of(type(module), layer))
