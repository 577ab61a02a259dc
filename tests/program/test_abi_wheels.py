# SPDX-License-Identifier: Apache-2.0
"""Real libraries: all of tests/data/abi/wheels.json, read inside their wheels.

The wheels are 260 MB, so they are looked for in the folder KERNELS_ABI_WHEELS (fetch them by name and version, each
must have the recorded SHA-256); without that variable the test is skipped.
"""
import hashlib
import json
import os
import pathlib

import pytest

import abi_answers

FOLDER = os.environ.get("KERNELS_ABI_WHEELS")
WHEELS = json.loads((pathlib.Path(__file__).parents[1] / "data" / "abi" / "wheels.json").read_text())["wheels"]


@pytest.fixture(scope="session")
def checker(build_dir) -> pathlib.Path:
    return build_dir / "src" / "cli" / "kernel-abi-check"


@pytest.mark.skipif(FOLDER is None, reason="KERNELS_ABI_WHEELS names no folder of wheels")
@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel["wheel"][:60])
def test_wheel(wheel, checker, run, environment):
    path = pathlib.Path(FOLDER) / wheel["wheel"]
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
