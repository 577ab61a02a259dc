# SPDX-License-Identifier: Apache-2.0
"""The file kernel-status.toml of a repository, which may say that a kernel has moved.

Nothing here follows it: a load takes the build of the repository that was asked for, and logs a warning when it sees the file.
"""

import os
from enum import Enum
from pathlib import Path

from kernels._record import dataclass
from kernels.hf_hub import HubApi


class KernelStatusKind(Enum):
    """What a file can say."""

    REDIRECT = "redirect"


class KernelStatus:
    """What a file says: a Redirect."""

    @staticmethod
    def from_toml(toml: str | os.PathLike) -> "Redirect":
        """Parses the text of the file, or the file at a path. ValueError when it is not right."""
        from kernels.compat import tomllib

        content = tomllib.loads(Path(toml).read_text(encoding="utf-8") if isinstance(toml, os.PathLike) else toml)
        if not content.get("kind"):
            raise ValueError("kernel-status.toml must contain a 'kind' field")
        if content["kind"] != KernelStatusKind.REDIRECT.value:
            raise ValueError(f"Unknown kernel status kind: {content['kind']!r}, expected 'redirect'")
        if not content.get("destination"):
            raise ValueError("kernel-status.toml must contain a 'destination' field when it redirects")
        for name in ("destination", "revision"):
            if not isinstance(content.get(name, ""), str):
                raise ValueError(f"kernel-status.toml: expected a text as {name!r}, found {content[name]!r}")
        return Redirect(content["destination"], content.get("revision", "main"))


@dataclass(frozen=True)
class Redirect(KernelStatus):
    """The kernel has moved to another repository, where the revision is the one to use."""

    destination: str
    revision: str = "main"
    kind: KernelStatusKind = KernelStatusKind.REDIRECT


def resolve_status(api: HubApi, repo_id: str, revision: str) -> tuple[str, str]:
    """(repository, revision) to use for these: the same, since redirects are not followed."""
    return repo_id, revision
