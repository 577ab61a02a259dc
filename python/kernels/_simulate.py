# SPDX-License-Identifier: Apache-2.0
"""The switch behind kernels.simulate. What it switches is in _simulate_modules, _simulate_ops, _simulate_programs."""

import os
from contextlib import contextmanager

_VARIABLE = "KERNELS_SIMULATE"
_DEVICES = ("tpu",)

_chosen: str | None = None  # by simulate(); "" for none
_asked = False  # has simulate() been called: then the variable does not count


def simulate(device: str | None) -> None:
    """From now on kernels for this device, "tpu", run in torch on CPU tensors, without such a device.

    Kernels that are loaded afterwards compute with the programs that their authors exported for the CPU, through an
    XLA CPU plugin (pip install xla-cpu-pjrt); where jax is installed, programs for other shapes are made at their
    first use. The backend of this process is then tpu. None ends it: kernels loaded afterwards are those of this
    machine, those loaded before stay as they are.

    Setting the variable KERNELS_SIMULATE=tpu does the same for a whole process. ValueError: another device.
    ImportError: no torch.
    """
    global _chosen, _asked
    if device is not None:
        _check(device, "simulate()")
        _modules().install()
    elif simulated() is not None:
        _modules().uninstall()
    _chosen, _asked = device or "", True


def simulated() -> str | None:
    """The device that is simulated: "tpu", or None. ValueError: the variable names another one."""
    name = _chosen if _asked else os.environ.get(_VARIABLE)
    if not name:
        return None
    if not _asked:
        _check(name, _VARIABLE)
    return name


def describe(facts: dict) -> dict:
    """The facts of kernels._machine, with the backend that is simulated. A TPU that is really there stays what it is."""
    device = simulated()
    if device is None or facts["tpu_generation"]:
        return facts
    if facts["backend"] != device:
        other = None if facts["backend"] == "cpu" else facts["backend"]
        facts["alternative"], facts["alternative_version"] = other, other and facts["backend_version"]
    origin = 'kernels.simulate("tpu")' if _asked else f"{_VARIABLE}={device}"
    facts.update(backend=device, backend_version=None, needs_torch=False, backend_reason=f"simulated: {origin}")
    return facts


def provides(module: str, backend: str) -> bool:
    """Is there a stand-in for this module while kernels of this backend are imported?"""
    return backend == simulated() and module in ("torch_tpu", "jax", "libtpu")


@contextmanager
def importing(backend: str):
    """Around the import of a kernel made for this backend: what it imports is there, be it as a stand-in."""
    if backend != simulated():
        yield
        return
    _modules().install()
    with _modules().jax_stand_in():
        yield


def _check(device: str, where: str) -> None:
    if device not in _DEVICES:
        raise ValueError(f"{where}: expected {', '.join(_DEVICES)}, given {device!r}")


def _modules():
    from kernels import _simulate_modules

    return _simulate_modules
