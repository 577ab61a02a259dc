# SPDX-License-Identifier: Apache-2.0
"""`kernels download` as a function."""

from ._program import run


def download_kernels(args):
    """Fetches the kernels of args.project_dir/kernels.lock, with args.all_variants all of their variants."""
    run("download", *(["--all-variants"] if args.all_variants else []), "--", args.project_dir)
