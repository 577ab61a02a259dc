# SPDX-License-Identifier: Apache-2.0
"""Downloading kernels without loading them."""

from pathlib import Path

from kernels._rust import KernelDependency
from kernels._versions import revision_or_version
from kernels.deps import resolve_kernel_tree
from kernels.hf_hub import _get_hf_api
from kernels.locking import lock_kernel_tree
from kernels.resolver import HubCacheResolver, HubResolver


def install_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    local_files_only: bool = False,
    user_agent: str | dict | None = None,
    trust_remote_code: bool | list[str] = False,
) -> Path:
    """Downloads the variant for this machine and those of the kernels it depends on; the folder of the variant.

    With local_files_only, and offline, they must be in the cache. Arguments and exceptions are those of kernels.get_kernel, but
    LOCAL_KERNELS, Python packages, the GPU and the minimum version are not looked at.
    """
    kernel = KernelDependency(repo_id, revision_or_version(revision=revision, version=version))
    api = _get_hf_api(user_agent)
    kind = HubCacheResolver if local_files_only or api.offline else HubResolver
    tree = resolve_kernel_tree(api, kernel, backend, kind(trust_remote_code))
    return tree.install(api=api).location.variant_path


def install_kernel_all_variants(repo_id: str, *, revision: str | None = None, version: int | None = None) -> Path:
    """Downloads all variants of a kernel and of the kernels that they depend on; the folder `build` of this kernel.

    Publishers must be trusted, as for a lock file.
    """
    kernel = KernelDependency(repo_id, revision_or_version(revision=revision, version=version))
    api = _get_hf_api()
    context = api.context()
    folders = {}
    for locked, lock in lock_kernel_tree(kernel, api=api).items():
        folders[locked] = context.install_all(locked.repo_id, lock.commit, ref=_ref(locked))
    return Path(folders[kernel])


def _ref(kernel: KernelDependency) -> str:
    number = getattr(kernel.version, "version", None)
    return kernel.version.revision if number is None else f"v{number}"
