#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job end to end, with real parts, on this machine alone (./run demo).

Two TPU kernels are exported and checked without a TPU, published to a hub started here, found by name, verified, loaded
and called from C and from Python, imported with torch and torch_tpu, and used by a model of transformers on a simulated TPU; then
the hub is stopped and all of it works again from the cache. Each step is printed with its time; build/demo.json holds the same. Exit 0 only if every check held.

    demo.py --accept-licence libtpu --accept-licence nvidia-cuda-runtime
    demo.py --light --accept-licence libtpu

--light leaves torch and torch_tpu out (650 MB to download). Licences of libtpu, which the export needs, and of the CUDA
runtime, without which torch is not imported, are accepted only by these flags; ./run demo gives them and says so.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
WORK = BUILD / "demo"
PROGRAMS = BUILD / "release" / "src" / "cli"
KERNELS = {"relu-tpu": "kernels-test/relu-tpu", "rmsnorm-tpu": "kernels-test/rmsnorm-tpu"}
GENERATIONS = ("v5e", "v6e")
TOKEN = "hf_demo"
STEP_SECONDS = 900

PYTHON_PART = """
import sys
import numpy
import kernels.native

x = numpy.random.default_rng(0).standard_normal((256, 1024), dtype=numpy.float32)
relu = kernels.native.load("kernels-test/relu-tpu", version=1)
y = numpy.from_dlpack(relu.relu(x))
assert numpy.array_equal(y, numpy.maximum(x, 0)), "relu gave wrong numbers"
rmsnorm = kernels.native.load("kernels-test/rmsnorm-tpu", version=1)
w = numpy.random.default_rng(1).standard_normal(1024, dtype=numpy.float32)
z = numpy.from_dlpack(rmsnorm.rmsnorm(x, w))
want = x / numpy.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w
difference = float(abs(z - want).max())
assert difference < 1e-4, f"rmsnorm differs by {difference}"
assert "torch" not in sys.modules and "jax" not in sys.modules
print(f"relu equal to numpy, rmsnorm within {difference:.1e}; neither torch nor jax imported")
"""

TORCH_IMPORT = """
import torch
import torch_tpu
assert torch.add(torch.ones(2), 1).tolist() == [2, 2]
print(f"torch {torch.__version__} and torch_tpu imported, NVIDIA's libraries are import stubs; GPU: {torch.cuda.is_available()}")
"""

TORCH_PART = """
import torch
import kernels

kernel = kernels.get_kernel("kernels-test/relu-tpu", version=1, backend="tpu")
op = torch.ops.relu_tpu.relu
x = torch.empty(256, 1024, device="meta")
for function in (kernel.relu, op, kernel.layers.ReLU()):
    y = function(x)
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device), "relu gave another shape"
assert issubclass(kernel.layers.ReLU, torch.nn.Module)
assert not torch.tpu.is_initialized(), "a TPU was looked for"
print(f"torch.ops.relu_tpu.relu is registered: {op.default._schema}")
print(f"layers.ReLU found: {kernel.layers.ReLU}")
"""


class Failed(Exception):
    """A check did not hold; the text says which."""


def check(held, message: str):
    if not held:
        raise Failed(message)


def run_to_the_end(command: list[str], env: dict[str, str]) -> tuple[int, str, str]:
    """Exit code and both outputs. When we are interrupted the command is asked to stop, so that it can end what it
    started, before it is killed."""
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=STEP_SECONDS)
        except BaseException:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return process.returncode, output, errors


