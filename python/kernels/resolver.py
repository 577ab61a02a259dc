# SPDX-License-Identifier: Apache-2.0
"""From the name of a kernel to where it is: on this machine (LocalKernel) or on the Hub (RemoteKernel).

A resolver has resolve(*, api, backend, kernel), which gives such a location, or None when it knows nothing about the
kernel. backend is the name of a backend, None for that of this machine.
"""

import os
import time
from pathlib import Path

from kernels._record import Protocol, dataclass
from kernels._rust import KernelDependency, KernelLocks, KernelPaths, KernelVersion, Metadata
from kernels.hf_hub import HubApi, RepoInfo, _as_api, _trusted

_FRESH_SECONDS = 1.0  # for so long an answer of the Hub is used again: a model asks for one kernel once a layer
_ANSWERS_MAX = 64

_answers: dict = {}  # what was looked up -> (when, RemoteKernel), in that order
_checked: dict = {}  # what was installed and checked in this process -> (its folder, the real path of that)


@dataclass(frozen=True)
class RemoteKernel:
    """A variant on the Hub, of which metadata.json alone was fetched. revision is what it was asked by, or a commit."""

    repo_id: str
    revision: str
    metadata: Metadata
    variant: object  # ArchVariant or NoarchVariant
    _found: object = None  # _native.Found
    _trust: object = True

    @property
    def variant_str(self) -> str:
        """Name of the variant."""
        return self.variant.variant_str

    def install(self, *, api: HubApi) -> "LocalKernel":
        """Fetches the files that the cache lacks and checks each; the kernel on this machine."""
        context = _as_api(api).context()
        if self._found is not None:
            return LocalKernel(_install(context, self._found, self._trust), self.metadata, self)
        commit = context.commit(self.repo_id, revision=self.revision)
        ref = self.revision if commit != self.revision else None
        path = context.install(self.repo_id, commit, self.variant.directory, ref=ref, trust=self._trust)
        return LocalKernel(Path(path), self.metadata, self)


@dataclass(frozen=True)
class LocalKernel:
    """A variant on this machine. origin is the RemoteKernel that it was installed from."""

    variant_path: Path
    metadata: Metadata
    origin: RemoteKernel | None = None
    _found: object = None  # _native.Found, of a kernel in the cache of the Hub

    @property
    def variant_str(self) -> str:
        """Name of the variant, which is that of its folder."""
        return self.variant_path.name

    @property
    def _repo_info(self) -> RepoInfo | None:
        if self.origin is not None:
            return RepoInfo(self.origin.repo_id, self.origin.revision)
        return None if self._found is None else RepoInfo(self._found.repo_id, self._found.commit)

    def install(self, *, api: HubApi) -> "LocalKernel":
        """Itself. What comes from the cache of the Hub is checked."""
        if self._found is not None:
            _install(_as_api(api).context(cache_only=True), self._found, True)
        return self


def _install(context, found, trust) -> Path:
    """What is loaded already is not checked again: its files are not read any more."""
    from kernels.importer import _loaded_kernels

    key = (context.cache_directory, found.repo_id, found.commit, found.variant, found.ref)
    path, real_path = _checked.get(key, (None, None))
    if real_path not in _loaded_kernels:
        path = context.install(found.repo_id, found.commit, found.variant, ref=found.ref, trust=trust)
        _checked[key] = path, os.path.realpath(path)
    return Path(path)


# ---- looking a kernel up ----


def resolve_local_kernel(repo_path: Path, *, backend: str | None) -> LocalKernel:
    """The variant for this machine in a repository folder, its build folder, or the folder of one variant.

    FileNotFoundError tells of each variant why it does not fit.
    """
    found = HubApi().context().find_folder(os.fspath(repo_path), backend=backend)
    return LocalKernel(Path(found.path), Metadata.from_bytes(found.metadata))


def resolve_hub_kernel(repo_id: str, *, api: HubApi, backend: str | None, revision: str) -> RemoteKernel:
    """The variant for this machine in a state of a repository on the Hub; trust is not asked about."""
    return _find_remote(api, repo_id, backend, True, revision=revision)


def resolve_hub_cache_kernel(api: HubApi, repo_id: str, *, revision: str, backend: str | None) -> LocalKernel:
    """The same of what is in the cache; FileNotFoundError when files of the variant are missing there."""
    return _find_cached(api, repo_id, backend, True, revision=revision)


def _find_remote(api, repo_id, backend, trust, hint=True, **which) -> RemoteKernel:
    context = _as_api(api).context()
    key = (context, repo_id, backend, trust if trust is True else tuple(trust or ()), *which.items())
    when, known = _answers.get(key, (0.0, None))
    now = time.monotonic()
    if known is None or now - when > _FRESH_SECONDS:
        known = _ask_hub(context, repo_id, backend, trust, hint, which)
        _answers.pop(key, None)
        _answers[key] = now, known
        for oldest in list(_answers)[:-_ANSWERS_MAX]:
            _answers.pop(oldest, None)
    return known


