# SPDX-License-Identifier: Apache-2.0
"""`kernels mirror`, and the copy served without the hub it came from."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from server_http import ask, commit, create, file
from test_server_store import pointer, upload


def metadata(depends=()):
    return json.dumps({"name": "demo", "id": "_demo_cpu_abc1234", "version": 1, "license": "Apache-2.0",
                       "python-depends": [], "kernel-depends": [{"repo-id": one, "version": 1} for one in depends],
                       "backend": {"type": "cpu"}}).encode()


BIG = os.urandom(300000)


@pytest.fixture
def origin(start_hub, tmp_path):
    hub = start_hub("--trusted", "acme", directory=tmp_path / "origin")
    for repo, depends in (("acme/demo", ["acme/base"]), ("acme/base", ["acme/demo"]), ("acme/other", [])):
        create(hub.url, repo)
        oid = upload(hub.url, BIG, repo)
        for version in (1, 2):
            assert ask(hub.url, "POST", f"/api/kernels/{repo}/branch/v{version}", b"{}").status == 201
            answer = commit(hub.url, repo, file("build/torch-cpu/__init__.py", b"VERSION = %d\n" % version),
                            file("build/torch-cpu/metadata.json", metadata(depends)), file("build/torch-cpu/empty", b""),
                            pointer("build/torch-cpu/big.bin", oid, len(BIG)), revision=f"v{version}")
            assert answer.status == 200, answer.body
        assert commit(hub.url, repo, file("README.md", b"# card\n")).status == 200
    assert ask(hub.url, "POST", "/api/kernels/acme/demo/tag/v1", b'{"tag": "release"}').status == 201
    return hub


def refs(hub, repo="acme/demo"):
    answer = ask(hub.url, "GET", f"/api/kernels/{repo}/refs").json()
    return {one["ref"]: one["targetCommit"] for one in answer["branches"] + answer["tags"]}


@pytest.fixture
def mirror(run, programs, environment):
    def copy(*arguments, endpoint=None, check=True, **variables):
        env = {**environment, **({"HF_ENDPOINT": endpoint} if endpoint else {}), **variables}
        return run(programs.kernels, "mirror", *arguments, env=env, check=check)

    return copy


def test_a_mirror_shows_what_the_origin_shows(origin, mirror, start_hub, run, programs, tmp_path):
    done = mirror("acme/demo", "--to", tmp_path / "copy", endpoint=origin.url)
    assert done.stdout.startswith("acme/demo: 4 references, 3 new commits, ") and "acme/base: 3 references" in done.stdout
    assert "acme/other" not in done.stdout
    expected, tree = refs(origin), "/api/kernels/acme/demo/tree/v2?recursive=true"
    listing = ask(origin.url, "GET", tree).json()
    origin.stop()
    hub = start_hub(directory=tmp_path / "copy")
    assert refs(hub) == expected  # the ids of the origin, so that locks and caches hold
    assert ask(hub.url, "GET", tree).json() == listing
    for revision in ("v1", "release", expected["refs/heads/v1"]):
        answer = ask(hub.url, "GET", f"/kernels/acme/demo/resolve/{revision}/build/torch-cpu/big.bin")
        assert answer.body == BIG and answer.headers["X-Repo-Commit"] == expected["refs/heads/v1"]
    info = ask(hub.url, "GET", f"/api/kernels/acme/demo/revision/{expected['refs/heads/v1']}").json()
    assert info["sha"] == expected["refs/heads/v1"]
    assert list((hub.directory / "tmp").iterdir()) == []
    hub.stop()
    assert ": 0 problems" in run(programs.kernels_serve, tmp_path / "copy", "--check").stdout
    subprocess.run(["git", "-C", hub.directory / "kernels" / "acme" / "demo.git", "fsck", "--full", "--strict"], check=True)


def test_a_second_run_fetches_what_is_new(origin, mirror, start_hub, tmp_path):
    first = refs(origin)
    mirror(f"{origin.url}/acme/demo", "--to", tmp_path / "copy")
    again = mirror(f"{origin.url}/kernels/acme/demo", "--to", tmp_path / "copy").stdout
    assert again.splitlines() == [f"acme/{name}: {count} references, 0 new commits, 0 new files, 0 bytes"
                                  for name, count in (("demo", 4), ("base", 3))]
    assert commit(origin.url, "acme/demo", file("new", b"12345"), revision="v1").status == 200
    again = mirror(f"{origin.url}/acme/demo", "--to", tmp_path / "copy", "--no-dependencies").stdout
    assert again == "acme/demo: 4 references, 1 new commits, 1 new files, 5 bytes\n"
    hub = start_hub(directory=tmp_path / "copy")
    assert refs(hub) == refs(origin) != first
    old = first["refs/heads/v1"]  # what was here stays, for locks
    assert ask(hub.url, "GET", f"/kernels/acme/demo/resolve/{old}/build/torch-cpu/__init__.py").status == 200
    # the copy is a hub like any other
    parent = refs(hub)["refs/heads/v1"]
    answer = commit(hub.url, "acme/demo", file("mine", b"1"), revision="v1", parent=parent)
    assert answer.status == 200 and refs(hub)["refs/heads/v1"] == answer.json()["commitOid"]
    assert ask(hub.url, "POST", "/api/kernels/acme/demo/branch/x", json.dumps({"startingPoint": parent})).status == 201
    assert refs(hub)["refs/heads/x"] == parent


def test_failures_leave_what_was_done(origin, mirror, start_hub, tmp_path):
    missing = mirror("acme/nothing", "--to", tmp_path / "copy", endpoint=origin.url, check=False)
    assert missing.returncode == 1 and "acme/nothing" in missing.stderr
    assert list((tmp_path / "copy" / "kernels").iterdir()) == []
    assert mirror("acme/demo", check=False).returncode == 2
    assert mirror("a--b/../c", "--to", tmp_path / "copy", check=False).returncode != 0
    hub = start_hub(directory=tmp_path / "copy")
    busy = mirror("acme/demo", "--to", tmp_path / "copy", endpoint=origin.url, check=False)
    assert busy.returncode == 1 and "already served" in busy.stderr
    hub.stop()
    offline = mirror("acme/demo", "--to", tmp_path / "copy", endpoint="http://127.0.0.1:9", check=False)
    assert offline.returncode == 1


def test_damaged_files_are_not_taken(start_hub, mirror, tmp_path):
    faults = tmp_path / "faults.json"
    faults.write_text(json.dumps([{"path": "/kernels/acme/demo/resolve/", "method": "GET", "body": "other"}]))
    origin = start_hub("--faults", faults)
    create(origin.url, "acme/demo")
    commit(origin.url, "acme/demo", file("a", b"12345"))
    done = mirror("acme/demo", "--to", tmp_path / "copy", endpoint=origin.url, check=False)
    assert done.returncode == 1 and "refs/heads/main" in done.stderr
    hub = start_hub(directory=tmp_path / "copy")
    assert ask(hub.url, "GET", "/api/kernels/acme/demo/tree/main").json() == []


def test_the_token_stays_with_its_hub(start_hub, mirror, tmp_path):
    hub = start_hub("--token", "me:secret", "--private", "acme/hidden", "--access-log")
    create(hub.url, "acme/hidden", Authorization="Bearer secret")
    assert mirror("acme/hidden", "--to", tmp_path / "a", endpoint=hub.url, HF_TOKEN="secret").returncode == 0
    other = mirror(f"{hub.url}/acme/hidden", "--to", tmp_path / "b", HF_TOKEN="secret", check=False)
    assert other.returncode == 1
    hub.stop()
    assert {json.loads(line)["account"] for line in hub.errors[-1:]} == {None}


def test_the_released_package_loads_from_a_mirror_by_lock(origin, mirror, start_hub, environment, root, tmp_path):
    python = pathlib.Path(os.environ.get("KERNELS_PEER_PYTHON", root / "build" / "bench-venv" / "bin" / "python"))
    if not python.exists():
        pytest.skip("no environment with the released package: ./run bench makes it")
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.kernels.dependencies]\n"acme/other" = 1\n')
    lock = [python.parent / "kernels", "lock", project]
    done = subprocess.run(lock, env={**environment, "HF_ENDPOINT": origin.url}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    mirror("acme/other", "--to", tmp_path / "copy", endpoint=origin.url)
    origin.stop()
    hub = start_hub("--trusted", "acme", directory=tmp_path / "copy")
    env = {**environment, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "fresh")}
    done = subprocess.run([python.parent / "kernels", "download", "--all-variants", project], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    hub.stop()
    script = f"""
import pathlib, kernels
print(kernels.load_kernel("acme/other", lockfile=pathlib.Path({str(project / "kernels.lock")!r}), backend="cpu").VERSION)
"""
    done = subprocess.run([python, "-c", script], env=env, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout == "1\n", done.stderr
