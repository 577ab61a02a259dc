# SPDX-License-Identifier: Apache-2.0
"""kernels.layer: the tests of tests/layers in a Python of their own, with a stand-in for torch and (`full`) with the real
one; layers of a real hub, locked ones, offline."""
import json
import os
import re
import subprocess
import sys
import sysconfig

import pytest
from conftest import ROOT

import hub_api
import python_child

LAYERS = ROOT / "tests" / "layers"
STAND_IN = LAYERS / "stand_in"
FILES = sorted(path.name for path in LAYERS.glob("test_*.py"))
VECTORS = {"test_modes.py": 722, "test_devices.py": 59, "test_intervals.py": 731, "test_mappings.py": 11,
           "test_kernelize.py": 816}  # cases; the others have none


def variables(build_dir, *folders) -> dict[str, str]:
    found = python_child.variables(build_dir)
    return {**found, "PYTHONPATH": os.pathsep.join([found["PYTHONPATH"], *map(str, folders)]), "PYTHONDONTWRITEBYTECODE": "1"}


def run_file(python, env, name, *options):
    done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *options, name], cwd=LAYERS,
                          env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=900)
    assert done.returncode == 0, done.stdout[-8000:]
    assert "Sanitizer" not in done.stdout and "runtime error:" not in done.stdout, done.stdout[-8000:]
    cases = int(re.search(r"^vectors: (\d+) cases$", done.stdout, re.MULTILINE).group(1))
    print(f"{name}: {done.stdout.splitlines()[-1]}, {cases} cases of vectors")
    assert cases == VECTORS.get(name, 0)
    return done.stdout


@pytest.mark.parametrize("name", [name for name in FILES if name != "test_torch.py"])
def test_with_the_stand_in(name, build_dir, environment):
    run_file(sys.executable, {**environment, **variables(build_dir, STAND_IN, LAYERS)}, name)


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_with_torch(name, build_dir, environment, torch_python, tmp_path):
    tools = sysconfig.get_path("purelib")  # where this Python has pytest
    env = {**environment, **variables(build_dir, LAYERS, tools), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    assert "skipped" not in run_file(torch_python, env, name)


# ---- a hub ----

LAYER = """
import torch.nn as nn

class Plus(nn.Module):
    def forward(self, x):
        return x + {number}
"""
SETUP = """
import json, logging, os, pathlib, sys
from torch import nn
from kernels import *
mode = Mode.INFERENCE
@use_kernel_forward_from_hub("Host")
class Host(nn.Module):
    def forward(self, x):
        return x + 1
def value(repository, **options):
    with use_kernel_mapping({"Host": {"cpu": repository}}):
        return kernelize(Host(), mode=mode, device="cpu", **options)(0)
"""


def variant(number):
    files = {"__init__.py": f"from . import layers\n\ndef plus(x):\n    return x + {number}\n",
             "layers.py": LAYER.format(number=number)}
    document = hub_api.metadata(name="plus", version=number, id=f"plus_cpu_{number}")
    return {f"build/torch-cpu/{name}": text for name, text in {**files, "metadata.json": document}.items()}


@pytest.fixture
def server(start_hub):
    server = start_hub("--trusted", "good")
    server.commits = hub_api.publish(server.url, "good/plus", {"v1": variant(100), "v2": variant(200)})
    hub_api.publish(server.url, "good/cuda", {"v1": {path.replace("torch-cpu", "torch-cuda"): text for path, text in
                                                     variant(1).items()}})
    hub_api.publish(server.url, "other/plus", {"v1": variant(300)})
    return server


@pytest.fixture
def python(run, build_dir, environment, server, tmp_path):
    def run_python(code, env=None):
        every = {**environment, **variables(build_dir, STAND_IN), "HF_ENDPOINT": server.url, **(env or {})}
        return run(sys.executable, "-c", SETUP + code, env=every, cwd=tmp_path).stdout

    return run_python


OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}


def test_layers_and_functions_of_a_hub(python, server):
    code = """
one = LayerRepository("good/plus", layer_name="Plus", version=1)
assert value(one) == 100
assert value(LayerRepository("good/plus", layer_name="Plus", version=2)) == 200
assert value(FuncRepository("good/plus", func_name="plus", revision="v1")) == 100
print(sorted(each.metadata.id for each in get_loaded_kernels()))
"""
    assert "['plus_cpu_100', 'plus_cpu_200']" in python(code)
    assert "['plus_cpu_100', 'plus_cpu_200']" in python(code, OFFLINE)


