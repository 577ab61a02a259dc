# SPDX-License-Identifier: Apache-2.0
"""`kernels benchmark`: the vectors of its functions, and the command with a kernel that C runs, on a folder and a hub."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

import hub_api
import python_child

# function of benchmark_cases.py: how many cases it must run
CASES = {"statistics": 62, "payload": 8, "table": 14, "graphics": 21, "target": 35, "scripts": 28}

SCRIPT = """
import numpy
from kernels.benchmark import Benchmark

class ReluBenchmark(Benchmark):
    seed = 7

    def setup(self):
        self.x = numpy.random.standard_normal((4, 8)).astype("f4")

    def benchmark_small(self):
        self.out = self.kernel.relu(self.x)

    def verify_small(self):
        return numpy.maximum(self.x, 0)
"""
WRONG = SCRIPT.replace("numpy.maximum(self.x, 0)", "self.x")
REFUSED = "kernels: error: "


@pytest.fixture
def variables(environment, build_dir, jax_environment):
    """Of a machine whose Python is the one that runs the tests: NumPy, no torch."""
    plugin = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"
    return {**environment, **python_child.variables(build_dir), "KERNELS_PYTHON": sys.executable,
            "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def kernel(data, tmp_path):
    """A repository: one variant with exported programs, one benchmark script."""
    folder = tmp_path / "kernel"
    shutil.copytree(data / "aot" / "sample", folder)
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "benchmark.py").write_text(SCRIPT)
    return folder


@pytest.fixture
def benchmark(programs, run, variables, tmp_path):
    def run_benchmark(*arguments, env=None, **more):
        return run(programs.kernels, "benchmark", *arguments, cwd=tmp_path, env={**variables, **(env or {})},
                   **{"check": False, **more})

    return run_benchmark


@pytest.mark.parametrize("name", CASES)
def test_vectors(name, run, root, data, build_dir, environment, tmp_path):
    done = run(sys.executable, root / "tests" / "program" / "benchmark_cases.py", data, name, tmp_path,
               env={**environment, **python_child.variables(build_dir)})
    count = int(done.stdout)
    print(f"{name}: {count} cases")
    assert count == CASES[name]


@pytest.mark.full
@pytest.mark.parametrize("name", ["statistics", "scripts"])
def test_vectors_with_torch(name, torch_python, run, root, data, build_dir, environment, tmp_path):
    """What the stand-in for torch cannot show: its seeds, types and comparison."""
    done = run(torch_python, root / "tests" / "program" / "benchmark_cases.py", data, name, tmp_path,
               env={**environment, **python_child.variables(build_dir)})
    assert int(done.stdout.splitlines()[-1]) == CASES[name]


@pytest.mark.full
def test_a_kernel_in_torch(torch_python, benchmark, data, tmp_path, programs, run, root, environment):
    """The example of this repository, simulated: there is no TPU."""
    shutil.copytree(root / "examples" / "kernels" / "relu-tpu", tmp_path / "relu",
                    ignore=shutil.ignore_patterns("build", "result", "__pycache__"))
    run(programs.kernel_builder, "build-and-copy", tmp_path / "relu", "--accept-licence", "libtpu", "--no-check-tpu")
    done = benchmark("relu", "--iterations", "3", "--json", "--python", torch_python, env={"KERNELS_SIMULATE": "tpu"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["results"][0]["verified"] is True and found["machineInfo"]["backend"] == "TPU (simulated)"
    assert found["machineInfo"]["pytorchVersion"].startswith("2.")


READY_MADE = """
import types
import torch
from kernels import benchmarks
from kernels.benchmarks.activation import GeluAndMulBenchmark
from kernels.cli.benchmark_run import Run, run_benchmark_class

def gated(activation):
    def run(out, x):
        gate, value = x.chunk(2, dim=-1)
        out.copy_(activation(gate) * value)
    return run

def attention(q, k, v, causal=False):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)

def varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
    ends = cu_seqlens_q.tolist()
    assert max(b - a for a, b in zip(ends, ends[1:])) == max_seqlen_q == max_seqlen_k
    return torch.cat([attention(q[None, a:b], k[None, a:b], v[None, a:b])[0] for a, b in zip(ends, ends[1:])])

def norm(x, weight, bias, *rest):
    functional = torch.nn.functional
    if rest[-1]:
        return [functional.rms_norm(x, weight.shape, weight, rest[5])]
    return [functional.layer_norm(x, weight.shape, weight, bias, rest[5])]

