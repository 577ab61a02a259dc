# SPDX-License-Identifier: Apache-2.0
"""`kernels benchmark`: a kernel's benchmark scripts, timed and checked against their references.

run_benchmark does all of it. The program `kernels` starts `main` of this module in the interpreter that its user chose.
"""

import json
import os
import sys
from pathlib import Path

from .benchmark_compare import parse_comparison
from .benchmark_kernel import Target, is_stand_in, kernel_id
from .benchmark_machine import collect_machine_info, detected_backend, device_of, is_simulated, loaded_torch
from .benchmark_results import (
    BenchmarkResult,
    MachineInfo,
    TimingResults,
    _calculate_iqr_and_outliers,
    _percentile,
    result_records,
)
from .benchmark_run import (
    Run,
    digest_of_scripts,
    discover_benchmark_classes,
    discover_benchmark_scripts,
    import_script,
    run_benchmark_class,
    run_benchmark_script,
    say,
)
from .benchmark_table import comparison_text, results_text

__all__ = [
    "BenchmarkResult",
    "MachineInfo",
    "TimingResults",
    "collect_machine_info",
    "discover_benchmark_classes",
    "discover_benchmark_scripts",
    "get_kernel_sha_from_build_name",
    "run_benchmark",
    "run_benchmark_class",
    "run_benchmark_script",
    "submit_benchmark",
]

MEDIA = "media"  # folder of the charts


def run_benchmark(
    repo_id,
    branch=None,
    version=None,
    iterations=100,
    warmup=10,
    upload=False,
    output=None,
    print_json=False,
    visual=None,
    rasterized=False,
    *,
    ref_iterations=1,
    compare=(),
):
    """Run the scripts in benchmarks/ of a kernel and report on standard error, as JSON and as charts.

    repo_id: a folder, or OWNER/NAME with branch or version, or OWNER/NAME@vN, OWNER/NAME@BRANCH.
    output: file for the JSON; print_json: the same on standard output. visual: charts media/<visual>_...
    ref_iterations: calls that the time of a reference is the mean of. compare: further kernels that the same scripts
    run with: revisions, folders, "variant:NAME".

    Returns a BenchmarkResult. SystemExit(1) after a message when a script fails or a check does, SystemExit(2) for
    arguments that cannot be meant; other exceptions of a script leave as they are.
    """
    if iterations < 1 or warmup < 0 or ref_iterations < 1:
        raise _usage("iterations must be at least 1, warmup at least 0")
    if output is not None and not Path(output).parent.is_dir():
        raise FileNotFoundError(f"--output: there is no folder {Path(output).parent}")
    target = _target(repo_id, branch, version)
    say(f"Downloading {target.shown}...")
    target.fetch()
    runs = _Session(target, iterations, warmup, ref_iterations)
    try:
        result = runs.report(compare)
    except RuntimeError as error:
        say(_with_workload(error))
        raise SystemExit(1) from error
    _write(result, output, print_json)
    if upload:
        submit_benchmark(target.repo_id, result)
    if visual is not None:
        _draw(result, visual, rasterized, target.repo_id or "")
    return result


class _Session:
    """One run of the command: the scripts with the kernel itself, then with those it is compared with."""

    def __init__(self, target, iterations, warmup, ref_iterations):
        self.target = target
        self.options = {"iterations": iterations, "warmup": warmup, "ref_iterations": ref_iterations}
        self.scripts = discover_benchmark_scripts(target.folder, target.shown_name)
        self.backend = None

    def report(self, compare):
        results, run, machine = self._first()
        sys.stderr.write(results_text(results))
        extra = {} if run.synchronized else {"synchronized": False}
        others = [(one, self._again(one)) for one in (parse_comparison(text, self.target) for text in compare)]
        if others:
            first = (self.target.label, results)
            sys.stderr.write(comparison_text(first, [(one.label, measured) for one, measured in others]))
            extra["comparison"] = [
                {"kernel": one.label, "results": result_records(measured)} for one, measured in others
            ]
        digest = digest_of_scripts(self.scripts)
        identity = kernel_id(run.kernel)
        say(f"Kernel: {identity[:7]}  Benchmark: {digest[:7]}")
        return BenchmarkResult(results, identity, machine, benchmark_script_sha=digest, extra=extra)

    def _first(self):
        results, run, machine = {}, None, None
        for script in self.scripts:
            say(f"Running {script.name}...")
            module = import_script(script, self.target.folder)
            if not discover_benchmark_classes(module):
                say(f"No Benchmark subclasses found in {script}")
                raise SystemExit(1)
            if run is None:
                run = self._run_of(self.target)
                machine = collect_machine_info(self.backend)
                _show_machine(machine)
            _merge(results, run_benchmark_script(module, script, run))
        return results, run, machine

    def _run_of(self, target, label=""):
        kernel = target.load()
        self.backend = "cpu" if is_stand_in(kernel) else detected_backend()
        device = "cpu" if is_simulated(self.backend) else device_of(self.backend)
        return Run(kernel, device, label=label, **self.options)

    def _again(self, other):
        """The same scripts with another kernel."""
        results = {}
        run = self._run_of(other, f" with {other.label}")
        for script in self.scripts:
            results.update(run_benchmark_script(import_script(script, self.target.folder), script, run))
        return results