def test_failures_of_a_hub(python):
    python("""
def fails(kind, text, repository, **options):
    try:
        value(repository, **options)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
def layer(repo_id, **more):
    return LayerRepository(repo_id, **{"layer_name": "Plus", "version": 1, **more})
every = {"use_fallback": KernelizeFallback.ALL}
fails(ValueError, "not found, available versions: 1, 2", layer("good/plus", version=7), **every)
fails(ValueError, "other/plus", layer("other/plus"), **every)
assert value(layer("other/plus", trust_remote_code=["other/plus"])) == 300
fails(ValueError, "Layer `Minus` not found", layer("good/plus", layer_name="Minus"))
fails(FileNotFoundError, "good/cuda", layer("good/cuda"))
assert value(layer("good/cuda"), **every) == 1
fails(OSError, "good/missing", layer("good/missing"), **every)
""")


def test_local_kernels_come_first(python, tmp_path, server):
    for path, text in variant(500).items():
        (tmp_path / "mine" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / path).write_text(text)
    python("""
assert value(LayerRepository("good/plus", layer_name="Plus", version=1)) == 500
assert value(LocalLayerRepository("mine", layer_name="Plus")) == 500
""", {**OFFLINE, "LOCAL_KERNELS": f"good/plus={tmp_path / 'mine'}"})


def test_locked_layers(python, server, tmp_path):
    def lock(commit):
        return json.dumps([{"dependency": {"repo-id": "good/plus", "version": 1}, "lock": {"commit": commit}}])

    (tmp_path / "kernels.lock").write_text(lock(server.commits["v1"]))
    (tmp_path / "other.lock").write_text(lock(server.commits["v2"]))
    code = """
one = LockedLayerRepository("good/plus", lockfile=pathlib.Path("kernels.lock"), layer_name="Plus")
other = LockedLayerRepository("good/plus", lockfile="other.lock", layer_name="Plus")
assert (value(one), value(other)) == (100, 200)
assert value(LockedFuncRepository("good/plus", lockfile="kernels.lock", func_name="plus")) == 100
register_kernel_mapping({"Host": {"cpu": one}})
with use_kernel_mapping({"Other": {}}):
    assert kernelize(Host(), mode=mode, device="cpu")(0) == 100
"""
    python(code)
    python(code, OFFLINE)


def test_the_lock_of_the_calling_package(python, server, tmp_path):
    (tmp_path / "caller.py").write_text("from kernels import LockedLayerRepository\n"
                                        "def locked():\n"
                                        "    return LockedLayerRepository('good/plus', layer_name='Plus')\n")
    (tmp_path / "caller-1.dist-info").mkdir()
    for name, text in (("METADATA", "Metadata-Version: 2.1\nName: caller\nVersion: 1\n"), ("RECORD", "caller.py,,\n"),
                       ("top_level.txt", "caller\n"), ("kernels.lock", json.dumps([
                           {"dependency": {"repo-id": "good/plus", "version": 2}, "lock": {"commit": server.commits["v2"]}}]))):
        (tmp_path / "caller-1.dist-info" / name).write_text(text)
    python("sys.path.insert(0, os.getcwd())\nimport caller\nassert value(caller.locked()) == 200\n")


def test_what_the_environment_switches_off(python):
    layer = 'value(LayerRepository("good/plus", layer_name="Plus", version=1))'
    assert python(f"print({layer})", {"DISABLE_KERNEL_MAPPING": "1"}) == "1\n"
    assert python(f"print({layer})", {"DISABLE_KERNEL_MAPPING": ""}) == "100\n"
    assert python(f"print({layer})", {"DISABLE_KERNEL_MAPPING": "off"}) == "100\n"


# ---- names and arguments of the released package ----


def test_signatures(python, data):
    done = python("""
import inspect, kernels.layer
api = json.load(open(sys.argv[1] if len(sys.argv) > 1 else PATH))["all"]
count = 0
for name, entry in api.items():
    found = getattr(kernels.layer, name, None)
    if found is None or "signature" not in entry:
        continue
    count += 1
    wanted = [part.split(":")[0].split("=")[0].strip() for part in entry["signature"].strip("()").split(" -> ")[0].split(", ")
              if part.split(":")[0].isidentifier() or part.startswith("*") or ":" in part]
    ours = str(inspect.signature(found))
    for argument in wanted:
        assert argument.strip("()*") in ours, (name, argument, ours)
print(count)
""".replace("PATH", repr(str(data / "release17" / "api.json"))))
    assert int(done) == 16
