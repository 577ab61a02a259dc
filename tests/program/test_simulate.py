# SPDX-License-Identifier: Apache-2.0
"""kernels.simulate: the switch without torch, and (`full`) TPU kernels computing in torch on CPU tensors: the examples and
tests/data/simulate/swiglu-tpu, which has a backward, from a hub."""
import copy
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from python_child import variables
from test_torch_kernels import builder, child, hub, published  # noqa: F401  fixtures

full = pytest.mark.full


# ---- the switch ----


@pytest.fixture
def python(run, build_dir, environment):
    """python(code, KERNELS_SIMULATE=...) runs it where no torch can be imported; what it prints."""

    def run_python(code: str, **more) -> str:
        blocked = "import sys\nsys.modules.update(torch=None, torch_tpu=None)\n"
        return run(sys.executable, "-c", blocked + code, env={**environment, **variables(build_dir), **more}).stdout.strip()

    return run_python


def test_simulate_is_found_and_no_name_of_the_release(python):
    assert python("""
import kernels
assert "simulate" in dir(kernels) and "simulate" not in kernels.__all__
assert callable(kernels.simulate) and "kernels._simulate_ops" not in sys.modules
print("ok")""") == "ok"


ASK = """
from kernels import _machine, backends
facts = _machine.facts()
print(backends._backend().name, sorted(backends._supported_backends()), facts["backend_reason"], facts["needs_torch"])"""


def test_the_variable_makes_the_backend_tpu(python):
    plain = python(ASK)
    other = plain.partition(" ")[0]  # "cpu", or what this machine has
    assert other != "tpu" and "simulated" not in plain and python(ASK, KERNELS_SIMULATE="") == plain
    assert python(ASK, KERNELS_SIMULATE="tpu") == f"tpu {sorted({'cpu', other, 'tpu'})} simulated: KERNELS_SIMULATE=tpu False"


def test_devices_that_are_not_simulated(python):
    said = python("""
import kernels
from kernels import backends
for call in (lambda: kernels.simulate("cuda"), lambda: kernels.simulate("tpu"), backends._backend):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)""", KERNELS_SIMULATE="gpu").splitlines()
    assert said[0] == "ValueError simulate(): expected tpu, given 'cuda'"
    assert said[1].startswith("ImportError ") and "torch" in said[1]
    assert said[2] == "ValueError KERNELS_SIMULATE: expected tpu, given 'gpu'"


def test_what_a_kernel_lists_may_be_a_stand_in(python):
    ask = """
from kernels.backends import TPU
from kernels.python_deps import validate_dependencies
try:
    print(validate_dependencies("k", ["torch_tpu"], TPU()))
except Exception as error:
    print(type(error).__name__)"""
    assert python(ask) == "ImportError" and python(ask, KERNELS_SIMULATE="tpu") == "None"


def test_none_counts_more_than_the_variable(python):
    assert python("import kernels\nkernels.simulate(None)" + ASK, KERNELS_SIMULATE="tpu") == python(ASK)


def test_a_real_tpu_stays_what_it_is(python):
    assert python("""
from kernels import _simulate
facts = {"backend": "tpu", "backend_version": None, "tpu_generation": "v5e", "backend_reason": "PCI", "needs_torch": False,
         "alternative": None, "alternative_version": None}
assert _simulate.describe(dict(facts)) == facts
facts["tpu_generation"], facts["backend"], facts["backend_version"] = None, "cuda", "13.2"
print(_simulate.describe(facts))""", KERNELS_SIMULATE="tpu") == str(
        {"backend": "tpu", "backend_version": None, "tpu_generation": None, "backend_reason": "simulated: KERNELS_SIMULATE=tpu",
         "needs_torch": False, "alternative": "cuda", "alternative_version": "13.2"})


