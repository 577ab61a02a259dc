# SPDX-License-Identifier: Apache-2.0
"""kernel-builder init: names, files, refusals."""
import ast
import json
import os
import pathlib
import subprocess
import tomllib

import pytest
from conftest import ROOT

VECTORS = json.loads((ROOT / "tests" / "data" / "builder" / "init.json").read_text())
NOARCH = {"tpu", "neuron", "cann"}
TPU_FILES = [
    ".gitignore", "CARD.md", "aot.toml", "benchmarks/benchmark.py", "build.toml", "example.py", "flake.nix",
    "tests/__init__.py", "tests/test_row_softmax.py", "torch-ext/row_softmax/__init__.py",
    "torch-ext/row_softmax/layers/__init__.py", "torch-ext/row_softmax/op.py",
    "torch-ext/row_softmax/pallas_kernels.py",
]


def files_below(folder: pathlib.Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file() and ".git" not in path.relative_to(folder).parts)


@pytest.fixture
def init(run, programs, tmp_path):
    work = tmp_path / "work"
    work.mkdir()

    def call(*arguments, code=0, **more):
        done = run(programs.kernel_builder, "init", *arguments, cwd=work, check=False, **more)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    call.work = work
    return call


def chosen(arguments) -> set[str]:
    """Backends on the command line, lower case."""
    if "--backends" not in arguments:
        return {"cuda"}
    first = arguments.index("--backends") + 1
    words = []
    for word in arguments[first:]:
        if word.startswith("--"):
            break
        words.append(word.lower())
    return set(words)


@pytest.mark.parametrize("case", VECTORS["ok"], ids=lambda case: " ".join(case["args"]))
def test_backends_that_need_a_compiler_are_refused(init, case):
    assert not chosen(case["args"]) & NOARCH
    done = init(*case["args"], code=1)
    assert "available now: tpu, neuron, cann" in done.stderr
    assert not files_below(init.work)


@pytest.mark.parametrize("case", VECTORS["other"], ids=lambda case: " ".join(case["args"]))
def test_vectors(init, case):
    arguments = ["tpu" if word == "cpu" else word for word in case["args"]]
    for name, text in case.get("existing", {}).items():
        path = init.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    init(*arguments, code=case.get("expect_exit", 0))
    folder = init.work / arguments[arguments.index("--name") + 1].split("/")[-1]
    for name in case.get("expect_unchanged", []):
        assert (init.work / name).read_text() == "mine"
    for name in case.get("expect_replaced", []):
        assert (init.work / name).read_text() != "mine"
    for name in case.get("expect_absent", []):
        assert not (init.work / name).exists()
    if "expect_framework" in case:
        project = tomllib.loads((folder / "build.toml").read_text())
        assert case["expect_framework"] in project
        assert project["general"]["backends"] == case["expect_backends"]
    if "expect_general_name" in case:
        project = tomllib.loads((folder / "build.toml").read_text())
        assert project["general"]["name"] == case["expect_general_name"]
        assert project["general"]["hub"]["repo-id"] == "someone/MyKernel"


def test_a_tpu_project(init, run, programs):
    done = init("--name", "someone/Row_Softmax", "--backends", "TPU", "tpu", "--license", "MIT")
    folder = init.work / "Row-Softmax"
    assert done.stdout == f"Initialized `someone/Row-Softmax` at {folder}\n"
    assert files_below(folder) == TPU_FILES
    project = tomllib.loads((folder / "build.toml").read_text())
    assert project == {
        "general": {"name": "row-softmax", "license": "MIT", "backends": ["tpu"], "version": 1, "edition": 5,
                    "hub": {"repo-id": "someone/Row-Softmax"}},
        "torch-noarch": {},
    }
    assert tomllib.loads((folder / "aot.toml").read_text())["function"][0]["name"] == "row_softmax"
    assert run(programs.kernel_builder, "check-config", folder).stderr == ""
    for path in folder.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))
        assert "@" not in path.read_text().replace("@pytest", "")
    pallas = (folder / "torch-ext/row_softmax/pallas_kernels.py").read_text()
    imported = {node.names[0].name.split(".")[0] if isinstance(node, ast.Import) else node.module.split(".")[0]
                for node in ast.walk(ast.parse(pallas)) if isinstance(node, (ast.Import, ast.ImportFrom))}
    assert imported == {"jax"}
    assert 'jax_op(add_op_namespace_prefix("row_softmax"), ' in (folder / "torch-ext/row_softmax/op.py").read_text()


def git(folder: pathlib.Path, *arguments) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}).stdout


def test_all_files_are_staged_and_nothing_is_committed(init):
    init("--name", "a/row-softmax", "--backends", "tpu")
    folder = init.work / "row-softmax"
    assert sorted(line[3:] for line in git(folder, "status", "--short").splitlines()) == TPU_FILES
    assert all(line.startswith("A  ") for line in git(folder, "status", "--short").splitlines())
    assert subprocess.run(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=folder, stdout=subprocess.PIPE).returncode


