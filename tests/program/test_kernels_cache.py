# SPDX-License-Identifier: Apache-2.0
"""`kernels download` and `kernels cache`: filling the cache or a folder, looking at it, checking it, clearing it up."""
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import hub_api
from scripted_hub import ScriptedHub
from test_kernels_cli import add_torch, on_terminal, publish_released, read, transcripts

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def machine(environment, hub, tmp_path):
    """Torch for the CPU, and a Hub with good/leaf, good/top that depends on it, and good/metal for another machine."""
    leaf = {**hub_api.variant("torch-cpu", name="leaf"), **hub_api.variant("torch-cuda", name="leaf")}
    needs = {"kernel-depends": [{"repo-id": "good/leaf", "version": 1}]}
    commits = {
        "good/leaf": hub_api.publish(hub, "good/leaf", {"main": {"README.md": "# leaf\n"}, "v1": leaf})["v1"],
        "good/top": hub_api.publish(hub, "good/top", {"main": {}, "v1": hub_api.variant("torch-cpu", name="top", **needs)})["v1"],
        "good/metal": hub_api.publish(hub, "good/metal", {"main": {}, "v1": hub_api.variant("torch-metal", name="metal")})["v1"]}
    return {**environment, "HF_ENDPOINT": hub, "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}, commits


def lock(folder: pathlib.Path, commits: dict[str, str]) -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    entries = [{"dependency": {"repo-id": repo_id, "version": 1}, "lock": {"commit": commit}}
               for repo_id, commit in sorted(commits.items())]
    (folder / "kernels.lock").write_text(json.dumps(entries, indent=2))
    return folder


def cache_of(env) -> pathlib.Path:
    return pathlib.Path(env["HF_HOME"]) / "hub"


def variants_in(cache: pathlib.Path) -> set[str]:
    return {path.parent.name for path in cache.glob("*/snapshots/*/build/*/metadata.json")}


# ---- download ----


def test_project(machine, programs, run, tmp_path):
    env, commits = machine
    project = lock(tmp_path / "p", {name: commits[name] for name in ("good/leaf", "good/top")})
    done = run(programs.kernels, "download", project, env=env)
    assert done.stdout == "" and f"Downloading kernel: good/leaf (revision: {commits['good/leaf']})\n" in done.stderr
    assert "metadata.json" not in done.stderr  # a line a kernel, as the release
    assert variants_in(cache_of(env)) == {"torch-cpu"}
    quiet = run(programs.kernels, "download", project, "--all-variants", "--quiet", env=env)
    assert (quiet.stdout, quiet.stderr) == ("", "") and variants_in(cache_of(env)) == {"torch-cpu", "torch-cuda"}
    offline = {**env, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": NOWHERE}
    entries = json.loads(run(programs.kernels, "download", project, "--json", env=offline).stdout)
    assert [(entry["repo_id"], entry["version"], entry["variants"], entry["files"], entry["error"]) for entry in entries] == [
        ("good/leaf", 1, ["torch-cpu"], 2, None), ("good/top", 1, ["torch-cpu"], 2, None)]
    entries = json.loads(run(programs.kernels, "download", project, "--json", "--all-variants", env=offline).stdout)
    assert entries[0]["variants"] == ["torch-cpu", "torch-cuda"] and entries[0]["files"] == 4
    assert entries[0]["bytes"] == sum(path.stat().st_size for path in pathlib.Path(entries[0]["path"]).rglob("*") if path.is_file())


def test_what_one_entry_lacks_does_not_stop_the_others(machine, programs, run, tmp_path):
    env, commits = machine
    project = lock(tmp_path / "p", {**commits, "good/gone": "a" * 40})
    done = run(programs.kernels, "download", project, "--json", env=env, check=False)
    entries = {entry["repo_id"]: entry for entry in json.loads(done.stdout)}
    assert done.returncode == 1 and list(entries) == ["good/gone", "good/leaf", "good/metal", "good/top"]
    assert entries["good/leaf"]["error"] is None and entries["good/top"]["error"] is None
    assert "Cannot find a build variant for this system in good/metal" in entries["good/metal"]["error"]
    assert "good/gone" in entries["good/gone"]["error"]
    assert "torch-metal: backend (metal) does not match system backend (cpu) and is not universal" in done.stderr


def test_no_lock_empty_lock_bad_lock(environment, programs, run, tmp_path):
    done = run(programs.kernels, "download", tmp_path, env=environment, check=False)
    assert (done.returncode, done.stdout) == (1, "") and f"No kernels.lock file found in: {tmp_path}" in done.stderr
    (tmp_path / "kernels.lock").write_text("[]")
    done = run(programs.kernels, "download", tmp_path, env=environment)
    assert (done.stdout, done.stderr) == ("", "")
    assert run(programs.kernels, "download", tmp_path, "--json", env=environment).stdout == "[]\n"
    (tmp_path / "kernels.lock").write_text("{}")
    assert run(programs.kernels, "download", tmp_path, env=environment, check=False).returncode == 1


def test_transcripts(programs, run, environment, start_hub, tmp_path):
    """The released program's runs, on a Hub that has what they had (its commits have other ids here)."""
    described = read("layers/cli_transcripts.json")["hub"]
    hub = start_hub().url
    ids = {}
    for repo_id, branches in described.items():
        made = hub_api.publish(hub, repo_id, {name: branch["files"] for name, branch in branches.items()})
        ids.update({branch["commit"]: made.get(name, "") for name, branch in branches.items()})
    count = 0
    for entry in transcripts("download", "kernels 0.17.2") + transcripts("download", "kernels 0.17.0.dev0"):
        project = tmp_path / f"p{count}"
        project.mkdir()
        text = entry.get("kernels.lock")
        uncaught_format = "uncaught" in entry or (text == "{}")
        if text is not None:
            for theirs, ours in ids.items():
                text = text.replace(theirs, ours)
            (project / "kernels.lock").write_text(text)
        env = {**environment, "HF_ENDPOINT": hub, "VIRTUAL_ENV": add_torch(project, entry["backend"])}
        done = run(programs.kernels, *entry["argv"], env=env, check=False, cwd=project)
        both_formats = uncaught_format and text != "{}"  # each release refused the other's format; we read both
        assert done.stdout == "" and done.returncode == (0 if both_formats else 1 if text == "{}" else entry["exit"]), (entry, done)
        count += 1
    assert count >= 12


def test_a_folder_for_a_machine_without_network(machine, programs, run, tmp_path, build_dir):
    env, commits = machine
    target = tmp_path / "stick"
    done = run(programs.kernels, "download", "good/top", "--version", "1", "--to", target, env=env)
    assert "  build/torch-cpu/metadata.json (" in done.stderr  # a line for each file that has arrived
    assert not cache_of(env).exists() and variants_in(target) == {"torch-cpu"}
    assert {path.name for path in target.glob("kernels--*")} == {"kernels--good--leaf", "kernels--good--top"}  # what it needs too
    alone = {**env, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": NOWHERE, "KERNELS_CACHE": str(target)}
    loaded = run(build_dir / "tests" / "load_driver", "good/top", "--version", 1, env=alone).stdout
    assert f"path: {target}/kernels--good--top/snapshots/{commits['good/top']}/build/torch-cpu" in loaded
    all_variants = tmp_path / "all"
    out = run(programs.kernels, "download", "good/top", "--version=1", "--all-variants", "--json", "--to", all_variants, env=env).stdout
    assert [(entry["repo_id"], entry["variants"]) for entry in json.loads(out)] == [
        ("good/top", ["torch-cpu"]), ("good/leaf", ["torch-cpu", "torch-cuda"])]
    locked = tmp_path / "locked"
    project = lock(tmp_path / "p", {name: commits[name] for name in ("good/leaf", "good/top")})
    run(programs.kernels, "download", project, "--to", locked, env=env)
    run(build_dir / "tests" / "load_driver", "good/top", "--version", 1, env={**alone, "KERNELS_CACHE": str(locked)})


def test_revision_and_bad_arguments(machine, programs, run):
    env, commits = machine
    out = run(programs.kernels, "download", "good/leaf", "--revision", "v1", "--json", env=env).stdout
    assert json.loads(out)[0]["commit"] == commits["good/leaf"]
    assert (cache_of(env) / "kernels--good--leaf" / "refs" / "v1").read_text() == commits["good/leaf"]
    done = run(programs.kernels, "download", "good/leaf", "--revision", "v1", "--version", "1", env=env, check=False)
    assert done.returncode == 1 and "Only one of" in done.stderr
    assert run(programs.kernels, "download", "a", "--version=-1", env=env, check=False).returncode == 2
    done = run(programs.kernels, "download", "good/leaf", "--version", "1", "--to", "", env=env, check=False)
    assert done.returncode == 1 and "--to" in done.stderr
    done = run(programs.kernels, "download", "good/leaf", "--version", "7", env=env, check=False)
    assert done.returncode == 1 and "Version 7 not found, available versions: 1" in done.stderr
    assert run(programs.kernels, "download", "../x", "--version", "7", env=env, check=False).returncode == 1


def test_bars_on_a_terminal(environment, programs, tmp_path):
    content = os.urandom(2 << 20)
    name = "build/torch-universal/large.bin"
    metadata = hub_api.metadata("big", "cpu")
    with ScriptedHub({name: content, "build/torch-universal/metadata.json": metadata.encode()}) as server:
        server.pause, server.piece = 0.1, 256 << 10
        env = {**environment, "HF_ENDPOINT": server.url, "TERM": "xterm", "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}
        written = on_terminal([programs.kernels, "download", "a/b", "--version", "1"], env)
    assert "Downloading kernel: a/b" in written and "large.bin" in written and "[###" in written
    assert "\033[A" in written  # the bar of the file stands below that of the whole
    assert "1 kernel, 2 files, 2.1 MB; all fetched" in written.replace("\r", "")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(number, code, environment, programs, tmp_path):
    files = {"build/torch-universal/large.bin": bytes(8 << 20),
             "build/torch-universal/metadata.json": hub_api.metadata("big", "cpu").encode()}
    with ScriptedHub(files) as server:
        server.pause, server.piece = 0.2, 65536
        env = {**environment, "HF_ENDPOINT": server.url, "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}
        process = subprocess.Popen([programs.kernels, "download", "a/b", "--version", "1"], env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not list(cache_of(env).glob("*/blobs/*.incomplete")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == code and not list(cache_of(env).glob("*/blobs/*.incomplete"))


# ---- cache ----


@pytest.fixture
def filled(machine, programs, run):
    env, commits = machine
    run(programs.kernels, "download", "good/top", "--version", "1", "--all-variants", env=env)
    return env, commits


def test_ls(filled, programs, run, environment):
    env, commits = filled
    text = run(programs.kernels, "cache", "ls", env=env).stdout
    assert f"  {commits['good/leaf'][:12]} v1  4 files, " in text and text.rstrip().endswith(": torch-cpu")
    repositories = json.loads(run(programs.kernels, "cache", "ls", "--json", env=env).stdout)
    assert [repository["repo_id"] for repository in repositories] == ["good/leaf", "good/top"]
    snapshot, = repositories[0]["snapshots"]
    assert (snapshot["commit"], snapshot["refs"], snapshot["variants"], snapshot["files"]) == (
        commits["good/leaf"], ["v1"], ["torch-cpu", "torch-cuda"], 4)
    one = json.loads(run(programs.kernels, "cache", "ls", "good/top", "--json", env=env).stdout)
    assert [repository["repo_id"] for repository in one] == ["good/top"]
    done = run(programs.kernels, "cache", "ls", "good/none", env=env, check=False)
    assert done.returncode == 1 and "good/none" in done.stderr
    assert run(programs.kernels, "cache", "ls", env={**env, "KERNELS_CACHE": "/nonexistent/x"}).stdout == ""


def test_other_tools_are_left_alone(filled, programs, run):
    env, _ = filled
    for name in ("models--a--b", "datasets--a--b", "kernels--..--b", "stray"):
        (cache_of(env) / name / "blobs").mkdir(parents=True)
        (cache_of(env) / name / "blobs" / "x.1234abcd.incomplete").write_text("x")
    assert len(json.loads(run(programs.kernels, "cache", "ls", "--json", env=env).stdout)) == 2
    run(programs.kernels, "cache", "prune", "--older-than", "0", env=env)
    assert len(list(cache_of(env).glob("*/blobs/x.1234abcd.incomplete"))) == 4


def test_verify(filled, programs, run):
    env, commits = filled
    done = json.loads(run(programs.kernels, "cache", "verify", "--json", env=env).stdout)
    assert done["problems"] == [] and done["files"] >= 4 and done["unchecked"] == 0
    snapshot = cache_of(env) / "kernels--good--leaf" / "snapshots" / commits["good/leaf"]
    flipped = (snapshot / "build/torch-cpu/metadata.json").resolve()
    flipped.write_bytes(flipped.read_bytes().replace(b"leaf", b"deaf"))
    (snapshot / "build/torch-cuda/lost").symlink_to("../../../../blobs/nothing")
    (cache_of(env) / "kernels--good--leaf" / "refs" / "v9").write_text("b" * 40)
    done = run(programs.kernels, "cache", "verify", "--json", env=env, check=False)
    problems = {pathlib.Path(problem["path"]).name: problem["problem"] for problem in json.loads(done.stdout)["problems"]}
    assert done.returncode == 1 and set(problems) == {flipped.name, "lost", "v9"}
    assert "content" in problems[flipped.name] and "nowhere" in problems["lost"] and "commit" in problems["v9"]
    assert flipped.exists()
    text = run(programs.kernels, "cache", "verify", "good/leaf", env=env, check=False).stdout
    assert "3 problems" in text and str(flipped) in text
    assert run(programs.kernels, "cache", "verify", "good/top", env=env).returncode == 0


def test_verify_of_plain_files(machine, programs, run):
    """Without links a listing tells what the content must be."""
    env, commits = machine
    run(programs.kernels, "download", "good/leaf", "--version", "1", env={**env, "HF_HUB_DISABLE_SYMLINKS": "1"})
    assert json.loads(run(programs.kernels, "cache", "verify", "--json", env=env).stdout)["files"] == 2
    path = cache_of(env) / "kernels--good--leaf" / "snapshots" / commits["good/leaf"] / "build/torch-cpu/__init__.py"
    path.write_bytes(path.read_bytes()[::-1])
    done = run(programs.kernels, "cache", "verify", "--json", env=env, check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["problems"][0]["path"] == str(path)


def prune(run, programs, env, *options):
    return json.loads(run(programs.kernels, "cache", "prune", "--json", *options, env=env).stdout)


def test_prune(filled, programs, run):
    env, commits = filled
    repository = cache_of(env) / "kernels--good--leaf"
    used = {path.name for path in (repository / "blobs").iterdir()}
    remains = [repository / "blobs" / f"{'a' * 40}.1234abcd.incomplete", repository / "blobs" / ("b" * 40),
               repository / "refs" / "v1.1234abcd.tmp", repository / ".kernels" / f"{'c' * 40}.json"]
    for path in remains:
        path.write_text("x" * 100)
    assert [entry["path"] for entry in prune(run, programs, env)["removed"]] == [str(remains[3])]  # all else is young
    remains[3].write_text("x" * 100)
    dry = prune(run, programs, env, "--older-than", "0", "--dry-run")
    assert {entry["path"] for entry in dry["removed"]} == set(map(str, remains)) and dry["dry_run"]
    assert all(path.exists() for path in remains)
    lock_path = cache_of(env) / ".locks" / "kernels--good--leaf" / f"{'a' * 40}.lock"
    with open(lock_path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        prune(run, programs, env, "--older-than", "0")
        assert [path.exists() for path in remains] == [True, False, False, False]  # somebody is at the first
    assert prune(run, programs, env, "--older-than", "0")["bytes"] == 100
    assert {path.name for path in (repository / "blobs").iterdir()} == used
    assert prune(run, programs, env, "--older-than", "0")["removed"] == []
    assert run(programs.kernels, "cache", "prune", "--older-than", "0", env=env).stdout == "nothing to remove\n"
    assert json.loads(run(programs.kernels, "cache", "verify", "--json", env=env).stdout)["problems"] == []


def test_prune_detached(filled, programs, run):
    env, commits = filled
    repository = cache_of(env) / "kernels--good--top"
    (repository / "refs" / "v1").unlink()
    assert prune(run, programs, env, "--older-than", "0")["removed"] == []
    removed = prune(run, programs, env, "--older-than", "0", "--detached")["removed"]
    assert str(repository / "snapshots" / commits["good/top"]) in {entry["path"] for entry in removed}
    assert list((repository / "blobs").iterdir()) == [] and list((repository / ".kernels").iterdir()) == []
    assert len(json.loads(run(programs.kernels, "cache", "ls", "good/leaf", "--json", env=env).stdout)[0]["snapshots"]) == 1


def test_command_lines(programs, run, tmp_path):
    """The recorded command lines of `download`: usage errors, and those that get as far as looking for a lock file."""
    count = 0
    for case in read("layers/cli_argv.json")["cases"]:
        if not case["argv"] or case["argv"][0] != "download":
            continue
        done = run(programs.kernels, *case["argv"], check=False, cwd=tmp_path)
        count += 1
        if "exit" in case:
            assert done.returncode == case["exit"] and done.stdout == "" and done.stderr.startswith("usage: kernels"), case
        else:
            assert done.returncode == 1 and f"in: {case['parsed']['project_dir']}" in done.stderr, case
    assert count >= 8
    assert run(programs.kernels, "download", ".", "--js", check=False, cwd=tmp_path).returncode == 2  # extensions in full only
    assert run(programs.kernels, "cache", check=False).returncode == 2
