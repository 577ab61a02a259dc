# SPDX-License-Identifier: Apache-2.0
"""The vectors of `kernels benchmark`, run in a child process by test_benchmark.py.

    benchmark_cases.py TESTS_DATA FUNCTION FOLDER

Prints how many cases it ran as its last line; an AssertionError names the first that differs. Scripts see the torch that is
installed, else the stand-in of the tests.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import sys
import types
import unittest.mock as mock

DATA = pathlib.Path(sys.argv[1]).resolve()

try:
    import torch
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "stand_in"))
    import torch

import kernels.cli.benchmark as benchmark
from kernels.cli import benchmark_graphics, benchmark_kernel, benchmark_run, benchmark_table
from kernels.cli.benchmark_results import TimingResults, statistics_of

REAL_TORCH = not torch.__version__.endswith("stand-in")


def read(name):
    return json.loads((DATA / "layers" / name).read_text())


def outcome(call):
    """(exit code or exception, stdout, stderr, result) of a call."""
    output, errors, ended, result = io.StringIO(), io.StringIO(), 0, None
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            result = call()
        except SystemExit as end:
            ended = end.code
        except Exception as error:
            ended = error
    return ended, output.getvalue(), errors.getvalue(), result


def stub_kernel(*_, **__):
    module = types.ModuleType("stub_cpu_1a2b3c4")
    module.add_one = lambda x: x + 1
    return module


# ---- statistics ----


def statistics(folder):
    cases = read("bench_stats.json")
    for case in cases["runner"]:
        reference = None if case["ref_delta_s"] is None else case["ref_delta_s"]
        readings = [*([] if reference is None else [reference]), *case["deltas_s"]]
        ticks = iter([tick for delta in readings for tick in (0, delta * 1000 * 1e6)])
        names = {"benchmark_w": lambda self: setattr(self, "out", torch.zeros(1))}
        if reference is not None:
            names["verify_w"] = lambda self: torch.zeros(1)
        script = type("A", (kernels_benchmark(),), names)
        run = benchmark_run.Run(stub_kernel(), "cpu", iterations=len(case["deltas_s"]), warmup=2)
        with mock.patch.object(benchmark_run, "clock", lambda: next(ticks)), contextlib.redirect_stderr(io.StringIO()):
            got = benchmark_run.run_benchmark_class(script, run)["A.w"]
        assert {key: getattr(got, key) for key in case["result"]} == case["result"], (case["name"], got)
        assert benchmark.get_kernel_sha_from_build_name(run.kernel) == case["kernel_sha"]
    for case in cases["percentile"]:
        assert abs(benchmark._percentile(case["sorted"], case["p"]) - case["value"]) < 1e-12, case
    return len(cases["runner"]) + len(cases["percentile"])


def kernels_benchmark():
    from kernels.benchmark import Benchmark

    return Benchmark


def payload(folder):
    cases = read("bench_payload.json")
    for case in cases["payloads"]:
        results = {name: TimingResults(**record) for name, record in case["results"].items()}
        machine = benchmark.MachineInfo(**case["machine"])
        result = benchmark.BenchmarkResult(results, case["kernel_sha"], machine, benchmark_script_sha=case["script_sha"])
        assert json.dumps(result.to_payload(), indent=2) == case["text"], case["name"]
    for case in cases["timing_results_validation"]:
        error = outcome(lambda: TimingResults(**case["fields"]))[0]
        assert type(error).__name__ == case["error"] and str(error), case
    return len(cases["payloads"]) + len(cases["timing_results_validation"])


def table(folder):
    cases = read("bench_table.json")["tables"]
    for case in cases:
        results = {name: TimingResults(**record) for name, record in case["results"].items()}
        text = benchmark_table.results_text(results)
        assert text == case.get("wanted_stderr", case["stderr"]), f"{case['name']}:\n{text}"
    return len(cases)


def graphics(folder):
    cases = read("bench_graphics.json")
    file = pathlib.Path(folder) / "new" / "race.svg"
    record = lambda pair: types.SimpleNamespace(mean_ms=pair[0], ref_mean_ms=pair[1])
    for case in cases["animations"]:
        results = {name: record(pair) for name, pair in case["results"].items()}
        about = {key: case[key] for key in ("backend", "repo_id", "pytorch_version", "dark")}
        outcome(lambda: benchmark_graphics.save_speedup_animation(results, file, **about))
        assert file.read_text() == case["svg"], case["name"]
    for case in cases["ops_per_sec"]:
        assert benchmark_graphics.format_ops(case["ops"]) == case["text"], case
    nothing = {"A.w": record((1.0, None))}
    said = [outcome(lambda: draw(nothing, file))[2]
            for draw in (benchmark_graphics.save_speedup_animation, benchmark_graphics.save_speedup_image)]
    assert "".join(said) == cases["nothing_to_draw_stderr"]
    return len(cases["animations"]) + len(cases["ops_per_sec"]) + 1


# ---- which kernel is meant ----


def target(folder):
    root = pathlib.Path(folder).resolve()
    for name in ("loc", "acme/here", "loc@v1"):
        (root / name).mkdir(parents=True)
    (root / "afile").write_text("")
    os.chdir(root)
    cases = read("bench_target.json")["cases"]
    for case in cases:
        check_target(case, root)
    return len(cases)


class Stop(Exception):
    """Enough was seen."""


def check_target(case, root):
    name = case["repo_id"].replace("<cwd>", str(root))
    asked = []

    def fetch(self):
        asked.append(self)
        raise Stop

    with mock.patch.object(benchmark_kernel.Target, "fetch", fetch), mock.patch.object(benchmark, "_warn") as warn:
        ended, _, errors, _ = outcome(lambda: benchmark.run_benchmark(name, case["branch"], case["version"]))
    if "@" in case["repo_id"] and "download" in case and (
            case["branch"] is not None or case["version"] is not None or case["repo_id"].endswith("@")):
        assert ended == 2 and errors.startswith("kernels: error: "), case  # stricter than the release
        return
    assert errors == case["stderr"].replace("<cwd>", str(root)), (case, errors)
    assert warn.called == case.get("warns_looks_like_repo_id", False), case
    if "exit" in case:
        assert ended == case["exit"] and not asked, case
    elif "local" in case:
        assert asked[0].repo_id is None and asked[0].folder.resolve() == root / case["local"], case
    else:
        assert (asked[0].repo_id, asked[0].revision) == tuple(case["download"].values()), case


# ---- scripts ----

MACHINE = re.compile(r"  (GPU|CPU|OS|PyTorch)  |[┌│├└]|  \w+: [0-9.]+x (faster|slower) |Warning: ")

# what is wanted where the release is judged wrong, or where texts are our own: stdout, results and the last line
WANTED = {
    "name prefix removed everywhere": {"results": {"A.x_benchmark_y": {"verified": None, "has_ref": False}},
                                       "stdout": "setup\n"},
    "verify broadcast accepted": {"exit": 1, "last": "Verification failed for w: out has shape (4,), the reference (1,)"},
    "verify dtype mismatch": {"last": "Verification failed for w: out has dtype"},
}


def scripts(folder):
    import kernels.load

    cases = read("bench_scripts.json")["cases"]
    work = pathlib.Path(folder).resolve() / "cwd"
    work.mkdir()
    os.chdir(work)
    for number, case in enumerate(cases):
        repo = pathlib.Path(folder).resolve() / f"repo{number}"
        for name, text in case["files"].items():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(text)
        with mock.patch.object(kernels.load, "get_local_kernel", stub_kernel), \
                mock.patch.object(benchmark, "detected_backend", lambda: "cpu"):
            check_script(case | WANTED.get(case["id"], {}), repo, work)
    return len(cases)


def check_script(case, repo, work):
    if "kernels.benchmarks" in "".join(case["files"].values()) and not hasattr(torch, "nn"):
        torch.nn = types.SimpleNamespace()  # the ready-made ones name it
    ended, output, errors, result = outcome(
        lambda: benchmark.run_benchmark(str(repo), iterations=case["iterations"], warmup=case["warmup"]))
    said = f"{case['id']}: {ended!r}\n{output}\n{errors}"
    if "uncaught" in case:
        assert type(ended).__name__ == case["uncaught"], said
        assert ended.kernels_workload.startswith("A."), said
    else:
        assert ended == case["exit"], said
    wanted = case["stdout"].replace("<repo>", str(repo)).replace("<cwd>", str(work))
    if case["id"] != "seed":
        assert output == wanted, said
    else:
        lines = output.splitlines()
        assert lines[0] == lines[1] and lines[0].startswith(wanted.split()[0]) and (not REAL_TORCH or output == wanted), said
    lines = [line for line in errors.splitlines() if line and not MACHINE.match(line)]
    expected = [line.replace("<repo>", str(repo)) for line in case["stderr"]]
    if "last" in case:
        expected[-1] = case["last"]
    assert len(lines) == len(expected) and all(map(str.startswith, lines, expected)), said
    if "results" in case and ended == 0:
        got = {name: {"verified": one.verified, "has_ref": one.ref_mean_ms is not None}
               for name, one in result.timing_results.items()}
        assert got == case["results"], said
    if "digest_sha256" in case:
        assert result.benchmark_script_sha == case["digest_sha256"], said


print(globals()[sys.argv[2]](sys.argv[3]))
