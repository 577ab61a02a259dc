# SPDX-License-Identifier: Apache-2.0
"""The Python package as a drop-in: recorded calls of the released package on a Hub of the same content, and a real hub.

Classes of exceptions, results, what is loaded and logged are compared, of messages the facts in FACTS. Every call is a child process.
"""
import json
import os
import pathlib
import re
import sys

import pytest

import hub_api
import python_child
from hub_fixtures import cache_files
from scenario_hub import ScenarioHub
from test_hub_replay import SCENARIOS as REPLAYED
from test_hub_replay import Server
from test_kernels_cli import add_torch

NOWHERE = "http://127.0.0.1:9"

# Parts of messages that callers may look for: where the recorded message has one, ours must.
FACTS = [re.compile(text) for text in (
    r"only works during kernel loading", r"Cyclic kernel dependency detected: \S+", r"'[\w/-]+' is not from a trusted publisher",
    r"could not verify publisher trust status", r"missing/x", r"trust_remote_code=True", r"Version \d+ not found, available versions: [\d, ]*",
    r"'[\w/-]+' not found in kernel dependencies", r"requires kernels>=[\d.]+", r"version 0\.17\.2 is installed", r"inside",
    r"Cannot find a build variant for this system in [\w/-]+ \(revision: \w+\)", r"torch-metal: backend \(metal\) [\w ()]+",
    r"version v2", r"torch-universal", r"A kernel version or revision must be specified", r"Only one of",
    r"takes 1 positional argument but 2 were given", r"Invalid backend 'metal', system supported backends: cpu",
    r"Invalid git object id", r"No kernels found to lock", r"`[\w/-]+` is not locked", r"kernels lock", r"local snapshot",
    r"offline mode", r"unsupported kernel dependency", r"while importing kernel '[\w-]+', variant '[\w-]+'(?: \(.*\))?",
    r"You are using version \d+ of '[\w/-]+'", r"but version \d+ is available", r"Skipping publisher trust check for '[\w/-]+'",
    r"dirty git tree", r"kernel source", r"kernel-builder", r"Kernel '[\w-]+' variant '[\w-]+'", r"Consistency check",
)]  # fmt: skip

# Where the recorded answer is not what a user wants (see the notes of the vectors): what ours gives.
LEAF, MID, TOP = (["_leaf", ["good/leaf", "28f7cfc2216e032083b2817cac420326e0de6810"]],
                  ["_mid", ["good/mid", "0c111711d6effcefc38511197b626670c44fb935"]],
                  ["_top", ["good/top", "b42a987667b6b0431c2fab7d9bfab4d9ebc79c35"]])
DIFFERENT = {
    "unknown python dependency reported first": {"error": "RuntimeError", "message": "requires kernels>=99.0.0"},
    "has_kernel, variant without metadata.json": {"result": False},
    "offline, version known only online": {"result": "_top", "loaded": [LEAF, MID, TOP], "sys_modules": ["_leaf", "_mid", "_top"],
                                           "log": [["kernels.hf_hub", "WARNING", f"Skipping publisher trust check for '{name}'"]
                                                   for name in ("good/top", "good/mid", "good/leaf")]},
    "offline by commit": {"loaded": [LEAF]},
    "load_kernel after download": {"loaded": [LEAF, MID, TOP]},
    "lock: dependency by revision": {"result": [
        {"dependency": {"repo-id": "good/leaf", "revision": "main"}, "lock": {"commit": LEAF[1][1]}},
        {"dependency": {"repo-id": "good/revdep", "version": 1}, "lock": {"commit": "58568eee1622933341e668ea7086f4245bcb5e20"}}]},
    "lock: variant without metadata": {"result": [
        {"dependency": {"repo-id": "good/half", "version": 1}, "lock": {"commit": "8c344e15f0d348149fbc007621dea2192c1eab38"}}],
        "log": None},
    "lock of kernels < 0.17": {"result": "_leaf", "loaded": [LEAF], "sys_modules": ["_leaf"], "log": [
        ["kernels.locking", "WARNING", "kernels lock"],
        ["kernels.hf_hub", "WARNING", "Skipping publisher trust check for 'good/leaf'"]]},
    "bad backend": {"message": "Invalid backend 'metal', system supported backends: cpu"},
}
CACHED = ("warm: second process", "offline, version known only online", "offline by commit", "load_kernel after download",
          "lock of kernels < 0.17")  # fmt: skip  # these find what "warm: first" downloaded

