# SPDX-License-Identifier: Apache-2.0
"""Benchmark scripts: finding them, importing them, and running their classes against a kernel."""

import contextlib
import hashlib
import importlib.util
import os
import random
import sys
from pathlib import Path
from time import perf_counter_ns

from .benchmark_check import difference
from .benchmark_machine import is_accelerator, loaded_torch, synchronizer
from .benchmark_results import statistics_of

__all__ = [
    "Run",
    "discover_benchmark_classes",
    "discover_benchmark_scripts",
    "digest_of_scripts",
    "import_script",
    "run_benchmark_class",
    "run_benchmark_script",
]

SCRIPT_MODULE = "benchmark_module"
WORKLOAD = "benchmark_"
SETUP = "setup_"
VERIFY = "verify_"

clock = perf_counter_ns  # of every sample


def say(text):
    """A line for people."""
    print(text, file=sys.stderr, flush=True)


# ---- scripts ----


def discover_benchmark_scripts(repo_path, shown=None):
    """The files benchmark*.py directly in <repo_path>/benchmarks, ascending. SystemExit(1) when there are none."""
    shown = str(repo_path) if shown is None else shown
    folder = Path(repo_path) / "benchmarks"
    if not folder.is_dir():
        say(f"Error: No benchmarks directory found in '{shown}'")
        raise SystemExit(1)
    names = sorted(name for name in os.listdir(folder) if name.startswith("benchmark") and name.endswith(".py"))
    scripts = [folder / name for name in names if (folder / name).is_file()]
    if not scripts:
        say(f"Error: No benchmark scripts found in '{shown}/benchmarks'")
        raise SystemExit(1)
    return scripts


def digest_of_scripts(scripts):
    """SHA-256 of their bytes, one after the other."""
    digest = hashlib.sha256()
    for script in scripts:
        digest.update(Path(script).read_bytes())
    return digest.hexdigest()


def import_script(path, repo_path):
    """The script as module benchmark_module. Its working directory is the repository while it is imported, no longer."""
    spec = importlib.util.spec_from_file_location(SCRIPT_MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[SCRIPT_MODULE] = module
    with _working_directory(repo_path):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _working_directory(path):
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def discover_benchmark_classes(module):
    """[(name, class)] of the module's own subclasses of Benchmark, by name; one under two names once."""
    from kernels.benchmark import Benchmark

    found = {}
    for name in sorted(vars(module)):
        value = getattr(module, name)
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and value is not Benchmark and issubclass(value, Benchmark) and value not in found.values():
            found[name] = value
    return list(found.items())


def _workloads(benchmark_class):
    """Names without their prefix, ascending."""
    names = [name for name in dir(benchmark_class) if name.startswith(WORKLOAD)]
    return [name[len(WORKLOAD) :] for name in names if callable(getattr(benchmark_class, name))]


# ---- one class ----


class Run:
    """What the classes of one run share: the kernel, its device, and how often to do what."""

    def __init__(self, kernel, device, *, iterations=100, warmup=10, ref_iterations=1, label=""):
        """device: torch's name of it. label: stands behind it in messages."""
        self.kernel = kernel
        self.device = device
        self.iterations = iterations
        self.warmup = warmup
        self.ref_iterations = ref_iterations
        self.label = label
        self.synchronize, self.synchronized = synchronizer(device)
        if not self.synchronized:
            say(f"  torch cannot wait for {device}: times may lack work that was only started")


def run_benchmark_class(benchmark_class, run):
    """{"Class.workload": TimingResults}, each workload on an instance of its own. RuntimeError: a check failed.

    Exceptions of the script leave with an attribute kernels_workload, "Class.workload".
    """
    class_name = benchmark_class.__name__
    workloads = _workloads(benchmark_class)
    if not workloads:
        say(f"No benchmark_* methods found in {class_name}")
        raise SystemExit(1)
    say(f"  Running {class_name} on {run.device}{run.label}")
    results = {}
    for workload in workloads:
        name = f"{class_name}.{workload}"
        try:
            results[name] = _run_workload(benchmark_class, workload, run)
        except Exception as error:
            error.kernels_workload = name
            raise
    return results


def _run_workload(benchmark_class, workload, run):
    instance = benchmark_class()
    instance.device = run.device
    instance.kernel = run.kernel
    if benchmark_class.seed is not None:
        _seed(benchmark_class.seed)
    getattr(instance, SETUP + workload, instance.setup)()
    work = getattr(instance, WORKLOAD + workload)
    verify = getattr(instance, VERIFY + workload, None)
    reference = None
    if verify is not None:
        reference = _verify(instance, workload, work, verify, run)
    _warm_up(work, run.warmup, run.synchronize)
    times = _sample(work, run.iterations, run.synchronize)[0]
    return statistics_of(times, True if verify is not None else None, reference)


def _verify(instance, workload, work, verify, run):
    """Mean time of the reference in milliseconds."""
    _warm_up(work, 1, run.synchronize)
    _warm_up(verify, run.warmup, run.synchronize)
    times, reference = _sample(verify, run.ref_iterations, run.synchronize)
    reason = difference(instance.out, reference)
    if reason is not None:
        raise RuntimeError(f"Verification failed for {workload}: {reason}")
    return sum(times) / len(times)


def _warm_up(function, times, synchronize):
    for _ in range(times):
        function()
        synchronize()


def _sample(function, times, synchronize):
    """(milliseconds of each call, what the last one returned)."""
    samples, result = [], None
    for _ in range(times):
        begin = clock()
        result = function()
        synchronize()
        samples.append((clock() - begin) / 1e6)
    return samples, result


def _seed(seed):
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(seed)
    torch = loaded_torch()
    if torch is None:
        return
    torch.manual_seed(seed)
    for device in ("cuda", "xpu", "npu", "tpu"):
        seed_all = getattr(getattr(torch, device, None), "manual_seed_all", None)
        if seed_all is not None and _is_available(torch, device):
            seed_all(seed)


def _is_available(torch, device):
    """Not every backend lets others ask its module."""
    try:
        return is_accelerator(torch, device) or getattr(torch, device).is_available()
    except (AttributeError, RuntimeError):
        return False


# ---- one script ----


def run_benchmark_script(module, script, run):
    """The results of all classes of an imported script. SystemExit(1) when it has none."""
    classes = discover_benchmark_classes(module)
    if not classes:
        say(f"No Benchmark subclasses found in {script}")
        raise SystemExit(1)
    results = {}
    for _, benchmark_class in classes:
        results.update(run_benchmark_class(benchmark_class, run))
    return results
