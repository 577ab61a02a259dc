# SPDX-License-Identifier: Apache-2.0
"""Kernels loaded with the real torch 2.15 and torch_tpu 0.2.0, on a machine without a TPU: the TPU kernels of examples/, and
a CPU kernel that torch's own extension tool compiles."""
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, Hub, clean_environment
from python_child import variables
from python_facts_host import torch_module

import device_marks

TOKEN = "hf_test"
KERNELS = {"relu-tpu": "kernels-test/relu-tpu", "rmsnorm-tpu": "kernels-test/rmsnorm-tpu"}
full = pytest.mark.full


class Child:
    """Python of the torch environment with the package under test, one hub and one cache."""

    def __init__(self, python: pathlib.Path, build_dir: pathlib.Path, folder: pathlib.Path):
        self.python, self.folder = python, folder
        self.env = {**clean_environment(folder / "home"), **variables(build_dir), "TPU_LOG_DIR": str(folder / "tpu_logs"),
                    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "HF_TOKEN": TOKEN}

    def run(self, code: str, *arguments, env=None, cwd=None):
        """What the code leaves in `result`."""
        answer = self.folder / "result.json"
        answer.unlink(missing_ok=True)
        source = f"import json\n{code}\nwith open({str(answer)!r}, 'w') as file:\n    json.dump(result, file)\n"
        done = subprocess.run([self.python, "-W", "ignore", "-c", source, *map(str, arguments)], text=True, cwd=cwd,
                              env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600)
        assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr[-6000:]}"
        assert "runtime error:" not in done.stderr and "Sanitizer" not in done.stderr, done.stderr[-6000:]
        return json.loads(answer.read_text())


@pytest.fixture(scope="module")
def child(torch_python, build_dir, tmp_path_factory):
    return Child(torch_python, build_dir, tmp_path_factory.mktemp("torch"))


