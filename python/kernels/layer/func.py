# SPDX-License-Identifier: Apache-2.0
"""Functions of kernels in place of layers. Deprecated since 0.17: a layer repository serves functions as well."""

from pathlib import Path

from kernels.layer._function import _create_func_module
from kernels.layer._repositories import _HubRepository, _LocalRepository, _LockedRepository
from kernels.layer.layer import use_kernel_forward_from_hub


def _deprecated(name: str, instead: str) -> None:
    import logging

    logging.getLogger(__name__).warning("%s is deprecated since kernels 0.17 and will be removed: use %s", name, instead)


def _get_kernel_func(repo, kernel) -> type:
    """The function of a kernel module, as a layer class. ValueError: there is none of that name."""
    func = getattr(kernel, repo.func_name, None)
    if func is None:
        raise ValueError(f"Function `{repo.func_name}` not found in {repo}")
    return _create_func_module(func)


class _FuncRepository:
    _what = "function"
    _name = property(lambda self: self.func_name)

    def _take(self, kernel) -> type:
        return _get_kernel_func(self, kernel)


class FuncRepository(_FuncRepository, _HubRepository):
    """A function of a kernel of the Hub. Deprecated: use LayerRepository."""

    def __init__(
        self,
        repo_id: str,
        *,
        func_name: str,
        revision: str | None = None,
        version: int | None = None,
        trust_remote_code: bool | list[str] = False,
    ):
        _deprecated("FuncRepository", "LayerRepository")
        self.func_name = func_name
        super().__init__(repo_id, revision, version, trust_remote_code)


class LocalFuncRepository(_FuncRepository, _LocalRepository):
    """A function of the kernel in a folder. Deprecated: use LocalLayerRepository."""

    def __init__(self, repo_path: Path, *, func_name: str):
        _deprecated("LocalFuncRepository", "LocalLayerRepository")
        self.func_name = func_name
        super().__init__(repo_path)


class LockedFuncRepository(_FuncRepository, _LockedRepository):
    """A function of a kernel at the commit of a lock file. Deprecated: use LockedLayerRepository."""

    def __init__(
        self,
        repo_id: str,
        *,
        lockfile: Path | None = None,
        func_name: str,
        trust_remote_code: bool | list[str] = False,
    ):
        _deprecated("LockedFuncRepository", "LockedLayerRepository")
        self.func_name = func_name
        super().__init__(repo_id, lockfile, trust_remote_code)


def use_kernel_func_from_hub(func_name: str):
    """Deprecated: use_kernel_forward_from_hub does the same."""
    _deprecated("use_kernel_func_from_hub", "use_kernel_forward_from_hub")
    return use_kernel_forward_from_hub(func_name)
