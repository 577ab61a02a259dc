# SPDX-License-Identifier: Apache-2.0
"""kernel-builder upload against the embedded hub; what is there afterwards is read with the real huggingface_hub."""
import json
import pathlib
import subprocess

import pytest
from huggingface_hub import HfApi
from scripted_hub import ScriptedHub, status

BUILD_TOML = """[general]
name = "row-softmax"
version = {version}
edition = 5
license = "MIT"
backends = ["cann", "cpu"]

[general.hub]
repo-id = "me/row-softmax"
{hub}
[torch-noarch]
"""
CLIENT = {"repo_id": "me/row-softmax", "repo_type": "kernel"}


class Kernel:
    def __init__(self, folder: pathlib.Path, run, program, env, hub):
        self.folder, self.run, self.program, self.env, self.hub = folder, run, program, env, hub.directory
        self.api = HfApi(endpoint=hub.url, token="secret")
        self.package = folder / "torch-ext" / "row_softmax"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").write_text('__all__ = ["softmax"]\n')
        (folder / "CARD.md").write_text("# {{ repo_id }}\n")
        (folder / "benchmarks").mkdir()
        (folder / "benchmarks" / "benchmark.py").write_text("b\n")
        (folder / "benchmarks" / "util.py").write_text("u\n")
        self.configure()

    def configure(self, version=1, hub=""):
        (self.folder / "build.toml").write_text(BUILD_TOML.format(version=version, hub=hub))

    def call(self, command, *arguments, code=0, env=None):
        done = self.run(self.program, command, self.folder, *arguments, env={**self.env, **(env or {})}, check=False)
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def upload(self, *arguments, **more):
        return self.call("upload", *arguments, **more)

    def files(self, branch: str) -> list[str]:
        return sorted(name for name in self.api.list_repo_files(**CLIENT, revision=branch) if name != ".gitattributes")

    def head(self, branch: str) -> str:
        refs = self.api.list_repo_refs(**CLIENT)
        return {one.name: one.target_commit for one in refs.branches}[branch]


@pytest.fixture
def kernel(run, programs, environment, start_hub, tmp_path):
    hub = start_hub("--token", "me:secret")
    env = {**environment, "HF_ENDPOINT": hub.url, "HF_TOKEN": "secret", "KERNEL_BUILDER_STORE": str(tmp_path / "store")}
    return Kernel(tmp_path / "kernel", run, programs.kernel_builder, env, hub)


VERSION_FILES = [f"build/{variant}/{name}" for variant in ("torch-cpu", "torch-npu")
                 for name in ("__init__.py", "_ops.py", "metadata.json")]


def test_build_hash_upload_and_upload_again(kernel, tmp_path):
    kernel.call("build")
    kernel.call("hash")
    done = kernel.upload("--output-json", tmp_path / "out.json")
    url = f"{kernel.env['HF_ENDPOINT']}/kernels/me/row-softmax/tree/v1"  # a hub of one's own
    assert done.stdout == f"Kernel uploaded: {url}\n"
    assert "Found 2 variants" in done.stderr and "Using branch `v1` (new)" in done.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == {
        "status": "uploaded", "repo_id": "me/row-softmax", "branch": "v1",
        "url": url, "pull_requests": []}
    assert kernel.files("main") == ["README.md"]
    assert kernel.files("v1") == ["README.md"] * ("README.md" in kernel.files("v1")) + [
        "benchmarks/benchmark.py"] + VERSION_FILES
    for name in VERSION_FILES:
        local = kernel.folder / "result" / name.removeprefix("build/")
        fetched = kernel.api.hf_hub_download(**CLIENT, filename=name, revision="v1", cache_dir=tmp_path / "cache")
        assert pathlib.Path(fetched).read_bytes() == local.read_bytes()
    readme = kernel.api.hf_hub_download(**CLIENT, filename="README.md", revision="main", cache_dir=tmp_path / "cache")
    assert pathlib.Path(readme).read_text() == "# me/row-softmax"
    heads = kernel.head("main"), kernel.head("v1")
    done = kernel.upload("--output-json", tmp_path / "out.json")
    assert done.stdout == "" and "No changes to upload." in done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "no_changes"
    assert (kernel.head("main"), kernel.head("v1")) == heads
    repository = next(kernel.hub.rglob("row-softmax.git"))
    titles = subprocess.run(["git", "-c", "safe.directory=*", "log", "--format=%s", "v1"], cwd=repository, text=True,
                            stdout=subprocess.PIPE, check=True).stdout.splitlines()
    assert titles[0] == "Uploaded using `kernel-builder`."