def builder(programs, env, *arguments) -> str:
    done = subprocess.run([programs.kernel_builder, *map(str, arguments)], env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def hub(programs, child):
    directory = child.folder / "hub"
    directory.mkdir()
    hub = Hub(programs.kernels_serve, directory, ["--token", f"me:{TOKEN}", "--trusted", "kernels-test"], child.env)
    child.env["HF_ENDPOINT"] = hub.url
    yield hub
    hub.stop()


@pytest.fixture(scope="module")
def published(programs, child, hub):
    """Both examples, built in the environment torch-tpu and uploaded; name -> build report."""
    reports = {}
    for name in KERNELS:
        folder = child.folder / name
        shutil.copytree(ROOT / "examples" / "kernels" / name, folder,
                        ignore=shutil.ignore_patterns("build", "result", "__pycache__"))
        builder(programs, child.env, "build", folder, "--env", "torch-tpu", "--no-check-tpu", "--accept-licence", "libtpu",
                "--accept-licence", "nvidia-cuda-runtime")
        builder(programs, child.env, "upload", folder)
        reports[name] = json.loads((folder / "result").resolve().with_name("build-report.json").read_text())
    return reports


# ---- which backend ----

DETECT = """
import os, pathlib, sys, tempfile
from kernels import _machine, backends
def look():
    return [_machine.facts()["backend"], backends._backend().variant_str, _machine.facts()["torch"]]
_machine._root = tempfile.mkdtemp()
files = [look(), "torch" in sys.modules]
gpu = tempfile.mkdtemp()
os.makedirs(gpu + "/dev")
pathlib.Path(gpu, "dev/nvidiactl").touch()
_machine._root = gpu
files_gpu = [look(), "torch" in sys.modules]
import torch
imported_gpu = look()
_machine._root = tempfile.mkdtemp()
imported = look()
started = torch.tpu.is_initialized()
_machine._root = gpu
torch.backends.tpu = object()
old = look()
del torch.backends.tpu
torch.utils.rename_privateuse1_backend("tpu")
attached = look()
result = dict(files=files, files_gpu=files_gpu, imported=imported, imported_gpu=imported_gpu, started=started, old=old,
              attached=attached, raises=[])
for name in ("is_available", "device_count"):
    try:
        getattr(torch.tpu, name)()
    except RuntimeError as error:
        result["raises"].append(name)
"""


@full
def test_tpu_is_detected_from_files_and_from_torch(child):
    """Acceptance 23 and 24 of the rules of detection, on the real packages."""
    found = child.run(DETECT)
    tpu, cuda = ["tpu", "tpu"], ["cuda", "cu132"]
    assert found["files"][0][:2] == tpu and found["files"][1] is False
    assert found["files_gpu"][0][:2] == cuda and found["files_gpu"][1] is False
    assert found["imported"][:2] == tpu and found["imported_gpu"][:2] == cuda
    assert found["files"][0][2] == found["imported"][2] == "2.15.0+cu132"
    assert found["started"] is False
    assert found["old"][:2] == tpu and found["attached"][:2] == tpu
    assert found["raises"] == ["is_available", "device_count"]  # why nobody may ask them


# ---- TPU kernels ----

@full
def test_import_check_of_the_build(published):
    for name, report in published.items():
        checks = {check["name"]: check for check in report["variants"][0]["checks"]}
        assert checks["import"] == {"name": "import", "status": "passed", "detail": "torch 2.15.0+cu132, torch_tpu 0.2.0"}, name
        assert not [reason for reason in report["variants"][0]["reasons"] if "import" in reason]


LOAD = """
import torch, kernels
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1, backend="tpu")
rmsnorm = kernels.get_kernel("kernels-test/rmsnorm-tpu", version=1)
x = torch.empty(256, 1024, device="meta")
w = torch.empty(1024, device="meta")
namespace = rmsnorm._ops.add_op_namespace_prefix("rmsnorm").partition("::")[0]
results = [relu.relu(x), torch.ops.relu_tpu.relu(x), relu.layers.ReLU()(x), rmsnorm.rmsnorm(x, w),
           getattr(torch.ops, namespace).rmsnorm(x, w)]
result = {
    "shapes": [[list(y.shape), str(y.dtype), y.device.type] for y in results],
    "schema": str(torch.ops.relu_tpu.relu.default._schema),
    "layers": [issubclass(relu.layers.ReLU, torch.nn.Module), [n for n in dir(rmsnorm.layers) if n == "RMSNorm"]],
    "namespace": namespace,
    "backend": rmsnorm._ops.get_backend(),
    "again": kernels.get_kernel("kernels-test/relu-tpu", version=1) is relu,
    "started": torch.tpu.is_initialized(),
    "file": relu.__file__,
}
"""


def check_loaded(found):
    assert found["shapes"] == [[[256, 1024], "torch.float32", "meta"]] * 5
    assert found["schema"] == "relu_tpu::relu(Tensor x) -> Tensor"
    assert found["layers"] == [True, ["RMSNorm"]]
    assert found["backend"] == "tpu" and found["namespace"].startswith("_rmsnorm_tpu_tpu_")
    assert found["again"] is True and found["started"] is False
    assert found["file"].endswith("/build/torch-tpu/__init__.py")


@full
def test_tpu_kernels_are_loaded(child, published):
    check_loaded(child.run(LOAD))


@full
def test_tpu_kernels_are_loaded_offline(child, published):
    check_loaded(child.run(LOAD, env={"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}))


@pytest.mark.tpu_only
def test_tpu_kernels_compute(child, published):
    found = child.run("""
import torch, kernels
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1)
rmsnorm = kernels.get_kernel("kernels-test/rmsnorm-tpu", version=1)
x, w = torch.randn(256, 1024), torch.randn(1024)
want = torch.nn.functional.rms_norm(x, (1024,), w, eps=1e-6)
got = rmsnorm.rmsnorm(x.to("tpu"), w.to("tpu")).cpu()
result = [torch.equal(relu.relu(x.to("tpu")).cpu(), torch.relu(x)), float((got - want).abs().max())]
""")
    assert found[0] is True and found[1] < 1e-3


# ---- a CPU kernel ----

SOURCE = r"""
#include <Python.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

static at::Tensor scale(const at::Tensor &x, double factor) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == at::kFloat, "expected a contiguous tensor of float32");
    at::Tensor y = x.clone();
    float *data = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < y.numel(); i++) {
        data[i] *= static_cast<float>(factor);
    }
    return y;
}

TORCH_LIBRARY(_scale_cpu_1, ops) {
    ops.def("scale(Tensor x, float factor) -> Tensor");
    ops.impl("scale", c10::kCPU, &scale);
}

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__scale_cpu_1(void) {
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_scale_cpu_1", nullptr, 0, nullptr};
    return PyModule_Create(&module);
}
"""

COMPILE = """
import sys
from torch.utils import cpp_extension
result = cpp_extension.load("_scale_cpu_1", [sys.argv[1]], build_directory=sys.argv[2], with_cuda=False,
                            is_python_module=False)
"""

FILES = {
    "__init__.py": "from . import layers\nfrom ._ops import ops\n\n__all__ = ['layers', 'scale']\n\n\n"
                   "def scale(x, factor):\n    return ops.scale(x, factor)\n",
    "_ops.py": "import torch\nfrom . import _scale_cpu_1  # noqa: F401\n\nops = torch.ops._scale_cpu_1\n",
    "layers/__init__.py": "import torch\nfrom .._ops import ops\n\n\nclass Twice(torch.nn.Module):\n"
                          "    def forward(self, x):\n        return ops.scale(x, 2.0)\n",
    "metadata.json": json.dumps({"name": "scale", "id": "_scale_cpu_1", "version": 1, "license": "MIT",
                                 "python-depends": [], "backend": {"type": "cpu"}}),
}

BUILD_TOML = """[general]
name = "scale"
version = 1
edition = 5
license = "MIT"
backends = ["cpu"]

[general.hub]
repo-id = "kernels-test/scale"

[torch]

[kernel.scale]
backend = "cpu"
depends = ["torch"]
src = ["scale.cpp"]
"""


@pytest.fixture(scope="module")
def cpu_kernel(child, programs, hub):
    """Compiled, hashed and uploaded."""
    folder = child.folder / "scale"
    variant = folder / "build" / "torch215-cxx11-cpu-x86_64-linux"
    for name, text in FILES.items():
        (variant / name).parent.mkdir(parents=True, exist_ok=True)
        (variant / name).write_text(text)
    (folder / "build.toml").write_text(BUILD_TOML)
    (folder / "scale.cpp").write_text(SOURCE)
    objects = child.folder / "objects"
    objects.mkdir()
    plain = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "LD_PRELOAD": ""}  # torch alone; the compiler is not under test
    child.run(COMPILE, folder / "scale.cpp", objects, env=plain)
    shutil.copy(objects / "_scale_cpu_1.so", variant / "_scale_cpu_1.abi3.so")
    builder(programs, child.env, "hash", folder)
    builder(programs, child.env, "upload", folder)
    return folder


CALL = """
import torch, kernels
kernel = kernels.get_kernel("kernels-test/scale", version=1, backend="cpu")
x = torch.arange(6, dtype=torch.float32)
result = [kernel.scale(x, 0.5).tolist(), kernel.layers.Twice()(x).tolist(), kernel.__file__]
"""


@full
def test_cpu_kernel_of_torchs_own_tool_is_loaded_and_called(child, cpu_kernel):
    half, twice, file = child.run(CALL)
    assert (half, twice) == ([0, 0.5, 1, 1.5, 2, 2.5], [0, 2, 4, 6, 8, 10])
    assert file.endswith("/build/torch215-cxx11-cpu-x86_64-linux/__init__.py") and "/snapshots/" in file


@full
def test_flipped_byte_in_the_library_is_refused(child, cpu_kernel):
    """The bytes of a compiled library that somebody changed in the cache are never given to the loader of the system."""
    found = child.run("""
import os, pathlib, torch, kernels
home = pathlib.Path(os.environ["HF_HOME"], "hub", "kernels--kernels-test--scale")
(library,) = home.glob("snapshots/*/build/*/_scale_cpu_1.abi3.so")
blob = library.resolve()
content = bytearray(blob.read_bytes())
content[-100] ^= 1
os.chmod(blob, 0o644)
blob.write_bytes(content)
try:
    kernels.get_kernel("kernels-test/scale", version=1, backend="cpu")
    result = ["loaded", ""]
except Exception as error:
    result = [type(error).__name__, str(error)]
content[-100] ^= 1
blob.write_bytes(content)
""", env={"HF_HUB_OFFLINE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert found[0] != "loaded" and "_scale_cpu_1.abi3.so" in found[1], found


# ---- the mark tpu_only ----

def accelerated(torch, kind: str | None, count: int):
    class Device:
        type = kind

    class Accelerator:
        current_accelerator = staticmethod(lambda: Device if kind else None)
        device_count = staticmethod(lambda: count)

    def refuse():
        raise RuntimeError("not in 0.2.0")

    torch.accelerator = Accelerator
    if hasattr(torch, "tpu"):
        torch.tpu = type("tpu", (), {"is_available": staticmethod(refuse), "device_count": staticmethod(refuse)})
    return torch


def test_mark_and_loader_agree(data, monkeypatch):
    """A test runs on a TPU only where the loader would choose it; torch.tpu is never asked."""
    monkeypatch.setitem(sys.modules, "torch", None)  # put back as they are now
    monkeypatch.setitem(sys.modules, "torch_tpu", None)
    states = json.loads((data / "release17" / "tpu_detect.json").read_text())["dynamic"]
    usable = 0
    for case in states:
        attached = case["state"].get("privateuse1") == "tpu"
        reason = device_marks.usable_tpu(accelerated(torch_module(case["state"]), "tpu" if attached else "cuda", 1))
        assert (reason is None) == attached, case["name"]
        assert reason is not None or case["expect"] == "tpu", case["name"]
        usable += reason is None
    print(f"tpu_detect.json, dynamic: {len(states)} hosts, {usable} with a TPU to compute on")
    assert usable == 5
    named = torch_module({"privateuse1": "tpu"})
    assert "counts none" in device_marks.usable_tpu(accelerated(named, "tpu", 0))
    assert "accelerator of torch is None" in device_marks.usable_tpu(accelerated(named, None, 0))
