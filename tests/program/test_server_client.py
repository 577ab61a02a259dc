# SPDX-License-Identifier: Apache-2.0
"""The embedded hub and the unmodified Python client of the Hub."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest
from server_http import ask, commit, create, file


@pytest.fixture
def client(environment):
    """client(url, script, **variables): runs a script with `api` and the client's names; its result comes back."""
    prelude = """
        import json, os, pathlib, sys
        from huggingface_hub import *
        from huggingface_hub.errors import *
        api = HfApi()
    """

    def run_script(url, script, **variables):
        env = {**environment, "HF_ENDPOINT": url, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
               **variables}
        text = textwrap.dedent(prelude) + textwrap.dedent(script) + "\nprint('RESULT ' + json.dumps(result))\n"
        done = subprocess.run([sys.executable, "-c", text], env=env, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.split("RESULT ", 1)[1])

    return run_script


UPLOAD = """
    big = os.urandom(1 << 20)
    urls = [str(api.create_repo("acme/new", repo_type="kernel", exist_ok=True)) for _ in range(2)]
    for _ in range(2):
        api.create_branch("acme/new", branch="v1", repo_type="kernel", exist_ok=True)
    first = api.create_commit("acme/new", repo_type="kernel", revision="v1", commit_message="first", operations=[
        CommitOperationAdd("README.md", b"---\\nlicense: mit\\n---\\n"),
        CommitOperationAdd("build/torch-cpu/__init__.py", b"x = 1\\n"),
        CommitOperationAdd("build/torch-cpu/empty", b""),
        CommitOperationAdd("build/torch-cpu/big.bin", big)])
    second = api.create_commit("acme/new", repo_type="kernel", revision="v1", commit_message="second", operations=[
        CommitOperationAdd("build/torch-cpu/__init__.py", b"x = 1\\n"),
        CommitOperationDelete("build/torch-cpu/empty")])
    same = api.create_commit("acme/new", repo_type="kernel", revision="v1", commit_message="nothing", operations=[
        CommitOperationAdd("build/torch-cpu/__init__.py", b"x = 1\\n")])
    pull = api.create_commit("acme/new", repo_type="kernel", revision="v1", commit_message="pr", create_pr=True,
                             operations=[CommitOperationAdd("n.txt", b"n")])
    more = api.create_commit("acme/new", repo_type="kernel", revision="refs/pr/1", commit_message="more",
                             operations=[CommitOperationAdd("m.txt", b"m")])
    refs = api.list_repo_refs("acme/new", repo_type="kernel", include_pull_requests=True)
    tree = {e.path: e for e in api.list_repo_tree("acme/new", repo_type="kernel", revision="v1", recursive=True)}
    folder = pathlib.Path(snapshot_download("acme/new", repo_type="kernel", revision="v1"))
    lfs = tree["build/torch-cpu/big.bin"].lfs
    result = dict(
        urls=urls, commits=[first.oid, second.oid, same.oid], pull=pull.pr_revision, pull_url=pull.pr_url,
        branches=[r.name for r in refs.branches], pulls={r.ref: r.target_commit for r in refs.pull_requests},
        more=more.oid, paths=sorted(tree), lfs=None if lfs is None else [lfs.sha256, lfs.size],
        size=tree["build/torch-cpu/big.bin"].size,
        blob=tree["build/torch-cpu/__init__.py"].blob_id,
        equal=(folder / "build/torch-cpu/big.bin").read_bytes() == big,
        on_pull=sorted(api.list_repo_files("acme/new", repo_type="kernel", revision="refs/pr/1")),
        local=sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()),
        snapshot=folder.name)
"""


