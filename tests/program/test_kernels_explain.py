# SPDX-License-Identifier: Apache-2.0
"""`kernels info --explain` and `--system FILE`: which variant a machine gets and why, here and on described machines."""
import json
import os
import pathlib

import pytest

import hub_api
from test_kernels_cli import as_machine, transcript_hub  # noqa: F401 (fixtures)

MACHINE = {"os": "linux", "cpu": "x86_64", "backend": "cuda", "backend_version": "12.8", "torch": "2.15.0+cu128",
           "torch_cxx11_abi": True, "glibc": {"value": "2.39", "from": "somebody"}}


@pytest.fixture
def explain(programs, run, as_machine, transcript_hub):  # noqa: F811
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub)

    def explain_kernel(*arguments, check=True, **variables):
        return run(programs.kernels, "info", *arguments, "--explain", env={**environment, **variables}, check=check)

    return explain_kernel


def described(tmp_path, **changes) -> pathlib.Path:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({**MACHINE, **changes}))
    return path


def test_this_machine(explain):
    text = explain("acme/stub").stdout
    assert text.startswith("Repository: acme/stub\nRevision: v10\n")  # what info says without it
    assert "\nChosen for this machine: torch-tpu\n" in text
    chosen = text.split("Chosen for this machine: torch-tpu\n")[1].splitlines()[0].strip()
    assert chosen == "builds for this backend come before universal ones"
    lines = text.split("Variants, the best first:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == ["torch-tpu", "torch-universal", "torch-stable-abi29-cpu-x86_64-linux",
                                                   "torch210-cxx11-cpu-x86_64-linux"]
    assert "fits: no compiled code, for backend tpu, as here" in lines[0]
    assert "fits: no compiled code, for every backend" in lines[1]
    assert "backend (cpu) does not match selected backend (tpu)" in lines[2]
    assert "Torch version (2.10) does not match environment Torch version (2.15)" in lines[3]
    assert "\nOther versions:\n  2  torch-tpu\n  1  torch-tpu\n" in text
    assert "\nThis machine:\n  Platform: " in text and "(uname)" in text
    assert "  Backend: tpu (torch_tpu is installed and torch can use no GPU)\n" in text


def test_json(explain):
    document = json.loads(explain("acme/stub", "--version", "2", "--json").stdout)
    assert list(document)[:3] == ["repo_id", "revision", "name"] and list(document)[-1] == "extra"
    extra = document["extra"]
    assert len(extra["commit"]) == 40 and (extra["chosen"], extra["because"]) == ("torch-tpu", "it is the only one that fits")
    assert extra["variants"] == [{"name": "torch-tpu", "compatible": True, "preferred": True, "reason": None,
                                  "fits": "no compiled code, for backend tpu, as here"}]
    assert [(entry["version"], entry["variant"]) for entry in extra["other_versions"]] == [(10, "torch-tpu"), (1, "torch-tpu")]
    assert extra["system"]["backend"] == "tpu"


def test_nothing_fits(explain, tmp_path):
    """Both values of each rejected variant; the version that fits."""
    done = explain("acme/stub", "--version", "2", "--system", described(tmp_path))
    assert "\nNo variant fits " in done.stdout
    assert "torch-tpu  backend (tpu) does not match system backend (cuda) and is not universal" in done.stdout
    assert "  10  torch-universal\n  1  torch-cuda\n" in done.stdout
    extra = json.loads(explain("acme/stub", "--version", "2", "--json", "--system", described(tmp_path)).stdout)["extra"]
    assert extra["chosen"] is None and extra["because"] is None and extra["variants"][0]["fits"] is None


def test_another_machine(explain, tmp_path):
    path = described(tmp_path)
    text = explain("acme/stub", "--version", "1", "--system", path).stdout
    assert f"Chosen for {path}: torch-cuda\n" in text and f"\n{path}:\n  Platform: x86_64-linux\n" in text
    assert "  Backend: cu128 (given)\n" in text and "  glibc: 2.39 (somebody)\n" in text


def test_another_backend(explain):
    text = explain("acme/stub", "--version", "1", "--backend", "cpu").stdout
    assert "Chosen for this machine: torch-cpu\n" in text
    assert "  Backend: cpu (asked for with --backend; detected is tpu)" in text
    done = explain("acme/stub", "--backend", "rocm", check=False)
    assert done.returncode == 1 and "Invalid backend 'rocm', system supported backends: cpu, tpu" in done.stderr


def test_offline(explain):
    explain("acme/stub")
    done = explain("acme/stub", HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert "Chosen for this machine: torch-tpu" in done.stdout


def test_a_folder(programs, run, as_machine, tmp_path):  # noqa: F811
    for path, text in {**hub_api.variant("torch-tpu"), **hub_api.variant("torch-cpu")}.items():
        target = tmp_path / "k" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    environment = as_machine("cpu", PATH=str(tmp_path))
    text = run(programs.kernels, "info", "k", "--explain", cwd=tmp_path, env=environment).stdout
    assert text.startswith("Path: k\n") and "Chosen for this machine: torch-cpu\n" in text
    assert "Other versions" not in text


def test_a_machine_from_its_own_description(programs, run, as_machine, tmp_path):  # noqa: F811
    """What --system --json prints is what --system reads."""
    environment = as_machine("tpu")
    first = run(programs.kernels, "info", "--system", "--json", env=environment).stdout
    (tmp_path / "machine.json").write_text(first)
    again = run(programs.kernels, "info", "--json", "--system", tmp_path / "machine.json").stdout
    assert json.loads(first)["system"] == json.loads(again)["system"]
    text = run(programs.kernels, "info", "--system", tmp_path / "machine.json").stdout
    assert "Backend: tpu (torch_tpu is installed" in text


def test_versions_and_download_for_another_machine(programs, run, as_machine, transcript_hub, tmp_path):  # noqa: F811
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    path = described(tmp_path)
    text = run(programs.kernels, "versions", "acme/stub", "--system", path, env=environment).stdout
    assert "Version 1:\n\ntorch-cuda compatible, preferred" in text
    run(programs.kernels, "download", "acme/stub", "--version", "1", "--system", path, "--to", tmp_path / "to", env=environment)
    builds = [folder for folder, _, _ in os.walk(tmp_path / "to") if folder.endswith("/build")]
    assert [os.listdir(folder) for folder in builds] == [["torch-cuda"]]


@pytest.mark.parametrize("changes,part", [
    ({"backend": "npu"}, "machine.json:1:"), ({"os": None}, "os: missing"), ({"torhc": "2"}, "torhc: unknown key"),
])
def test_descriptions_that_cannot_be_read(changes, part, programs, run, environment, tmp_path):
    path = described(tmp_path, **changes)
    for command in (["versions", "a/b"], ["info", "a/b", "--explain"], ["download", "a/b", "--version", "1"],
                    ["run", "a/b@v1", "relu"]):
        done = run(programs.kernels, *command, "--system", path, env=environment, check=False)
        assert done.returncode == 1 and part in done.stderr and done.stderr.count("error: ") == 1, (command, done)


def test_wrong_use(programs, run):
    for words in (["--explain"], ["--system", "--explain"], ["k", "--system"], ["k", "--system", "x.json"],
                  ["k", "--backend", "cpu"], ["k", "--explain", "--system"]):
        done = run(programs.kernels, "info", *words, check=False)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("usage: kernels info")
