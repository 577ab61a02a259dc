# SPDX-License-Identifier: Apache-2.0
"""Lock files: which commit a project uses of each kernel, and of those that they depend on."""

import os
import sys
from pathlib import Path
from types import FrameType, ModuleType

from kernels._record import dataclass
from kernels._rust import KernelDependency, KernelLock, KernelLocks, KernelVersion
from kernels.hf_hub import HubApi, _as_api, _get_hf_api

_DISTRIBUTION_FILE = "kernels.lock"  # in the metadata of a distribution, and beside its pyproject.toml


# ---- making a lock ----


def lock_kernel_tree(
    kernel: KernelDependency,
    *,
    api: HubApi,
    seen: set[KernelDependency] | None = None,
    kernel_locks: dict[KernelDependency, KernelLock] | None = None,
) -> dict[KernelDependency, KernelLock]:
    """Adds a kernel, and all that its variants for any machine depend on, to kernel_locks and returns that.

    Publishers must be trusted (ValueError). seen holds kernels that may not appear, since the kernel is one of their
    dependencies.
    """
    kernel_locks = {} if kernel_locks is None else kernel_locks
    if kernel in (seen or ()):
        raise ValueError(f"Cyclic kernel dependency detected: {kernel.repo_id}")
    if kernel not in kernel_locks:
        kernel_locks.update(_lock([kernel], api))
    return kernel_locks


def extract_dependency_locks(kernels: list[KernelDependency], *, api: HubApi) -> KernelLocks:
    """The lock of several kernels and all they depend on. ValueError when there are none."""
    if not kernels:
        raise ValueError("No kernels found to lock.")
    return KernelLocks(_lock(kernels, api))


def _lock(kernels, api) -> dict[KernelDependency, KernelLock]:
    roots = [(one.repo_id, getattr(one.version, "version", None), getattr(one.version, "revision", None)) for one in kernels]
    locked = _as_api(api).context().lock(roots)
    return {_dependency(repo_id, version, revision): KernelLock(commit) for repo_id, version, revision, commit in locked}


def _dependency(repo_id: str, version: int | None, revision: str | None) -> KernelDependency:
    which = KernelVersion.Revision(revision) if version is None else KernelVersion.Version(version)
    return KernelDependency(repo_id, which)


# ---- using a lock ----


@dataclass(frozen=True)
class OlderKernelLocks:
    """A kernels.lock of releases before 0.17, which names no versions: it answers for any version of its repositories."""

    commits: tuple[tuple[str, str], ...]  # (repository, commit)

    def get(self, dependency: KernelDependency, default: KernelLock | None = None) -> KernelLock | None:
        """The lock of the dependency's repository."""
        return next((KernelLock(commit) for repo_id, commit in self.commits if repo_id == dependency.repo_id), default)

    def keys(self) -> list[KernelDependency]:
        """The locked kernels, each by its commit."""
        return [_dependency(repo_id, None, commit) for repo_id, commit in self.commits]


def get_locked_kernel_revision(repo_id: str, lockfile: Path) -> tuple[KernelLocks, KernelDependency]:
    """The locks of a file, and the key in them that a repository has. ValueError when it has none."""
    return _get_locked_kernel_revision(repo_id, Path(lockfile).read_text(encoding="utf-8"))


def get_caller_locked_kernel_revision(repo_id: str) -> tuple[KernelLocks, KernelDependency]:
    """The same of the lock file in the distribution of the module that calls this package."""
    for distribution in _get_caller_distributions():
        text = distribution.read_text(_DISTRIBUTION_FILE)
        if text is not None:
            return _get_locked_kernel_revision(repo_id, text)
    raise ValueError(
        f"Could not find a `{_DISTRIBUTION_FILE}` file in the distribution of the calling module. Please lock the kernels "
        "of the project with `kernels lock <project>` and then reinstall it, or give the argument `lockfile`."
    )