def check_upload(result, url):
    assert result["urls"] == [f"{url}/kernels/acme/new"] * 2
    assert result["branches"] == ["main", "v1"]
    assert result["commits"][0] != result["commits"][1] == result["commits"][2]  # nothing changed: no commit
    assert result["pull"] == "refs/pr/1" and result["pull_url"] == f"{url}/kernels/acme/new/discussions/1"
    assert result["pulls"] == {"refs/pr/1": result["more"]}
    files = ["README.md", "build/torch-cpu/__init__.py", "build/torch-cpu/big.bin"]
    assert result["paths"] == sorted([*files, "build", "build/torch-cpu"])
    assert result["local"] == files and result["equal"]
    assert result["on_pull"] == sorted([*files, "m.txt", "n.txt"])
    assert result["size"] == 1 << 20
    assert result["blob"] == "7d4290a117a4ddcc11daae7ea675841033830c8f"  # git hash-object
    assert result["snapshot"] == result["commits"][1]


def git(*arguments):
    done = subprocess.run(["git", *map(str, arguments)], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_client_with_xet_at_its_default(start_hub, client, tmp_path):
    hub = start_hub()
    result = client(hub.url, UPLOAD)
    check_upload(result, hub.url)
    assert result["lfs"] is None
    store = hub.directory / "kernels" / "acme" / "new.git"
    assert hub.stop() == 0
    git("-C", store, "fsck", "--full", "--strict")
    git("clone", "-q", "-b", "v1", store, tmp_path / "clone")
    assert (tmp_path / "clone" / "build" / "torch-cpu" / "__init__.py").read_text() == "x = 1\n"
    assert git("-C", tmp_path / "clone", "log", "--format=%s").split("\n")[:2] == ["second", "first"]


@pytest.mark.parametrize("options", [[], ["--cdn"]], ids=["direct", "cdn"])
def test_large_files_without_xet(start_hub, client, options):
    hub = start_hub("--lfs-threshold", "1000", *options)
    result = client(hub.url, UPLOAD, HF_HUB_DISABLE_XET="1")
    check_upload(result, hub.url)
    sha256, size = result["lfs"]
    assert size == 1 << 20
    assert [p.name for p in (hub.directory / "lfs").iterdir()] == [sha256]
    git("-C", hub.directory / "kernels" / "acme" / "new.git", "fsck", "--full")


def test_folders_and_deletions(start_hub, client):
    hub = start_hub()
    result = client(hub.url, """
        api.create_repo("acme/many", repo_type="kernel")
        here = pathlib.Path(os.environ["HOME"]) / "many"
        for i in range(300):
            path = here / f"build/v{i % 3}/f{i} +%.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(i))
        api.upload_folder(repo_id="acme/many", repo_type="kernel", folder_path=here)
        folder = pathlib.Path(snapshot_download("acme/many", repo_type="kernel"))
        same = all((folder / p.relative_to(here)).read_text() == p.read_text() for p in here.rglob("*.txt"))
        info = api.get_paths_info("acme/many", ["build/v0/f0 +%.txt", "nothing", "build"], repo_type="kernel")
        api.delete_folder("build/v0", repo_id="acme/many", repo_type="kernel")
        api.delete_file("build/v1/f1 +%.txt", repo_id="acme/many", repo_type="kernel")
        left = api.list_repo_files("acme/many", repo_type="kernel")
        api.create_tag("acme/many", tag="t", repo_type="kernel")
        tags = [t.name for t in api.list_repo_refs("acme/many", repo_type="kernel").tags]
        api.delete_tag("acme/many", tag="t", repo_type="kernel")
        api.create_branch("acme/many", branch="gone", repo_type="kernel")
        api.delete_branch("acme/many", branch="gone", repo_type="kernel")
        refs = api.list_repo_refs("acme/many", repo_type="kernel")
        errors = []
        for call in (lambda: api.delete_file("nothing", repo_id="acme/many", repo_type="kernel"),
                     lambda: api.list_repo_files("acme/many", repo_type="kernel", revision="nothing"),
                     lambda: api.list_repo_files("acme/nothing", repo_type="kernel", token="any")):
            try:
                call()
            except Exception as e:
                errors.append(type(e).__name__)
        api.delete_repo("acme/many", repo_type="kernel")
        try:
            api.list_repo_refs("acme/many", repo_type="kernel")
        except RepositoryNotFoundError:
            errors.append("gone")
        result = dict(same=same, info=[i.path for i in info], left=len(left), tags=tags, errors=errors,
                      refs=[[r.name for r in refs.branches], [r.name for r in refs.tags]])
    """)
    assert result["same"]
    assert result["info"] == ["build/v0/f0 +%.txt", "build"]
    assert result["left"] == 199
    assert result["tags"] == ["t"] and result["refs"] == [["main"], []]
    assert result["errors"] == ["RemoteEntryNotFoundError", "RevisionNotFoundError", "RepositoryNotFoundError", "gone"]
    assert not (hub.directory / "kernels" / "acme" / "many.git").exists()


def peak_megabytes(hub):
    """Most memory of its own the server ever had; None when sanitizers make the figure meaningless."""
    with open(f"/proc/{hub.process.pid}/maps") as maps:
        if "libasan" in maps.read():
            return None
    with open(f"/proc/{hub.process.pid}/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024


@pytest.mark.full  # gigabytes
@pytest.mark.parametrize("options, xet", [([], "0"), (["--lfs-threshold", "1000"], "1"),
                                          (["--lfs-threshold", "1000", "--lfs-part-size", "100000000"], "1")],
                         ids=["commit", "lfs", "parts"])
def test_half_a_gigabyte(start_hub, client, tmp_path, options, xet):
    hub = start_hub(*options)
    block = os.urandom(1 << 20)
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "folder" / "big.bin", "wb") as big:
        for i in range(500):
            big.write(i.to_bytes(8, "big") + block[8:])
    result = client(hub.url, f"""
        import filecmp
        api.create_repo("acme/big", repo_type="kernel")
        api.upload_folder(repo_id="acme/big", repo_type="kernel", folder_path={str(tmp_path / "folder")!r})
        folder = pathlib.Path(snapshot_download("acme/big", repo_type="kernel"))
        result = filecmp.cmp({str(tmp_path / "folder" / "big.bin")!r}, folder / "big.bin", shallow=False)
    """, HF_HUB_DISABLE_XET=xet)
    assert result is True
    stored = list((hub.directory / "lfs").iterdir())
    assert [path.stat().st_size for path in stored] == ([500 << 20] if options else [])
    assert list((hub.directory / "parts").iterdir()) == []
    megabytes = peak_megabytes(hub)
    assert megabytes is None or megabytes < 64, megabytes
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_accounts(start_hub, client):
    hub = start_hub("--token", "me:secret", "--token", "you:other:ro", "--private", "me/hidden", "--trusted", "me")
    result = client(hub.url, """
        api.create_repo("hidden", repo_type="kernel")
        api.create_repo("shut", repo_type="kernel", private=True)
        api.create_repo("open", repo_type="kernel")
        who = [api.whoami(token=t)["name"] for t in ("secret", "other")]
        seen = []
        for token in ("secret", "other", False, "wrong"):
            for repo in ("me/open", "me/hidden", "me/shut", "me/missing"):
                try:
                    api.list_repo_refs(repo, repo_type="kernel", token=token)
                    seen.append("ok")
                except HfHubHTTPError as e:
                    seen.append(f"{type(e).__name__} {e.response.status_code}")
            try:
                api.create_branch("me/open", branch=f"b-{token}", repo_type="kernel", token=token)
                seen.append("wrote")
            except HfHubHTTPError as e:
                seen.append(f"{type(e).__name__} {e.response.status_code}")
        result = dict(who=who, seen=seen)
    """, HF_TOKEN="secret")
    missing, stranger = "RepositoryNotFoundError 404", "RepositoryNotFoundError 401"
    assert result["who"] == ["me", "you"]
    assert result["seen"][0:5] == ["ok", "ok", "ok", missing, "wrote"]
    assert result["seen"][5:10] == ["ok", "ok", "ok", missing, "HfHubHTTPError 403"]
    assert result["seen"][10:15] == ["ok", stranger, stranger, stranger, stranger]
    assert result["seen"][15:20] == ["HfHubHTTPError 401"] * 5


def test_pages_of_a_listing(start_hub, client):
    hub = start_hub("--page-size", "2")
    result = client(hub.url, """
        api.create_repo("acme/pages", repo_type="kernel")
        api.create_commit("acme/pages", repo_type="kernel", commit_message="m", operations=[
            CommitOperationAdd(f"build/v{i}/f", b"1") for i in range(5)])
        result = [sorted(api.list_repo_files("acme/pages", repo_type="kernel")),
                  sorted(e.path for e in api.list_repo_tree("acme/pages", "build", repo_type="kernel"))]
    """)
    assert result == [[f"build/v{i}/f" for i in range(5)], [f"build/v{i}" for i in range(5)]]


def test_publishers(start_hub):
    hub = start_hub("--token", "me:secret", "--trusted", "acme")
    headers = {"Authorization": "Bearer secret"}
    for repo in ("me/a", "team/a"):
        create(hub.url, repo, **headers)

    def overview(name):
        answer = ask(hub.url, "GET", f"/api/organizations/{name}/overview")
        return answer.json() if answer.status == 200 else answer.status

    assert overview("acme")["trustedKernelPublisher"] is True
    assert overview("team")["name"] == "team" and "trustedKernelPublisher" not in overview("team")
    assert overview("me") == 404 and overview("nobody") == 404  # a user, nobody


# kernels 0.17.2 as it was released: by name and branch, by version, and by lock (which its own program writes and fills the
# cache for); the last without the Hub.
RELEASED = """
import pathlib, subprocess, sys
import kernels

print(kernels.get_kernel("acme/demo", revision="main", backend="cpu").BACKEND)
print(kernels.get_kernel("acme/demo", version=1, backend="cpu").BACKEND)
print(len(kernels.get_kernel_variants("acme/demo", version=1)))
for command in (["lock"], ["download", "--all-variants"]):
    subprocess.run([sys.argv[1], *command, "."], check=True)
print(kernels.load_kernel("acme/demo", lockfile=pathlib.Path("kernels.lock"), backend="cpu").BACKEND)
"""


def publish_demo(hub):
    create(hub.url, "acme/demo")
    metadata = {"name": "demo", "version": 1, "license": "Apache-2.0", "python-depends": [], "kernel-depends": []}
    assert ask(hub.url, "POST", "/api/kernels/acme/demo/branch/v1", b"{}").status == 201
    for branch, backend in itertools.product(("main", "v1"), ("cpu", "tpu")):
        described = {**metadata, "id": f"_demo_{backend}_{branch}", "backend": {"type": backend}}
        answer = commit(hub.url, "acme/demo",
                        file(f"build/torch-{backend}/__init__.py", f"BACKEND = '{backend} {branch}'\n".encode()),
                        file(f"build/torch-{backend}/metadata.json", json.dumps(described).encode()), revision=branch)
        assert answer.status == 200, answer.body


@pytest.mark.full  # needs the released package
def test_released_package_loads_by_name_version_and_lock(start_hub, environment, root, tmp_path):
    python = pathlib.Path(os.environ.get("KERNELS_PEER_PYTHON", root / "build" / "bench-venv" / "bin" / "python"))
    if not python.exists():
        pytest.skip("no environment with the released package: ./run test --full makes it")
    hub = start_hub("--trusted", "acme", "--page-size", "2")
    publish_demo(hub)
    (tmp_path / "pyproject.toml").write_text('[tool.kernels.dependencies]\n"acme/demo" = 1\n')
    done = subprocess.run([python, "-c", RELEASED, python.parent / "kernels"], cwd=tmp_path, text=True,
                          env={**environment, "HF_ENDPOINT": hub.url}, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["cpu main", "cpu v1", "2", "cpu v1"], done.stderr
