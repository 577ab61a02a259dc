# SPDX-License-Identifier: Apache-2.0
"""The C loader on the recorded calls of the released package, as far as no Python is imported: what is loaded, in which
order, what fails and how, and that no more is asked of the Hub."""
import ast
import json
import pathlib
import re

from scenario_hub import ScenarioHub
from test_kernels_cli import add_torch
from test_load import Loader
from test_python_load import repositories_of

# Decided by importing the kernel, or by Python's own arguments and tables.
PYTHON_ONLY = {"get_kernel_dep after loading", "undeclared dependency", "only transitively declared", "import error",
               "import error in a dependency", "positional revision", "one module object per variant path"}
# Beginning of the failure, for the class of the exception and its text.
STATUS = {"Cyclic": "SCHEMA", "trust": "UNTRUSTED", "404": "ENTRY_NOT_FOUND", "Cannot find a build": "NO_VARIANT",
          "not found, available": "VERSION_NOT_FOUND", "requires kernels>=": "TOO_OLD", "is not locked": "NOT_LOCKED",
          "must be specified": "INVALID_ARGUMENT", "Invalid backend": "INVALID_ARGUMENT", "local snapshot": "NOT_CACHED"}
FACTS = re.compile(r"Cyclic kernel dependency detected: \S+|Version \d+ not found, available versions: [\d, ]*|is not locked|"
                   r"requires kernels>=[\d.]+|(?<=')(?:good|bad|missing)/[\w-]+(?=')|version v\d+|local snapshot|offline mode|"
                   r"torch-metal: backend \(metal\)[^\n]*|A kernel version or revision must be specified|Only one of")
# Where the recorded answer is not what a user wants: the failure of ours, or None for success.
DIFFERENT = {"unknown python dependency reported first": "TOO_OLD", "offline, version known only online": None,
             "lock of kernels < 0.17": None, "dependency repository missing": "REPOSITORY_NOT_FOUND"}
# What `warm: first` downloaded is there.
CACHED = ("warm: first", "warm: second process", "offline, version known only online", "offline by commit",
          "load_kernel after download", "lock of kernels < 0.17")


def arguments_of(call, lockfile):
    """Of the driver, for get_kernel('x', version=1).__name__ and the like; None: another function."""
    tree = ast.parse(call, mode="eval").body
    while isinstance(tree, ast.Attribute) or (isinstance(tree, ast.Call) and not isinstance(tree.func, ast.Name)):
        tree = tree.value if isinstance(tree, ast.Attribute) else tree.func
    if not isinstance(tree, ast.Call) or tree.func.id not in ("get_kernel", "load_kernel", "get_locked_kernel"):
        return None
    arguments = [tree.args[0].value]
    if tree.func.id == "load_kernel":
        arguments.append("--cache-only")
    for keyword in tree.keywords:
        if keyword.arg == "lockfile":
            arguments += ["--lock", lockfile]
            continue
        value = ast.literal_eval(keyword.value)
        if keyword.arg == "trust_remote_code":
            arguments += ["--trust"] if value is True else [word for name in value for word in ("--trusted", name)]
        else:
            arguments += [f"--{keyword.arg}", value]
    return arguments


def status_of(case):
    """The failure that is expected, None for success."""
    if case["name"] in DIFFERENT:
        return DIFFERENT[case["name"]]
    message = case["expect"].get("message")
    return None if message is None else next(status for text, status in STATUS.items() if text in message)


def replay(loader, case, arguments, env):
    status = status_of(case)
    if status is None:
        names = loader.load(*arguments, **env)["loaded"].split()
        wanted = [kernel_id.strip("_") for kernel_id, _ in case["expect"]["loaded"]]
        if case["name"] not in DIFFERENT:
            assert [name.replace("-", "") for name in names] == wanted, (case["name"], names)
        return
    text = loader.fail(*arguments, **env)
    assert f"{status}: " in text, (case["name"], text)
    if case["name"] not in DIFFERENT:
        for fact in FACTS.findall(case["expect"]["message"]):
            assert fact in text, (case["name"], fact, text)


def test_scenarios(build_dir, environment, data, tmp_path):
    scenarios = json.loads((data / "release17" / "scenarios.json").read_text())
    lockfile = tmp_path / "kernels.lock"
    loader = Loader(build_dir / "tests" / "load_driver", {**environment, "VIRTUAL_ENV": add_torch(tmp_path, "cpu")})
    count = 0
    with ScenarioHub(repositories_of(scenarios), scenarios["trusted_publishers"], {"good", "bad"}) as hub:
        for number, case in enumerate(scenarios["scenarios"]):
            arguments = arguments_of(case["call"], lockfile)
            if arguments is None or case["name"] in PYTHON_ONLY:
                continue
            if "lockfile" in case:
                lockfile.write_text(json.dumps(case["lockfile"]))
            home = tmp_path / ("warm" if case["name"] in CACHED else f"home{number}")
            env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), **case.get("env", {})}
            hub.requests.clear()
            replay(loader, case, arguments, env)
            assert len(hub.requests) <= max(len(case["requests"]), 1), (case["name"], hub.requests)
            if status_of(case):
                assert not list(pathlib.Path(home).rglob("snapshots/*/build/*/__init__.py")), case["name"]
            count += 1
    print(f"scenarios: {count} cases")
    assert count == 37
