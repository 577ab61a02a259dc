# SPDX-License-Identifier: Apache-2.0
"""`kernels versions` as a function."""

from ._program import run


def print_kernel_versions(repo_id: str):
    """Prints each version of a kernel and which of its variants fit this machine. SystemExit(1) when it fails."""
    run("versions", "--", repo_id)
