# SPDX-License-Identifier: Apache-2.0
"""Python packages that kernels need. Whether one can be found is looked at; none is imported."""

import os
from dataclasses import dataclass
from pathlib import Path

from kernels import _native, _simulate
from kernels._machine import find_spec
from kernels._rust import Metadata
from kernels.backends import Backend, _backend


@dataclass(frozen=True)
class PythonPackage:
    """A package as pip names it, and the module that must be found; None: there is none."""

    pkg: str
    import_name: str | None = None


@dataclass(frozen=True)
class DependencyInfo:
    """What one name in a kernel's python-depends stands for."""

    python: tuple[PythonPackage, ...]


class DependencyData:
    """The table of the names that kernels may list."""

    @staticmethod
    def find(name: str, backend: Backend) -> DependencyInfo | None:
        """Looks among the names for all backends, then among those for this one."""
        found = _native.python_dependency_find(name, backend.name)
        return None if found is None else DependencyInfo(tuple(PythonPackage(*package) for package in found))


def validate_dependencies(kernel_module_name: str, dependencies: list[str], backend: Backend) -> None:
    """ValueError for a name that the backend does not have, ImportError for a package that is not installed; the first one."""
    for name in dependencies:
        info = DependencyData.find(name, backend)
        if info is None:
            raise ValueError(f"Kernel module `{kernel_module_name}` uses unsupported kernel dependency: {name}")
        for package in info.python:
            if package.import_name is None or _simulate.provides(package.import_name, backend.name):
                continue
            if find_spec(package.import_name) is None:
                raise ImportError(
                    f"Kernel module `{kernel_module_name}` requires Python dependency `{package.pkg}`. "
                    f"Please install with: pip install {package.pkg}"
                )


def validate_variant_dependencies(variant_path: Path) -> None:
    """The same for the metadata.json in a variant's folder and the backend of this process."""
    metadata = Metadata.read_from_file(os.path.join(variant_path, "metadata.json"))
    validate_dependencies(metadata.name.python_name, metadata.python_depends, _backend())