def _get_locked_kernel_revision(repo_id: str, lock_json: str) -> tuple[KernelLocks, KernelDependency]:
    locks = _read_locks(lock_json)
    found = [kernel for kernel in locks.keys() if kernel.repo_id == repo_id]
    if not found:
        raise ValueError(
            f"Kernel `{repo_id}` is not locked. Please lock it with `kernels lock <project>` and then reinstall the "
            "project."
        )
    return locks, found[0] if len(found) == 1 else _pick(locks, found)


def _read_locks(text: str) -> KernelLocks | OlderKernelLocks:
    try:
        return KernelLocks.from_json(text)
    except ValueError as error:
        older = _read_older(text)
        if older is None:
            raise
        import logging

        logging.getLogger(__name__).warning("%s", error)
        return older


def _read_older(text: str) -> OlderKernelLocks | None:
    """[{"repo_id": ..., "sha": ..., "variants": ...}, ...]; None when it is not that."""
    import json

    try:
        entries = json.loads(text)
        pairs = [(entry["repo_id"], KernelLock(entry["sha"]).commit) for entry in entries]
    except (ValueError, TypeError, LookupError):
        return None
    names = [repo_id for repo_id, _ in pairs]
    usable = isinstance(entries, list) and all(isinstance(name, str) for name in names)
    return OlderKernelLocks(tuple(pairs)) if usable and len(set(names)) == len(names) else None


def _pick(locks: KernelLocks, found: list[KernelDependency]) -> KernelDependency:
    """Of several entries of one repository that which no other kernel of the lock needs, else the highest version."""
    needed = _needed_by_others(locks)
    free = [kernel for kernel in found if kernel not in needed]
    if len(free) == 1:
        return free[0]
    chosen = max(found, key=lambda kernel: getattr(kernel.version, "version", -1))
    import logging

    logging.getLogger(__name__).warning(
        "`%s` is locked %d times; %r is used", chosen.repo_id, len(found), chosen.version
    )
    return chosen


def _needed_by_others(locks: KernelLocks) -> set[KernelDependency]:
    """What the locked kernels depend on, of those whose metadata is in the cache."""
    from kernels._rust import Metadata
    from kernels.resolver import _which

    context = _get_hf_api().context(cache_only=True)
    needed: set[KernelDependency] = set()
    for kernel, lock in locks.items():
        try:
            found = context.find(kernel.repo_id, commit=lock.commit, cache_only=True, trust=True, **_which(kernel))
        except (OSError, ValueError):
            continue
        needed.update(Metadata.from_bytes(found.metadata).kernel_depends)
    return needed


# ---- whose lock ----


def _get_caller_distributions() -> list:
    """Installed distributions (importlib.metadata.Distribution) that have the package of the calling module."""
    module = _get_caller_module()
    if module is None:
        return []
    import importlib.metadata

    package = module.__name__.partition(".")[0]
    return list(map(importlib.metadata.distribution, importlib.metadata.packages_distributions().get(package, ())))


def _get_caller_module() -> ModuleType | None:
    """The module of the innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] != __package__:
            return sys.modules.get(name)
        frame = frame.f_back
    return None


# ---- the hook of setuptools: entry point egg_info.writers ----


def write_egg_lockfile(cmd, basename: str, filename: str) -> None:
    """Puts the kernels.lock of a project into its metadata; does nothing for a project without kernels."""
    if not _has_kernels(Path.cwd() / "pyproject.toml"):
        return
    content = None
    try:
        content = (Path.cwd() / _DISTRIBUTION_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        import logging

        logging.getLogger(__name__).warning(
            "No lock file %s found in %s: run `kernels lock` there", _DISTRIBUTION_FILE, os.getcwd()
        )
    cmd.write_or_delete_file(basename, filename, content)


def _has_kernels(pyproject: Path) -> bool:
    """Is there a table [tool.kernels.dependencies]?"""
    from kernels.compat import tomllib

    try:
        text = pyproject.read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return tomllib.loads(text).get("tool", {}).get("kernels", {}).get("dependencies") is not None
