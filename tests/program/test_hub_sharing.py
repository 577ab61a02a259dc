# SPDX-License-Identifier: Apache-2.0
"""One cache, two clients: what we download the Python client finds and the other way round. On the embedded hub."""
import json
import os
import subprocess
import sys
import textwrap

import pytest
from hub_fixtures import Driver, cache_files

FILES = {
    "README.md": b"---\nlicense: mit\n---\n",
    "build/torch-cpu/__init__.py": b"x = 1\n",
    "build/torch-cpu/metadata.json": b'{"name": "demo"}',
    "build/torch-cpu/sub/big.bin": bytes(range(256)) * 4096,
    "build/torch-cpu/empty": b"",
    "build/torch-cuda/__init__.py": b"x = 2\n",
}
LOCAL = "http://127.0.0.1:9"  # nobody listens: a request would fail


@pytest.fixture
def serve(build_dir, tmp_path, environment):
    """A running embedded hub with large files from 100 kB on; needs only the program kernels-serve."""
    from conftest import Hub
    started = Hub(build_dir / "src" / "cli" / "kernels-serve", tmp_path / "served", ["--lfs-threshold", "100000"],
                  environment)
    yield started.url
    started.stop()


@pytest.fixture
def driver(build_dir, serve, tmp_path):
    return Driver(build_dir / "tests" / "hub_driver", tmp_path / "home", serve)


@pytest.fixture
def published(driver, tmp_path):
    """Uploads FILES as version 1 with our client; gives the commit."""
    words = []
    for path, content in FILES.items():
        local = tmp_path / "local" / path
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(content)
        words.append(f"+{path}={local}")
    assert driver.ok("create", "kernel", "acme/demo").lines == ["acme/demo"]
    assert driver.ok("create", "kernel", "acme/demo").lines == ["acme/demo"]
    assert driver.ok("branch", "kernel", "acme/demo", "v1").lines == ["created"]
    assert driver.ok("branch", "kernel", "acme/demo", "v1").lines == ["exists"]
    commit, = driver.ok("commit", "kernel", "acme/demo", "v1", "first", *words).lines
    again, = driver.ok("commit", "kernel", "acme/demo", "v1", "second", *words).lines
    assert again == f"commit - added 0 deleted 0 unchanged {len(FILES)} pr 0 -"
    return commit.split()[1]


