# SPDX-License-Identifier: Apache-2.0
"""Loading kernels through the C API: from a name on an embedded hub to a verified folder, and all that can go wrong."""
import contextlib
import json
import os
import hashlib
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import hub_api
from test_kernels_cli import add_torch

NOWHERE = "http://127.0.0.1:9"
PROGRAMS = {"__init__.py": "", "aot/manifest.json": '{"format": 1, "functions": []}', "aot/relu.tpu.0.mlirbc": "x"}
PROGRAMS_CPU = {**PROGRAMS, "aot/relu.cpu.0.mlirbc": "y"}


class Loader:
    """Runs the driver; .env is the environment of a machine with torch for the CPU."""

    def __init__(self, program, env):
        self.program, self.env = program, env

    def run(self, *arguments, **env):
        done = subprocess.run([self.program, *map(str, arguments)], env={**self.env, **env}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        assert "Sanitizer" not in done.stderr and "runtime error:" not in done.stderr, done.stderr
        return done

    def load(self, *arguments, **env):
        done = self.run(*arguments, **env)
        assert done.returncode == 0, done.stderr
        fields = dict(line.split(": ", 1) for line in done.stdout.split("trace:\n")[0].splitlines())
        return {**fields, "trace": done.stdout.split("trace:\n")[1], "warnings": done.stderr}

    def fail(self, *arguments, **env):
        """Text of the failure."""
        done = self.run(*arguments, **env)
        assert done.returncode == 1 and done.stdout == "", done
        return done.stderr


@pytest.fixture
def server(start_hub):
    return start_hub("--trusted", "good", "--access-log")


@pytest.fixture
def loader(build_dir, environment, server, tmp_path):
    env = {**environment, "HF_ENDPOINT": server.url, "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}
    return Loader(build_dir / "tests" / "load_driver", env)


def offline(loader):
    return {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": NOWHERE}


def publish_leaf(server):
    return hub_api.publish(server.url, "good/leaf", {
        "main": {**hub_api.variant("torch-universal", name="leaf"), "README.md": "# leaf\n"},
        "v1": {**hub_api.variant("torch-universal", name="leaf"), **hub_api.variant("torch-cuda", name="leaf")},
        "v2": hub_api.variant("torch-universal", name="leaf", version=2)})


def cache_of(loader, repo_id="good/leaf") -> pathlib.Path:
    return pathlib.Path(loader.env["HF_HOME"]) / "hub" / ("kernels--" + repo_id.replace("/", "--"))


# ---- the straight way ----


def test_by_version_then_offline(server, loader):
    commits = publish_leaf(server)
    kernel = loader.load("good/leaf", "--version", 1)
    assert (kernel["name"], kernel["variant"], kernel["verified"]) == ("leaf", "torch-universal", "yes")
    assert kernel["revision"] == commits["v1"] and kernel["repo_id"] == "good/leaf"
    assert "You are using version 1 of 'good/leaf', but version 2 is available." in kernel["warnings"]
    folder = pathlib.Path(kernel["path"])
    assert folder == cache_of(loader) / "snapshots" / commits["v1"] / "build" / "torch-universal"
    assert sorted(os.listdir(folder)) == ["__init__.py", "metadata.json"]
    assert (cache_of(loader) / "refs" / "v1").read_text() == commits["v1"]
    again = loader.load("good/leaf", "--version", 1, **offline(loader))
    assert (again["path"], again["revision"], again["verified"]) == (kernel["path"], kernel["revision"], "yes")
    assert "Skipping publisher trust check for 'good/leaf'" in again["warnings"]
    by_commit = loader.load("good/leaf", "--revision", commits["v1"], **offline(loader))
    assert by_commit["path"] == kernel["path"]


def test_by_branch_then_offline(server, loader):
    commits = publish_leaf(server)
    kernel = loader.load("good/leaf", "--revision", "main")
    assert kernel["revision"] == commits["main"] and kernel["warnings"] == ""
    assert (cache_of(loader) / "refs" / "main").read_text() == commits["main"]
    assert loader.load("good/leaf", "--revision", "main", **offline(loader))["path"] == kernel["path"]


def test_backend_is_chosen(server, loader, tmp_path):
    publish_leaf(server)
    cuda = add_torch(tmp_path, "cuda")
    assert loader.load("good/leaf", "--version", 1, VIRTUAL_ENV=cuda)["variant"] == "torch-cuda"
    assert loader.load("good/leaf", "--version", 1, "--backend", "cpu", VIRTUAL_ENV=cuda)["variant"] == "torch-universal"
    assert "Invalid backend 'tpu', system supported backends: cpu" in loader.fail("good/leaf", "--version", 1,
                                                                                 "--backend", "tpu")


def requests(server):
    """Method and path of the requests so far. A request of our own marks where the log, which lags, must be read to."""
    marker = f"/marker-{len(server.errors)}"
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(server.url + marker, timeout=60)
    deadline = time.monotonic() + 60
    while not any(marker in line for line in list(server.errors)):
        assert time.monotonic() < deadline, "the request was not logged"
        time.sleep(0.01)
    lines = [json.loads(line) for line in list(server.errors) if line.startswith("{")]
    return [f"{line['method']} {line['path']}" for line in lines if "/marker-" not in line["path"]]


def test_requests(server, loader):
    """Cold: publisher, refs, listing and one for each file of the variant, metadata.json first."""
    commits = publish_leaf(server)
    before = len(requests(server))
    loader.load("good/leaf", "--version", 2)
    sent = requests(server)[before:]
    assert len(sent) == 2 + 3, sent
    assert [line.split("?")[0] for line in sent[:3]] == [
        "GET /api/organizations/good/overview", "GET /api/kernels/good/leaf/refs",
        f"GET /api/kernels/good/leaf/tree/{commits['v2']}/build"]
    assert sent[3].split("?")[0].endswith("/build/torch-universal/metadata.json")
    assert warm_requests(server, loader, "--version", 2) == ["GET /api/kernels/good/leaf/refs"]
    assert warm_requests(server, loader, "--revision", commits["v2"]) == []
    assert warm_requests(server, loader, "--revision", "v2") == ["GET /api/kernels/good/leaf/revision/v2"]


def warm_requests(server, loader, *arguments):
    before = len(requests(server))
    loader.load("good/leaf", *arguments)
    return requests(server)[before:]


def record_of(loader, publisher="good") -> pathlib.Path:
    return pathlib.Path(loader.env["HOME"]) / ".cache" / "kernels" / "publishers" / publisher


def test_a_remembered_publisher_is_asked_about_before_a_download(server, loader):
    """That the Hub trusted a publisher yesterday does not let new code in today."""
    commits = publish_leaf(server)
    loader.load("good/leaf", "--version", 1)
    assert record_of(loader).read_text().splitlines()[0] == server.url and record_of(loader).stat().st_mode & 0o777 == 0o600
    sent = warm_requests(server, loader, "--version", 2)
    assert "GET /api/organizations/good/overview" in sent
    overview = sent.index("GET /api/organizations/good/overview")
    assert overview < min(i for i, line in enumerate(sent) if "/resolve/" in line)
    # an old answer, one from another Hub and a damaged one do not count
    for text in (f"{server.url}\n{int(time.time()) - 90000}\n", f"{NOWHERE}\n{int(time.time())}\n", f"{server.url}\n", "",
                 f"{server.url}\n{int(time.time()) + 90000}\n"):
        record_of(loader).write_text(text)
        assert warm_requests(server, loader, "--revision", commits["v2"]) == ["GET /api/organizations/good/overview"]


def test_trust_that_was_withdrawn(start_hub, server, loader, tmp_path):
    """What was allowed once with trust_remote_code is not allowed without it, and no answer of ours makes it so."""
    hub_api.publish(server.url, "bad/u", {"main": {}, "v1": hub_api.variant("torch-universal", name="uu")})
    loader.load("bad/u", "--version", 1, "--trust")
    record_of(loader, "bad").parent.mkdir(parents=True, exist_ok=True)
    assert not record_of(loader, "bad").exists()
    assert loader.fail("bad/u", "--version", 1).startswith("UNTRUSTED")
    assert not record_of(loader, "bad").exists()


def test_cold_requests_stay_few(server, loader):
    """F + 3 for a kernel of F files."""
    files = {"__init__.py": "", **{f"f{i}.py": f"x = {i}\n" for i in range(98)}}
    hub_api.publish(server.url, "good/many", {"main": {}, "v1": hub_api.variant("torch-universal", files, name="many")})
    before = len(requests(server))
    loader.load("good/many", "--version", 1)
    assert len(requests(server)) - before == 100 + 3


def test_cache_that_others_can_write_into(server, loader, tmp_path):
    publish_leaf(server)
    weak = tmp_path / "weak"
    weak.mkdir()
    weak.chmod(0o777)
    kernel = loader.load("good/leaf", "--version", 1, KERNELS_CACHE=str(weak / "cache"))
    assert f"others can replace the code in the cache {weak}/cache" in kernel["warnings"]
    for env in ({}, offline(loader)):
        text = loader.fail("good/leaf", "--version", 1, KERNELS_CACHE=str(weak / "cache"), KERNELS_VERIFY="1", **env)
        assert "UNTRUSTED" in text and str(weak) in text
    weak.chmod(0o755)
    assert "others can" not in loader.load("good/leaf", "--version", 1, KERNELS_CACHE=str(weak / "cache"))["warnings"]


def test_kernels_commands_use_the_cache_offline(server, loader, programs, run):
    commits = publish_leaf(server)
    loader.load("good/leaf", "--version", 1)
    env = {**loader.env, **offline(loader)}
    text = run(programs.kernels, "versions", "good/leaf", env=env).stdout
    assert text == "Version 1:\n\ntorch-universal compatible, preferred ✅\n"
    document = json.loads(run(programs.kernels, "info", "good/leaf", "--json", env=env).stdout)
    assert (document["revision"], document["name"]) == ("v1", "leaf")
    (cache_of(loader) / "refs" / "v2").write_text(commits["v2"])
    text = run(programs.kernels, "versions", "good/leaf", env=env).stdout
    assert text.endswith("Version 2:\n\nnot cached\n")


# ---- arguments ----


def test_version_and_revision(loader):
    before = loader.env["HF_ENDPOINT"]
    assert before
    assert "A kernel version or revision must be specified" in loader.fail("a/b", HF_ENDPOINT=NOWHERE)
    assert "Only one of" in loader.fail("a/b", "--version", 0, "--revision", "main", HF_ENDPOINT=NOWHERE)


def test_bad_repository_id(loader):
    for repo_id in ("../x", "a/b/c", "a/--b", "", "a/b.git"):
        assert "NETWORK" not in loader.fail(repo_id, "--version", 1, HF_ENDPOINT=NOWHERE)


# ---- what can go wrong on the way ----


def test_unknown_version(server, loader):
    publish_leaf(server)
    assert "Version 7 not found, available versions: 1, 2" in loader.fail("good/leaf", "--version", 7)
    loader.load("good/leaf", "--version", 1)
    text = loader.fail("good/leaf", "--version", 9, **offline(loader))
    assert "Version 9 not found, available versions: 1" in text


def test_not_cached(loader):
    text = loader.fail("good/leaf", "--version", 1, **offline(loader))
    assert "offline mode" in text and "good/leaf" in text
    text = loader.fail("good/leaf", "--revision", "main", **offline(loader))
    assert "local snapshot" in text and "offline mode" in text


def test_hub_down(loader):
    text = loader.fail("good/leaf", "--version", 1, HF_ENDPOINT=NOWHERE)
    assert NOWHERE in text and not cache_of(loader).exists()


def test_wrong_token(start_hub, loader):
    hub = start_hub("--token", "me:secret", "--trusted", "good", "--private", "good/leaf").url
    text = loader.fail("good/leaf", "--version", 1, HF_ENDPOINT=hub, HF_TOKEN="wrong")
    assert "good/leaf" in text or "token" in text


def test_untrusted(server, loader):
    hub_api.publish(server.url, "bad/u", {"main": {}, "v1": hub_api.variant("torch-universal", name="uu")})
    text = loader.fail("bad/u", "--version", 1)
    assert text.startswith("UNTRUSTED") and "bad/u" in text
    assert not cache_of(loader, "bad/u").exists()
    assert loader.load("bad/u", "--version", 1, "--trust")["name"] == "uu"


def test_no_variant_names_the_version_that_has_one(server, loader):
    hub_api.publish(server.url, "good/late", {"main": {}, "v1": hub_api.variant("torch-metal", name="late"),
                                              "v2": hub_api.variant("torch-cpu", name="late", version=2)})
    text = loader.fail("good/late", "--version", 1)
    assert "NO_VARIANT: Cannot find a build variant for this system in good/late" in text
    assert "torch-metal: backend (metal) does not match system backend (cpu) and is not universal" in text
    assert "version v2" in text and "torch-cpu" in text


def test_no_build_folder_and_no_metadata(server, loader):
    hub_api.publish(server.url, "good/empty", {"main": {}, "v1": {"README.md": "x"},
                                               "v2": {"build/torch-cpu/__init__.py": ""}})
    assert "ENTRY_NOT_FOUND: good/empty" in loader.fail("good/empty", "--version", 1)
    assert "build/torch-cpu/metadata.json" in loader.fail("good/empty", "--version", 2)


# ---- content ----


def flip(path: pathlib.Path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["__init__.py", "metadata.json"])
@pytest.mark.parametrize("digest", [True, False])
def test_one_flipped_byte(name, digest, server, loader):
    files = {**hub_api.variant("torch-universal", name="leaf", digest=digest, upstream="https://example.org/aaaaaaaaaa")}
    hub_api.publish(server.url, "good/leaf", {"main": {}, "v1": files})
    kernel = loader.load("good/leaf", "--version", 1)
    assert kernel["verified"] == ("yes" if digest else "no")
    flip((pathlib.Path(kernel["path"]) / name).resolve())
    for env in ({}, offline(loader)):
        text = loader.fail("good/leaf", "--version", 1, **env)
        assert name in text and ("INTEGRITY" in text or name == "metadata.json"), text
    if name == "__init__.py":
        loader.load("good/leaf", "--version", 1, "--no-verify")


@pytest.mark.parametrize("link", [True, False])
def test_metadata_in_place_of_what_the_hub_gave(link, server, loader):
    """A whole metadata.json that fits its own name: only the listing of the commit tells that it is another one."""
    publish_leaf(server)
    path = pathlib.Path(loader.load("good/leaf", "--version", 1)["path"]) / "metadata.json"
    other = path.read_bytes().replace(b'"version": 1', b'"version": 2')
    assert other != path.read_bytes()
    name = hashlib.sha1(b"blob %d\0" % len(other) + other).hexdigest()
    blob = path.resolve().with_name(name)
    path.unlink()
    (blob if link else path).write_bytes(other)
    if link:
        path.symlink_to(blob)
    for env in ({}, offline(loader)):
        assert "metadata.json" in loader.fail("good/leaf", "--version", 1, **env)


def test_truncated_and_missing_file(server, loader):
    publish_leaf(server)
    path = pathlib.Path(loader.load("good/leaf", "--version", 1)["path"]) / "__init__.py"
    blob = path.resolve()
    blob.write_bytes(b"")
    assert "__init__.py" in loader.fail("good/leaf", "--version", 1, **offline(loader))
    blob.unlink()
    assert "__init__.py" in loader.fail("good/leaf", "--version", 1, **offline(loader))
    path.unlink()
    assert "__init__.py" in loader.fail("good/leaf", "--version", 1, **offline(loader))
    assert loader.load("good/leaf", "--version", 1)["verified"] == "yes"  # online it is fetched again


def test_digest_that_was_wrong_from_the_start(server, loader):
    files = hub_api.variant("torch-universal", name="leaf")
    files["build/torch-universal/__init__.py"] = "evil"
    files["build/torch-universal/more.py"] = ""
    hub_api.publish(server.url, "good/leaf", {"main": {}, "v1": files})
    text = loader.fail("good/leaf", "--version", 1)
    assert text.startswith("INTEGRITY")
    assert "File hash mismatch for __init__.py" in text and "Unknown file: more.py" in text


def test_byte_code_is_not_fetched(server, loader):
    files = {**hub_api.variant("torch-universal", name="leaf"), "build/torch-universal/__pycache__/a.pyc": "z",
             "build/torch-universal/b.pyc": "z"}
    hub_api.publish(server.url, "good/leaf", {"main": {}, "v1": files})
    kernel = loader.load("good/leaf", "--version", 1)
    assert sorted(os.listdir(kernel["path"])) == ["__init__.py", "metadata.json"]


def test_minimum_version_and_dirty_build(server, loader):
    minver = hub_api.variant("torch-universal", name="needy", **{"kernels-minver": "99.0.0"})
    provenance = {"kernel-builder": {"version": "0.1.0", "git": None}, "kernel": {"commit": "0" * 40, "dirty": True}}
    dirty = hub_api.variant("torch-universal", name="muddy", provenance=provenance)
    hub_api.publish(server.url, "good/needy", {"main": {}, "v1": minver})
    hub_api.publish(server.url, "good/muddy", {"main": {}, "v1": dirty})
    text = loader.fail("good/needy", "--version", 1)
    assert text.startswith("TOO_OLD") and "requires kernels>=99.0.0" in text and "0.17.2" in text
    assert not list(cache_of(loader, "good/needy").glob("snapshots/*/build/*/__init__.py"))
    warnings = loader.load("good/muddy", "--version", 1)["warnings"]
    assert "muddy" in warnings and "dirty git tree" in warnings and "kernel source" in warnings
    assert "kernel-builder" not in warnings


# ---- dependencies ----


def depend(*entries):
    return {"kernel-depends": [{"repo-id": repo_id, ("version" if isinstance(value, int) else "revision"): value}
                               for repo_id, value in entries]}


def test_dependencies_are_installed(server, loader):
    publish_leaf(server)
    mid = hub_api.variant("torch-universal", name="mid", **depend(("good/leaf", 1)))
    top = hub_api.variant("torch-universal", name="top", **depend(("good/mid", 1), ("good/leaf", 1)))
    hub_api.publish(server.url, "good/mid", {"main": {}, "v1": mid})
    hub_api.publish(server.url, "good/top", {"main": {}, "v1": top})
    before = len(requests(server))
    kernel = loader.load("good/top", "--version", 1)
    sent = requests(server)[before:]
    assert kernel["name"] == "top"
    assert sum("/good/leaf/refs" in line for line in sent) == 1  # shared, asked for once
    assert sum("organizations" in line for line in sent) == 1  # one publisher
    for repo_id in ("good/leaf", "good/mid"):
        assert list(cache_of(loader, repo_id).glob("snapshots/*/build/torch-universal/__init__.py"))
    assert loader.load("good/top", "--version", 1, **offline(loader))["path"] == kernel["path"]


def test_dependency_cycles(server, loader):
    for name, other in (("a", "b"), ("b", "a"), ("self", "self")):
        files = hub_api.variant("torch-universal", name=f"cyc-{name}", **depend((f"good/cyc-{other}", 1)))
        hub_api.publish(server.url, f"good/cyc-{name}", {"main": {}, "v1": files})
    assert "Cyclic kernel dependency detected: good/cyc-a" in loader.fail("good/cyc-a", "--version", 1)
    assert "Cyclic kernel dependency detected: good/cyc-self" in loader.fail("good/cyc-self", "--version", 1)
    assert not list(cache_of(loader, "good/cyc-a").glob("snapshots/*/build/*/__init__.py"))


def test_dependency_failures_name_the_dependency(server, loader):
    hub_api.publish(server.url, "bad/u", {"main": {}, "v1": hub_api.variant("torch-universal", name="uu")})
    publish_leaf(server)
    for name, entry in (("needs-bad", ("bad/u", 1)), ("badver", ("good/leaf", 7)), ("gone", ("good/nowhere", 1))):
        files = hub_api.variant("torch-universal", name=name, **depend(entry))
        hub_api.publish(server.url, f"good/{name}", {"main": {}, "v1": files})
        text = loader.fail(f"good/{name}", "--version", 1)
        assert "Could not resolve kernel" in text and entry[0] in text, text
        assert not list(cache_of(loader, f"good/{name}").glob("snapshots/*/build/*/__init__.py"))
    both = hub_api.variant("torch-universal", name="both", **depend(("good/leaf", 1), ("good/leaf", 2)))
    hub_api.publish(server.url, "good/both", {"main": {}, "v1": both})
    assert "two versions of good/leaf" in loader.fail("good/both", "--version", 1)


# ---- folders ----


def write_files(root: pathlib.Path, files):
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)


def test_local_folder_three_ways(loader, tmp_path):
    root = tmp_path / "k"
    write_files(root, {**hub_api.variant("torch-cpu", name="near"), **hub_api.variant("torch-tpu", name="near")})
    for path in (root, root / "build", root / "build" / "torch-cpu"):
        kernel = loader.load("--local", path, HF_ENDPOINT=NOWHERE)
        assert (kernel["name"], kernel["variant"], kernel["repo_id"], kernel["revision"]) == ("near", "torch-cpu", "-", "-")
        assert kernel["path"] == str(root / "build" / "torch-cpu")
    # a variant folder is taken whatever its name says
    assert loader.load("--local", root / "build" / "torch-tpu", HF_ENDPOINT=NOWHERE)["variant"] == "torch-tpu"
    text = loader.fail("--local", tmp_path / "none", HF_ENDPOINT=NOWHERE)
    assert "Cannot find a build variant for this system in" in text and "Could not find kernel in" in text
    (root / "build" / "torch-cpu" / "__init__.py").write_text("changed")
    assert "__init__.py" in loader.fail("--local", root, HF_ENDPOINT=NOWHERE)


def test_overrides(server, loader, tmp_path):
    publish_leaf(server)
    write_files(tmp_path / "x", hub_api.variant("torch-cpu", name="stand-in"))
    top = hub_api.variant("torch-universal", name="top", **depend(("good/leaf", 1)))
    hub_api.publish(server.url, "good/top", {"main": {}, "v1": top})
    overrides = f"good/leaf={tmp_path}/x:c/d=/none"
    before = len(requests(server))
    kernel = loader.load("good/leaf", "--version", 1, LOCAL_KERNELS=overrides)
    assert (kernel["name"], kernel["revision"]) == ("stand-in", "-") and len(requests(server)) == before
    loader.load("good/top", "--version", 1, LOCAL_KERNELS=overrides)
    assert not any("good/leaf" in line for line in requests(server)[before:])
    assert "/none" in loader.fail("c/d", "--version", 1, LOCAL_KERNELS=overrides)
    assert "Invalid LOCAL_KERNELS entry: junk" in loader.fail("c/d", "--version", 1, LOCAL_KERNELS="junk")
    assert "A kernel version or revision" in loader.fail("good/leaf", LOCAL_KERNELS=overrides)


# ---- what C can call ----


def test_native_choice(server, loader):
    files = {**hub_api.variant("torch-universal", name="mix"),
             **hub_api.variant("torch215-cxx11-cpu-x86_64-linux", name="mix"),
             **hub_api.variant("torch-tpu", PROGRAMS_CPU, name="mix", backend="tpu"),
             **hub_api.variant("torch-cuda", PROGRAMS, name="mix", backend="cuda")}
    hub_api.publish(server.url, "good/mix", {"main": {}, "v1": files})
    python = loader.load("good/mix", "--version", 1)
    assert python["variant"] == "torch-universal"
    native = loader.load("good/mix", "--version", 1, "--native")
    assert native["variant"] == "torch-tpu"  # its programs for the CPU run here
    assert "torch-universal: Python source without exported programs" in native["trace"]
    assert "torch215-cxx11-cpu-x86_64-linux: built against one torch version" in native["trace"]
    assert "torch-cuda: backend (cuda) does not match system backend (cpu)" in native["trace"]
    assert loader.load("good/mix", "--version", 1, "--native", **offline(loader))["path"] == native["path"]


def test_native_choice_without_a_callable_variant(server, loader):
    publish_leaf(server)
    text = loader.fail("good/leaf", "--version", 2, "--native")
    assert text.startswith("NO_VARIANT") and "no aot/ folder" in text


def test_native_kernel_with_a_dependency_of_the_same_kind(server, loader):
    hub_api.publish(server.url, "good/helper", {"main": {}, "v1": hub_api.variant("torch-tpu", name="helper")})
    top = hub_api.variant("torch-tpu", PROGRAMS_CPU, name="top", backend="tpu", **depend(("good/helper", 1)))
    hub_api.publish(server.url, "good/top", {"main": {}, "v1": top})
    assert loader.load("good/top", "--version", 1, "--native")["variant"] == "torch-tpu"
    assert list(cache_of(loader, "good/helper").glob("snapshots/*/build/torch-tpu/__init__.py"))


def test_twice_in_one_context(server, loader):
    publish_leaf(server)
    done = loader.run("good/leaf", "--version", 2, "--repeat")
    assert done.returncode == 0 and done.stdout.count("verified: yes") == 2


# ---- trust, locks and what a context has loaded ----


def publish_top(server, leaf="good/leaf"):
    """top 1 depends on mid 1 and leaf 1, mid 1 on leaf 1; returns repository -> branch -> commit."""
    commits = {leaf: hub_api.publish(server.url, leaf, {
        "main": {}, "v1": hub_api.variant("torch-universal", name="leaf"),
        "v2": hub_api.variant("torch-universal", name="leaf", version=2)})}
    for name, entries in (("mid", [(leaf, 1)]), ("top", [("good/mid", 1), (leaf, 1)])):
        files = hub_api.variant("torch-universal", name=name, **depend(*entries))
        commits[f"good/{name}"] = hub_api.publish(server.url, f"good/{name}", {"main": {}, "v1": files})
    return commits


def write_lock(path, *entries):
    """Entries are (repository, version, commit)."""
    path.write_text(json.dumps([{"dependency": {"repo-id": repo_id, "version": version}, "lock": {"commit": commit}}
                                for repo_id, version, commit in entries]))
    return path


def test_a_list_of_trusted_repositories(server, loader):
    """Each kernel of the tree needs to be trusted: root, dependency, or both."""
    publish_top(server, leaf="bad/leaf")
    for trusted in ([], ["good/top"], ["bad"], ["bad/Leaf"]):
        text = loader.fail("good/top", "--version", 1, *(word for name in trusted for word in ("--trusted", name)))
        assert "UNTRUSTED" in text and "bad/leaf" in text
    assert not list(cache_of(loader, "good/top").glob("snapshots/*/build/*/__init__.py"))
    kernel = loader.load("good/top", "--version", 1, "--trusted", "x/y", "--trusted", "bad/leaf")
    assert kernel["loaded"] == "leaf mid top"


def test_registry_lists_dependencies_first(server, loader):
    publish_top(server)
    kernel = loader.load("good/top", "--version", 1)
    assert kernel["loaded"] == "leaf mid top"
    done = loader.run("good/top", "--version", 1, "--repeat", **offline(loader))
    assert done.stdout.count("loaded: leaf mid top\n") == 2, done


def test_by_lock(server, loader, tmp_path):
    commits = publish_top(server)
    lock = write_lock(tmp_path / "kernels.lock", ("good/top", 1, commits["good/top"]["v1"]),
                      ("good/mid", 1, commits["good/mid"]["v1"]), ("good/leaf", 1, commits["good/leaf"]["v1"]))
    before = len(requests(server))
    kernel = loader.load("good/top", "--lock", lock)
    sent = requests(server)[before:]
    assert (kernel["revision"], kernel["loaded"]) == (commits["good/top"]["v1"], "leaf mid top")
    assert not any("/refs" in line or "/revision/" in line for line in sent), sent
    assert not (cache_of(loader) / "refs").exists()  # what the branch is now was not asked
    assert warm_requests(server, loader, "--lock", lock) == []
    text = loader.fail("good/leaf", "--version", 2, "--lock", lock)
    assert text.startswith("NOT_LOCKED") and "is not locked" in text and "kernels lock" in text
    partial = write_lock(tmp_path / "partial.lock", ("good/top", 1, commits["good/top"]["v1"]))
    text = loader.fail("good/top", "--lock", partial)
    assert "NOT_LOCKED" in text and "good/mid" in text and "is not locked" in text
    # the locked commit is loaded although the branch has moved, online, offline and without requests of this call
    hub_api.commit(server.url, "good/leaf", "v1", hub_api.variant("torch-universal", name="leaf", version=7))
    for arguments, env in (((), {}), ((), offline(loader)), (("--cache-only",), {"HF_ENDPOINT": NOWHERE})):
        again = loader.load("good/leaf", "--lock", lock, *arguments, **env)
        assert again["revision"] == commits["good/leaf"]["v1"]


def test_by_lock_what_was_not_downloaded(server, loader, tmp_path):
    commits = publish_leaf(server)
    lock = write_lock(tmp_path / "kernels.lock", ("good/leaf", 1, commits["v1"]))
    text = loader.fail("good/leaf", "--lock", lock, "--cache-only")
    assert "NOT_CACHED" in text and "kernels download" in text


def test_two_versions_in_one_lock(server, loader, tmp_path):
    """mid needs version 1, so version 2 is the project's own; before anything is cached that is not known."""
    commits = publish_top(server)
    lock = write_lock(tmp_path / "kernels.lock", ("good/mid", 1, commits["good/mid"]["v1"]),
                      ("good/leaf", 1, commits["good/leaf"]["v1"]), ("good/leaf", 2, commits["good/leaf"]["v2"]))
    kernel = loader.load("good/leaf", "--lock", lock)
    assert kernel["revision"] == commits["good/leaf"]["v2"] and "The lock has 2 versions of 'good/leaf'" in kernel["warnings"]
    loader.load("good/mid", "--lock", lock)
    kernel = loader.load("good/leaf", "--lock", lock)
    assert kernel["revision"] == commits["good/leaf"]["v2"] and "The lock has" not in kernel["warnings"]


def test_no_variant_names_the_other_versions(server, loader):
    hub_api.publish(server.url, "good/never", {"main": {}, "v1": hub_api.variant("torch-metal", name="never"),
                                               "v2": hub_api.variant("torch-xpu", name="never")})
    before = len(requests(server))
    assert "Other versions of it: 2" in loader.fail("good/never", "--version", 1)
    assert len(requests(server)) - before == 4  # publisher, refs, two listings


def test_kernel_status_is_not_asked_for(server, loader):
    commits = publish_leaf(server)
    hub_api.commit(server.url, "good/leaf", "v1", {"kernel-status.toml": 'kind = "redirect"\ndestination = "a/b"\n'})
    kernel = loader.load("good/leaf", "--version", 1)
    assert kernel["name"] == "leaf" and kernel["revision"] != commits["v1"]
    assert not any("kernel-status" in line for line in requests(server))
