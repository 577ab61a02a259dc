# SPDX-License-Identifier: Apache-2.0
"""Loading kernels: find, check, download, import.

Arguments that several functions have:

    repo_id             "owner/name" on the Hub
    version, revision   exactly one: a version of the kernel's interface (a number), or a branch, tag or commit
    backend             None for the backend of this machine, or "cpu"
    trust_remote_code   False: the publisher must be one that the Hub calls trusted. A list: these repositories are trusted
                        whoever published them. The object True: everything is. It counts for the kernel and for each that it
                        depends on
    user_agent          what else to tell the Hub: a text, or a dictionary of names and values
"""

import os
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from kernels._rust import KernelDependency, KernelVersion
from kernels._versions import revision_or_version
from kernels.deps import resolve_kernel_tree
from kernels.hf_hub import HubApi, _get_hf_api
from kernels.locking import get_caller_locked_kernel_revision, get_locked_kernel_revision
from kernels.resolver import (
    HubCacheResolver,
    HubResolver,
    LockedHubCacheResolver,
    LockedHubResolver,
    NoopResolver,
    RepoPathsResolver,
    Resolver,
    SequentialResolver,
)
from kernels.validate import AllValidator, ArchValidator, MetadataValidator, default_metadata_validators


def get_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    user_agent: str | dict | None = None,
    trust_remote_code: bool | list[str] = False,
    check_arch: bool = True,
) -> ModuleType:
    """Loads a kernel of the Hub and what it depends on; its module. Loading one again gives the same module.

    Folders named by the variable LOCAL_KERNELS ("owner/name=folder:...") come before the Hub. With check_arch a kernel that was
    not built for the GPU in use is refused.

    ValueError: neither or both of version and revision, no such version, publisher not trusted, no such backend here, kernels
    that depend on each other. FileNotFoundError: no variant for this machine (the message says why for each), not in the cache
    while offline. ImportError: a Python package is missing. RuntimeError: the kernel needs a newer version of this package, or
    another GPU. Failures of the Hub are the exceptions of huggingface_hub.errors, or of kernels.errors where that is not
    installed.
    """
    kernel = KernelDependency(repo_id, revision_or_version(revision=revision, version=version))
    api = _get_hf_api(user_agent)
    return get_kernel_with_resolver(
        api=api,
        backend=backend,
        kernel=kernel,
        resolver=SequentialResolver([_get_local_kernel_overrides(), _hub(api, trust_remote_code)]),
        metadata_validator=_validators(check_arch),
    )


def get_local_kernel(
    repo_path: Path,
    *,
    backend: str | None = None,
    trust_remote_code: bool | list[str] = False,
    user_agent: str | dict | None = None,
) -> ModuleType:
    """Loads the kernel in a folder: a repository, its build folder, or one variant. What it depends on comes from the Hub."""
    api = _get_hf_api(user_agent)
    name = os.fspath(repo_path)
    return get_kernel_with_resolver(
        api=api,
        backend=backend,
        kernel=KernelDependency(name, KernelVersion.Version(0)),
        resolver=SequentialResolver(
            [RepoPathsResolver({name: Path(repo_path)}), _get_local_kernel_overrides(), _hub(api, trust_remote_code)]
        ),
        metadata_validator=_validators(check_arch=False),
    )


def has_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    trust_remote_code: bool | list[str] = False,
    check_arch: bool = True,
) -> bool:
    """Is there a variant for this machine, also of all that the kernel depends on? Nothing but metadata.json is fetched.

    The minimum version and Python packages are not looked at. Other failures than a missing variant are raised as by get_kernel.
    """
    from kernels.errors import EntryNotFoundError

    kernel = KernelDependency(repo_id, revision_or_version(revision=revision, version=version))
    api = _get_hf_api()
    hub = _hub(api, trust_remote_code, hint=False)
    try:
        tree = resolve_kernel_tree(api, kernel, backend, SequentialResolver([_get_local_kernel_overrides(), hub]))
    except (FileNotFoundError, EntryNotFoundError):
        return False
    try:
        if check_arch:
            tree.validate_metadata(ArchValidator())
    except RuntimeError:
        return False
    return True


def load_kernel(repo_id: str, *, lockfile: Path | None = None, backend: str | None = None) -> ModuleType:
    """Loads a kernel from the cache, at the commit that a lock file names. The Hub is never asked.

    lockfile None: the kernels.lock that the distribution of the calling module was built with. ValueError: not locked.
    FileNotFoundError: not in the cache (`kernels download` puts it there), or no variant for this machine.
    """
    locks, kernel = _locked(repo_id, lockfile)
    return get_kernel_with_resolver(
        api=_get_hf_api(),
        backend=backend,
        kernel=kernel,
        resolver=LockedHubCacheResolver(locks, False),
        metadata_validator=_validators(check_arch=False),
    )


def get_locked_kernel(
    repo_id: str,
    *,
    lockfile: Path | None = None,
    trust_remote_code: bool | list[str] = False,
    user_agent: str | dict | None = None,
) -> ModuleType:
    """Loads a kernel of the Hub at the commit that a lock file names, and what it depends on likewise.

    lockfile as in load_kernel, failures as in get_kernel; ValueError also when a kernel is not locked.
    """
    locks, kernel = _locked(repo_id, lockfile)
    api = _get_hf_api(user_agent)
    kind = LockedHubCacheResolver if api.offline else LockedHubResolver
    return get_kernel_with_resolver(
        api=api,
        backend=None,
        kernel=kernel,
        resolver=kind(locks, trust_remote_code),
        metadata_validator=_validators(check_arch=False),
    )


def get_kernel_with_resolver(
    *,
    api: HubApi,
    backend: str | None,
    kernel: KernelDependency,
    resolver: Resolver | None,
    metadata_validator: MetadataValidator,
) -> ModuleType:
    """What all of these do: resolve the tree, let the validator look at it, install it, import it."""
    tree = resolve_kernel_tree(api, kernel, backend, resolver)
    tree.validate_metadata(metadata_validator)
    return tree.install(api=api).load()


def _hub(api: HubApi, trust_remote_code, hint: bool = True) -> Resolver:
    return HubCacheResolver(trust_remote_code) if api.offline else HubResolver(trust_remote_code, _hint=hint)


def _validators(check_arch: bool) -> MetadataValidator:
    return AllValidator([*default_metadata_validators(), *([ArchValidator()] if check_arch else [])])


def _locked(repo_id: str, lockfile: Path | None) -> tuple:
    if lockfile is None:
        return get_caller_locked_kernel_revision(repo_id)
    return get_locked_kernel_revision(repo_id, lockfile)


# ---- LOCAL_KERNELS ----


def _get_local_kernel_overrides() -> Resolver:
    text = os.environ.get("LOCAL_KERNELS")
    return NoopResolver() if text is None else RepoPathsResolver(_parse_local_kernel_overrides(text))


@lru_cache(maxsize=1)
def _parse_local_kernel_overrides(text: str) -> dict[str, Path]:
    """Folders by repository, from "owner/name=folder:owner/name=folder"; on Windows ";" separates too."""
    found = {}
    for entry in text.split(";" if os.name == "nt" and ";" in text else ":"):
        repo_id, equals, path = entry.partition("=")
        if not equals:
            raise ValueError(
                f"Invalid LOCAL_KERNELS entry: {entry}. Expected format: repo_id_1=path_1:repo_id_2=path_2"
            )
        found[repo_id] = Path(path)
    return found
