# SPDX-License-Identifier: Apache-2.0
"""Versions of kernels: the branches v0, v1, v2 and so on of a repository."""

from kernels._record import dataclass
from kernels._rust import KernelDependency, KernelVersion
from kernels.hf_hub import HubApi


@dataclass(frozen=True)
class GitRefInfo:
    """A branch: "v1", "refs/heads/v1" and the commit it is at."""

    name: str
    ref: str
    target_commit: str


def _branch(version: int, commit: str) -> GitRefInfo:
    return GitRefInfo(f"v{version}", f"refs/heads/v{version}", commit)


def _get_available_versions(repo_id: str, *, local_files_only: bool) -> dict[int, GitRefInfo]:
    """The versions of a repository, ascending; of those that were loaded before if local_files_only."""
    found = HubApi().context(cache_only=local_files_only).versions(repo_id)
    return {version: _branch(version, commit) for version, commit in found}


def _get_available_versions_from_cache(repo_id: str) -> dict[int, GitRefInfo]:
    return _get_available_versions(repo_id, local_files_only=True)


def resolve_version_spec_as_ref(repo_id: str, version_spec: int, local_files_only: bool) -> GitRefInfo:
    """The branch of a version. ValueError names the versions there are; a newer one is told as a warning."""
    commit = HubApi().context(cache_only=local_files_only).commit(repo_id, version=version_spec)
    return _branch(version_spec, commit)


def revision_or_version(*, revision: str | None, version: int | None) -> KernelVersion:
    """The one that is not None, as a KernelVersion; ValueError when it is none or both."""
    if revision is not None and version is not None:
        raise ValueError("Only one of `revision` or `version` must be specified.")
    if version is not None:
        return KernelVersion.Version(version)
    if revision is not None:
        return KernelVersion.Revision(revision)
    raise ValueError(
        "A kernel version or revision must be specified, also where LOCAL_KERNELS names the kernel: `version=<number>` "
        "for a version of its interface, `revision=<branch, tag or commit>` for one state of its repository."
    )


def resolve_kernel_version(kernel: KernelDependency, local_files_only: bool) -> str:
    """The commit of a version, or the revision as it is."""
    if isinstance(kernel.version, KernelVersion.Version):
        return resolve_version_spec_as_ref(kernel.repo_id, kernel.version.version, local_files_only).target_commit
    return kernel.version.revision


def select_revision_or_version(
    repo_id: str, *, revision: str | None, version: int | None, local_files_only: bool
) -> str:
    """The commit of a version, or the revision as it is, of exactly one that must be given."""
    which = revision_or_version(revision=revision, version=version)
    return resolve_kernel_version(KernelDependency(repo_id, which), local_files_only)
