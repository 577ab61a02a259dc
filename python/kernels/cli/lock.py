# SPDX-License-Identifier: Apache-2.0
"""`kernels lock` as a function."""

from ._program import run


def lock_kernels(args):
    """Writes args.project_dir/kernels.lock for the dependencies in its pyproject.toml."""
    run("lock", "--", args.project_dir)
