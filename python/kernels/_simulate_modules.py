# SPDX-License-Identifier: Apache-2.0
"""What a TPU kernel imports: torch_tpu and jax, or stand-ins for what is not installed."""

import importlib.util
import sys
from contextlib import contextmanager
from types import ModuleType

_undo: list = []  # functions that take back what install() did


def install() -> None:
    """Ops registered through jax_op from now on also run on CPU tensors. Imports torch, and torch_tpu where it is
    installed.
    """
    if _undo:
        return
    try:
        import torch
    except ImportError as error:
        raise ImportError("simulating a TPU needs torch: pip install torch", name="torch") from error
    homes = _torch_tpu_homes() or _stand_in_homes(torch)
    jax_op = _jax_op(homes[0])
    for home in homes:
        _replace(home, "jax_op", jax_op)


def uninstall() -> None:
    while _undo:
        _undo.pop()()


def _replace(owner, name: str, value) -> None:
    missing = object()
    before = owner.__dict__.get(name, missing)
    setattr(owner, name, value)
    _undo.append(lambda: delattr(owner, name) if before is missing else setattr(owner, name, before))


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # in sys.modules, without a spec
        return True


def _torch_tpu_homes() -> list:
    """Modules of the installed torch_tpu that have jax_op; none without it."""
    if not _is_installed("torch_tpu"):
        return []
    import torch_tpu  # noqa: F401  makes torch.tpu importable even when autoload is off
    import torch_tpu._internal.pallas as internal

    try:
        import torch.tpu.pallas as public
    except ImportError:  # before 0.2.0
        return [internal]
    return [public, internal]


def _jax_op(home):
    """torch_tpu's with a CPU implementation added, or the one of this package where it cannot work."""
    from kernels import _simulate_ops

    if getattr(home, "kernels_stand_in", False) or not _is_installed("jax"):
        return _simulate_ops.jax_op
    return _simulate_ops.extend(home.jax_op)


# ---- torch_tpu ----


def _stand_in_homes(torch) -> list:
    """Modules of these names with as much of torch_tpu as a kernel needs at import."""
    public, internal = _module("torch.tpu.pallas"), _module("torch_tpu._internal.pallas")
    tpu, torch_tpu, middle = _module("torch.tpu"), _module("torch_tpu"), _module("torch_tpu._internal")
    tpu.pallas, middle.pallas, torch_tpu._internal = public, internal, middle
    tpu.is_available, tpu.device_count = (lambda: False), (lambda: 0)
    torch_tpu.__version__ = "0.2.0+simulated"
    for module in (public, internal, tpu, torch_tpu, middle):
        sys.modules[module.__name__] = module
        _undo.append(lambda name=module.__name__: sys.modules.pop(name, None))
    _replace(torch, "tpu", tpu)
    return [public, internal]


def _module(name: str) -> ModuleType:
    module = ModuleType(name, "Stand-in of the package kernels for simulating a TPU.")
    module.__path__ = []
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=True)
    module.kernels_stand_in = True
    return module


# ---- jax ----


@contextmanager
def jax_stand_in():
    """While a kernel is imported `import jax` gives something, also where jax is not installed. Functions defined
    with it cannot be traced, so that only shapes work that the kernel was exported for.
    """
    if _is_installed("jax"):
        yield
        return
    finder = _JaxFinder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.made:  # nobody else shall take it for jax
            sys.modules.pop(name, None)


class _JaxFinder:
    """Finds every module below jax."""

    def __init__(self):
        self.made: list[str] = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "jax":
            return None
        return importlib.util.spec_from_loader(name, loader=self, is_package=True)

    def create_module(self, spec):
        self.made.append(spec.name)
        module = _JaxModule(spec.name, "Stand-in of the package kernels: jax is not installed.")
        if spec.name == "jax":
            module.Array = Array
        return module

    def exec_module(self, module):
        pass


class _JaxModule(ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class Array:
    """Stands for jax.Array in annotations."""


class Absent:
    """Something of jax that a kernel names while it is imported: a decorator, a constant, a class of options."""

    def __init__(self, name: str):
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments, **options):
        """A decorator gives back what it decorates."""
        decorated = len(arguments) == 1 and callable(arguments[0]) and not isinstance(arguments[0], Absent)
        return arguments[0] if decorated else Absent(f"{self.__name__}()")

    def __mro_entries__(self, bases):
        return (object,)

    def __float__(self):
        return float("nan")

    def __repr__(self):
        return f"<{self.__name__}: jax is not installed>"

    def _same(self, *_):
        return self

    __getitem__ = __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = _same
    __mul__ = __rmul__ = __truediv__ = __or__ = __ror__ = _same