kernel = types.SimpleNamespace(silu_and_mul=gated(torch.nn.functional.silu), gelu_and_mul=gated(torch.nn.functional.gelu),
                               flash_attn_func=attention, flash_attn_varlen_func=varlen, dropout_add_ln_fwd=norm)
for made in [*(getattr(benchmarks, name) for name in benchmarks.__all__), GeluAndMulBenchmark]:
    small = type(made.__name__, (made,), {f"benchmark_{name}": None for name in ("medium", "large")})
    results = run_benchmark_class(small, Run(kernel, "cpu", iterations=1, warmup=0))
    assert [one.verified for one in results.values()] == [True], results
print(len(benchmarks.__all__))
"""


@pytest.mark.full
def test_ready_made_benchmarks(torch_python, run, build_dir, environment):
    """Each calls its kernel with the arguments that a plain version of it in torch takes."""
    done = run(torch_python, "-c", READY_MADE, env={**environment, **python_child.variables(build_dir)})
    assert done.stdout.strip() == "6", done.stdout


# ---- the command ----


def test_a_folder(benchmark, kernel, tmp_path):
    done = benchmark("kernel", "--iterations", "7", "--warmup=1", "--json", "--output", "o.json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o.json").read_text() + "\n" == done.stdout
    found = json.loads(done.stdout)
    assert list(found) == ["results", "machineInfo", "kernelCommitSha", "benchmarkScriptPath", "benchmarkScriptSha"]
    [result] = found["results"]
    assert result["workload"] == "ReluBenchmark.small" and result["verified"] is True
    assert result["timingResults"]["iterations"] == 7 and result["timingResults"]["min_ms"] > 0
    assert found["machineInfo"]["backend"] == "CPU" and found["machineInfo"]["pytorchVersion"] == "N/A"
    wanted = ["Downloading kernel@local...", "Running benchmark.py...", "  Running ReluBenchmark on cpu",
              "│ ReluBenchmark │ small      │   7 │", "✓", "  small: ", "Results saved to: o.json"]
    places = [done.stderr.index(text) for text in wanted]
    assert places == sorted(places)


def test_results_go_to_files_and_streams_as_utf8(benchmark, kernel):
    done = benchmark("kernel", "--iterations=1", env={"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}, encoding="utf-8")
    assert done.returncode == 0 and "│ ReluBenchmark │" in done.stderr


def test_comparison(benchmark, kernel):
    done = benchmark("kernel", "--iterations", "2", "--compare", "variant:torch-tpu", "--compare", "kernel/build/torch-tpu",
                     "--json")
    assert done.returncode == 0, done.stderr
    others = json.loads(done.stdout)["extra"]["comparison"]
    assert [other["kernel"] for other in others] == ["torch-tpu", "kernel/build/torch-tpu"]
    assert all(other["results"][0]["verified"] for other in others)
    assert re.search(r"│ +kernel\(ms\) │ +torch-tpu\(ms\) │ vs kernel ", done.stderr), done.stderr
    done = benchmark("kernel", "--iterations", "2", "--compare", "nowhere")
    assert done.returncode == 1 and "nowhere" in done.stderr


def test_a_wrong_result_writes_nothing(benchmark, kernel, tmp_path):
    (kernel / "benchmarks" / "benchmark.py").write_text(WRONG)
    done = benchmark("kernel", "--iterations", "2", "--output", "o.json", "--json")
    assert (done.returncode, done.stdout) == (1, "") and not (tmp_path / "o.json").exists()
    assert "Verification failed for small: greatest difference " in done.stderr
    assert "ReluBenchmark.small" in done.stderr and "Traceback" not in done.stderr


def test_a_failing_script_is_one_line(benchmark, kernel):
    (kernel / "benchmarks" / "benchmark.py").write_text(SCRIPT.replace("self.kernel.relu(self.x)", "{}['no such key']"))
    done = benchmark("kernel")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"{REFUSED}KeyError: 'no such key' (in ReluBenchmark.small)"
    done = benchmark("kernel", env={"KERNELS_DEBUG": "1"})
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_usage(benchmark, kernel, tmp_path):
    (kernel / "benchmarks" / "benchmark.py").write_text("print('imported')")
    for words in (["--iterations", "0"], ["--iterations=-3"], ["--warmup=-1"], ["--upload"], ["--comp=x"], ["--py=x"]):
        done = benchmark("kernel", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
    for words, code, text in ((["acme/k@1"], 1, "version must be prefixed with 'v'"),
                              (["acme/k"], 1, "must specify either branch or version"),
                              (["acme/k@v1", "--version", "1"], 2, "not both"), (["acme/k@"], 2, "is empty"),
                              (["kernel", "--output", "none/o.json"], 1, "no folder none")):
        done = benchmark(*words)
        assert (done.returncode, done.stdout) == (code, "") and text in done.stderr, done


def test_charts(benchmark, kernel, tmp_path):
    done = benchmark("kernel", "--iterations", "2", "--visual", "sub/chart", "--rasterized")
    assert done.returncode == 0, done.stderr
    race = xml.etree.ElementTree.parse(tmp_path / "media" / "sub" / "chart_dark_animation.svg")
    assert "ReluBenchmark.small" in [text.text for text in race.iter("{http://www.w3.org/2000/svg}text")]
    if "matplotlib required" in done.stderr:
        assert "Pillow required" in done.stderr or (tmp_path / "media/sub/chart_light_animation.gif").is_file()
        pytest.skip("matplotlib is not installed: the bars were not drawn")
    for name in ("latency.svg", "latency.png", "throughput.svg", "throughput.png"):
        assert (tmp_path / "media" / "sub" / f"chart_light_{name}").stat().st_size > 2000


def test_names_in_charts_are_escaped(run, build_dir, environment, tmp_path):
    run(sys.executable, "-c", """