def test_only_what_changed_is_committed(kernel):
    kernel.call("build")
    kernel.upload()
    before = kernel.head("main")
    (kernel.package / "more.py").write_text("x = 1\n")
    kernel.call("build")
    done = kernel.upload("--dry-run")
    assert done.stdout.splitlines()[0] == "me/row-softmax branch v1:"
    # a new unique id changes _ops.py and metadata.json; __init__.py is the same
    assert sorted(done.stdout.splitlines()[1:]) == sorted(
        f"  add    build/{variant}/{name}" for variant in ("torch-cpu", "torch-npu")
        for name in ("_ops.py", "metadata.json", "more.py"))
    assert "build/torch-cpu/more.py" not in kernel.files("v1")
    assert "v1: 6 added, 0 deleted, 3 unchanged" in kernel.upload().stderr
    assert "build/torch-cpu/more.py" in kernel.files("v1") and kernel.head("main") == before
    (kernel.package / "more.py").unlink()
    kernel.call("build")
    kernel.upload()
    assert "build/torch-cpu/more.py" not in kernel.files("v1")


def test_variants_of_other_machines_stay(kernel):
    kernel.call("build", "--variant", "torch-npu")
    kernel.upload()
    kernel.call("build", "--variant", "torch-cpu")
    kernel.upload()
    assert [name for name in kernel.files("v1") if name.startswith("build/")] == VERSION_FILES


def test_a_branch_for_each_version(kernel):
    kernel.call("build")
    kernel.upload()
    first = kernel.head("v1")
    kernel.configure(version=2)
    kernel.call("build")
    assert "tree/v2" in kernel.upload().stdout
    assert kernel.head("v1") == first and kernel.files("v2")
    kernel.configure(hub='branch = "nightly"')
    assert "tree/nightly" in kernel.upload().stdout
    assert "tree/special" in kernel.upload("--branch", "special", "--repo-id", "me/other").stdout
    assert kernel.api.list_repo_files("me/other", repo_type="kernel", revision="special")


def test_a_dry_run_makes_no_repository(kernel):
    kernel.call("build")
    done = kernel.upload("--dry-run")
    assert "me/row-softmax branch v1 (new):\n" in done.stdout and "  add    README.md\n" in done.stdout
    assert not kernel.api.repo_exists(**CLIENT)
    kernel.upload("--dry-run", "--output-json", "x.json", code=2)


def test_warnings(kernel):
    kernel.call("build-and-copy")
    (kernel.folder / "result").unlink()
    metadata = kernel.folder / "build" / "torch-cpu" / "metadata.json"
    content = json.loads(metadata.read_text())
    del content["digest"]
    content["provenance"]["kernel"] = {"commit": "0" * 40, "dirty": True}
    metadata.write_text(json.dumps(content))
    with open(kernel.folder / "build" / "torch-npu" / "__init__.py", "a", encoding="utf-8") as file:
        file.write("# one line more\n")
    done = kernel.upload()
    assert "loaders will refuse them (build again, or kernel-builder hash): torch-npu\n" in done.stderr
    assert "differ from their commit: torch-cpu\n" in done.stderr
    assert "without a digest" in done.stderr and "torch-cpu\n" in done.stderr
    kernel.call("build")
    assert "torch-npu: the sources are not in a git repository" in kernel.upload().stderr


def test_bytecode_is_left_out_and_links_are_resolved_or_refused(kernel):
    kernel.call("build-and-copy")
    (kernel.folder / "result").unlink()
    variant = kernel.folder / "build" / "torch-cpu"
    (variant / "__pycache__").mkdir()
    (variant / "__pycache__" / "a.cpython-311.pyc").write_text("x")
    (variant / "b.pyc").write_text("x")
    (variant / "link.py").symlink_to("_ops.py")
    kernel.upload()
    names = kernel.files("v1")
    assert "build/torch-cpu/link.py" in names and not any("pyc" in name for name in names)
    (variant / "out.py").symlink_to("/etc/hostname")
    assert "out.py is a link" in kernel.upload(code=1).stderr
    assert kernel.files("v1") == names