@pytest.fixture
def python_client(driver):
    def run_script(script, **variables):
        env = {**driver.environment, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", **variables}
        text = "import json, os, pathlib, warnings\nwarnings.simplefilter('error')\nfrom huggingface_hub import *\n" \
            + textwrap.dedent(script) + "\nprint('RESULT ' + json.dumps(result))\n"
        done = subprocess.run([sys.executable, "-c", text], env=env, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.split("RESULT ", 1)[1]), done.stderr

    return run_script


def content_of(folder) -> dict[str, bytes]:
    return {os.path.relpath(os.path.join(base, name), folder): open(os.path.join(base, name), "rb").read()
            for base, _, names in os.walk(folder) for name in names}


def test_embedded_hub(driver, published):
    """Refs, listing and download of what we uploaded; large files by their SHA-256."""
    assert f"branch v1 refs/heads/v1 {published}" in driver.ok("refs", "kernel", "acme/demo").lines
    tree = {line.split()[1]: line.split() for line in driver.ok("tree", "kernel", "acme/demo", "v1").lines}
    assert set(FILES) <= set(tree)
    assert tree["build/torch-cpu/sub/big.bin"][2] == str(1 << 20) and len(tree["build/torch-cpu/sub/big.bin"][4]) == 64
    folder = driver.ok("fetch", "kernel", "acme/demo", "v1").lines[0]
    assert {path: text for path, text in content_of(folder).items() if path in FILES} == FILES
    driver.fails("ENTRY_NOT_FOUND 404", "tree", "kernel", "acme/demo", "v1", "none")
    driver.fails("REPOSITORY_NOT_FOUND", "refs", "kernel", "acme/none")
    deleted, = driver.ok("commit", "kernel", "acme/demo", "v1", "less", "-README.md").lines
    assert "deleted 1" in deleted
    pull, = driver.ok("pr", "kernel", "acme/demo", "v1", "more", "-build/torch-cpu/empty").lines
    assert pull.split()[9] == "1" and any(line.startswith("pr ") and " refs/pr/1 " in line
                                          for line in driver.ok("refs", "kernel", "acme/demo").lines)


def test_python_finds_what_we_downloaded(driver, published, python_client):
    driver.ok("fetch", "kernel", "acme/demo", "v1", "build/torch-cpu/")
    before = cache_files(driver.cache)
    result, errors = python_client("""
        folder = snapshot_download("acme/demo", repo_type="kernel", revision="v1", local_files_only=True,
                                   allow_patterns=["build/torch-cpu/*"])
        info = scan_cache_dir()
        repo, = info.repos
        result = dict(
            folder=folder, warnings=[str(w) for w in info.warnings], repo=[repo.repo_id, repo.repo_type],
            refs={ref: rev.commit_hash for rev in repo.revisions for ref in rev.refs},
            files=sorted(f.file_name for rev in repo.revisions for f in rev.files),
            found=try_to_load_from_cache("acme/demo", "build/torch-cpu/sub/big.bin", repo_type="kernel", revision="v1"))
    """, HF_ENDPOINT=LOCAL)
    assert result["folder"] == str(driver.cache / "kernels--acme--demo" / "snapshots" / published)
    assert result["warnings"] == [] and result["repo"] == ["acme/demo", "kernel"] and result["refs"] == {"v1": published}
    assert result["files"] == ["__init__.py", "big.bin", "empty", "metadata.json"]
    assert open(result["found"], "rb").read() == FILES["build/torch-cpu/sub/big.bin"]
    assert cache_files(driver.cache) == before and "warning" not in errors.lower()


def test_python_downloads_only_what_we_lack(driver, published, python_client):
    driver.ok("fetch", "kernel", "acme/demo", "v1", "build/torch-cpu/")
    ours = {path: os.lstat(driver.cache / path).st_ino for path in cache_files(driver.cache)}
    python_client('result = snapshot_download("acme/demo", repo_type="kernel", revision="v1")', HF_HUB_DISABLE_XET="1")
    assert {path: os.lstat(driver.cache / path).st_ino for path in ours} == ours
    # and now, with the listing that it left, nothing is missing for us either
    for variant in ("torch-cpu", "torch-cuda"):
        driver.ok("check", "kernel", "acme/demo", published, variant, env={"HF_HUB_OFFLINE": "1"})


def test_we_find_what_python_downloaded(driver, published, python_client):
    folder, _ = python_client('result = snapshot_download("acme/demo", repo_type="kernel", revision="v1")',
                              HF_HUB_DISABLE_XET="1")
    before = cache_files(driver.cache)
    offline = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": LOCAL}
    assert driver.ok("snapshot", "kernel", "acme/demo", "v1", env=offline).lines == [f"{published} {folder}"]
    assert driver.ok("versions", "acme/demo", env=offline).lines == [f"1 {published}"]
    driver.ok("check", "kernel", "acme/demo", published, "torch-cpu", env=offline)
    outcome = driver.ok("fetch", "kernel", "acme/demo", "v1")
    assert outcome.requests == 1  # the revision: the listing that Python left serves us too
    assert cache_files(driver.cache) == before


def test_both_leave_the_same_cache(driver, published, python_client, tmp_path):
    """Blobs, links and refs are equal, byte for byte; only Python leaves a listing."""
    driver.ok("fetch", "kernel", "acme/demo", "v1")
    other = tmp_path / "other"
    python_client('result = snapshot_download("acme/demo", repo_type="kernel", revision="v1")', HF_HUB_DISABLE_XET="1",
                  HF_HUB_CACHE=str(other))
    theirs = {path: text for path, text in cache_files(other).items() if "/trees/" not in path}
    assert cache_files(driver.cache) == theirs


def test_partial_python_snapshot(driver, published, python_client):
    """Python fetched another variant only: ours counts as missing, by the listing that it left."""
    python_client("""
        result = snapshot_download("acme/demo", repo_type="kernel", revision="v1", allow_patterns=["build/torch-cuda/*"])
    """, HF_HUB_DISABLE_XET="1")
    offline = {"HF_HUB_OFFLINE": "1"}
    driver.ok("check", "kernel", "acme/demo", published, "torch-cuda", env=offline)
    text = driver.fails("NOT_CACHED", "check", "kernel", "acme/demo", published, "torch-cpu", env=offline)
    assert "build/torch-cpu/__init__.py" in text