class Demo:
    def __init__(self, licences: list[str], light: bool):
        self.licences = [word for name in licences for word in ("--accept-licence", name)]
        self.light = light
        self.steps: list[dict] = []
        self.hub: subprocess.Popen | None = None
        self.skipped = ["import check, get_kernel and transformers: they need torch, which --light leaves out"] if light else []
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(WORK / "home"),
            "HF_HOME": str(WORK / "home" / "huggingface"),
            "KERNEL_BUILDER_STORE": str(BUILD / "store"),
            **{name: value for name, value in os.environ.items()
               if name.startswith(("PIP_", "SSL_CERT_")) or name.lower().endswith("_proxy")},
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def run(self, *command, env=None, show=True) -> str:
        """Runs a command, shown as a person would type it, and returns its standard output."""
        words = [os.path.relpath(word, ROOT) if str(word).startswith(str(ROOT)) else str(word) for word in command]
        if show:
            print("  $ " + shlex.join(words if len(shlex.join(words)) < 200 else words[:2] + ["..."]), flush=True)
        code, output, errors = run_to_the_end([str(word) for word in command], {**self.environment, **(env or {})})
        if code != 0:
            raise Failed(f"{words[0]} ended with {code}\n{output[-3000:]}\n{errors[-6000:]}")
        return output

    @contextlib.contextmanager
    def step(self, name: str):
        print(f"\n{name}", flush=True)
        record = {"name": name, "passed": False, "seconds": 0.0, "notes": []}
        self.steps.append(record)
        started = time.monotonic()
        try:
            yield record["notes"].append
            record["passed"] = True
        finally:
            record["seconds"] = round(time.monotonic() - started, 3)
            for note in record["notes"]:
                print(f"  {note}")
            print(f"  {'done' if record['passed'] else 'FAILED'} in {record['seconds']:.2f} s", flush=True)

    # ---- the steps ----

    def torch_environment(self):
        with self.step("torch: environment with torch 2.15 and torch_tpu 0.2.0 on top of the one with jax") as note:
            print("    649 MB are downloaded the first time, and 340 MB of the environment with jax")
            directory = self.run(PROGRAMS / "kernel-builder", "env", "fetch", "torch-tpu", *self.licences).strip()
            self.torch_python = pathlib.Path(directory) / "bin" / "python"
            note(self.run(self.torch_python, "-c", TORCH_IMPORT, env={"PYTHONWARNINGS": "ignore"}).strip())

    def build(self, kernel: str):
        folder = ROOT / "examples" / "kernels" / kernel
        with self.step(f"build {kernel}: export for tpu and cpu") as note:
            self.run(PROGRAMS / "kernel-builder", "build", folder, "--env", "jax" if self.light else "torch-tpu",
                     *self.licences, "--no-check-tpu")
            manifest = json.loads((folder / "result" / "torch-tpu" / "aot" / "manifest.json").read_text())
            for function in manifest["functions"]:
                platforms = {one["platform"] for one in function["specialisations"]}
                check(platforms == {"tpu", "cpu"}, f"{function['name']} was exported for {platforms} only")
                note(f"{function['name']}: {len(function['specialisations'])} specialisations for cpu and tpu")
            report = json.loads((folder / "result").resolve().with_name("build-report.json").read_text())
            checks = {one["name"]: one for one in report["variants"][0]["checks"]}
            check(self.light or checks["import"]["status"] == "passed", f"the import check: {checks['import']}")
            note(f"import check of the package: {checks['import']['status']} ({checks['import']['detail']})")

    def check_tpu(self, kernel: str):
        folder = ROOT / "examples" / "kernels" / kernel
        with self.step(f"check {kernel}: the TPU compiler without a TPU, numbers on the CPU") as note:
            chosen = [word for generation in GENERATIONS for word in ("--generation", generation)]
            report = json.loads(self.run(PROGRAMS / "kernel-builder", "check-tpu", folder, "--json", *chosen))
            for variant in report["variants"]:
                compiled = [one["generation"] for one in variant["compiles"] if one["outcome"] == "passed"]
                check(set(compiled) == set(GENERATIONS), f"compiled for {compiled} only")
                check(len(compiled) == len(variant["compiles"]), "a compile failed")
                compared = [one for one in variant["comparisons"] if one["outcome"] == "passed"]
                check(compared and len(compared) == len(variant["comparisons"]), "numbers were not all compared")
                note(f"{len(compiled)} programs compiled for {', '.join(GENERATIONS)}; "
                     f"{len(compared)} results equal to the reference function")

    def start_hub(self):
        with self.step("start the embedded hub on a free port") as note:
            (WORK / "hub").mkdir()
            command = [PROGRAMS / "kernels", "serve", WORK / "hub", "--token", f"demo:{TOKEN}", "--trusted",
                       "kernels-test"]
            print("  $ " + shlex.join(os.path.relpath(word, ROOT) if "/" in str(word) else word for word in command))
            with open(WORK / "hub.log", "w", encoding="utf-8") as log:
                self.hub = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log, text=True)
            guard = threading.Timer(30, self.hub.kill)
            guard.start()
            url = self.hub.stdout.readline().strip()
            guard.cancel()
            check(url.startswith("http://127.0.0.1:"), f"the hub said {url!r} instead of its address")
            self.environment["HF_ENDPOINT"] = url
            note(url)

    def stop_hub(self) -> int | None:
        hub, self.hub = self.hub, None
        if hub is None:
            return None
        hub.terminate()
        try:
            return hub.wait(20)
        except subprocess.TimeoutExpired:
            hub.kill()
            return hub.wait()

    def upload(self, kernel: str, repo_id: str):
        with self.step(f"upload {kernel}") as note:
            said = self.run(PROGRAMS / "kernel-builder", "upload", ROOT / "examples" / "kernels" / kernel,
                            env={"HF_TOKEN": TOKEN})
            check(repo_id in said, f"upload did not name {repo_id}: {said!r}")
            note(said.strip())

    def find(self, kernel: str, repo_id: str):
        with self.step(f"find {repo_id} by name") as note:
            said = self.run(PROGRAMS / "kernels", "versions", repo_id)
            check("1" in said.split() or "Version 1" in said, f"version 1 is not listed: {said!r}")
            info = json.loads(self.run(PROGRAMS / "kernels", "info", repo_id, "--json"))
            check((info["name"], info["version"], info["backends"]) == (kernel, 1, ["tpu"]), f"info says {info}")
            note(f"version {info['version']}, backends {info['backends']}, license {info['license']}")

    def compile_c(self):
        with self.step("C: compile the example against the installed library") as note:
            self.run("cmake", "--install", BUILD / "release", "--prefix", WORK / "prefix")
            package = next((WORK / "prefix").rglob("libkernels.pc")).parent
            flags = self.run("pkg-config", "--cflags", "--libs", "libkernels",
                             env={"PKG_CONFIG_PATH": str(package)}).split()
            self.run("cc", "-std=c17", "-Wall", "-Wextra", "-Werror", ROOT / "examples" / "c" / "run_relu.c", "-o",
                     WORK / "run_relu", *flags, f"-Wl,-rpath,{package.parent}")
            libraries = self.run("ldd", WORK / "run_relu")
            check("libkernels.so" in libraries and "python" not in libraries, f"ldd says {libraries}")
            note("ldd: libkernels.so, no Python")
            exported = self.run("nm", "-D", "--defined-only", "--format=posix", package.parent / "libkernels.so")
            names = [line.split()[0] for line in exported.splitlines()]
            strangers = [name for name in names if not name.startswith(("kernels_", "LIBKERNELS_"))]
            check(names and not strangers, f"libkernels.so exports {strangers}")
            note(f"libkernels.so exports {len(names)} names, all kernels_*")

    def call_c(self, title: str, env=None):
        with self.step(title) as note:
            said = self.run(WORK / "run_relu", env={**self.plugin, **(env or {}), "LD_DEBUG": "files",
                                                    "LD_DEBUG_OUTPUT": str(WORK / "ld")})
            opened = "".join(path.read_text() for path in WORK.glob("ld.*"))
            check("calling init" in opened, "the dynamic loader's log is empty")
            check("libpython" not in opened, "the C program opened Python")
            check("every file verified" in said, f"the kernel was not verified: {said}")
            for line in said.replace(f"{ROOT}/", "").splitlines():
                note(line)
            note("no Python in the process")

    def install_python(self):
        with self.step("Python: install the wheel built here") as note:
            wheels = list((BUILD / "wheel").glob("kernels-*.whl"))
            check(len(wheels) == 1, f"expected one wheel of kernels in build/wheel, found {wheels}")
            self.run(BUILD / "demo-venv" / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", "--no-index",
                     "--force-reinstall", wheels[0])
            note(f"{wheels[0].name}, {wheels[0].stat().st_size / 1e6:.1f} MB")

    def call_python(self, title: str, env=None):
        with self.step(title) as note:
            note(self.run(BUILD / "demo-venv" / "bin" / "python", "-c", PYTHON_PART,
                          env={**self.plugin, **(env or {})}).strip())

    def install_torch_python(self):
        with self.step("torch: install the wheel built here beside it") as note:
            (wheel,) = (BUILD / "wheel").glob("kernels-*.whl")
            self.run(self.torch_python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                     "--no-index", "--target", WORK / "torch-packages", wheel)
            note(wheel.name)

    def call_torch(self, title: str, env=None):
        """No TPU is needed to import a kernel and to trace its op; libtpu's own files go where the demo's are."""
        with self.step(title) as note:
            more = {"PYTHONPATH": str(WORK / "torch-packages"), "PYTHONWARNINGS": "ignore",
                    "TPU_LOG_DIR": str(WORK / "tpu_logs"), **(env or {})}
            for line in self.run(self.torch_python, "-c", TORCH_PART, env=more).splitlines():
                note(line)

    def simulate(self):
        """What a user of transformers does on a laptop. The packages are kept for the next run."""
        requirements = ROOT / "tests" / "transformers-requirements.txt"
        folder = BUILD / "transformers" / hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
        with self.step("transformers: install it beside torch") as note:
            if not folder.is_dir():
                scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
                shutil.rmtree(scratch, ignore_errors=True)
                self.run(self.torch_python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target",
                         scratch, "-r", requirements)
                scratch.rename(folder)
            note(next(line for line in requirements.read_text().splitlines() if line.startswith("transformers==")))
        with self.step("transformers: a Llama whose norms are the TPU kernel, simulated on the CPU") as note:
            more = {"PYTHONPATH": os.pathsep.join([str(WORK / "torch-packages"), str(folder)]), "PYTHONWARNINGS": "ignore",
                    "TPU_LOG_DIR": str(WORK / "tpu_logs"), **self.plugin}
            for line in self.run(self.torch_python, ROOT / "examples" / "python" / "llama_tpu.py", env=more).splitlines():
                note(line)

    @property
    def plugin(self) -> dict[str, str]:
        """The XLA CPU plugin of the jax environment takes the place of a TPU; a TPU host needs no setting."""
        found = sorted((BUILD / "store").rglob("xla_cpu_pjrt.so"))
        check(found, "no XLA CPU plugin below build/store")
        return {"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{found[0]}"}

    def all_steps(self):
        if not self.light:
            self.torch_environment()
        for kernel in KERNELS:
            self.build(kernel)
            self.check_tpu(kernel)
        self.start_hub()
        for kernel, repo_id in KERNELS.items():
            self.upload(kernel, repo_id)
        for kernel, repo_id in KERNELS.items():
            self.find(kernel, repo_id)
        self.compile_c()
        self.call_c("C: find, download, verify, load, call, compare")
        self.install_python()
        self.call_python("Python: kernels.native on numpy arrays")
        if not self.light:
            self.install_torch_python()
            self.call_torch("torch: kernels.get_kernel, op and layer")
            self.simulate()
        with self.step("stop the hub") as note:
            check(self.stop_hub() == 0, "the hub did not stop cleanly: build/demo/hub.log")
            note("from here on HF_HUB_OFFLINE=1")
        offline = {"HF_HUB_OFFLINE": "1"}
        self.call_c("C: again from the cache, offline", offline)
        self.call_python("Python: again from the cache, offline", offline)
        if not self.light:
            self.call_torch("torch: again from the cache, offline", offline)


