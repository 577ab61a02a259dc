# SPDX-License-Identifier: Apache-2.0
"""transformers from PyPI with our wheel (`full`): it finds it, its layers take kernels of a hub, for a simulated TPU and for the CPU,
by our kernelize and by its own switch. tests/transformers-requirements.txt says which transformers."""
import copy
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT
from test_python_wheel import wheel  # noqa: F401  fixture
from test_torch_kernels import builder, child, hub, published  # noqa: F401  fixtures

pytestmark = pytest.mark.full

REQUIREMENTS = ROOT / "tests" / "transformers-requirements.txt"


def install(python, folder: pathlib.Path, *what):
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", folder,
                           *what], text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def transformers_folder(torch_python) -> pathlib.Path:
    """Installed once below build/, again when the requirements change."""
    folder = ROOT / "build" / "transformers" / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    if not folder.is_dir():
        scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(scratch, ignore_errors=True)
        install(torch_python, scratch, "-r", REQUIREMENTS)
        scratch.rename(folder)
    return folder


@pytest.fixture(scope="module")
def model(child, published, programs, wheel, transformers_folder, jax_environment):  # noqa: F811
    """The child with transformers and our wheel, as a user has them; the hub also holds a kernel for the CPU."""
    ours = child.folder / "wheel"
    install(child.python, ours, "--no-index", wheel)
    folder = child.folder / "rmsnorm-torch"
    shutil.copytree(ROOT / "tests" / "data" / "simulate" / "rmsnorm-torch", folder)
    builder(programs, child.env, "build", folder, "--env", "torch-tpu", "--accept-licence", "libtpu", "--accept-licence",
            "nvidia-cuda-runtime")
    builder(programs, child.env, "upload", folder)
    made = copy.copy(child)
    plugin = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"
    made.env = {**child.env, "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}", "HF_HUB_DISABLE_TELEMETRY": "1", "LD_PRELOAD": "",
                "PYTHONPATH": os.pathsep.join(map(str, (ours, transformers_folder)))}
    return made


MODEL = """
import torch, transformers, kernels
from kernels import LayerRepository, Mode, kernelize, register_kernel_mapping, use_kernel_mapping
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama
from transformers.utils import is_kernels_available

def make():
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         vocab_size=256, rms_norm_eps=1e-6)
    model = LlamaForCausalLM(config).eval()
    for module in model.modules():
        if isinstance(module, modeling_llama.LlamaRMSNorm):
            torch.nn.init.normal_(module.weight, 1, 0.1)
    return model

tokens = torch.arange(24).reshape(2, 12)
calls = []
own = modeling_llama.LlamaRMSNorm.forward
modeling_llama.LlamaRMSNorm.forward = lambda self, hidden_states: (calls.append(1), own(self, hidden_states))[1]
with torch.no_grad():
    want = make()(tokens).logits
host = len(calls)

def compare(model):
    before = len(calls)
    with torch.no_grad():
        got = model(tokens).logits
    return [len(calls) - before, float((got - want).abs().max()), float(want.abs().max())]

def mapping(device, repository):
    return {"RMSNorm": {device: LayerRepository(repository, layer_name="RMSNorm", version=1)}}

result = {"version": kernels.__version__, "file": kernels.__file__, "available": is_kernels_available(), "host": host}
"""


def check(found, model):
    assert found["available"] is True and found["version"] == "0.17.2"
    assert found["file"].startswith(model.env["PYTHONPATH"].partition(os.pathsep)[0])
    assert found["host"] == 5  # two in each layer, one at the end
    for way in ("kernelize", "own switch"):
        if way in found:
            called, difference, size = found[way]
            assert called == 0, f"{way}: the model's own forward was called"
            assert difference < 1e-4 * size, way


def test_kernels_for_a_simulated_tpu(model):
    found = model.run(MODEL + """
kernels.simulate("tpu")
with use_kernel_mapping(mapping("tpu", "kernels-test/rmsnorm-tpu"), inherit_mapping=False):
    result["kernelize"] = compare(kernelize(make(), mode=Mode.INFERENCE, device="tpu"))
""")
    check(found, model)


def test_kernels_for_the_cpu(model):
    found = model.run(MODEL + """
with use_kernel_mapping(mapping("cpu", "kernels-test/rmsnorm-torch"), inherit_mapping=False):
    result["kernelize"] = compare(kernelize(make(), mode=Mode.INFERENCE))
register_kernel_mapping(mapping("cpu", "kernels-test/rmsnorm-torch"))
switched = make()
switched.set_use_kernels(True)
result["own switch"] = compare(switched)
""")
    check(found, model)
    assert "own switch" in found