def _ask_hub(context, repo_id, backend, trust, hint, which) -> RemoteKernel:
    from kernels.variants import parse_variant

    found = context.find(repo_id, backend=backend, trust=trust, hint=hint, **which)
    revision = found.commit if "commit" in which else which.get("revision", found.commit)
    return RemoteKernel(repo_id, revision, Metadata.from_bytes(found.metadata), parse_variant(found.variant), found, trust)


def _find_cached(api, repo_id, backend, trust, **which) -> LocalKernel:
    context = _as_api(api).context(cache_only=True)
    found = context.find(repo_id, backend=backend, trust=trust, cache_only=True, **which)
    return LocalKernel(Path(found.path), Metadata.from_bytes(found.metadata), None, found)


def _which(kernel: KernelDependency) -> dict:
    """The version or revision of a dependency as keywords of _native.Context.find."""
    if isinstance(kernel.version, KernelVersion.Version):
        return {"version": kernel.version.version}
    return {"revision": kernel.version.revision}


# ---- resolvers ----


class Resolver(Protocol):
    """Anything with this method."""

    def resolve(
        self, *, api: HubApi, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel | RemoteKernel | None: ...


@dataclass
class SequentialResolver:
    """Asks resolvers in turn; the first answer counts."""

    resolvers: list[Resolver]

    def resolve(
        self, *, api: HubApi, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel | RemoteKernel | None:
        for resolver in self.resolvers:
            location = resolver.resolve(api=api, backend=backend, kernel=kernel)
            if location is not None:
                return location
        return None


@dataclass
class NoopResolver:
    """Knows no kernel."""

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> None:
        return None


@dataclass
class _Trusting:
    """What the resolvers of the Hub share: True, or the ids that are trusted whoever published them."""

    trust_remote_code: bool | list[str]

    def __post_init__(self):
        self.trust_remote_code = _trusted(self.trust_remote_code)


@dataclass
class HubResolver(_Trusting):
    """Kernels on the Hub."""

    _hint: bool = True  # at a version that fits

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> RemoteKernel:
        trust = self.trust_remote_code
        return _find_remote(api, kernel.repo_id, backend, trust, self._hint, **_which(kernel))


@dataclass
class HubCacheResolver(_Trusting):
    """Kernels of the Hub that were loaded or downloaded before."""

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> LocalKernel:
        return _find_cached(api, kernel.repo_id, backend, self.trust_remote_code, **_which(kernel))


@dataclass
class _Locked:
    kernel_locks: KernelLocks
    trust_remote_code: bool | list[str]

    def __post_init__(self):
        self.trust_remote_code = _trusted(self.trust_remote_code)


@dataclass
class LockedHubResolver(_Locked):
    """Kernels on the Hub, at the commits of a lock."""

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> RemoteKernel:
        commit = _locked_revision(self.kernel_locks, kernel)
        return _find_remote(api, kernel.repo_id, backend, self.trust_remote_code, commit=commit, **_which(kernel))


@dataclass
class LockedHubCacheResolver(_Locked):
    """Kernels of the Hub that are in the cache, at the commits of a lock."""

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> LocalKernel:
        commit = _locked_revision(self.kernel_locks, kernel)
        try:
            return _find_cached(api, kernel.repo_id, backend, self.trust_remote_code, commit=commit, **_which(kernel))
        except FileNotFoundError as error:
            if getattr(error, "status", None) == "NOT_CACHED":
                error.args = (f"{error.args[0]}\nThe kernel is locked but was not downloaded: run "
                              f"`kernels download <project>`.", *error.args[1:])  # fmt: skip
            raise


def _locked_revision(kernel_locks: KernelLocks, kernel: KernelDependency) -> str:
    lock = kernel_locks.get(kernel)
    if lock is None:
        raise ValueError(
            f"Kernel `{kernel.repo_id}` is not locked. Please lock it with `kernels lock <project>` and then "
            "reinstall the project."
        )
    return lock.commit


@dataclass
class KernelPathsResolver:
    """Kernels in folders, each of one version or revision."""

    kernel_paths: KernelPaths

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> LocalKernel | None:
        path = self.kernel_paths.get(kernel)
        return None if path is None else resolve_local_kernel(path, backend=backend)


@dataclass
class RepoPathsResolver:
    """Kernels in folders, whatever version or revision is asked for."""

    local_kernels: dict[str, Path]

    def resolve(self, *, api: HubApi, backend: str | None, kernel: KernelDependency) -> LocalKernel | None:
        path = self.local_kernels.get(kernel.repo_id)
        return None if path is None else resolve_local_kernel(path, backend=backend)