def test_the_stand_in_for_jax_is_there_only_while_a_kernel_is_imported(python, data):
    """What the kernels' own files do at import works; nothing else sees it."""
    files = [ROOT / "examples" / "kernels" / name / "torch-ext" / name.replace("-", "_") / "pallas_kernels.py"
             for name in ("relu-tpu", "rmsnorm-tpu")]
    files.append(data / "simulate" / "swiglu-tpu" / "torch-ext" / "swiglu_tpu" / "pallas_kernels.py")
    assert python(f"""
import importlib.util, inspect
from kernels import _simulate_modules as modules
spaces = []
with modules.jax_stand_in():
    for file in {[str(file) for file in files]}:
        spaces.append(space := {{}})
        exec(compile(open(file).read(), file, "exec"), space)
    import jax.experimental.pallas.tpu as pltpu, jax.numpy as jnp
    class Options(pltpu.CompilerParams): pass
    block = pltpu.VMEM((8, 128), jnp.float32) | None
assert "jax" not in sys.modules and importlib.util.find_spec("jax") is None
relu, rmsnorm, swiglu = spaces
assert inspect.signature(relu["relu"]).return_annotation is modules.Array
assert inspect.signature(swiglu["scaled_sum"]).parameters["factor"].default == 1.0  # a decorator gave the function back
try:
    relu["relu"](None)
except Exception as error:
    print(type(error).__name__)
""") == "AttributeError"


# ---- kernels that compute ----


