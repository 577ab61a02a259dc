# SPDX-License-Identifier: Apache-2.0
"""`kernels info` as a function."""

from ._program import run


def print_kernel_info(
    kernel: str, *, revision: str | None = None, version: int | None = None, json_output: bool = False
):
    """Prints what a kernel is: a folder, or a repository of the Hub. SystemExit(1) after a message when it fails."""
    words = ["--json"] if json_output else []
    if revision is not None:
        words.append(f"--revision={revision}")
    if version is not None:
        words.append(f"--version={version}")
    run("info", *words, "--", kernel or ".")