def test_a_second_init_changes_nothing_until_told_to(init):
    init("--name", "a/row-softmax", "--backends", "tpu")
    folder = init.work / "row-softmax"
    (folder / "own.txt").write_text("mine")
    (folder / "build.toml").write_text("mine")
    done = init("--name", "a/row-softmax", "--backends", "tpu", code=1)
    assert all(f"  {name}\n" in done.stderr + "\n" for name in TPU_FILES) and "--overwrite" in done.stderr
    assert (folder / "build.toml").read_text() == "mine"
    init("--name", "a/row-softmax", "--backends", "tpu", "--overwrite")
    assert (folder / "own.txt").read_text() == "mine"
    assert (folder / "build.toml").read_text() != "mine"


def test_where_the_project_goes(init, run, programs, start_hub, environment):
    init("there", "--name", "a/x1", "--backends", "tpu")
    assert (init.work / "there" / "torch-ext" / "x1").is_dir()
    init("b/x2", "--backends", "tpu")
    assert "b/x2" in (init.work / "x2" / "build.toml").read_text()
    assert "--name" in init("x3", "--backends", "tpu", code=1).stderr
    env = {**environment, "HF_ENDPOINT": start_hub("--token", "me:secret").url, "HF_TOKEN": "secret"}
    init("deep/down/x3", "--backends", "tpu", env=env)
    assert "me/x3" in (init.work / "deep" / "down" / "x3" / "build.toml").read_text()
    (init.work / "x4").mkdir()
    run(programs.kernel_builder, "init", "--backends", "tpu", cwd=init.work / "x4", env=env)
    assert "me/x4" in (init.work / "x4" / "build.toml").read_text()


def test_a_folder_that_cannot_be_made(init):
    (init.work / "file").write_text("")
    done = init("file/x1", "--name", "a/x1", "--backends", "tpu", code=1)
    assert "file" in done.stderr
    assert files_below(init.work) == ["file"]


def test_no_project_for_both_kinds(init):
    assert "two projects" in init("--name", "a/x1", "--backends", "tpu", "cpu", code=1).stderr
    assert "licence" in init("--name", "a/x1", "--backends", "tpu", "--license", 'a"b', code=1).stderr
    assert not files_below(init.work)


def test_several_backends_of_python_kernels(init, run, programs):
    init("--name", "a/mix", "--backends", "tpu", "neuron", "cann")
    folder = init.work / "mix"
    project = tomllib.loads((folder / "build.toml").read_text())
    assert project["general"]["backends"] == ["tpu", "neuron", "cann"]
    assert project["general"]["neuron"] == {"python-depends": ["nki"]}
    for path in folder.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))
    run(programs.kernel_builder, "check-config", folder)
    run(programs.kernel_builder, "build", folder, "--variant", "torch-npu")
    metadata = json.loads((folder / "result" / "torch-npu" / "metadata.json").read_text())
    assert metadata["backend"] == {"type": "cann"} and metadata["python-depends"] == []


def test_the_card_that_init_writes(init, run, programs):
    init("--name", "a/row-softmax", "--backends", "tpu")
    card = run(programs.kernel_builder, "fill-card", init.work / "row-softmax").stdout
    assert card.startswith("---\nlibrary_name: kernels\nlicense: apache-2.0\n---\n")
    for part in ('get_kernel("a/row-softmax", version=1)', "kernel.row_softmax", "trust_remote_code=True",
                 "- `row_softmax`", "- `RowSoftmax`", "kernels benchmark a/row-softmax --version 1"):
        assert part in card


def test_the_stored_card_is_the_template(init):
    init("--name", "a/row-softmax", "--backends", "tpu")
    assert (init.work / "row-softmax" / "CARD.md").read_text() == (ROOT / "templates/init/common/CARD.md").read_text()


def test_a_tpu_project_builds_and_passes_its_check(init, run, programs, jax_environment):
    init("--name", "a/row-softmax", "--backends", "tpu")
    folder = init.work / "row-softmax"
    run(programs.kernel_builder, "build", folder, "--accept-licence", "libtpu", timeout=600)
    manifest = json.loads((folder / "result" / "torch-tpu" / "aot" / "manifest.json").read_text())
    made = [(one["platform"], one["inputs"]) for one in manifest["functions"][0]["specialisations"]]
    assert sorted(made) == [(platform, [shape]) for platform in ("cpu", "tpu")
                            for shape in ("bf16[256,1024]", "f32[256,1024]")]
    report = json.loads((folder / "result").resolve().parent.joinpath("build-report.json").read_text())
    checks = {check["name"]: check["status"] for check in report["variants"][0]["checks"]}
    assert checks["check-tpu"] == "passed" and checks["export"] == "passed"


def test_the_current_folder_is_told_by_its_name(init):
    (init.work / "row-softmax").mkdir()
    done = init(".", "--name", "someone/row-softmax", "--backends", "tpu")
    assert done.stdout == f"Initialized `someone/row-softmax` at {init.work.resolve()}\n"
    done = init("row-softmax/..", "--name", "someone/row-softmax", "--backends", "tpu", "--overwrite")
    assert done.stdout == f"Initialized `someone/row-softmax` at {init.work.resolve()}\n"


@pytest.mark.parametrize("name", ["class", "Lambda", "is"])
def test_keywords_of_python_are_no_names(init, name):
    done = init("--name", f"someone/{name}", "--backends", "tpu", code=1)
    assert "keyword of Python" in done.stderr and not files_below(init.work)


def test_words_behind_backends_are_backends(init):
    done = init("--backends", "tpu", "my-kernel", code=2)
    assert "the other arguments go before it" in done.stderr and "`my-kernel`" in done.stderr
