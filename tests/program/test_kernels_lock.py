# SPDX-License-Identifier: Apache-2.0
"""`kernels lock`, and `kernels download` of what was locked: the recorded runs, dependencies of all kinds, failures."""
import json
import os
import pathlib
import re
import stat

import pytest

import hub_api
from test_hub_replay import Server
from test_kernels_cli import add_torch, as_machine, publish_released, read, transcripts  # noqa: F401 (as_machine is a fixture)

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
OLD = "a lock of before"


def project(folder: pathlib.Path, dependencies: dict[str, object] | None = None, text: str | None = None) -> pathlib.Path:
    """A project with these dependencies, and a lock that a failure must not touch."""
    folder.mkdir(parents=True, exist_ok=True)
    if dependencies is not None:
        text = "[tool.kernels.dependencies]\n" + "".join(f'"{key}" = {value}\n' for key, value in dependencies.items())
    if text is not None:
        (folder / "pyproject.toml").write_text(text)
    (folder / "kernels.lock").write_text(OLD)
    return folder


def locked(folder: pathlib.Path) -> dict[tuple, str]:
    """(repository, version or revision) -> commit, in the order of the file."""
    entries = json.loads((folder / "kernels.lock").read_text())
    return {(entry["dependency"]["repo-id"], entry["dependency"].get("version", entry["dependency"].get("revision"))):
            entry["lock"]["commit"] for entry in entries}


def kernel(depends=(), folders=("torch-universal",), **more) -> dict[str, str]:
    """Files of a kernel whose variants all depend on (repository, version or revision)."""
    listed = [{"repo-id": repo, "version" if isinstance(what, int) else "revision": what} for repo, what in depends]
    files = {}
    for folder in folders:
        files |= hub_api.variant(folder, **{"kernel-depends": listed}, **more)
    return files


@pytest.fixture
def lock(programs, run, environment):
    def run_lock(folder, hub, *options, check=True, **variables):
        done = run(programs.kernels, "lock", *options, folder, env={**environment, "HF_ENDPOINT": hub, **variables},
                   check=False)
        assert done.stdout == ""
        if check:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 1 and done.stderr.count("kernels: error: ") == 1, done
            if (pathlib.Path(folder) / "kernels.lock").exists():
                assert (pathlib.Path(folder) / "kernels.lock").read_text() == OLD
        return done

    return run_lock


@pytest.fixture
def trusting_hub(start_hub):
    return start_hub("--trusted", "good").url


# ---- recorded runs ----


def with_commits(text: str, commits: dict[str, str]) -> str:
    for recorded, ours in commits.items():
        text = text.replace(recorded, ours)
    return text


def fill_project(folder: pathlib.Path, entry, commits):
    folder.mkdir()
    if "pyproject.toml" in entry:
        (folder / "pyproject.toml").write_text(entry["pyproject.toml"])
    if "kernels.lock" in entry:
        (folder / "kernels.lock").write_text(with_commits(entry["kernels.lock"], commits))


# The older oracle writes the older form, which is what --format 1 is for. Its lock of nothing is an error to us, too.
@pytest.mark.parametrize("oracle,options,count", [("kernels 0.17.2", [], 9), ("kernels 0.17.0.dev0", ["--format", "1"], 9)])
def test_transcripts(oracle, options, count, start_hub, programs, run, as_machine, tmp_path):  # noqa: F811
    hub = start_hub("--trusted", "acme").url
    commits = {}
    for repo_id, branches in read("layers/cli_transcripts.json")["hub"].items():
        made = hub_api.publish(hub, repo_id, {name: branch["files"] for name, branch in branches.items()})
        commits |= {branches[name]["commit"]: commit for name, commit in made.items()}
    environment = as_machine("tpu", HF_ENDPOINT=hub)
    entries = transcripts("lock", oracle)
    for index, entry in enumerate(entries):
        folder = tmp_path / f"project-{index}"
        folder.mkdir()
        if "pyproject.toml" in entry:
            (folder / "pyproject.toml").write_text(entry["pyproject.toml"])
        done = run(programs.kernels, "lock", *options, *entry["argv"][1:], cwd=folder, check=False, env=environment)
        check_run(entry, done, folder, commits)
    assert len(entries) == count


def check_run(entry, done, folder, commits):
    assert done.stdout == ""
    if entry.get("written kernels.lock") == "[]":
        assert done.returncode == 1 and "No kernels found to lock" in done.stderr
    elif entry.get("uncaught", "").endswith("RevisionNotFoundError"):
        assert done.returncode == 0  # that of a repository without a branch main, which we do not need
    else:
        assert done.returncode == entry["exit"], (entry["argv"], done)
        assert done.stderr.count("kernels: error: ") == (1 if entry["exit"] else 0) and "Traceback" not in done.stderr
        if entry["exit"] == 0:
            assert (folder / "kernels.lock").read_text() == with_commits(entry["written kernels.lock"], commits)
    for line in with_commits(entry.get("stderr", ""), commits).splitlines():
        line = line.removeprefix("WARNING:root:").replace("build variant variant", "build variant")
        assert line.replace("contains invalid", "contains an invalid") in done.stderr, (line, done.stderr)


