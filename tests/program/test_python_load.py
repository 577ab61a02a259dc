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
from scenario_hub import ScenarioHub
from test_hub_replay import SCENARIOS as REPLAYED
from test_hub_replay import Server

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