CALL = """
import json, logging, sys
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append([record.name, record.levelname, record.getMessage()])
logging.getLogger().addHandler(Keep())
from kernels import (get_kernel, get_kernel_dep, get_loaded_kernels, get_locked_kernel, has_kernel, install_kernel,
                     load_kernel)
def lock(*dependencies):
    from kernels._rust import KernelDependency, KernelVersion
    from kernels.hf_hub import _get_hf_api
    from kernels.locking import extract_dependency_locks
    wanted = [KernelDependency(name, KernelVersion.Version(version)) for name, version in dependencies]
    return json.loads(extract_dependency_locks(wanted, api=_get_hf_api()).to_json())
outcome = {}
try:
    outcome["result"] = eval(sys.argv[1])
except Exception as error:
    outcome["error"] = [one.__name__ for one in type(error).__mro__]
    outcome["message"] = "\\n".join([str(error), *getattr(error, "__notes__", [])])
info = lambda one: one and [one.repo_id, one.revision]
outcome["loaded"] = [[one.metadata.id, info(one.repo_info)] for one in get_loaded_kernels()]
outcome["sys_modules"] = sorted(set(json.loads(sys.argv[2])) & set(sys.modules))
outcome["log"] = records
print(json.dumps(outcome))
"""


@pytest.fixture
def python(run, build_dir, environment):
    def run_python(*arguments, env=None, **more):
        variables = {**environment, **python_child.variables(build_dir), **(env or {})}
        return run(sys.executable, *arguments, env=variables, **more)

    return run_python


def repositories_of(scenarios):
    """As ScenarioHub takes them; version N of a repository may have variants of its own."""
    found = {}
    for repo_id, repository in scenarios["repositories"].items():
        refs = scenarios["commits"].get(repo_id) or {f"v{n}": "e" * 40 for n in repository["versions"]}
        commits = {}
        for ref, commit in sorted(refs.items()):
            variants = repository.get("variants") or repository.get("per_version", {}).get(ref.removeprefix("v"), {})
            if variants or commit not in commits:
                commits[commit] = {**{name: text.encode() for name, text in repository.get("files", {}).items()},
                                   **files_of(variants)}
        found[repo_id] = {"refs": refs, "commits": commits}
    return found


def files_of(variants):
    files = {}
    for folder, variant in variants.items():
        files[f"build/{folder}/__init__.py"] = variant["init"].encode()
        if "metadata" in variant:
            files[f"build/{folder}/metadata.json"] = json.dumps(variant["metadata"]).encode()
    return files


def facts_of(text):
    return [match[0] for fact in FACTS for match in fact.finditer(text)]


def test_scenarios(python, data, tmp_path):
    scenarios = json.loads((data / "release17" / "scenarios.json").read_text())
    ids = [variant["metadata"]["id"] for repository in scenarios["repositories"].values()
           for variant in repository.get("variants", {}).values() if "metadata" in variant]
    lockfile = tmp_path / "kernels.lock"
    with ScenarioHub(repositories_of(scenarios), scenarios["trusted_publishers"], {"good", "bad"}) as hub:
        for number, case in enumerate(scenarios["scenarios"]):
            warm = case["name"].startswith("warm") or case["name"] in CACHED
            if "lockfile" in case:
                lockfile.write_text(json.dumps(case["lockfile"]))
            env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / ("warm" if warm else f"home{number}")), **case.get("env", {})}
            hub.requests.clear()
            call = case["call"].replace("LOCKFILE", str(lockfile))
            check(case, json.loads(python("-c", CALL, call, json.dumps(ids), env=env).stdout), hub.requests)
    print(f"scenarios: {len(scenarios['scenarios'])} cases")
    assert len(scenarios["scenarios"]) == 57


def check(case, found, requests):
    wanted = {**case["expect"], **DIFFERENT.get(case["name"], {})}
    different = case["name"] in DIFFERENT
    if "result" in wanted and not (different and "error" in DIFFERENT[case["name"]]):
        assert found.get("result") == wanted["result"], (case["name"], found)
    else:
        assert wanted["error"] in found.get("error", ()), (case["name"], found)
        assert set(wanted.get("bases", ())) - {"HTTPError"} <= set(found["error"]), (case["name"], found["error"])
        for fact in facts_of("\n".join([wanted["message"], *wanted["notes"]])):
            assert fact in found["message"], (case["name"], fact, found["message"])
    assert found["loaded"] == wanted["loaded"] and found["sys_modules"] == wanted["sys_modules"], (case["name"], found)
    check_log(case["name"], wanted["log"], found["log"])
    assert len(requests) <= max(len(case["requests"]), 1), (case["name"], requests)
    if "error" in wanted and not wanted["notes"] and not wanted["loaded"]:
        assert not [path for _, path in requests if path.endswith(".py")], (case["name"], requests)


def check_log(name, wanted, found):
    """Ours says a thing once."""
    if wanted is None:
        assert len(found) == 1, (name, found)
        return
    once = [list(entry) for entry in dict.fromkeys(map(tuple, wanted))]
    assert [entry[:2] for entry in found] == [entry[:2] for entry in once], (name, found)
    for ours, theirs in zip(found, once):
        assert all(fact in ours[2] for fact in facts_of(theirs[2])), (name, ours, theirs)


