# SPDX-License-Identifier: Apache-2.0
"""The module kernel_abi_check: every expression of tests/data/abi/python_api.json, and what is new."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

DATA = pathlib.Path(__file__).parents[1] / "data" / "abi"
CASES = json.loads((DATA / "python_api.json").read_text())["cases"]
# Better than what is recorded, on purpose.
IMPROVED = {
    "hash(k.BinaryFormat.ELF)": "1",
    "k.ObjectFile('bin/base.so').check_manylinux('manylinux2014')": "[]",
    "k.ObjectFile('bin/py_non.so').check_python_abi('3.9')[0] == k.ObjectFile('bin/py_non.so').check_python_abi('3.9')[0]":
        "True",
}
# Evaluates the expressions in one child process (a sanitized extension needs its run-time loaded first).
CHILD = """
import json, sys
import kernel_abi_check as k
answers = []
for expression in json.load(sys.stdin):
    try:
        answers.append({"repr": repr(eval(expression))})
    except Exception as error:
        answers.append({"raises": type(error).__name__, "str": str(error)})
print(json.dumps(answers))
"""


@pytest.fixture(scope="session")
def evaluate(build_dir):
    extension = build_dir / "python" / "kernel_abi_check" / "_native.abi3.so"
    assert extension.is_file(), f"{extension} is missing: build it first"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(build_dir / "python"), "LANG": "C.UTF-8",
           "ASAN_OPTIONS": "detect_leaks=0"}
    linked = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    sanitizers = [line.split()[2] for line in linked.splitlines() if "libasan" in line or "libubsan" in line]
    if sanitizers:
        env["LD_PRELOAD"] = " ".join(sanitizers)

    def evaluate_all(expressions: list[str]) -> list[dict]:
        done = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps(expressions), env=env, cwd=DATA, text=True,
                              capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return evaluate_all


@pytest.fixture(scope="session")
def answers(evaluate) -> dict:
    return dict(zip([case["expr"] for case in CASES], evaluate([case["expr"] for case in CASES])))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expr"][:60])
def test_released_behaviour(case, answers):
    got = answers[case["expr"]]
    if case["expr"] in IMPROVED:
        assert got == {"repr": IMPROVED[case["expr"]]}
    elif "raises" in case:
        assert got.get("raises") == case["raises"], got
    else:
        assert got == {"repr": case["repr"]}


def test_reasons(evaluate):
    missing, text = evaluate(["k.ObjectFile('nope.so')", "k.ObjectFile('bin/hand/text.so').format()"])
    assert missing["str"] == "Cannot open object file `nope.so`: No such file or directory (os error 2)"
    assert "bin/hand/text.so" in text["str"]


def test_torch(evaluate):
    new, cxx, invented = evaluate([
        "[(s.name, s.added) for s in k.ObjectFile('bin/torch_c.so').check_torch_stable_abi('2.9') if hasattr(s, 'added')]",
        "k.ObjectFile('bin/torch_cxx.so').check_torch_stable_abi('2.10')[0]",
        "[s.name for s in k.ObjectFile('bin/torch_c.so').check_torch_stable_abi('2.13')]"])
    assert len(eval(new["repr"])) == 6
    assert cxx["repr"].startswith("NonStableTorchSymbol(name='at::")
    assert invented["repr"] == "['aoti_torch_invented_by_us']"


def test_symbols(evaluate):
    dynamic, static, wrong = evaluate([
        "len(k.ObjectFile('bin/glibc_new.stripped.so').check_manylinux('manylinux_2_28'))",
        "len(k.ObjectFile('bin/glibc_new.stripped.so').check_manylinux('manylinux_2_28', symbols='symtab'))",
        "k.ObjectFile('bin/base.so').check_manylinux('manylinux_2_28', symbols='all')"])
    assert (dynamic["repr"], static["repr"], wrong["raises"]) == ("4", "0", "ValueError")


def test_version_texts(evaluate):
    cases = json.loads((DATA / "versions.json").read_text())["parse"]
    answers = evaluate([f"k.IncompatibleMacOSVersion(version={case['in']!r}).version" for case in cases])
    for case, answer in zip(cases, answers):
        if "out" in case:
            assert answer == {"repr": repr(case["out"])}, case
        else:
            assert answer["raises"] == case["error"], case