@pytest.fixture(scope="module")
def simulated(child, published, programs, jax_environment):  # noqa: F811
    """The child with the plugin; the kernel with a backward is published too."""
    plugin = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"
    child.env["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"cpu:{plugin}"
    folder = child.folder / "swiglu-tpu"
    shutil.copytree(ROOT / "tests" / "data" / "simulate" / "swiglu-tpu", folder)
    builder(programs, child.env, "build", folder, "--env", "torch-tpu", "--no-check-tpu", "--accept-licence", "libtpu",
            "--accept-licence", "nvidia-cuda-runtime")
    builder(programs, child.env, "upload", folder)
    return child


@pytest.fixture(scope="module")
def bare(simulated, torch_python):
    """The child with an interpreter that has torch, but neither torch_tpu nor jax."""
    folder = simulated.folder / "bare"
    folder.mkdir()
    asked = subprocess.run([torch_python, "-c", "import sys, site; print(sys._base_executable, *site.getsitepackages(), sep='\\n')"],
                           check=True, capture_output=True, text=True)
    base, *places = asked.stdout.splitlines()
    links = [line for place in map(pathlib.Path, places) for file in place.glob("*.pth") for line in file.read_text().splitlines()]
    for place in map(pathlib.Path, [*places, *(line for line in links if os.path.isdir(line))]):
        for package in place.iterdir():
            if not package.name.startswith(("jax", "torch_tpu", "libtpu")) and package.suffix != ".pth":
                if not (folder / package.name).is_symlink():
                    (folder / package.name).symlink_to(package)
    child = copy.copy(simulated)  # noqa: F811
    child.python = base
    child.env = {**simulated.env, "PYTHONPATH": os.pathsep.join([simulated.env["PYTHONPATH"], str(folder)])}
    return child


LAYER = """
import sys, torch, kernels
if DEVICE == "cpu":
    kernels.simulate("tpu")
from kernels import LayerRepository, Mode, kernelize, use_kernel_forward_from_hub, use_kernel_mapping
called = []

@use_kernel_forward_from_hub("RMSNorm")
class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1024))
    def forward(self, x):
        called.append("RMSNorm")
        return torch.nn.functional.rms_norm(x, (1024,), self.weight, eps=1e-6)

@use_kernel_forward_from_hub("ReLU")
class Positive(torch.nn.Module):
    def forward(self, x):
        called.append("ReLU")
        return x.clamp(min=0)

def layer(name, repository):
    return {"tpu": LayerRepository(repository, layer_name=name, version=1)}

torch.manual_seed(0)
model = torch.nn.Sequential(Norm(), Positive()).eval()
x = torch.randn(256, 1024)
with torch.no_grad():
    want = model(x)
host = len(called)
with use_kernel_mapping({"RMSNorm": layer("RMSNorm", "kernels-test/rmsnorm-tpu"), "ReLU": layer("ReLU", "kernels-test/relu-tpu")}):
    model = kernelize(model.to(DEVICE), device="tpu", mode=Mode.INFERENCE, use_fallback=False)
with torch.no_grad():
    got = model(x.to(DEVICE)).cpu()
    relu = torch.equal(kernels.get_kernel("kernels-test/relu-tpu", version=1).relu(x.to(DEVICE)).cpu(), x.relu())
result = {"host": host, "called": len(called) - host, "difference": float((got - want).abs().max()), "relu": relu,
          "modules": sorted({name.partition(".")[0] for name in sys.modules} & {"jax", "torch_tpu"})}
"""


def check_layers(found):
    assert found["host"] == 2 and found["called"] == 0, "the layers' own forward was called"
    assert found["difference"] < 1e-3 and found["relu"] is True


@pytest.mark.tpu_only
def test_layers_from_the_hub_on_a_tpu(child, published):  # noqa: F811
    check_layers(child.run("DEVICE = 'tpu'" + LAYER))


@full
def test_layers_from_the_hub_simulated(simulated):
    found = simulated.run("DEVICE = 'cpu'" + LAYER)
    check_layers(found)
    assert found["modules"] == ["jax", "torch_tpu"]


@full
def test_layers_from_the_hub_simulated_without_torch_tpu_and_jax(bare):
    found = bare.run("DEVICE = 'cpu'" + LAYER)
    check_layers(found)
    assert found["modules"] == ["torch_tpu"]  # the stand-in


OPS = """
import importlib.util, pathlib, time, torch, kernels
from torch.library import opcheck
has_jax = importlib.util.find_spec("jax") is not None
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1)
kernel = kernels.get_kernel("kernels-test/swiglu-tpu", version=1)
swiglu = kernel.layers.SwiGLU()
def reference(gate, up):
    return torch.nn.functional.silu(gate) * up
def compare(function, shape):
    leaves = [torch.randn(shape, requires_grad=True) for _ in range(2)]
    answers = []
    for one in (function, reference):
        y = one(*leaves)
        answers.append([y.detach(), *torch.autograd.grad((y * y.detach()).sum(), leaves)])
    return max(float((got - want).abs().max()) for got, want in zip(*answers))
torch.manual_seed(0)
result = {"has_jax": has_jax}
result["backward"] = compare(swiglu, (8, 128))
compiled = torch.compile(swiglu, backend="aot_eager", fullgraph=True)
result["compiled"] = compare(compiled, (8, 128))
x = torch.randn(1024, 256).t()
result["strided"] = torch.equal(relu.relu(x), x.relu())
x = torch.randn(256, 1024).bfloat16()
result["bf16"] = torch.equal(relu.relu(x), x.relu()) and relu.relu(x).dtype == torch.bfloat16
result["meta"] = [list(relu.relu(torch.empty(16, 16, device="meta")).shape), relu.relu(torch.empty(16, 16, device="meta")).device.type]
result["opcheck"] = sorted(set(opcheck(kernel.swiglu._opoverload, [torch.randn(8, 128, requires_grad=True) for _ in range(2)]).values()))
def failure(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
result["no autograd"] = failure(lambda: relu.relu(torch.randn(16, 16, requires_grad=True)).sum().backward())
result["complex"] = failure(relu.relu, torch.zeros(16, 16, dtype=torch.complex64))
result["new shape"] = failure(relu.relu, torch.zeros(3, 5))
if has_jax:
    result["new shapes"] = [compare(swiglu, (5, 7)), compare(compiled, (6, 7)), compare(compiled, (7, 7))]
    parts = [torch.ones(3), torch.full((3,), 2.0)]
    calls = [((parts,), {}), ((parts, torch.ones(3)), {"factor": 0.5, "add": 2}), ((parts[:1],), {"add": 1})]
    result["values"] = [[y.tolist() for y in kernel.scaled_sum(*arguments, **options)] for arguments, options in calls]
    result["wide"] = relu.relu(torch.tensor([-1, 2**40])).tolist()
    result["refused"] = failure(kernel.swiglu, torch.zeros(2, 3), torch.zeros(4, 5))
"""


def check_ops(found):
    assert found["backward"] < 1e-5 and found["compiled"] < 1e-5
    assert found["strided"] is True and found["bf16"] is True
    assert found["meta"] == [[16, 16], "meta"] and found["opcheck"] == ["SUCCESS"]
    assert "no autograd formula" in found["no autograd"]
    assert found["complex"].startswith("ValueError: relu_tpu::relu: expected tensors of one of pred, ")


@full
def test_ops_forward_backward_compiled(simulated):
    found = simulated.run(OPS, env={"KERNELS_SIMULATE": "tpu"})
    check_ops(found)
    assert found["has_jax"] and found["new shape"] is None and max(found["new shapes"]) < 1e-5
    assert found["values"] == [[[3, 3, 3], 2], [[4.5, 4.5, 4.5], 2], [[2, 2, 2], 1]]
    assert found["wide"] == [0, 2**40]
    assert found["refused"].startswith("RuntimeError: ") and "(f32[2,3], f32[4,5])" in found["refused"]


@full
def test_ops_without_torch_tpu_and_jax(bare):
    found = bare.run(OPS, env={"KERNELS_SIMULATE": "tpu"})
    check_ops(found)
    assert not found["has_jax"]
    said = found["new shape"]
    assert said.startswith("ValueError: relu_tpu::relu ") and "(f32[256,1024]) -> (f32[256,1024])" in said
    assert "pip install jax" in said and '["f32[3,5]"]' in said and "aot.toml" in said


EXPORT = """
import pathlib, torch, kernels
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1)
x = torch.randn(4, 6)
right = torch.equal(relu.relu(x), x.relu())
result = [right, sorted(f"{path.name} {path.stat().st_ino}" for path in pathlib.Path.home().glob(".cache/kernels/exported/*"))]
"""


@full
def test_programs_made_here_are_kept(simulated, tmp_path):
    def run(**more):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        return simulated.run(EXPORT, env={"KERNELS_SIMULATE": "tpu", "HOME": str(home), **more})

    assert run(KERNELS_EXPORTED_CACHE="") == [True, []]
    first = run()
    assert first[0] is True and len(first[1]) == 1
    assert run() == first
    (folder,) = (tmp_path / "home" / ".cache" / "kernels" / "exported").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    program = next(folder.glob("aot/*.mlirbc"))
    program.write_bytes(program.read_bytes()[:-1])
    again = run()
    assert again[0] is True and len(again[1]) == 1 and again != first  # made anew
    folder.chmod(0o777)
    third = run()
    assert third[0] is True and len(third[1]) == 1 and third != again


FORK = """
import os, torch, kernels
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1)
x = torch.randn(16, 16)
before = torch.equal(relu.relu(x), x.relu())
child = os.fork()
if child == 0:
    try:
        os._exit(0 if torch.equal(relu.relu(x), x.relu()) else 3)
    finally:
        os._exit(4)
result = [before, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.equal(relu.relu(x), x.relu())]
"""


@full
def test_after_fork_and_switched_off(simulated):
    assert simulated.run(FORK, env={"KERNELS_SIMULATE": "tpu"}) == [True, 0, True]
    assert simulated.run("""
import torch, kernels
import torch.tpu.pallas as pallas
before = pallas.jax_op
kernels.simulate("tpu")
during = pallas.jax_op
kernels.simulate("tpu")
relu = kernels.get_kernel("kernels-test/relu-tpu", version=1)
kernels.simulate(None)
result = [pallas.jax_op is before, during is before, torch.equal(relu.relu(torch.ones(16, 16)), torch.ones(16, 16))]
""") == [True, False, True]
