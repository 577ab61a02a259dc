# SPDX-License-Identifier: Apache-2.0
"""kernels._native.Context: the steps of a load one by one, against an embedded hub, in child processes."""
import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

import hub_api
import python_child
from test_load import NOWHERE, depend, flip, publish_leaf, requests, write_files

PRELUDE = """
import json, os, pathlib
import kernels._native as native
system = {**native.system_detect(""), "backend": "cpu", "backend_version": None, "alternative": None}
said = []
def context(**more):
    return native.Context(system, warn=lambda category, message: said.append((category, message)), **more)
def failure(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except BaseException as error:
        return error
    raise AssertionError("no exception")
def install(c, found, **more):
    return c.install(found.repo_id, found.commit, found.variant, ref=found.ref, **more)
"""


@pytest.fixture
def server(start_hub):
    return start_hub("--trusted", "good", "--access-log")


@pytest.fixture
def python(build_dir, environment, server):
    """python(code, **environment) -> what it printed, as JSON where it is a dictionary or list."""
    variables = {**environment, **python_child.variables(build_dir), "HF_ENDPOINT": server.url}

    def run_python(code, **env):
        done = subprocess.run([sys.executable, "-c", PRELUDE + code], env={**variables, **env}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    run_python.variables = variables
    return run_python


def test_find_then_install(server, python):
    commits = publish_leaf(server)
    before = len(requests(server))
    said = json.loads(python("""
c = context()
found = c.find("good/leaf", version=1)
assert found.path is None and found.decisions == [("torch-universal", None), found.decisions[1]]
assert found.decisions[1][0] == "torch-cuda" and "cuda" in found.decisions[1][1]
assert json.loads(found.metadata)["name"] == "leaf"
snapshots = pathlib.Path(c.cache_directory, "kernels--good--leaf", "snapshots")
assert [p.name for p in snapshots.rglob("*") if p.is_file()] == ["metadata.json"]
assert not snapshots.with_name("refs").exists()
cold = c.requests
path = install(c, found)
assert snapshots.with_name("refs").joinpath("v1").read_text() == found.commit
assert sorted(os.listdir(path)) == ["__init__.py", "metadata.json"] and c.verify(path) is True
installed = c.requests
again = c.find("good/leaf", version=1)
assert install(c, again) == path
print(json.dumps([found.repo_id, found.commit, found.ref, found.variant, cold, installed, c.requests, said]))
"""))
    message = "You are using version 1 of 'good/leaf', but version 2 is available."
    # publisher, refs, listing, metadata.json; then the one other file; then refs alone
    assert said == ["good/leaf", commits["v1"], "v1", "torch-universal", 4, 5, 6, [["versions", message]] * 2]
    assert len(requests(server)) - before == 6


def test_offline_after_online(server, python):
    publish_leaf(server)
    python("c = context()\ninstall(c, c.find('good/leaf', version=1))\nc.find('good/leaf', version=2)")
    assert python("""
c = context(offline=True)
found = c.find("good/leaf", version=1)
assert install(c, found) == found.path and os.path.isdir(found.path)
assert [category for category, message in said] == ["trust"], said
assert c.offline and c.requests == 0
error = failure(c.find, "good/leaf", version=2)
assert isinstance(error, ValueError) and "available versions: 1" in str(error)
# metadata.json of version 2 is there, the rest of it is not
two = next(p.parents[2].name for p in pathlib.Path(c.cache_directory).rglob("metadata.json") if found.commit not in str(p))
for error in (failure(c.find, "good/leaf", revision=two), failure(c.install, "good/leaf", two, "torch-universal")):
    assert isinstance(error, FileNotFoundError) and "local snapshot" in str(error) and "offline mode" in str(error)
print("ok")
""", HF_ENDPOINT=NOWHERE) == "ok"


def test_the_switches_win_over_the_environment(server, python):
    publish_leaf(server)
    assert python("assert context().offline and not context(offline=False).offline\n"
                  "print(context(offline=False).find('good/leaf', version=2).variant)", HF_HUB_OFFLINE="1") == "torch-universal"
    assert python("print(context(cache_directory='/x').cache_directory, context(endpoint='http://a.b').endpoint)") == \
        "/x http://a.b"


def test_cache_only_asks_nothing(server, python):
    publish_leaf(server)
    before = len(requests(server))
    assert python("""
c = context()
assert isinstance(failure(c.find, "good/leaf", version=1, cache_only=True), ValueError)
assert "offline mode" in str(failure(c.commit, "good/leaf", version=1, cache_only=True))
assert isinstance(failure(c.find, "good/leaf", revision="main", cache_only=True), FileNotFoundError)
assert c.versions("good/leaf", cache_only=True) == [] and c.requests == 0
path = install(c, c.find("good/leaf", version=2))
sent = c.requests
found = c.find("good/leaf", version=2, cache_only=True)
assert found.path == path and c.versions("good/leaf", cache_only=True) == [(2, found.commit)]
assert c.variant_names("good/leaf", found.commit, cache_only=True) == ["torch-universal"]
assert c.requests == sent
print("ok")
""") == "ok"
    assert len(requests(server)) - before == 5


def test_commit_of_a_lock(server, python):
    commits = publish_leaf(server)
    code = f"""
c = context()
found = c.find("good/leaf", version=2, commit={commits["v1"]!r})
assert found.commit == {commits["v1"]!r} and found.ref is None and json.loads(found.metadata)["version"] == 1
install(c, found)
assert not pathlib.Path(c.cache_directory, "kernels--good--leaf", "refs").exists()
print(c.requests)
"""
    assert python(code) == "4"  # publisher, listing, two files
    assert python(code) == "0"
    assert python("print(failure(context().find, 'good/leaf', version=1, commit='main'))").startswith("expected a commit")


def test_trust(server, python):
    hub_api.publish(server.url, "bad/u", {"main": {}, "v1": hub_api.variant("torch-universal", name="uu")})
    hub_api.publish(server.url, "bad/v", {"main": {}, "v1": hub_api.variant("torch-universal", name="vv")})
    assert python("""
c = context()
for trust in (False, 1, "bad/u", [], ["bad"], ["bad/v"], ("bad/U",)):
    error = failure(c.find, "bad/u", version=1, trust=trust)
    assert isinstance(error, ValueError) and "bad/u" in str(error), (trust, error)
    assert isinstance(failure(c.check_trust, "bad/u", trust=trust), ValueError)
for trust in (True, ["bad/u"], ("x/y", "bad/u")):
    found = c.find("bad/u", version=1, trust=trust)
    assert c.check_trust("bad/u", trust=trust) is None
assert isinstance(failure(install, c, found, trust=["bad/v"]), ValueError)
assert os.path.isdir(install(c, found, trust=["bad/u"]))
assert isinstance(failure(c.find, "bad/u", version=1, trust=[1]), TypeError)
assert c.check_trust("good/anything") is None
print("ok")
""") == "ok"


def test_nothing_fits(server, python):
    hub_api.publish(server.url, "good/late", {
        "main": {}, "v1": hub_api.variant("torch-metal", name="late"), "v2": hub_api.variant("torch-xpu", name="late"),
        "v3": {**hub_api.variant("torch-cpu", name="late"), **hub_api.variant("junk", name="late")}})
    hub_api.publish(server.url, "good/never", {"main": {}, "v1": hub_api.variant("torch-metal", name="never"),
                                               "v2": hub_api.variant("torch-xpu", name="never")})
    assert python("""
c = context()
error = failure(c.find, "good/late", version=1)
assert isinstance(error, FileNotFoundError) and error.versions == [1, 2, 3] and error.fitting == (3, "torch-cpu")
assert error.decisions == [("torch-metal", "backend (metal) does not match system backend (cpu) and is not universal")]
assert "Cannot find a build variant for this system in good/late (revision: " in str(error)
assert "torch-metal: backend (metal)" in str(error) and "v3: its variant torch-cpu" in str(error)
assert c.requests == 4  # publisher, refs, two listings
error = failure(c.find, "good/late", version=2, hint=False)
assert error.fitting is None and error.versions == [1, 2, 3] and c.requests == 6
assert "Other versions of it: 3, 1" in str(error)
error = failure(c.find, "good/never", version=1)
assert error.fitting is None and "Other versions of it: 2" in str(error)
# a branch, whose versions are asked for; the newest one is in memory by now
sent = c.requests
error = failure(c.find, "good/late", revision="v1")
assert error.fitting == (3, "torch-cpu") and c.requests == sent + 2
error = failure(c.find_folder, "/")
assert error.decisions == [] and error.versions == []
print("ok")
""") == "ok"


def test_names_and_versions(server, python):
    commits = publish_leaf(server)
    hub_api.publish(server.url, "good/odd", {"main": {}, "v1": {
        **hub_api.variant("torch-cpu", name="odd"), **hub_api.variant("Junk", name="odd"), "build/readme": "x"}})
    assert python(f"""
c = context()
assert c.versions("good/leaf") == [(1, {commits["v1"]!r}), (2, {commits["v2"]!r})]
assert c.commit("good/leaf", version=2) == c.commit("good/leaf", revision="v2") == {commits["v2"]!r}
assert c.commit("good/leaf", revision={commits["v1"]!r}) == {commits["v1"]!r}
assert c.variant_names("good/leaf", {commits["v1"]!r}) == ["torch-cuda", "torch-universal"]
error = failure(c.commit, "good/leaf", version=3)
assert isinstance(error, ValueError) and "Version 3 not found, available versions: 1, 2" in str(error)
odd = c.commit("good/odd", version=1)
assert c.variant_names("good/odd", odd) == ["Junk", "torch-cpu"] and not said
c.find("good/odd", version=1)
assert [category for category, message in said] == ["variants"] and "'Junk'" in said[0][1]
for version, class_ in ((-1, OverflowError), (2**64, OverflowError), ("1", TypeError), (1.0, TypeError)):
    assert isinstance(failure(c.find, "good/leaf", version=version), class_), version
assert c.find("good/leaf", version=True).ref == "v1"
for arguments in ({{}}, {{"version": 1, "revision": "v1"}}):
    assert isinstance(failure(c.find, "good/leaf", **arguments), ValueError)
assert isinstance(failure(c.find, "../x", version=1), ValueError)
print("ok")
""") == "ok"


def test_all_variants(server, python):
    commits = publish_leaf(server)
    hub_api.publish(server.url, "good/empty", {"main": {"README.md": "x"}})
    before = len(requests(server))
    build = python(f"print(context().install_all('good/leaf', {commits['v1']!r}, ref='v1'))")
    assert len(requests(server)) - before == 1 + 2  # the variants have the same two files
    assert python(f"""
build = pathlib.Path({build!r})
assert sorted(os.listdir(build)) == ["torch-cuda", "torch-universal"]
c = context(offline=True)
assert c.install_all("good/leaf", {commits["v1"]!r}) == str(build) and c.versions("good/leaf")[0][0] == 1
assert isinstance(failure(c.install_all, "good/leaf", {commits["v2"]!r}), FileNotFoundError)
c.find("good/leaf", version=1)  # the variant that fits is complete too
file = build / "torch-cuda" / "__init__.py"
file.resolve().write_text("def hello():\\n    return 2\\n")
error = failure(c.install_all, "good/leaf", {commits["v1"]!r})
assert isinstance(error, Exception) and "torch-cuda/__init__.py" in str(error) and error.status == "INTEGRITY"
file.resolve().unlink()
assert isinstance(failure(c.install_all, "good/leaf", {commits["v1"]!r}), FileNotFoundError)
print("ok")
""") == "ok"


@pytest.mark.parametrize("digest", [True, False])
def test_one_flipped_byte(digest, server, python):
    files = hub_api.variant("torch-universal", name="leaf", digest=digest)
    hub_api.publish(server.url, "good/leaf", {"main": {}, "v1": files})
    path = python("c = context()\nprint(install(c, c.find('good/leaf', version=1)))")
    flip((pathlib.Path(path) / "__init__.py").resolve())
    code = ("c = context()\nfound = c.find('good/leaf', version=1)\nerror = failure(install, c, found)\n"
            f"assert error.status == 'INTEGRITY' and '__init__.py' in str(error), error\n"
            + (f"assert failure(c.verify, {path!r}).status == 'INTEGRITY'\n" if digest else
               f"assert c.verify({path!r}) is False\n") + "print('ok')")
    assert python(code) == "ok"
    assert python(code, HF_HUB_OFFLINE="1", HF_ENDPOINT=NOWHERE) == "ok"


def test_folders(python, tmp_path):
    root = tmp_path / "wid\u00e9"
    write_files(root, {**hub_api.variant("torch-cpu", name="near"), **hub_api.variant("torch-tpu", name="near")})
    assert python(f"""
c, root = context(), pathlib.Path({str(root)!r})
for path in (root, root / "build", root / "build" / "torch-cpu", str(root)):
    found = c.find_folder(path)
    assert (found.repo_id, found.commit, found.ref, found.variant) == (None, None, None, "torch-cpu")
    assert found.path == str(root / "build" / "torch-cpu") and c.verify(found.path)
assert c.find_folder(root / "build" / "torch-tpu").variant == "torch-tpu"
assert "Invalid backend 'tpu'" in str(failure(c.find_folder, root, backend="tpu"))
(root / "build" / "torch-cpu" / "metadata.json").write_text("{{")
error = failure(c.find_folder, root)
assert isinstance(error, ValueError) and "Cannot parse metadata" in str(error), repr(error)
print("ok", c.requests)
""", HF_ENDPOINT=NOWHERE) == "ok 0"


def test_unusable_names(server, python):
    publish_leaf(server)
    assert python("""
c = context()
commit = c.commit("good/leaf", version=1)
for variant in ("", ".", "..", "a/b", "../build/torch-cpu", "a\\\\b", "x" * 1000):
    assert failure(c.install, "good/leaf", commit, variant).status == "UNSAFE_NAME"
for text in ("", "main", commit[:39], commit + "0", commit.upper()):
    assert isinstance(failure(c.install, "good/leaf", text, "torch-cpu"), ValueError), text
    assert isinstance(failure(c.install_all, "good/leaf", text), ValueError)
    assert isinstance(failure(c.variant_names, "good/leaf", text), ValueError)
assert "torch-metal" in str(failure(c.install, "good/leaf", commit, "torch-metal"))
print("ok")
""") == "ok"


def test_lock(server, python):
    commits = publish_leaf(server)
    top = hub_api.variant("torch-universal", name="top", **depend(("good/leaf", 2)))
    top_commits = hub_api.publish(server.url, "good/top", {"main": {}, "v1": top})
    rows = json.loads(python("print(json.dumps(context().lock([('good/top', 1, None), ('good/leaf', None, 'v1')])))"))
    assert sorted(map(tuple, rows), key=str) == sorted([
        ("good/leaf", 2, None, commits["v2"]), ("good/leaf", None, "v1", commits["v1"]),
        ("good/top", 1, None, top_commits["v1"])], key=str)
    assert python("print([type(failure(context().lock, rows)).__name__ for rows in ([], [1], [('a', 'x', None)], 3)])") == \
        "['ValueError', 'TypeError', 'TypeError', 'TypeError']"


# ---- threads, callbacks, interruption ----


def test_sixteen_threads_share_a_context(server, python):
    publish_leaf(server)
    assert python("""
import threading
c = context()
paths = []
def use():
    for _ in range(5):
        paths.append(install(c, c.find("good/leaf", version=1)))
threads = [threading.Thread(target=use) for _ in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(paths), len(set(paths)))
""") == "80 1"


def test_after_fork(server, python):
    """The connection is the parent's; the child makes a Context of its own."""
    publish_leaf(server)
    assert python("""
c = context()
found = c.find("good/leaf", version=1)
child = os.fork()
if child == 0:
    error = failure(c.find, "good/leaf", version=1)
    own = context()
    fine = isinstance(error, RuntimeError) and "fork" in str(error) and own.find("good/leaf", version=1).commit == found.commit
    del c, own
    os._exit(0 if fine else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
sent = c.requests
assert c.find("good/leaf", version=1).commit == found.commit and c.requests == sent + 1
print("ok")
""") == "ok"


def test_callbacks_that_misbehave(server, python):
    publish_leaf(server)
    assert python("""
import sys
lost = []
sys.unraisablehook = lambda it: lost.append(str(it.exc_value))
def warn(category, message):
    c.find("good/leaf", version=2)
c = native.Context(system, warn=warn)
assert c.find("good/leaf", version=1).ref == "v1"
assert lost == ["a callback of a Context must not use that Context"], lost
def interrupted(category, message):
    raise KeyboardInterrupt
assert isinstance(failure(native.Context(system, warn=interrupted).find, "good/leaf", version=1), KeyboardInterrupt)
steps = []
c = native.Context(system, progress=lambda file, done, total: steps.append((file, done, total)))
install(c, c.find("good/leaf", version=1))
assert all(done <= total or total == 0 for file, done, total in steps)
assert isinstance(failure(native.Context, system, warn=3), TypeError)
assert isinstance(failure(native.Context, {}), (KeyError, TypeError, ValueError))
assert isinstance(failure(native.Context, system, False), TypeError)
assert isinstance(failure(native.Found), TypeError)
print("ok")
""") == "ok"


def test_interrupted_while_waiting(start_hub, build_dir, environment):
    """Ctrl-C ends a call that waits for the Hub, and the context can be used afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env = {**environment, **python_child.variables(build_dir),
               "HF_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        code = PRELUDE + """
c = context()
print("waiting", flush=True)
error = failure(c.versions, "good/leaf")
print(type(error).__name__, c.versions("good/leaf", cache_only=True), flush=True)
"""
        child = subprocess.Popen([sys.executable, "-c", code], env=env, text=True, stdout=subprocess.PIPE)
        assert child.stdout.readline() == "waiting\n"
        silent.accept()
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "KeyboardInterrupt []\n"
        assert child.wait(timeout=60) == 0 and time.monotonic() - began < 8
