# SPDX-License-Identifier: Apache-2.0
"""Programs of a simulated op: those that its kernel was exported with, and those made here where jax is installed."""

import functools
import inspect
import os
import threading
import weakref
from pathlib import Path

from kernels import _native
from kernels.native import _site_packages

_PLATFORM = "cpu"

_opened: dict = {}  # (folder, name of the function): kernels.native.Function
_first: list = []  # of these the first one; the others use its plugin and device
_lock = threading.RLock()  # for both
_after_fork = weakref.WeakSet()  # Programs


class Programs:
    """For one op. fn is its function, arguments the names of the parameters, folder the variant it came from (None:
    no kernel).
    """

    def __init__(self, op: str, fn, arguments: tuple[str, ...], folder: Path | None):
        self._op = op
        self._fn = fn
        self._arguments = arguments
        self._folder = folder
        self._forget = None
        _after_fork.add(self)

    def on_fork(self, forget) -> None:
        """A child process cannot use what its parent opened: forget is then called."""
        self._forget = forget

    def find(self, shapes: tuple[str, ...], call, is_plain: bool, layout: str):
        """What computes the op for arrays of these shapes: a kernels.native.Function.

        call: the function of the op, of arrays alone. is_plain: it is the function that a kernel exports, called as
        it is exported. layout: what else distinguishes the call. ValueError: there is no such program, and no jax to
        make one.
        """
        with _lock:
            if is_plain and shapes in self._exported:
                return _open(self._folder, self._function.__name__)
            if not _has_jax():
                raise ValueError(self._explain(shapes, is_plain))
            from kernels import _simulate_export

            name = self._op.partition("::")[2]
            folder = _simulate_export.program(name, self._function, shapes, call, layout, self._folder, self._op)
            return _open(folder, name)

    def results(self, shapes: tuple[str, ...], call, is_plain: bool) -> tuple[str, ...]:
        """Shapes of the results; nothing is computed."""
        if is_plain and shapes in self._exported:
            return self._exported[shapes]
        if not _has_jax():
            raise ValueError(self._explain(shapes, is_plain))
        from kernels import _simulate_export

        return _simulate_export.result_shapes(shapes, call, self._op)

    @functools.cached_property
    def _function(self):
        return inspect.unwrap(self._fn)

    @functools.cached_property
    def _exported(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Shapes of arguments to those of results, for programs that the kernel brings along."""
        name = getattr(self._function, "__name__", None)
        if self._folder is None or not (self._folder / "aot" / "manifest.json").is_file() or self._is_adapted():
            return {}
        rows = _kernel(self._folder).functions().get(name, ())
        return {inputs: outputs for platform, inputs, outputs in rows if platform == _PLATFORM}

    def _is_adapted(self) -> bool:
        """Is the function another one than its name says? What is exported stands in a file that needs jax alone."""
        names = getattr(self._function, "__globals__", None)
        return names is None or any(getattr(value, "__name__", None) == "torch" for value in list(names.values()))

    def _explain(self, shapes, is_plain) -> str:
        given = ", ".join(shapes)
        lines = [f"{self._op} is simulated with the programs that its kernel was exported with, and none takes ({given})"]
        if is_plain and self._exported:
            lines[0] += "; exported were:"
            lines += [f"  ({', '.join(inputs)}) -> ({', '.join(outputs)})" for inputs, outputs in self._exported.items()]
        else:
            lines[0] += "; the kernel brings none for this op."
        wanted = ", ".join(f'"{shape}"' for shape in shapes)
        lines.append(
            "Install jax (pip install jax), and programs are made at their first use; or let the author of the kernel add "
            f"[{wanted}] to `specialisations` in aot.toml and build it again."
        )
        return "\n".join(lines)


@functools.cache
def _kernel(folder: Path):
    """Its files are checked against its digest."""
    return _native.load(str(folder), True, None, None, None, False, _site_packages(), _warn)


def _open(folder: Path, name: str):
    key = folder, name
    if key not in _opened:
        function = _kernel(folder).function(
            name, None, _site_packages(), False, _first[0] if _first else None, _warn, _PLATFORM
        )
        _opened[key] = function
        _first.append(function)
    return _opened[key]


def _has_jax() -> bool:
    from kernels._simulate_modules import _is_installed

    return _is_installed("jax")


def _warn(message: str) -> None:
    import logging

    logging.getLogger("kernels.simulate").warning(message)


def _forget_all() -> None:
    global _lock
    _lock = threading.RLock()
    _opened.clear()
    _first.clear()
    for programs in _after_fork:
        programs._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
