# SPDX-License-Identifier: Apache-2.0
"""Real libraries: all of tests/data/abi/wheels.json, read inside their wheels.

The wheels are 260 MB. They are looked for in the folder KERNELS_ABI_WHEELS; `./run test --full` fetches
what is missing there, without that variable into build/abi-wheels. Else the tests are skipped.
"""
import hashlib
import json
import os
import pathlib
import re
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


# ---- agreement with auditwheel and abi3audit, from the environment of the benchmarks ----

PEERS = ROOT / "build" / "bench-venv" / "bin"
# auditwheel also reads what a library finds on this machine: torchcodec's answer depends on the ffmpeg that is installed.
LINUX = [wheel["wheel"] for wheel in WHEELS if "manylinux" in wheel["wheel"] and "torchcodec" not in wheel["wheel"]]
ABI3 = [wheel["wheel"] for wheel in WHEELS if "-abi3-" in wheel["wheel"]]


def needs(peer: str) -> pathlib.Path:
    if not (PEERS / peer).is_file():
        pytest.skip(f"no {peer} in build/bench-venv: ./run test --full makes it")
    return PEERS / peer


def checked(run, checker, wheel: str, *options) -> list[dict]:
    path = pathlib.Path(FOLDER) / wheel
    if not path.is_file():
        fetch(path.parent, wheel)
    return json.loads(run(checker, "--json", *options, path, check=False).stdout)["files"]


@pytest.mark.full
@pytest.mark.parametrize("wheel", LINUX, ids=lambda wheel: wheel[:60])
def test_agrees_with_auditwheel(wheel, checker, run):
    """The lowest policy that the symbol versions of all libraries allow."""
    floors = [file["floors"]["manylinux"] for file in checked(run, checker, wheel) if file["format"]]
    shown = subprocess.run([needs("auditwheel"), "show", pathlib.Path(FOLDER) / wheel], capture_output=True, text=True)
    words = " ".join(shown.stdout.split())
    if shown.returncode != 0:
        pytest.skip(f"auditwheel does not take it: {shown.stderr.strip()[-100:]}")
    found = re.findall(r'constrains the platform tag to "([^"]+)"', words) or re.findall(r'platform tag: "([^"]+)"', words)
    ours = max(floors, key=lambda floor: [int(number) for number in floor.split("_")[1:]])
    assert found[0].startswith(ours + "_"), (ours, words)


@pytest.mark.full
@pytest.mark.parametrize("wheel", ABI3, ids=lambda wheel: wheel[:60])
def test_agrees_with_abi3audit(wheel, checker, run, tmp_path):
    floor = wheel.split("-")[2].removeprefix("cp3")
    findings = [finding for file in checked(run, checker, wheel, "--python-abi", f"3.{floor}")
                for finding in file["findings"] if finding["check"] == "python" and finding["severity"] == "error"]
    report = tmp_path / "report.json"
    subprocess.run([needs("abi3audit"), "--report", "--output", report, pathlib.Path(FOLDER) / wheel], capture_output=True,
                   env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, timeout=300)
    objects = next(iter(json.loads(report.read_text())["specs"].values()))["wheel"]
    wrong = [one for one in objects if not one["result"]["is_abi3"] or not one["result"]["is_abi3_baseline_compatible"]]
    assert objects and bool(wrong) == bool(findings), (wrong, findings)
