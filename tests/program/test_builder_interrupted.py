# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the long commands of kernel-builder: one message, exit code 130 (143 after SIGTERM), nothing left behind."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
from conftest import ROOT

SIGNALS = pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
WAIT = 60  # seconds until a step has begun


@pytest.fixture
def kernel(tmp_path):
    shutil.copytree(ROOT / "examples" / "kernels" / "relu-tpu", tmp_path / "kernel",
                    ignore=shutil.ignore_patterns("build", "result", "__pycache__"))
    return tmp_path / "kernel"


@pytest.fixture
def scratch(tmp_path, environment):
    """Where a step that runs says so, and where everything temporary goes."""
    folder = tmp_path / "scratch"
    (folder / "tmp").mkdir(parents=True)
    environment |= {"TMPDIR": str(folder / "tmp"), "KERNEL_BUILDER_STORE": str(tmp_path / "store")}
    return folder


def interrupt(command, number, environment, begun: pathlib.Path):
    """Sends the signal once the file `begun` holds the step's process id: (exit code, stderr). The step is gone then."""
    process = subprocess.Popen([str(word) for word in command], env=environment, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + WAIT
    while not begun.exists() or not begun.read_text().strip():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert output == "" and "Sanitizer" not in errors, errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
    return process.returncode, errors


def sleeping_python(folder: pathlib.Path) -> pathlib.Path:
    """A folder with a python3 that says that it runs, and then takes its time."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "python3"
    script.write_text(f"#!/bin/sh\necho $$ >'{folder}/begun'\nexec sleep 60\n")
    script.chmod(0o755)
    return script.parent


@SIGNALS
def test_build(number, code, programs, environment, kernel, scratch, tmp_path):
    path = f"{sleeping_python(scratch)}:{environment['PATH']}"
    command = [programs.kernel_builder, "build", kernel, "--env", "host"]
    got, errors = interrupt(command, number, {**environment, "PATH": path}, scratch / "begun")
    assert got == code and "interrupted" in errors and "Traceback" not in errors
    assert errors.count("kernel-builder: error: ") == 1, errors
    assert not (kernel / "result").exists() and not (kernel / "result").is_symlink()
    assert list((tmp_path / "store" / "work").iterdir()) == [] and list((scratch / "tmp").iterdir()) == []
    assert not (tmp_path / "store" / "out").exists() or list((tmp_path / "store" / "out").iterdir()) == []


SLEEPING_LIBRARY = """
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    FILE *file = fopen(BEGUN, "w");
    fprintf(file, "%d", (int)getpid());
    fclose(file);
    sleep(60);
}
"""


def test_check_tpu(programs, environment, kernel, scratch, jax_environment):
    store = str(ROOT / "build" / "store")
    subprocess.run([programs.kernel_builder, "build-and-copy", kernel, "--accept-licence", "libtpu", "--no-check-tpu"],
                   env={**environment, "KERNEL_BUILDER_STORE": store}, check=True, capture_output=True)
    begun = scratch / "begun"
    (scratch / "library.c").write_text(SLEEPING_LIBRARY.replace("BEGUN", f'"{begun}"'))
    subprocess.run(["cc", "-shared", "-fPIC", scratch / "library.c", "-o", scratch / "libtpu.so"], check=True)
    command = [programs.kernel_builder, "check-tpu", kernel, "--libtpu", scratch / "libtpu.so"]
    got, errors = interrupt(command, signal.SIGINT, environment, begun)
    assert got == 130 and "interrupted" in errors
    assert list((scratch / "tmp").iterdir()) == []
