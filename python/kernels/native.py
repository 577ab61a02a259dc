# SPDX-License-Identifier: Apache-2.0
"""Load kernels and call them on arrays, without torch, jax or any other framework.

    import kernels.native
    import numpy

    kernel = kernels.native.load("kernels-test/relu-tpu", version=1)
    y = numpy.from_dlpack(kernel.relu(x))

Arguments are objects with __dlpack__ (NumPy arrays, torch and jax tensors in host memory) or the buffer protocol;
results are objects with __dlpack__. Functions run on a TPU where there is one, else through an XLA CPU plugin.
Exceptions carry the library's status as their attribute `status`, for example "SPECIALISATION_NOT_FOUND".
"""

import os
import sys
import sysconfig

from kernels import _native
from kernels._native import Function, Tensor

__all__ = ["Function", "Kernel", "Tensor", "load", "load_local"]

_PLUGINS = (("xla_plugins",), ("libtpu", "libtpu.so"))  # what packages with a PJRT plugin install


def load(
    repo_id,
    *,
    version=None,
    revision=None,
    backend=None,
    trust_remote_code=False,
    plugin=None,
    strict=False,
):
    """Find, download and verify a kernel of the Hub.

    Exactly one of version (a number) and revision (a branch, tag or commit) must be given. plugin is the file of a
    PJRT plugin, None looks for one; strict refuses a TPU generation that the kernel was not checked for.
    """
    handle = _native.load(
        repo_id, False, version, revision, backend, bool(trust_remote_code), _site_packages(), _warn
    )
    return Kernel(handle, plugin, strict)


def load_local(path, *, backend=None, plugin=None, strict=False):
    """Use the kernel in a folder: a repository, its build folder, or one variant."""
    handle = _native.load(os.fspath(path), True, None, None, backend, False, _site_packages(), _warn)
    return Kernel(handle, plugin, strict)


class Kernel:
    """A loaded kernel. Its functions are attributes."""

    def __init__(self, handle, plugin, strict):
        self._handle = handle
        self._plugin = None if plugin is None else os.fspath(plugin)
        self._strict = bool(strict)
        self._first = None  # opened the device; the other functions share it

    path = property(lambda self: self._handle.path, doc="Folder of the variant in use.")
    variant = property(lambda self: self._handle.variant, doc="Name of the variant in use.")
    repo_id = property(lambda self: self._handle.repo_id, doc="Repository, None for a local folder.")
    revision = property(lambda self: self._handle.revision, doc="Commit, None for a local folder.")
    verified = property(lambda self: self._handle.verified, doc="Did every file match the kernel's digest?")

    @property
    def functions(self):
        """What was exported: {name: ((platform, input shapes, output shapes), ...)}."""
        return self._handle.functions()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        function = self._handle.function(
            name, self._plugin, _site_packages(), self._strict, self._first, _warn
        )
        self._first = self._first or function
        setattr(self, name, function)
        return function

    def __dir__(self):
        return [*super().__dir__(), *self.functions]

    def __repr__(self):
        return f"<kernels.native.Kernel {self.repo_id or self.path} ({self.variant})>"


def _site_packages():
    """Where plugins are looked for: the first folder of installed packages on sys.path that has one, else the interpreter's."""
    for folder in sys.path:
        if any(os.path.exists(os.path.join(folder, *plugin)) for plugin in _PLUGINS):
            return folder
    return sysconfig.get_path("purelib")


def _warn(message):
    import logging

    logging.getLogger(__name__).warning(message)