@pytest.fixture
def released_hub(trusting_hub):
    publish_released(trusting_hub)
    return trusting_hub


def test_released_runs(released_hub, programs, run, as_machine, tmp_path):  # noqa: F811
    """release17/cli.json: one project folder from run to run."""
    folder = tmp_path / "PROJECT"
    folder.mkdir()
    environment = as_machine("cuda", HF_ENDPOINT=released_hub)
    commits = {}
    runs = [entry for entry in read("release17/cli.json")["runs"] if entry["argv"][0] in ("lock", "download")]
    for entry in runs:
        prepare_released(folder, entry, commits)
        done = run(programs.kernels, *entry["argv"], cwd=tmp_path, env=environment, check=False)
        assert (done.returncode, done.stdout) == (entry["exit"], ""), (entry["argv"], done)
        if "kernels.lock after" in entry:
            commits = dict(zip(re.findall("[0-9a-f]{40}", entry["kernels.lock after"]),
                               re.findall("[0-9a-f]{40}", (folder / "kernels.lock").read_text())))
            assert (folder / "kernels.lock").read_text() == with_commits(entry["kernels.lock after"], commits)
        for line in with_commits(entry.get("stderr", ""), commits).splitlines():
            assert line in done.stderr, (entry["argv"], line, done.stderr)
        if "traceback" in entry and '"repo_id"' not in entry.get("kernels.lock before", ""):
            assert done.stderr.count("kernels: error: ") == 1
    assert len(runs) == 13


def prepare_released(folder, entry, commits):
    """The files of a run; a `download` follows the `lock` before it, unless it says otherwise or comes after `[]`."""
    names = {"pyproject.toml": "pyproject.toml", "kernels.lock before": "kernels.lock"}
    for key, name in names.items():
        if key in entry:
            (folder / name).write_text(entry[key])
    if entry["exit"] == 1 and "No kernels.lock" in entry.get("stderr", ""):
        (folder / "kernels.lock").unlink()


@pytest.mark.parametrize("name,options", [("cli_lock_download_load", []), ("older_lock", ["--format", "1"])])
def test_recorded_exchange(name, options, lock, programs, run, environment, tmp_path):
    """The very text that was recorded, and no request that was not."""
    scenario = json.loads((DATA / "loader" / "http" / f"{name}.json").read_text())
    step = scenario["steps"][0]
    server = Server(scenario)
    server.begin(step)
    for request in step["requests"]:  # ours asks for a part of the listing that was recorded
        if "/tree/" in request["path"]:
            server.records["GET", request["path"].removesuffix("/build") + "/build"] = request["response"]
    server.records.setdefault(("GET", "/api/organizations/acme/overview"),
                              {"status": 200, "body": scenario["organizations"]["acme"]})
    dependency = re.search(r'"(acme/\w+)\\?" = (\d)', step["call"])
    folder = project(tmp_path / "p", {dependency[1]: dependency[2]})
    done = lock(folder, server.fill("{ENDPOINT}"), *options)
    assert (folder / "kernels.lock").read_text() == step["result"]
    assert server.unexpected == []
    assert len(server.seen) <= len(step["requests"])
    assert all(text in done.stderr for _, _, text in step["log"])
    if name == "cli_lock_download_load":
        check_recorded_download(server, scenario["steps"][1], folder, programs, run, environment)
    server.shutdown()
    server.server_close()


def check_recorded_download(server, step, folder, programs, run, environment):
    """The listings are known since the lock: only files are asked for."""
    server.begin(step)
    variables = {**environment, "HF_ENDPOINT": server.fill("{ENDPOINT}"), "VIRTUAL_ENV": add_torch(folder, "cpu")}
    done = run(programs.kernels, "download", folder, "--quiet", env=variables)
    assert (done.stdout, done.stderr) == ("", "")
    assert server.unexpected == [] and server.seen and not any("/api/" in path for _, path, _ in server.seen)
    done = run(programs.kernels, "download", folder, env={**variables, "HF_HUB_OFFLINE": "1"})
    assert [line for line in done.stderr.splitlines() if "Downloading kernel" in line] == step["stderr"].splitlines()


# ---- what is locked ----


