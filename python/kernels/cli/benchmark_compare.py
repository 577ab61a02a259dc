# SPDX-License-Identifier: Apache-2.0
"""What else a benchmark runs with: the values of --compare."""

import os
from pathlib import Path

from .benchmark_kernel import Target

__all__ = ["parse_comparison"]

VARIANT = "variant:"


def parse_comparison(text, target):
    """A Target: "variant:NAME" of the same kernel, a folder, OWNER/NAME@REVISION, or a revision of the same kernel."""
    if text.startswith(VARIANT):
        name = text[len(VARIANT) :]
        return Target(target.repo_id, target.revision, target.folder, target.shown_name, variant=name)
    if os.path.isdir(text):
        return Target(None, None, Path(text), text)
    repo_id, at, revision = text.partition("@")
    if at:
        return Target(repo_id, revision)
    if target.repo_id is None:
        raise FileNotFoundError(f"--compare {text}: there is no such folder, and a local kernel has no revisions")
    return Target(target.repo_id, text)
