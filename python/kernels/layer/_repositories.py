# SPDX-License-Identifier: Apache-2.0
"""Where kernels come from: the Hub, a folder, or the Hub at a commit that a lock file names.

What these three have in common for layers (layer.py) and functions (func.py). `_name` is that of the layer or function,
_what is the word for it, _take takes it out of the loaded module.
"""

import os
from pathlib import Path
from types import ModuleType


class _Repository:
    """Equal and hashed by `_identity`, with its own class only: equal ones share what was loaded."""

    _what = ""
    _name = ""

    def _identity(self) -> tuple:
        raise NotImplementedError

    def _take(self, kernel: ModuleType) -> type:
        raise NotImplementedError

    def __eq__(self, other):
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self):
        return hash(self._identity())


class _HubRepository(_Repository):
    """A version or revision of a repository. Nothing is asked of the Hub before load."""

    def __init__(self, repo_id, revision, version, trust_remote_code, user_agent=None):
        if revision is not None and version is not None:
            raise ValueError("Either a revision or a version must be specified, not both.")
        if revision is None and version is None:
            raise ValueError("Either a revision or a version must be specified.")
        self._repo_id = repo_id
        self._revision = revision
        self._version = version
        self._trust_remote_code = _own_list(trust_remote_code)
        self._user_agent = user_agent

    def load(self) -> type:
        """The layer class. Exceptions as of kernels.get_kernel; ValueError: the kernel has no such layer or function."""
        from kernels.load import get_kernel

        kernel = get_kernel(
            self._repo_id,
            revision=self._revision,
            version=self._version,
            trust_remote_code=self._trust_remote_code,
            user_agent=self._user_agent,
        )
        return self._take(kernel)

    def _identity(self) -> tuple:
        return self._name, self._repo_id, self._revision, self._version, _hashable(self._trust_remote_code)

    def __str__(self) -> str:
        which = f"revision: {self._revision}" if self._version is None else f"version: {self._version}"
        return f"`{self._repo_id}` ({which}), {self._what} `{self._name}`"


class _LocalRepository(_Repository):
    """A folder: a repository, its build folder, or one variant."""

    def __init__(self, repo_path):
        self._repo_path = Path(os.fspath(repo_path))

    def load(self) -> type:
        """The layer class. Exceptions as of kernels.get_local_kernel; ValueError: no such layer or function."""
        from kernels.load import get_local_kernel

        return self._take(get_local_kernel(self._repo_path))

    def _identity(self) -> tuple:
        return self._name, self._repo_path

    def __str__(self) -> str:
        return f"`{self._repo_path}` ({self._what} `{self._name}`)"


class _LockedRepository(_Repository):
    """A repository at the commit of a lock file, which is read here and not again."""

    def __init__(self, repo_id, lockfile, trust_remote_code):
        from kernels.locking import get_caller_locked_kernel_revision, get_locked_kernel_revision

        self._repo_id = repo_id
        self._lockfile = lockfile
        self._trust_remote_code = _own_list(trust_remote_code)
        if lockfile is None:
            self.kernel_locks, self.kernel_dep = get_caller_locked_kernel_revision(repo_id)
        else:
            self.kernel_locks, self.kernel_dep = get_locked_kernel_revision(repo_id, Path(lockfile))

    def load(self) -> type:
        """The layer class. What the kernel depends on comes from the lock too."""
        from kernels.hf_hub import _get_hf_api
        from kernels.load import get_kernel_with_resolver
        from kernels.resolver import LockedHubCacheResolver, LockedHubResolver
        from kernels.validate import AllValidator, default_metadata_validators

        api = _get_hf_api()
        resolver = LockedHubCacheResolver if api.offline else LockedHubResolver
        kernel = get_kernel_with_resolver(
            api=api,
            backend=None,
            kernel=self.kernel_dep,
            resolver=resolver(self.kernel_locks, self._trust_remote_code),
            metadata_validator=AllValidator(default_metadata_validators()),
        )
        return self._take(kernel)

    def _identity(self) -> tuple:
        trust = _hashable(self._trust_remote_code)
        return self._name, self._repo_id, self.kernel_dep, self.kernel_locks, trust

    def __str__(self) -> str:
        commit = self.kernel_locks[self.kernel_dep].commit
        return f"`{self._repo_id}` (revision: {commit}), {self._what} `{self._name}`"


def _own_list(trust):
    return trust if isinstance(trust, bool) else list(trust)


def _hashable(trust):
    return trust if isinstance(trust, bool) else tuple(trust)