def summary(demo: Demo, failure: str | None, seconds: float):
    width = max(len(step["name"]) for step in demo.steps) if demo.steps else 0
    print("\nSummary")
    for step in demo.steps:
        print(f"  {step['name']:<{width}}  {step['seconds']:8.2f} s  {'ok' if step['passed'] else 'FAILED'}")
    print(f"  {'all':<{width}}  {seconds:8.2f} s  {'FAILED' if failure else 'ok'}")
    result = {"passed": failure is None, "seconds": round(seconds, 3), "failure": failure, "steps": demo.steps,
              "skipped": demo.skipped}
    (BUILD / "demo.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for skipped in demo.skipped:
        print(f"  skipped: {skipped}")
    print("  details: build/demo.json")


def interrupt(number, frame):
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description="the main job end to end")
    parser.add_argument("--light", action="store_true", help="without torch and torch_tpu")
    parser.add_argument("--accept-licence", action="append", choices=["libtpu", "nvidia-cuda-runtime"], required=True)
    arguments = parser.parse_args()
    demo = Demo(arguments.accept_licence, arguments.light)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "home").mkdir(parents=True)
    started = time.monotonic()
    failure = None
    try:
        demo.all_steps()
    except KeyboardInterrupt:
        failure = "interrupted"
    except (Failed, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        failure = f"{type(error).__name__}: {error}"
    finally:
        demo.stop_hub()
    if failure:
        print(f"\n{failure}", file=sys.stderr)
    summary(demo, failure, time.monotonic() - started)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