def test_dependencies_of_every_variant(trusting_hub, lock, tmp_path):
    """Also those of variants that no machine of ours could load; each kernel once, however it is reached."""
    made = hub_api.publish(trusting_hub, "good/top", {"v1": {
        **kernel([("good/leaf", 1)], ["torch-cpu"]), **kernel([("good/mid", 2), ("good/leaf", "main")], ["torch-metal"])}})
    made |= {("mid", branch): commit for branch, commit in
             hub_api.publish(trusting_hub, "good/mid", {"v2": kernel([("good/leaf", 1)])}).items()}
    leaf = hub_api.publish(trusting_hub, "good/leaf", {"main": kernel(), "v1": kernel(), "v2": kernel()})
    folder = project(tmp_path / "p", {"good/top": 1, "good/leaf": 2})
    lock(folder, trusting_hub)
    assert list(locked(folder).items()) == [
        (("good/leaf", 1), leaf["v1"]), (("good/leaf", 2), leaf["v2"]), (("good/leaf", "main"), leaf["main"]),
        (("good/mid", 2), made["mid", "v2"]), (("good/top", 1), made["v1"])]
    assert not (folder / "kernels.lock").read_text().endswith("\n")


def test_lock_then_download_then_offline(trusting_hub, lock, programs, run, as_machine, tmp_path):  # noqa: F811
    """Acceptance 18 of the release: three entries, three lines, and then no request for any of them."""
    hub_api.publish(trusting_hub, "good/top", {"v1": kernel([("good/mid", 1)], ["torch-cpu", "torch-cuda"])})
    hub_api.publish(trusting_hub, "good/mid", {"v1": kernel([("good/leaf", 1)])})
    hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel()})
    folder = project(tmp_path / "p", {"good/top": 1})
    assert lock(folder, trusting_hub).stderr == ""
    assert len(locked(folder)) == 3
    environment = as_machine("cpu", HF_ENDPOINT=trusting_hub)
    done = run(programs.kernels, "download", folder, env=environment)
    assert done.stdout == "" and done.stderr.splitlines() == [
        f"Downloading kernel: {repo} (revision: {commit})" for (repo, _), commit in locked(folder).items()]
    done = run(programs.kernels, "download", folder, env={**environment, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert "error" not in done.stderr


def test_variant_without_metadata_is_passed_over(trusting_hub, lock, tmp_path):
    files = kernel([("good/leaf", 1)], ["torch-cpu"]) | {"build/torch-tpu/__init__.py": ""}
    hub_api.publish(trusting_hub, "good/top", {"v1": files})
    hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel()})
    folder = project(tmp_path / "p", {"good/top": 1})
    done = lock(folder, trusting_hub)
    assert set(locked(folder)) == {("good/top", 1), ("good/leaf", 1)}
    assert "warning: Variant torch-tpu of good/top (revision: " in done.stderr and "has no metadata.json" in done.stderr


def test_the_older_form(trusting_hub, lock, tmp_path):
    """The project's own kernels in its order, without what they depend on."""
    tops = hub_api.publish(trusting_hub, "good/top", {"v1": kernel([("good/leaf", 1)])})
    leaves = hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel(folders=["torch-cpu", "tvm-ffi01-cpu-x86_64-linux"])})
    folder = project(tmp_path / "p", {"good/top": 1, "good/leaf": 1})
    lock(folder, trusting_hub, "--format", "1")
    first, second = json.loads((folder / "kernels.lock").read_text())
    assert (first["repo_id"], first["sha"]) == ("good/top", tops["v1"]) and list(first["variants"]) == ["torch-universal"]
    assert (second["repo_id"], second["sha"]) == ("good/leaf", leaves["v1"]) and list(second["variants"]) == ["torch-cpu"]
    assert second["variants"]["torch-cpu"]["hash_type"] == "git_lfs_concat"


def test_an_empty_path_is_the_current_folder(trusting_hub, programs, run, environment, tmp_path):
    """As the released program has it."""
    hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel()})
    folder = project(tmp_path / "p", {"good/leaf": 1})
    run(programs.kernels, "lock", "", cwd=folder, env={**environment, "HF_ENDPOINT": trusting_hub})
    assert list(locked(folder)) == [("good/leaf", 1)]


# ---- what is refused ----


def test_cycle(trusting_hub, lock, tmp_path):
    hub_api.publish(trusting_hub, "good/a", {"v1": kernel([("good/b", 1)])})
    hub_api.publish(trusting_hub, "good/b", {"v1": kernel([("good/a", 1)])})
    done = lock(project(tmp_path / "p", {"good/a": 1}), trusting_hub, check=False)
    assert "Cyclic kernel dependency detected: good/a" in done.stderr


def test_dependencies_too_deep(trusting_hub, lock, tmp_path):
    for i in range(66):
        hub_api.publish(trusting_hub, f"good/k{i}", {"v1": kernel([(f"good/k{i + 1}", 1)] if i < 65 else [])})
    lock(project(tmp_path / "p", {"good/k2": 1}), trusting_hub)
    done = lock(project(tmp_path / "q", {"good/k1": 1}), trusting_hub, check=False)
    assert "expected kernel dependencies at most 64 deep" in done.stderr