def test_refusals(kernel, tmp_path):
    assert "no built variant" in kernel.upload(code=1).stderr
    kernel.call("build-and-copy")
    (kernel.folder / "result").unlink()
    assert "401" in (done := kernel.upload(code=1, env={"HF_TOKEN": "wrong"})).stderr or "token" in done.stderr
    assert "127.0.0.1:9" in kernel.upload(code=1, env={"HF_ENDPOINT": "http://127.0.0.1:9"}).stderr
    metadata = kernel.folder / "build" / "torch-cpu" / "metadata.json"
    metadata.write_text(metadata.read_text().replace('"version": 1', '"version": 7'))
    assert "different versions" in kernel.upload(code=1).stderr
    metadata.write_text("{}")
    assert str(metadata) in kernel.upload(code=1).stderr
    (kernel.folder / "build.toml").write_text("broken")
    assert "--repo-id" in kernel.upload(code=1).stderr
    assert "tree/b" in kernel.upload("--repo-id", "me/row-softmax", "--branch", "b").stdout
    assert kernel.upload("--repo-type", "Kernel", code=2)
    assert not (tmp_path / "x.json").exists()


def test_a_project_from_init_to_the_hub(kernel, run, programs, tmp_path):
    run(programs.kernel_builder, "init", "--name", "me/second", "--backends", "cann", cwd=tmp_path, env=kernel.env)
    folder = tmp_path / "second"
    for command in ("build", "hash", "upload"):
        run(programs.kernel_builder, command, folder, env=kernel.env)
    assert "build/torch-npu/torch_op.py" in kernel.api.list_repo_files("me/second", repo_type="kernel", revision="v1")


def test_pull_requests(kernel, tmp_path):
    kernel.call("build")
    done = kernel.upload("--create-pr", code=1)
    assert not kernel.api.repo_exists(**CLIENT)
    kernel.upload()
    (kernel.package / "more.py").write_text("")
    (kernel.folder / "CARD.md").write_text("# changed {{ repo_id }}\n")
    kernel.call("build")
    heads = kernel.head("main"), kernel.head("v1")
    done = kernel.upload("--create-pr", "--output-json", tmp_path / "out.json")
    assert (kernel.head("main"), kernel.head("v1")) == heads
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["status"] == "pull_request_created" and report["url"] is None
    assert [one["branch"] for one in report["pull_requests"]] == ["main", "v1"]
    assert done.stdout == "".join(f"Pull request created: {one['url']}\n" for one in report["pull_requests"])
    kernel.configure(version=5)
    kernel.call("build")
    heads = kernel.api.list_repo_refs(**CLIENT).branches
    kernel.upload("--create-pr")  # makes the branch, as the owner may
    assert len(kernel.api.list_repo_refs(**CLIENT).branches) == len(heads) + 1


@pytest.mark.parametrize("known", [True, False])
def test_no_permission_to_publish(kernel, known):
    kernel.call("build")
    with ScriptedHub({}) as hub:
        hub.rule("POST", "/api/repos/create", status(403))
        hub.rule("GET", "/api/whoami-v2", status(200, {}, b'{"name": "me"}') if known else status(401))
        done = kernel.upload(code=1, env={"HF_ENDPOINT": hub.url})
    guidance = "https://huggingface.co/spaces/kernels-community/README/discussions/new"
    assert (guidance in done.stderr) == known
    assert "me/row-softmax" in done.stderr


@pytest.mark.full  # all retries
def test_a_failing_listing_is_not_taken_for_an_empty_branch(kernel):
    kernel.call("build")
    with ScriptedHub({"build/torch-cpu/stale.py": b"x"}) as hub:
        hub.rule("GET", "/tree/", status(500))
        kernel.upload(code=1, env={"HF_ENDPOINT": hub.url})
        assert not [request for request in hub.requests if "/commit/" in request.path]
