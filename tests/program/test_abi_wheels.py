# SPDX-License-Identifier: Apache-2.0
"""Real libraries: all of tests/data/abi/wheels.json, read inside their wheels.

The wheels are 260 MB. They are looked for in the folder KERNELS_ABI_WHEELS; `./run test --full` fetches
what is missing there, without that variable into build/abi-wheels. Else the tests are skipped.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

import abi_answers
from conftest import FULL

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = os.environ.get("KERNELS_ABI_WHEELS") or (ROOT / "build" / "abi-wheels" if FULL else None)
WHEELS = json.loads((ROOT / "tests" / "data" / "abi" / "wheels.json").read_text())["wheels"]


def fetch(folder: pathlib.Path, wheel: str) -> None:
    """By name, version and tags, from the package index that pip is set up for."""
    name, version, _, abi, platforms = wheel.removesuffix(".whl").split("-")
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "-d", folder, f"{name}=={version}"]
    if platforms != "any":
        command += ["--python-version", "3.11"]
        command += [part for platform in platforms.split(".") for part in ("--platform", platform)]
    if platforms != "any" and abi != "none":
        command += ["--implementation", "cp", "--abi", abi]
    subprocess.run(command, check=True)


@pytest.fixture(scope="session")
def checker(build_dir) -> pathlib.Path:
    return build_dir / "src" / "cli" / "kernel-abi-check"


@pytest.mark.longer
@pytest.mark.skipif(FOLDER is None, reason="KERNELS_ABI_WHEELS names no folder of wheels (./run test --full fetches them)")
@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel["wheel"][:60])
def test_wheel(wheel, checker, run, environment):
    path = pathlib.Path(FOLDER) / wheel["wheel"]
    if FULL and not path.is_file():
        fetch(path.parent, wheel["wheel"])
    assert hashlib.sha256(path.read_bytes()).hexdigest() == wheel["sha256"]
    runs = sorted({(check["check"], check["arg"]) for file in wheel["files"] for check in file["checks"]})
    for check, argument in runs or [("python_abi", "3.9")]:
        done = run(checker, "--json", abi_answers.CHECKS[check][1], argument, path, check=False)
        files = {file["path"].partition("!")[2]: file for file in json.loads(done.stdout)["files"]}
        assert set(files) >= {file["path"] for file in wheel["files"]}
        for file in wheel["files"]:
            assert "error" not in files[file["path"]], files[file["path"]]["error"]
            for want in file["checks"]:
                if (want["check"], want["arg"]) == (check, argument):
                    answer = want.get("right", want["reference"])
                    got = abi_answers.findings(files[file["path"]], check)
                    assert abi_answers.same(got, answer), (file["path"], check, argument, got[:9], answer)
