# SPDX-License-Identifier: Apache-2.0
"""The native program called from Python: what it writes goes through sys.stdout and sys.stderr."""

import os
import subprocess
import sys

__all__ = ["run"]


def run(*words):
    """Runs `kernels <words>`. SystemExit with its code when it fails."""
    from kernels.cli import _PROGRAM

    environment = {"KERNELS_PYTHON": sys.executable, **os.environ}
    command = ["kernels", *(os.fspath(word) for word in words)]
    done = subprocess.run(command, executable=_PROGRAM, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    sys.stderr.write(done.stderr.decode("utf-8", "replace"))
    sys.stdout.write(done.stdout.decode("utf-8", "replace"))
    sys.stdout.flush()
    if done.returncode != 0:
        raise SystemExit(done.returncode)