def _merge(results, more):
    for name in sorted(results.keys() & more.keys()):
        say(f"Warning: {name} was measured by an earlier script too; that result is replaced")
    results.update(more)


def _show_machine(machine):
    cores = "" if machine.gpu_cores is None else f" ({machine.gpu_cores} cores)"
    say(f"\n  GPU      {machine.gpu}{cores}\n  CPU      {machine.cpu}\n  OS       {machine.os}")
    say(f"  PyTorch  {machine.pytorch_version}\n")


# ---- what is run ----


def _target(repo_id, branch, version):
    """Rules of 'which kernel is meant', in their order."""
    if os.path.exists(repo_id or "."):
        if repo_id.count("/") == 1 and not repo_id.startswith(("./", "../")):
            _warn(f"'{repo_id}' exists locally but looks like a repo_id; the local folder is used")
        return Target(None, None, Path(repo_id), repo_id)
    if version is not None or branch is not None:
        if "@" in repo_id:
            raise _usage("give either @REVISION or --version, --branch, not both")
        return Target(repo_id, f"v{version}" if version is not None else branch)
    name, at, revision = repo_id.partition("@")
    if not at:
        say("Error: must specify either branch or version")
        raise SystemExit(1)
    if revision.isdigit():
        say("Error: version must be prefixed with 'v'")
        raise SystemExit(1)
    if not revision:
        raise _usage("the revision behind @ is empty")
    return Target(name, revision)


def _warn(text):
    import logging

    logging.getLogger(__name__).warning(text)


def _usage(text):
    say(f"kernels: error: {text}")
    return SystemExit(2)


def get_kernel_sha_from_build_name(kernel):
    """The id of a loaded kernel: what stands behind the last "_" of its module's name."""
    return kernel_id(kernel)


# ---- what comes of it ----


def _write(result, output, print_json):
    if output is None and not print_json:
        return
    text = json.dumps(result.to_payload(), indent=2)
    if output is not None:
        Path(output).write_text(text, encoding="utf-8")
        say(f"Results saved to: {output}")
    if print_json:
        print(text, flush=True)


def _draw(result, base, rasterized, repo_id):
    from .benchmark_graphics import save_speedup_animation, save_speedup_image

    machine, results = result.machine_info, result.timing_results
    if not any(one.ref_mean_ms is not None and one.mean_ms > 0 for one in results.values()):
        say("No reference timings available, nothing to draw.")
        return
    version = machine.pytorch_version if loaded_torch() is not None else ""
    for theme in ("light", "dark"):
        about = {"backend": machine.backend, "repo_id": repo_id, "pytorch_version": version, "dark": theme == "dark"}
        stem = os.path.join(MEDIA, f"{base}_{theme}")
        save_speedup_image(results, f"{stem}.svg", **about)
        save_speedup_animation(results, f"{stem}_animation.svg", **about)
        if rasterized:
            save_speedup_image(results, f"{stem}.png", **about)
            save_speedup_animation(results, f"{stem}_animation.gif", **about)


def submit_benchmark(repo_id, result):
    """Send a BenchmarkResult to the Hub (HF_ENDPOINT) with the user's token. The HTTP error after a message otherwise."""
    import urllib.error
    import urllib.request

    from kernels.hf_hub import _get_hf_api

    token = _token()
    request = urllib.request.Request(
        f"{_get_hf_api().context().endpoint}/api/kernels/{repo_id}/benchmarks",
        data=json.dumps(result.to_payload()).encode(),
        headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            status, body = response.status, response.read()
    except urllib.error.HTTPError as error:
        say(f"Error {error.code}: {error.read().decode(errors='replace')}")
        raise
    if status != 200:
        say(f"Error {status}: {body.decode(errors='replace')}")
        raise urllib.error.HTTPError(request.full_url, status, "unexpected answer", response.headers, None)


def _token():
    """The user's token for the Hub, None without one."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")
        file = Path(os.environ.get("HF_TOKEN_PATH") or os.path.join(home, "token"))
        stored = file.read_text(encoding="utf-8").strip() if file.is_file() else None
        return os.environ.get("HF_TOKEN") or stored or None
    return get_token()


# ---- for the program ----


def main(arguments):
    """run_benchmark with the keyword arguments in a JSON text. The exit code; errors on one line.

    With KERNELS_DEBUG=1 exceptions leave as they are.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    try:
        run_benchmark(**json.loads(arguments))
    except KeyboardInterrupt:
        return 130  # the program that started this one says so
    except Exception as error:
        if os.environ.get("KERNELS_DEBUG") == "1":
            raise
        say(f"kernels: error: {_with_workload(error)}")
        return 1
    return 0


def _with_workload(error):
    """The error's text, behind the workload it happened in; the class where the text says little without it."""
    text = str(error)
    if not isinstance(error, (RuntimeError, OSError)) or not text:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    workload = getattr(error, "kernels_workload", None)
    return text if workload is None else f"{text} (in {workload})"