from types import SimpleNamespace
from kernels.cli.benchmark_graphics import save_speedup_animation
save_speedup_animation({"A.a<b>&c": SimpleNamespace(mean_ms=1.0, ref_mean_ms=2.0)}, "race.svg", repo_id="<k>&")
""", env={**environment, **python_child.variables(build_dir)}, cwd=tmp_path)
    texts = [text.text for text in xml.etree.ElementTree.parse(tmp_path / "race.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert "A.a<b>&c" in texts and "<k>& vs Torch - Relative Speed" in texts


# ---- devices ----

DEVICES = """
import sys
sys.path.insert(0, STAND_IN)
import torch
tpu = torch.add_device("tpu")
from kernels.benchmark import Benchmark
from kernels.cli.benchmark_run import Run, run_benchmark_class
class A(Benchmark):
    seed = 3
    def benchmark_w(self):
        tpu.calls.append("work")
        self.out = torch.zeros(1)
    def verify_w(self):
        tpu.calls.append("reference")
        return torch.zeros(1)
run = Run(object(), "tpu", iterations=2, warmup=1)
run_benchmark_class(A, run)
assert run.synchronized
wanted = [("seed", 3)] + [call for name in ("work", "reference", "reference", "work", "work", "work")
                          for call in (name, "synchronize")]
assert tpu.calls == wanted, tpu.calls

# a backend that keeps its functions to torch itself, as torch_tpu 0.2.0 does
import types
def refuse(*arguments):
    raise RuntimeError("internal")
tpu.synchronize = tpu.is_available = refuse
torch.accelerator = types.SimpleNamespace(synchronize=lambda: tpu.calls.append("synchronize"),
                                          current_accelerator=lambda: types.SimpleNamespace(type="tpu"))
tpu.calls.clear()
run_benchmark_class(A, Run(object(), "tpu", iterations=2, warmup=1))
assert tpu.calls == wanted, tpu.calls
torch.accelerator.current_accelerator = lambda: None
tpu.calls.clear()
run_benchmark_class(A, Run(object(), "cpu", iterations=1, warmup=0))
assert tpu.calls == ["work", "reference", "work"], tpu.calls
silent = Run(object(), "npu")
assert not silent.synchronized
assert Run(object(), "cpu").synchronized
from kernels.cli.benchmark_machine import collect_machine_info, device_of
assert (collect_machine_info("tpu").gpu, collect_machine_info("tpu").backend) == ("stand-in 0", "TPU")
assert [device_of(name) for name in ("rocm", "metal", "cann", "tpu", "neuron", "cpu")] == [
    "cuda", "mps", "npu", "tpu", "neuron", "cpu"]