def test_recorded_calls(python, data, tmp_path):
    """The Python calls of loader/http, against the recorded answers."""
    count = 0
    for name in REPLAYED:
        scenario = json.loads((data / "loader" / "http" / f"{name}.json").read_text())
        server = Server(scenario)
        home = tmp_path / name / "huggingface"
        for step in scenario["steps"]:
            if step["call"].startswith("\nfrom huggingface_hub") or "sys.argv" in step["call"]:
                continue
            server.begin(step)
            variables = {key: value.replace("{HF_HOME}", str(home)) for key, value in step.get("env", {}).items()}
            env = {"HF_HOME": str(home), "HF_ENDPOINT": server.fill("{ENDPOINT}"), **variables}
            done = python("-c", RECORDED, step["call"], env=env)
            check_recorded(name, step, json.loads(done.stdout), home, server)
            count += 1
        server.shutdown()
        server.server_close()
    print(f"loader/http: {count} calls")
    assert count >= 30


def recorded_environment(home, server):
    return {"HF_HOME": str(home), "HF_ENDPOINT": server.fill("{ENDPOINT}")}


@pytest.mark.parametrize("name, step", [("older_get_kernel", 0), ("older_redirect", 1)])
def test_calls_of_older_releases(python, data, tmp_path, name, step):
    """The files that these put into the cache; a redirect is not followed, its file not asked for."""
    scenario = json.loads((data / "loader" / "http" / f"{name}.json").read_text())
    wanted = scenario["steps"][step]
    server = Server(scenario)
    server.begin(wanted)
    home = tmp_path / "huggingface"
    found = json.loads(python("-c", RECORDED, wanted["call"], env=recorded_environment(home, server)).stdout)
    assert found.get("result") == json.loads(json.dumps(wanted["result"]).replace("{HF_HOME}", str(home))), found
    check_log(name, wanted.get("log", []), found["log"])
    assert server.unexpected == [] and not [path for _, path, _ in server.seen if "kernel-status" in path]
    cached = cache_files(home / "hub")
    for path, kind, content in wanted.get("hub_cache_after", []):
        if "/blobs/" in path or "/snapshots/" in path:
            assert path in cached, path
            assert kind != "link" or cached[path] == f"-> {content}", path
    server.shutdown()
    server.server_close()


