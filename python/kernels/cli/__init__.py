# SPDX-License-Identifier: Apache-2.0
"""The command `kernels`: a native program, which the wheel brings along."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROGRAM = os.path.join(_PACKAGE, "_bin", "kernels.exe" if os.name == "nt" else "kernels")


def main() -> None:
    """Runs the program with the arguments of sys.argv. SystemExit when it fails.

    Where this process is the console script and nothing else, it becomes the program.
    """
    if not os.path.isfile(_PROGRAM):
        sys.exit(f"kernels: the native program is missing from this installation: expected {_PROGRAM}")
    os.environ.setdefault("KERNELS_PYTHON", sys.executable)  # torch and plugins are looked for among its packages
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix" and _is_the_script():
        os.execv(_PROGRAM, sys.argv)
    import subprocess

    code = subprocess.call(sys.argv, executable=_PROGRAM)
    if code != 0:
        sys.exit(code)


def _is_the_script() -> bool:
    """Not when a program calls main() and goes on afterwards."""
    return getattr(sys.modules.get("__main__"), "__file__", None) == sys.argv[0]


# ---- the commands as functions, for code that calls those of the released package ----


def kernel_info(args):
    """kernels info. args: kernel, revision, version, json."""
    from .info import print_kernel_info

    print_kernel_info(args.kernel, revision=args.revision, version=args.version, json_output=args.json)


def kernel_versions(args):
    """kernels versions. args: repo_id."""
    from .versions import print_kernel_versions

    print_kernel_versions(args.repo_id)


def run_benchmark(args):
    """kernels benchmark. args: repo_id, branch, version, iterations, warmup, output, json, visual, rasterized."""
    from .benchmark import run_benchmark

    run_benchmark(
        args.repo_id,
        args.branch,
        args.version,
        iterations=args.iterations,
        warmup=args.warmup,
        output=args.output,
        print_json=args.json,
        visual=args.visual,
        rasterized=args.rasterized,
    )


def _check_moved(_args):
    """kernels check: says where it moved to. SystemExit(1)."""
    from ._program import run

    run("check")