"""


def test_the_device_is_waited_for_after_each_call(run, root, build_dir, environment):
    done = run(sys.executable, "-c", f"STAND_IN = {str(root / 'tests' / 'program' / 'stand_in')!r}\n" + DEVICES,
               env={**environment, **python_child.variables(build_dir)})
    assert "torch cannot wait for npu" in done.stderr


# ---- the interpreter ----


def test_the_interpreter(benchmark, kernel, tmp_path):
    done = benchmark("kernel", "--python", "no-such-python")
    assert done.returncode == 1 and "no-such-python is no program" in done.stderr
    done = benchmark("kernel", env={"KERNELS_PYTHON": "", "PATH": str(tmp_path)})
    assert done.returncode == 1 and "no Python was found" in done.stderr
    done = benchmark("kernel", env={"PYTHONPATH": ""})
    assert done.returncode == 1 and f"{sys.executable} cannot run benchmarks" in done.stderr
    done = benchmark("kernel", "--iterations=1", env={"KERNELS_PYTHON": "", "VIRTUAL_ENV": sys.prefix, "PATH": ""})
    assert done.returncode == 0, done.stderr
    (kernel / "benchmarks" / "benchmark.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    done = benchmark("kernel", env={"ASAN_OPTIONS": "handle_segv=0:detect_leaks=0"})
    assert done.returncode == 1 and "was ended by signal 11" in done.stderr


@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(number, code, programs, variables, kernel, tmp_path):
    (kernel / "benchmarks" / "benchmark.py").write_text(SCRIPT.replace(
        "def benchmark_small(self):", "def benchmark_small(self):\n        import os, time\n"
        "        open('pid', 'w').write(str(os.getpid()))\n        time.sleep(60)"))
    process = subprocess.Popen([programs.kernels, "benchmark", "kernel"], cwd=tmp_path, env=variables, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (code, ""), errors
    assert errors.count("interrupted") == 1 and "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# ---- the Hub ----


def publish(hub: str, repo_id: str, kernel: pathlib.Path):
    files = {str(path.relative_to(kernel)): path.read_bytes() for path in kernel.rglob("*") if path.is_file()}
    hub_api.publish(hub, repo_id, {"v1": files, "v2": files, "main": {"README.md": "nothing"}})


def test_a_kernel_of_the_hub(benchmark, kernel, start_hub, tmp_path):
    hub = start_hub("--trusted", "acme").url
    publish(hub, "acme/relu", kernel)
    for words in (["acme/relu", "--version", "1"], ["acme/relu@v1"], ["acme/relu", "--branch", "v1"]):
        done = benchmark(*words, "--iterations=1", env={"HF_ENDPOINT": hub})
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("Downloading acme/relu@v1...\nRunning benchmark.py...\n")
    done = benchmark("acme/relu@v2", "--iterations=1", "--compare=v1", env={"HF_ENDPOINT": hub})
    assert done.returncode == 0 and "│   v1(ms) │ vs v2" in done.stderr, done.stderr
    done = benchmark("acme/relu@v1", "--iterations=1", env={"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    done = benchmark("acme/relu@main", env={"HF_ENDPOINT": hub})
    assert done.returncode == 1 and "No benchmarks directory found in 'acme/relu'" in done.stderr


def test_scripts_of_strangers_do_not_run(benchmark, kernel, start_hub):
    hub = start_hub("--trusted", "acme").url
    (kernel / "benchmarks" / "benchmark.py").write_text("print('ran')")
    publish(hub, "stranger/relu", kernel)
    done = benchmark("stranger/relu@v1", env={"HF_ENDPOINT": hub})
    assert (done.returncode, done.stdout) == (1, "") and "stranger" in done.stderr


SUBMIT = """
import sys
from kernels.cli.benchmark import BenchmarkResult, MachineInfo, submit_benchmark
from urllib.error import HTTPError
try:
    submit_benchmark("acme/relu", BenchmarkResult({}, "1a2b3c4", MachineInfo("N/A", "CPU", "N/A", "Linux", "x")))
except HTTPError as error:
    print(error.code)
"""


def test_results_are_sent_to_the_hub_in_use(run, hub, build_dir, environment):
    done = run(sys.executable, "-c", SUBMIT, env={**environment, **python_child.variables(build_dir), "HF_ENDPOINT": hub,
                                                  "HF_TOKEN": "hf_secret"})
    assert done.stdout.strip() in ("401", "403", "404", "405") and "Error 40" in done.stderr
    assert "hf_secret" not in done.stderr