def test_recorded_command_lines(programs, run, environment, data, tmp_path):
    """`kernels versions` and `kernels info` on a machine that has the backend cpu alone."""
    scenario = json.loads((data / "loader" / "http" / "cli_versions_info_verify.json").read_text())
    steps = [step for step in scenario["steps"] if "verify-signature" not in step["call"]]
    server = Server(scenario)
    env = {**environment, **recorded_environment(tmp_path / "huggingface", server), "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}
    for step in steps:  # `info` asks for metadata.json of the first variant, the release for that of any
        server.begin({"requests": [request for one in scenario["steps"] for request in one["requests"]]})
        words = json.loads(re.search(r"sys.argv=(.*)", step["call"])[1].replace("'", '"'))[1:]
        assert run(programs.kernels, *words, env=env).stdout == step["stdout"], words
        assert server.unexpected == [], words
    server.shutdown()
    server.server_close()
    assert len(steps) == 3


RECORDED = """
import json, logging, sys
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append([record.name, record.levelname, record.getMessage()])
logging.getLogger().addHandler(Keep())
names, outcome = {}, {}
try:
    exec(sys.argv[1], names)
    outcome["result"] = str(names["result"]) if "result" in names and not isinstance(names["result"], (list, bool, type(None))) \\
        else names.get("result")
except Exception as error:
    outcome["error"] = [one.__name__ for one in type(error).__mro__]
    outcome["message"] = str(error)
outcome["log"] = records
print(json.dumps(outcome))
"""

# The notes of these ask for another answer than was recorded: class of the exception, or None for a load that works.
BETTER = {"content_does_not_match_etag": "OSError", "get_kernel_by_branch_then_offline": None,
          "get_kernel_by_version_then_offline": None, "get_kernel_no_build_dir": None}


def check_recorded(name, step, found, home, server):
    where = (name, step["call"], found)
    assert server.unexpected == [], (*where, server.unexpected)
    if step.get("peer_differs"):
        wanted = BETTER[name]
        assert wanted in found["error"] if wanted else "error" not in found, where
        return
    if name == "missing_commit_header":  # the answer of something that is no Hub: a failure of the Hub, not of the cache
        assert "HfHubHTTPError" in found["error"], where
        return
    if "exception" in step:
        assert step["exception"]["type"] in found.get("error", ()), where
        assert set(step["exception"]["mro"]) - {"HTTPError"} <= set(found["error"]), where
        for fact in facts_of(step["exception"]["message"]):
            assert fact in found["message"] or name == "size_mismatch", (*where, fact)
        return
    wanted = json.loads(json.dumps(step.get("result")).replace("{HF_HOME}", str(home)))
    assert found.get("result") == wanted, where
    if "log" in step:
        check_log(name, step["log"], found["log"])


# ---- a real hub ----


@pytest.fixture
def server(start_hub):
    return start_hub("--trusted", "good", "--access-log")


@pytest.fixture
def on_hub(python, server):
    """on_hub(code, **environment) -> what it printed."""
    def run_code(code, **env):
        return python("-c", "import kernels, sys\n" + code, env={"HF_ENDPOINT": server.url, **env}).stdout.strip()

    return run_code


def publish(server, name="leaf", files=None, branches=("v1",), owner="good", **more):
    return hub_api.publish(server.url, f"{owner}/{name}", {
        branch: hub_api.variant("torch-universal", files or {"__init__.py": f"NAME = '{name}'\n"}, name=name, **more)
        for branch in branches})


LOAD = "print(kernels.get_kernel('good/leaf', version=1).NAME, kernels.get_loaded_kernels()[-1].repo_info.revision)"


def test_online_then_without_a_hub(server, on_hub, environment):
    commit = publish(server, branches=("v1", "main"))["v1"]
    assert on_hub(LOAD) == f"leaf {commit}"
    server.stop()
    assert on_hub(LOAD, HF_HUB_OFFLINE="1") == f"leaf {commit}"
    assert on_hub(LOAD.replace("version=1", f"revision='{commit}'")) == f"leaf {commit}"  # nothing has to be asked
    on_hub("""
try:
    kernels.get_kernel('good/leaf', revision='main')
except FileNotFoundError as error:
    assert "offline mode" in str(error), error
else:
    raise AssertionError
try:
    kernels.get_kernel('good/other', version=1)
except ValueError as error:
    assert "offline mode" in str(error) and "good/other" in str(error), error
else:
    raise AssertionError
""", HF_HUB_OFFLINE="1")
    cached = next(pathlib.Path(environment["HF_HOME"]).rglob("torch-universal/__init__.py"))
    content = cached.read_bytes()
    cached.resolve().chmod(0o644)
    cached.resolve().write_bytes(bytes([content[0] ^ 1]) + content[1:])
    on_hub("""
try:
    kernels.get_kernel('good/leaf', version=1)
except OSError as error:
    assert error.status == "INTEGRITY" and "__init__.py" in str(error), error
else:
    raise AssertionError
assert kernels.get_loaded_kernels() == [] and kernels.has_kernel('good/leaf', version=1)
""", HF_HUB_OFFLINE="1")


def test_two_kernels_with_equal_names(server, on_hub):
    for owner in ("good", "better"):
        publish(server, "twin", {"__init__.py": "from .sub import NAME", "sub.py": f"NAME = '{owner}'"}, owner=owner)
    assert on_hub("""
one, two = (kernels.get_kernel(f'{owner}/twin', version=1, trust_remote_code=True) for owner in ('good', 'better'))
print(one.NAME, two.NAME, one is kernels.get_kernel('good/twin', version=1))
""") == "good better True"


def test_threads(server, on_hub):
    for name in ("one", "two"):
        publish(server, name, {"__init__.py": "import builtins, time\ntime.sleep(0.1)\nbuiltins.count = getattr(builtins, 'count', 0) + 1"})
    assert on_hub("""
import builtins, threading
found, start = [], threading.Barrier(16)
def work(name):
    start.wait()
    found.append(kernels.get_kernel(f'good/{name}', version=1))
threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two") * 8]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(found), len(set(map(id, found))), builtins.count)
""") == "16 2 2"


def test_overrides(server, on_hub, tmp_path):
    """LOCAL_KERNELS: the kernel itself and what kernels depend on, without a request for it."""
    publish(server)
    publish(server, "top", {"__init__.py": "from kernels import get_kernel_dep\nDEP = get_kernel_dep('good/leaf')"},
            **{"kernel-depends": [{"repo-id": "good/leaf", "version": 1}]})
    mine = hub_api.variant("torch-universal", {"__init__.py": "NAME = 'mine'"}, name="leaf")
    for path, content in mine.items():
        (tmp_path / "mine" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / path).write_text(content)
    overrides = f"good/leaf={tmp_path}/mine:c/d={tmp_path}/none"
    assert on_hub("""
print(kernels.get_kernel('good/top', version=1).DEP.NAME, [one.repo_info is None for one in kernels.get_loaded_kernels()])
""", LOCAL_KERNELS=overrides) == "mine [True, False]"
    assert not [line for line in server.errors if "good/leaf" in line and '"GET"' in line]
    on_hub(f"""
assert kernels.get_kernel('good/leaf', version=7).NAME == 'mine' and kernels.has_kernel('good/leaf', version=7)
for call, kind, part in ((lambda: kernels.get_kernel('c/d', version=1), FileNotFoundError, '{tmp_path}/none, which does not exist'),
                         (lambda: kernels.get_kernel('good/leaf'), ValueError, 'LOCAL_KERNELS')):
    try:
        call()
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(part)
assert not kernels.has_kernel('c/d', version=1)
assert kernels.install_kernel('good/leaf', version=1) != __import__('pathlib').Path('{tmp_path}/mine/build/torch-universal')
""", LOCAL_KERNELS=overrides, HF_HUB_OFFLINE="")
    on_hub("""
try:
    kernels.get_kernel('good/leaf', version=1)
except ValueError as error:
    assert "Invalid LOCAL_KERNELS entry" in str(error), error
else:
    raise AssertionError
""", LOCAL_KERNELS="")


def test_folders(on_hub, tmp_path):
    for path, content in hub_api.variant("torch-universal", {"__init__.py": ""}, name="leaf").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    on_hub(f"""
import os, pathlib
os.chdir({str(tmp_path)!r})
folder = pathlib.Path({str(tmp_path)!r})
found = [kernels.get_local_kernel(path).__file__ for path in (folder, folder / "build", folder / "build" / "torch-universal",
                                                             str(folder), pathlib.Path("."), pathlib.Path("build"))]
assert set(found) == {{str(folder / "build" / "torch-universal" / "__init__.py")}}, found
try:
    kernels.get_local_kernel(folder / "nothing")
except FileNotFoundError as error:
    assert "Cannot find a build variant for this system in" in str(error) and "nothing" in str(error), error
else:
    raise AssertionError
from kernels.resolver import resolve_local_kernel, RepoPathsResolver
location = resolve_local_kernel(pathlib.Path("."), backend=None)
assert (str(location.variant_path), location.variant_str, location.origin) == ("build/torch-universal", "torch-universal", None)
""")


def test_trust(server, on_hub):
    publish(server, owner="bad")
    publish(server, "top", {"__init__.py": ""}, **{"kernel-depends": [{"repo-id": "bad/leaf", "version": 1}]})
    on_hub("""
from kernels.hf_hub import _check_trust_remote_code
from kernels.resolver import HubResolver
mine = ["bad/leaf"]
assert HubResolver(mine).trust_remote_code == mine and HubResolver(mine).trust_remote_code is not mine
for trust in (False, 1, "bad/leaf", ("bad/leaf",), {"bad/leaf"}, ["bad"], ["good/top"], None, []):
    for call in (lambda: kernels.get_kernel("bad/leaf", version=1, trust_remote_code=trust),
                 lambda: kernels.get_kernel("good/top", version=1, trust_remote_code=trust),
                 lambda: kernels.has_kernel("good/top", version=1, trust_remote_code=trust),
                 lambda: kernels.install_kernel("bad/leaf", version=1, trust_remote_code=trust),
                 lambda: _check_trust_remote_code("bad/leaf", False, trust)):
        try:
            call()
        except ValueError as error:
            assert "bad/leaf" in str(error) and "not from a trusted publisher" in str(error), error
            assert "trust_remote_code=True" in str(error), error
        else:
            raise AssertionError(trust)
_check_trust_remote_code("bad/leaf", True, False)
kernels.get_kernel("good/top", version=1, trust_remote_code=["bad/leaf"])
kernels.get_kernel("bad/leaf", version=1, trust_remote_code=True)
""")


def test_switches_of_a_loaded_client(server, on_hub):
    """Tests of others change the constants of huggingface_hub: they count once it is imported."""
    publish(server)
    on_hub("""
import types
constants = types.ModuleType("huggingface_hub.constants")
constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_TELEMETRY = True, False
sys.modules["huggingface_hub.constants"] = constants
from kernels.hf_hub import _get_hf_api
assert _get_hf_api().offline
constants.HF_HUB_OFFLINE = False
assert not _get_hf_api().offline and kernels.get_kernel("good/leaf", version=1).NAME == "leaf"
constants.HF_HUB_OFFLINE = True
assert kernels.get_kernel("good/leaf", version=1).NAME == "leaf"
""")
    assert "True" == on_hub("from kernels.hf_hub import _get_hf_api; print(_get_hf_api().offline)", HF_HUB_OFFLINE="yes")


def test_configurations_are_kept(on_hub, tmp_path):
    on_hub(f"""
import os
from kernels import hf_hub
api = hf_hub._get_hf_api({{"app": "x", "ver": 2}})
assert api.user_agent == "app/x; ver/2" and api.context() is hf_hub._get_hf_api("app/x; ver/2").context()
assert api.context() is not hf_hub._get_hf_api().context()
before = hf_hub._get_hf_api().context()
os.environ["KERNELS_CACHE"] = {str(tmp_path)!r}
after = hf_hub._get_hf_api().context()
assert after is not before and after.cache_directory == {str(tmp_path)!r} == hf_hub._get_cache_dir()
hf_hub.CACHE_DIR = {str(tmp_path / "other")!r}
assert hf_hub._get_hf_api().context().cache_directory == {str(tmp_path / "other")!r}
for i in range(20):
    hf_hub._get_hf_api(str(i)).context()
assert len(hf_hub._contexts) == hf_hub._CONTEXTS_MAX
assert hf_hub._platform().count("-") == 1
class Foreign:
    endpoint, token, user_agent = "http://127.0.0.1:1", None, "a/b"
foreign = hf_hub._as_api(Foreign())
assert foreign.context().endpoint == "http://127.0.0.1:1" and foreign.user_agent == "a/b"
assert hf_hub._get_hf_api(["a"]).user_agent is None is hf_hub._get_hf_api(5).user_agent
""")


def test_texts_that_are_no_repository_id(on_hub):
    """The class that huggingface_hub raises, whoever is asked, before a request."""
    on_hub("""
from kernels.errors import HFValidationError
from kernels.hf_hub import _check_trust_remote_code
from kernels.install import install_kernel_all_variants
from kernels.locking import lock_kernel_tree
from kernels.hf_hub import _get_hf_api
from kernels._rust import KernelDependency, KernelVersion
def lock(name, version):
    lock_kernel_tree(KernelDependency(name, KernelVersion.Version(version)), api=_get_hf_api())
for name in ("", "../x", "a--b/c", "a/b/c", "good/leaf\\n", "good/leaf\\0", "good/leaf.git", "https://a/b", "x" * 97):
    for call in (kernels.get_kernel, kernels.has_kernel, kernels.install_kernel, kernels.get_kernel_variants,
                 install_kernel_all_variants, lock, lambda name, version: _check_trust_remote_code(name, False, False)):
        try:
            call(name, version=1)
        except HFValidationError as error:
            assert isinstance(error, ValueError) and "no repository id" in str(error) and "\\n" not in str(error), error
        else:
            raise AssertionError((name, call))
assert _get_hf_api().context().requests == 0
""")


MACHINE = ("hf_hub/", "tvm-ffi/", "glibc/", "backend/", "torch/", "platform/")  # as the machine of the test is


def test_user_agent(python, data, tmp_path):
    """What a caller adds comes first, once; the facts of the machine follow."""
    cases = json.loads((data / "loader" / "user_agent.json").read_text())["cases"]
    names = {"plain", "string", "empty string", "dictionary", "empty dictionary", "several entries in a string",
             "duplicate of a later entry", "telemetry off", "origin", "telemetry off keeps origin"}
    used = [case for case in cases if case["name"] in names]
    with ScenarioHub({}, publishers={"a"}) as hub:
        for case in used:
            env = {"HF_ENDPOINT": hub.url, "HF_HUB_USER_AGENT_ORIGIN": case["in"]["origin"] or "",
                   "HF_HUB_DISABLE_TELEMETRY": "" if case["in"]["telemetry"] else "1", "HF_HOME": str(tmp_path / "h")}
            version = f"{sys.version_info[0]}.{sys.version_info[1]}"
            given = case["in"]["user_agent"]
            given = given.replace("python/3.12", f"python/{version}") if isinstance(given, str) else given
            python("-c", f"""
import kernels
try:
    kernels.get_kernel("a/b", version=1, user_agent={given!r}, trust_remote_code=True)
except Exception:
    pass
""", env=env)
            wanted = [part for part in case["header"].split("; ") if not part.startswith(MACHINE)]
            wanted = [part.replace("python/3.12", f"python/{version}") for part in wanted if part != "python/3.12.4"]
            found = [part for part in hub.user_agents[-1].split("; ") if not part.startswith(MACHINE)
                     and not re.fullmatch(r"python/\d+\.\d+\.\d+", part)]
            assert found == wanted, case["name"]
    print(f"user_agent: {len(used)} of {len(cases)} cases, the others describe other machines (tests/unit/resolve)")
    assert len(used) == 10


def test_version_branches(python, data, tmp_path):
    cases = json.loads((data / "loader" / "version_resolve.json").read_text())["cases"]
    commit = {name: hub_api.hashlib.sha1(name.encode()).hexdigest() for case in cases for name in case["branches"]}
    with ScenarioHub({}) as hub:
        for number, case in enumerate(cases):
            hub.repositories["o/k"] = {"refs": {name: commit[name] for name in case["branches"]}, "commits": {}}
            done = python("-c", f"""
import logging
from kernels import _versions
logging.basicConfig(format="%(name)s %(message)s")
try:
    found = _versions.resolve_version_spec_as_ref("o/k", {case["version"]}, False)
    print(found.name, found.ref, found.target_commit)
except (ValueError, OverflowError) as error:
    print("ValueError", error)
print(list(_versions._get_available_versions("o/k", local_files_only=False)))
""", env={"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / str(number))})
            lines = done.stdout.splitlines()
            if "branch" in case:
                assert lines[0] == f"{case['branch']} refs/heads/{case['branch']} {commit[case['branch']]}", case
            else:
                assert lines[0].startswith("ValueError ") and case.get("message", "") in lines[0] + " ", (case, lines)
            warning = f"kernels._versions {case['warning']}" if case.get("warning") else ""
            assert warning in done.stderr and bool(warning) == bool(done.stderr), (case, done.stderr)
    print(f"version_resolve: {len(cases)} cases")
    assert len(cases) == 17


def test_cached_versions(python, data, tmp_path):
    cases = json.loads((data / "loader" / "cache_refs.json").read_text())["offline_versions"]
    for number, case in enumerate(cases):
        home = tmp_path / str(number)
        for name, text in case["files"].items():
            (home / "hub" / name).parent.mkdir(parents=True, exist_ok=True)
            (home / "hub" / name).write_text(text)
        found = json.loads(python("-c", """
import json
from kernels import _versions
answers = [{str(n): ref.target_commit for n, ref in _versions._get_available_versions_from_cache("a/b").items()}]
for version in (1, 9):
    try:
        answers.append(_versions.resolve_version_spec_as_ref("a/b", version, True).target_commit)
    except ValueError as error:
        answers.append("offline mode" in str(error))
print(json.dumps(answers))
""", env={"HF_HOME": str(home)}).stdout)
        wanted = [case["versions"]] + [case[f"version {n}"] if isinstance(case[f"version {n}"], str)
                                       else case[f"version {n}"]["mentions_offline"] for n in (1, 9)]
        assert found == wanted, case["name"]
    print(f"cache_refs: {len(cases)} cases")
    assert len(cases) == 9


def test_lock_files(python, data):
    """What KernelLocks refuses, the loader refuses, but for the lock files of older releases."""
    done = python("-c", """
import json, pathlib, sys
from kernels import locking
from kernels._rust import KernelLocks
cases = json.loads(pathlib.Path(sys.argv[1]).read_text())["cases"]
older = 0
for case in cases:
    text = case["input_text"] if "input_text" in case else json.dumps(case["input"])
    try:
        locks = locking._read_locks(text)
    except ValueError:
        assert case.get("error") == "ValueError", case
    else:
        if isinstance(locks, locking.OlderKernelLocks):
            older += 1
            assert "repo_id" in text and case["error"] == "ValueError"
        else:
            assert locks.to_json() == case["output_text"], case
print(len(cases), older)
""", data / "loader" / "lock_json.json")
    print(f"lock_json: {done.stdout.strip()} cases, older ones")
    assert done.stdout.split() == ["36", "1"]


def test_the_lock_of_the_caller(server, on_hub, tmp_path):
    """A package that was installed with its lock loads what it names, also from functions that others call."""
    commits = publish(server, branches=("v1", "v2"))
    site = tmp_path / "site"
    info = site / "app-1.dist-info"
    info.mkdir(parents=True)
    (site / "app").mkdir()
    (site / "app" / "__init__.py").write_text(
        "import kernels\ndef load(lockfile=None):\n    return kernels.load_kernel('good/leaf', lockfile=lockfile)\n"
        "def locked():\n    return kernels.get_locked_kernel('good/leaf')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: app\nVersion: 1\n")
    (info / "RECORD").write_text("app/__init__.py,,\napp-1.dist-info/METADATA,,\n")
    lock = [{"dependency": {"repo-id": "good/leaf", "version": 1}, "lock": {"commit": commits["v1"]}}]
    (info / "kernels.lock").write_text(json.dumps(lock))
    code = f"sys.path.insert(0, {str(site)!r})\nimport app\n"
    on_hub(code + f"""
try:
    app.load()
except FileNotFoundError as error:
    assert "local snapshot" in str(error) and "kernels download" in str(error), error
else:
    raise AssertionError
assert app.locked().NAME == "leaf" and app.load() is app.locked()
assert kernels.get_loaded_kernels()[0].repo_info == kernels.RepoInfo("good/leaf", {commits["v1"]!r})
try:
    kernels.load_kernel("good/leaf", lockfile=None)
except ValueError as error:
    assert "kernels.lock" in str(error) and "Could not find a" in str(error), error
else:
    raise AssertionError
""")
    lock.append({"dependency": {"repo-id": "good/leaf", "version": 2}, "lock": {"commit": commits["v2"]}})
    (info / "kernels.lock").write_text(json.dumps(lock))
    assert commits["v2"] in on_hub(code + "import logging; logging.basicConfig(stream=sys.stdout)\n"
                                          "app.locked(); print(kernels.get_loaded_kernels()[0].repo_info)")


def test_which_of_two_locked_versions(server, on_hub, tmp_path):
    """Not the one that only another locked kernel needs."""
    leaves = publish(server, branches=("v1", "v2"))
    top = publish(server, "top", {"__init__.py": ""}, **{"kernel-depends": [{"repo-id": "good/leaf", "version": 2}]})
    names = [("good/leaf", 1, leaves["v1"]), ("good/leaf", 2, leaves["v2"]), ("good/top", 1, top["v1"])]
    (tmp_path / "kernels.lock").write_text(json.dumps([
        {"dependency": {"repo-id": name, "version": version}, "lock": {"commit": commit}} for name, version, commit in names]))
    found = on_hub(f"""
import pathlib
from kernels.locking import get_locked_kernel_revision
file = pathlib.Path({str(tmp_path / "kernels.lock")!r})
print(get_locked_kernel_revision("good/leaf", file)[1].version.version)
kernels.get_locked_kernel("good/top", lockfile=file)
print(get_locked_kernel_revision("good/leaf", file)[1].version.version)
""")
    assert found.split() == ["2", "1"]


def test_the_hook_of_setuptools(python, tmp_path):
    code = """
import logging, sys
from kernels.locking import write_egg_lockfile
logging.basicConfig(stream=sys.stdout)
class Command:
    def write_or_delete_file(self, *arguments):
        print(arguments)
write_egg_lockfile(Command(), "kernels.lock", "x.egg-info/kernels.lock")
"""
    assert python("-c", code, cwd=tmp_path).stdout == ""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert python("-c", code, cwd=tmp_path).stdout == ""
    (tmp_path / "pyproject.toml").write_text("[tool.kernels.dependencies]\n'a/b' = 1\n")
    warning, call = python("-c", code, cwd=tmp_path).stdout.splitlines()
    assert warning.startswith("WARNING:kernels.locking:") and str(tmp_path) in warning
    assert call == "('kernels.lock', 'x.egg-info/kernels.lock', None)"
    (tmp_path / "kernels.lock").write_text("[]")
    assert python("-c", code, cwd=tmp_path).stdout == "('kernels.lock', 'x.egg-info/kernels.lock', '[]')\n"


def test_two_versions_of_one_dependency(server, on_hub):
    publish(server, branches=("v1", "v2"))
    publish(server, "top", **{"kernel-depends": [{"repo-id": "good/leaf", "version": 1}, {"repo-id": "good/leaf", "version": 2}]})
    publish(server, "same", **{"kernel-depends": [{"repo-id": "good/leaf", "version": 1}] * 2})
    on_hub("""
try:
    kernels.get_kernel("good/top", version=1)
except ValueError as error:
    assert "good/leaf (version: 1)" in str(error) and "good/leaf (version: 2)" in str(error), error
else:
    raise AssertionError
assert kernels.get_kernel("good/same", version=1).NAME == "same"
""")


def test_all_variants(server, on_hub):
    depend = {"kernel-depends": [{"repo-id": "good/leaf", "version": 1}]}
    publish(server)
    commits = hub_api.publish(server.url, "good/top", {"v1": {**hub_api.variant("torch-universal", name="top", **depend),
                                                              **hub_api.variant("torch-metal", name="top")}})
    found = on_hub("""
from kernels.install import install_kernel_all_variants
folder = install_kernel_all_variants("good/top", version=1)
print(folder, *sorted(path.name for path in folder.iterdir()))
""").split()
    assert found[1:] == ["torch-metal", "torch-universal"] and found[0].endswith(f"snapshots/{commits['v1']}/build")
    assert on_hub("print(kernels.load.get_kernel('good/leaf', version=1).NAME)", HF_HUB_OFFLINE="1") == "leaf"


def test_resolvers(server, on_hub, tmp_path):
    """The building blocks that others use: given parts, given an api of another package."""
    commits = publish(server, branches=("v1", "main"))
    on_hub(f"""
import pathlib
from kernels.deps import DepTreeNode, resolve_kernel_tree
from kernels.hf_hub import _get_hf_api
from kernels.resolver import *
from kernels.resolver import _locked_revision
from kernels._rust import *
api = _get_hf_api()
kernel = KernelDependency("good/leaf", KernelVersion.Version(1))
remote = resolve_hub_kernel("good/leaf", api=api, backend=None, revision="main")
assert (remote.repo_id, remote.revision, remote.variant_str) == ("good/leaf", "main", "torch-universal")
try:
    DepTreeNode(remote).load()
except RuntimeError:
    pass
else:
    raise AssertionError
plain = RemoteKernel(remote.repo_id, remote.revision, remote.metadata, remote.variant)
assert plain == remote and hash(plain) == hash(remote)
local = plain.install(api=api)
assert local.origin is plain and local.install(api=api) is local and local.variant_path == remote.install(api=api).variant_path
assert resolve_hub_cache_kernel(api, "good/leaf", revision="main", backend="cpu").origin is None
arguments = dict(api=api, backend=None, kernel=kernel)
assert NoopResolver().resolve(**arguments) is None
assert SequentialResolver([NoopResolver(), HubResolver(False)]).resolve(**arguments).revision == {commits["v1"]!r}
assert KernelPathsResolver(KernelPaths({{}})).resolve(**arguments) is None
found = KernelPathsResolver(KernelPaths({{kernel: local.variant_path}})).resolve(**arguments)
assert found.variant_path == local.variant_path
locks = KernelLocks({{kernel: KernelLock({commits["v1"]!r})}})
assert _locked_revision(locks, kernel) == {commits["v1"]!r}
assert LockedHubResolver(locks, False).resolve(**arguments).revision == {commits["v1"]!r}
for resolver in (NoopResolver(), None):
    try:
        resolve_kernel_tree(api, kernel, None, resolver)
    except ValueError as error:
        assert "Could not resolve kernel" in str(error) and "good/leaf" in str(error) and "1" in str(error)
    else:
        raise AssertionError
try:
    resolve_kernel_tree(api, kernel, None, HubResolver(False), {{kernel}})
except ValueError as error:
    assert "Cyclic" in str(error)
else:
    raise AssertionError
""")