def test_publishers_that_are_not_trusted(trusting_hub, lock, tmp_path):
    hub_api.publish(trusting_hub, "bad/u", {"v1": kernel()})
    hub_api.publish(trusting_hub, "good/top", {"v1": kernel([("bad/u", 1)])})
    done = lock(project(tmp_path / "p", {"bad/u": 1}), trusting_hub, check=False)
    assert "'bad/u' is not from a trusted publisher" in done.stderr
    assert "trust_remote_code" not in done.stderr and "--trust" not in done.stderr  # there is no way around it
    done = lock(project(tmp_path / "q", {"good/top": 1}), trusting_hub, check=False)
    assert "Cannot lock bad/u (version 1), a dependency of good/top" in done.stderr
    assert "'bad/u' is not from a trusted publisher" in done.stderr


def test_damaged_metadata(trusting_hub, lock, tmp_path):
    files = kernel() | {"build/torch-tpu/metadata.json": "{"}
    commit = hub_api.publish(trusting_hub, "good/top", {"v1": files})["v1"]
    done = lock(project(tmp_path / "p", {"good/top": 1}), trusting_hub, check=False)
    assert f"Cannot read build/torch-tpu/metadata.json of good/top (revision: {commit})" in done.stderr


def test_dependencies_that_are_not_there(trusting_hub, lock, tmp_path):
    hub_api.publish(trusting_hub, "good/top", {"v1": kernel([("good/none", 1)]), "v2": kernel([("good/leaf", "gone")]),
                                               "v3": {"README.md": "x"}})
    hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel()})
    for version, part in ((1, "Cannot lock good/none (version 1), a dependency of good/top"),
                          (2, "Cannot lock good/leaf (revision gone), a dependency of good/top"),
                          (3, "has no build folder"), (7, "Version 7 not found, available versions: 1, 2, 3")):
        done = lock(project(tmp_path / str(version), {"good/top": version}), trusting_hub, check=False)
        assert part in done.stderr


@pytest.mark.parametrize("text,part", [
    (None, "pyproject.toml"), ("[tool.kernels\n", "pyproject.toml:1:"), ("", "no table [tool.kernels.dependencies]"),
    ("[tool]\nkernels = 1\n", "pyproject.toml:2:11: tool.kernels.dependencies: expected a table, found integer"),
    ("[tool.kernels.dependencies]\n", "No kernels found to lock"),
    ('[tool.kernels.dependencies]\n"good/x" = "1"\n', ':2:12: tool.kernels.dependencies: expected the version of "good/x"'),
    ('[tool.kernels.dependencies]\n"good/x" = -1\n', 'expected the version of "good/x" as a number that is not negative'),
    ('[tool.kernels.dependencies]\n"good/x" = true\n', 'expected the version of "good/x"'),
    ('[tool.kernels.dependencies]\n"good/x" = 1.0\n', 'expected the version of "good/x"'),
    ('[tool.kernels.dependencies]\n"good/x" = { version = 1 }\n', 'expected the version of "good/x"'),
    ('[tool.kernels.dependencies]\n"a/b/c" = 1\n', ':2:1: tool.kernels.dependencies: "a/b/c" is no repository id'),
])
def test_projects_that_cannot_be_read(text, part, lock, tmp_path):
    done = lock(project(tmp_path / "p", text=text), "http://127.0.0.1:9", check=False)
    assert part in done.stderr


def test_no_such_folder_and_offline(lock, tmp_path):
    assert "nodir/pyproject.toml" in lock(tmp_path / "nodir", "http://127.0.0.1:9", check=False).stderr
    done = lock(project(tmp_path / "p", {"good/x": 1}), "http://127.0.0.1:9", check=False, HF_HUB_OFFLINE="1")
    assert "offline mode is on" in done.stderr


def test_command_lines(programs, run, tmp_path):
    count = 0
    for case in read("layers/cli_argv.json")["cases"]:
        if case["argv"][:1] == ["lock"]:
            count += 1
            done = run(programs.kernels, *case["argv"], check=False, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (case.get("exit", 1), "")
            assert ("usage: kernels lock" if "exit" in case else "pyproject.toml") in done.stderr
    assert count == 3
    assert run(programs.kernels, "lock", "--format", "3", tmp_path, check=False).returncode == 2
    assert run(programs.kernels, "lock", "--form", "1", tmp_path, check=False).returncode == 2  # full names for our options


def test_a_folder_that_cannot_be_written(trusting_hub, lock, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    hub_api.publish(trusting_hub, "good/leaf", {"v1": kernel()})
    folder = project(tmp_path / "p", {"good/leaf": 1})
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "kernels.lock" in lock(folder, trusting_hub, check=False).stderr
