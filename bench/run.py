#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Side by side with the released peer (`kernels` 0.17.2 and jax), in one run: medians and ratios (./run bench).

    run.py [--runs N] [--serve-seconds N]

Prints a table with what each ratio must be at least, writes build/bench.json; exit 0 only if all are reached. Figures
depend on the machine, ratios hardly: quote ratios.
"""
import argparse
import itertools
import json
import os
import random
import shutil
import pathlib
import statistics
import subprocess
import sys

import abi
import hub
import python_load
import serve

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
RELEASE = BUILD / "release"
MEASURE = RELEASE / "bench" / "measure"
KERNELS = RELEASE / "src" / "cli" / "kernels"
BUILDER = RELEASE / "src" / "cli" / "kernel-builder"
PEER = BUILD / "bench-venv" / "bin" / "kernels"
RELU = ROOT / "examples" / "kernels" / "relu-tpu"
STORE = BUILD / "store"


SUBCOMMANDS = ("check", "download", "info", "versions", "lock", "benchmark")  # that both programs have


class Missing(Exception):
    """A part that the benchmark needs is not there."""


def measure(command, runs: int, env: dict[str, str]) -> dict[str, float]:
    """Median wall time in seconds and peak resident memory in MB; one run before is not counted."""
    words = [str(word) for word in command]
    done = subprocess.run([str(MEASURE), str(runs + 1), *words], env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Missing(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines()][1:]
    return {"seconds": statistics.median(float(row[0]) for row in rows),
            "megabytes": statistics.median(float(row[1]) for row in rows) * 1024 / 1e6}


def compare(name: str, unit: str, ours: float, peer: float, required: float | None) -> dict:
    """required None: told, not judged."""
    ratio = peer / ours
    return {"name": name, "unit": unit, "ours": ours, "peer": peer, "ratio": round(ratio, 1), "required": required,
            "passed": required is None or ratio >= required}


def bench_help(runs: int, env: dict[str, str]) -> list[dict]:
    results = []
    for command in (["--help"], *([name, "--help"] for name in SUBCOMMANDS)):
        ours = measure([KERNELS, *command], 10 * runs, env)
        peer = measure([PEER, *command], runs, env)
        name = f"kernels {' '.join(command)}"
        results.append(compare(f"{name}: time", "s", ours["seconds"], peer["seconds"], 100))
        results.append(compare(f"{name}: peak memory", "MB", ours["megabytes"], peer["megabytes"], 8))
    return results


def jax_environment() -> pathlib.Path:
    """The locked jax environment: the peer's jax, and the plugin that both sides would use."""
    done = subprocess.run([BUILDER, "env", "fetch", "jax", "--accept-licence", "libtpu"], text=True,
                          env={**os.environ, "KERNEL_BUILDER_STORE": str(STORE)}, capture_output=True)
    found = sorted(STORE.glob("env/*/lib/python3*/site-packages/jaxlib"))
    if done.returncode != 0 or not found:
        raise Missing(f"the jax environment could not be made:\n{done.stderr}")
    return found[0].parents[3]


def compile_example() -> pathlib.Path:
    program = BUILD / "bench-run_relu"
    subprocess.run(["cc", "-O2", "-std=c17", ROOT / "examples" / "c" / "run_relu.c", "-o", program, "-I", ROOT / "include",
                    "-L", RELEASE, "-lkernels", f"-Wl,-rpath,{RELEASE}"], check=True)
    return program


def bench_first_result(runs: int, env: dict[str, str]) -> list[dict]:
    """Process start to compared numbers; the kernel is on disk, ours verifies every file of it."""
    environment = jax_environment()
    subprocess.run([BUILDER, "build", RELU, "--env", "jax", "--accept-licence", "libtpu", "--no-check-tpu"], check=True,
                   env={**os.environ, "KERNEL_BUILDER_STORE": str(STORE)}, capture_output=True)
    aot = RELU / "result" / "torch-tpu" / "aot"
    manifest = json.loads((aot / "manifest.json").read_text())
    program = next(aot / one["file"] for one in manifest["functions"][0]["specialisations"]
                   if one["platform"] == "cpu" and one["inputs"] == ["f32[256,1024]"])
    plugin = next(environment.rglob("xla_cpu_pjrt.so"))
    ours_env = {**env, "LOCAL_KERNELS": f"kernels-test/relu-tpu={RELU / 'result'}",
                "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}", "XDG_CACHE_HOME": str(BUILD / "bench-home" / "cache")}
    example = compile_example()
    peer = measure([environment / "bin" / "python", ROOT / "bench" / "first_result.py", program], runs,
                   {**env, "JAX_PLATFORMS": "cpu"})
    kept = measure([example], 3 * runs, ours_env)
    anew = measure([example], 3 * runs, {**ours_env, "KERNELS_COMPILED_CACHE": ""})
    name = "TPU kernel from disk to first result, C (kept compiled program) against import jax"
    return [compare(name, "s", kept["seconds"], peer["seconds"], 20),
            compare("the same, peak memory", "MB", kept["megabytes"], peer["megabytes"], None),
            compare("the same, compiled anew", "s", anew["seconds"], peer["seconds"], None)]


def formats(what: str, folder: pathlib.Path, runs: int, env: dict[str, str]) -> tuple[float, float]:
    """Seconds of formats.py for us and for the peer, each the median of runs that took turns: the same interpreter."""
    sides = {"ours": {**env, "PYTHONPATH": str(RELEASE / "python")}, "peer": env}
    seconds = {side: [] for side in sides}
    for _, side in itertools.product(range(3), sides):
        done = subprocess.run([PEER.parent / "python", ROOT / "bench" / "formats.py", what, folder, str(runs)],
                              env=sides[side], check=True, text=True, capture_output=True)
        seconds[side].extend(map(float, done.stdout.split()))
    return statistics.median(seconds["ours"]), statistics.median(seconds["peer"])


def bench_formats(runs: int, env: dict[str, str]) -> list[dict]:
    work = BUILD / "bench-formats"
    shutil.rmtree(work, ignore_errors=True)
    dice = random.Random(0)
    for i in range(4):
        (work / "large").mkdir(parents=True, exist_ok=True)
        (work / "large" / f"part{i}.so").write_bytes(dice.randbytes(64 * 1024 * 1024))
    for i in range(2000):
        folder = work / "small" / f"d{i % 40}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i}.py").write_bytes(dice.randbytes(2048))
    results = [
        compare("digest of 4 x 64 MiB, one core", "s", *formats("digest", work / "large", runs, env), 1.9),
        compare("digest of 2000 small files, one core", "s", *formats("digest", work / "small", runs, env), 1.7),
    ]
    shutil.copytree(ROOT / "bench" / "kernel", work / "kernel")
    ours, peer = formats("build", work / "kernel", runs, env)
    results.append(compare("build.toml read (must take less than 200 us)", "s", ours, peer, 1)
                   | {"passed": ours < 200e-6})
    results.append(compare("resolve_variants of 1,000 objects in Python", "s",
                           *formats("variants", pathlib.Path("-"), runs, env), 2))
    imported = [[PEER.parent / "python", "-c", "import kernels._rust"], [PEER.parent / "python", "-c", "pass"]]
    ours = [measure(command, 3 * runs, {**env, "PYTHONPATH": str(RELEASE / "python")})["seconds"] for command in imported]
    peer = [measure(command, runs, env)["seconds"] for command in imported]
    # one millisecond is as fine as the difference of two starts can be told
    results.append(compare("import kernels._rust, beyond Python itself", "s", max(ours[0] - ours[1], 1e-3),
                           peer[0] - peer[1], 10))
    return results


def torch_python(env: dict[str, str]) -> pathlib.Path:
    """Interpreter of the locked torch environment."""
    fetched = subprocess.run([BUILDER, "env", "fetch", "torch-tpu", "--accept-licence", "libtpu", "--accept-licence",
                              "nvidia-cuda-runtime"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**env, "KERNEL_BUILDER_STORE": str(STORE)})
    if fetched.returncode != 0:
        raise Missing(fetched.stderr.strip())
    return pathlib.Path(fetched.stdout.split()[-1]) / "bin" / "python"


def bench_simulate(runs: int, env: dict[str, str]) -> list[dict]:
    """An op on CPU tensors beside the same program given to the plugin; relu-tpu was built for the first result."""
    plugin = next(jax_environment().rglob("xla_cpu_pjrt.so"))
    done = subprocess.run([torch_python(env), ROOT / "bench" / "simulate.py", RELU / "result", str(300 * runs)], text=True,
                          env={**env, "PYTHONPATH": str(RELEASE / "python"), "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}",
                               "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Missing(f"bench/simulate.py failed:\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines()]
    return [compare(f"simulated op relu({shape}), against the plugin (at most 3 times its time)", "s", float(op), float(raw), 0.34)
            | {"ratio": round(float(raw) / float(op), 2)} for shape, op, raw in rows]


def bench_layers(runs: int, env: dict[str, str]) -> list[dict]:
    """kernelize in the locked torch environment, with our package and with the peer's before it on the path."""
    python = torch_python(env)
    peer_packages = next((PEER.parent.parent / "lib").glob("python3.*/site-packages"))
    sides = []
    for packages in (RELEASE / "python", peer_packages):
        done = subprocess.run([python, ROOT / "bench" / "layers.py", str(3 * runs)], text=True, stdout=subprocess.PIPE,
                              env={**env, "PYTHONPATH": str(packages), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
        if done.returncode != 0:
            raise Missing("bench/layers.py failed")
        sides.append(statistics.median(map(float, done.stdout.split())))
    return [compare("kernelize, 1,000 layers", "s", *sides, 2)]


def bench_hub(runs: int, env: dict[str, str]) -> list[dict]:
    programs = {"kernels": KERNELS, "measure": MEASURE, "peer": PEER, "python": PEER.parent / "python"}
    return hub.bench(BUILD / "bench-hub", programs, env, max(runs // 2, 1), compare)


def bench_python(runs: int, env: dict[str, str]) -> list[dict]:
    programs = {"python": PEER.parent / "python", "serve": KERNELS.parent / "kernels-serve"}
    return python_load.bench(BUILD / "bench-python", programs, RELEASE / "python", env, runs, measure, compare)


def bench_abi(runs: int, env: dict[str, str]) -> list[dict]:
    peers = PEER.parent
    programs = {"measure": MEASURE, "checker": KERNELS.parent / "kernel-abi-check", "python": peers / "python",
                "auditwheel": peers / "auditwheel"}
    return abi.bench(BUILD / "bench-abi", programs, env, runs, compare)


def bench_serve(seconds: int) -> list[dict]:
    """The embedded hub beside nginx: here more is better, so the ratio is ours to theirs."""
    try:
        figures = serve.bench(seconds)
    except serve.Failed as error:
        raise Missing(str(error)) from error
    rows = []
    for key, unit, scale, required in (("small", "requests/s", 1, 0.2), ("large", "MB/s", 1e6, 0.5)):
        ours, peer = (value / scale for value in figures[key])
        rows.append({"name": f"hub, {serve.CLIENTS} clients, {key} files, beside nginx", "unit": unit, "ours": ours,
                     "peer": peer, "ratio": round(ours / peer, 2), "required": required,
                     "passed": ours / peer >= required})
    return rows


def print_table(results: list[dict]):
    width = max(len(result["name"]) for result in results)
    print(f"{'':<{width}}  {'ours':>12}  {'peer':>12}  {'ratio':>8}  {'required':>8}")
    for result in results:
        ours, peer = (f"{result[side]:.4g} {result['unit']}" for side in ("ours", "peer"))
        required = "-" if result["required"] is None else f"{result['required']}x"
        verdict = "" if result["required"] is None else "ok" if result["passed"] else "TOO SMALL"
        print(f"{result['name']:<{width}}  {ours:>12}  {peer:>12}  {result['ratio']:>7.1f}x  {required:>8}  {verdict}")


def main() -> int:
    parser = argparse.ArgumentParser(description="ratios against the released peer")
    parser.add_argument("--runs", type=int, default=7, help="runs of each peer command (default 7)")
    parser.add_argument("--serve-seconds", type=int, default=60, help="load on the hub, each of two files (default 60)")
    arguments = parser.parse_args()
    runs = arguments.runs
    home = BUILD / "bench-home"
    home.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    try:
        results = (bench_help(runs, env) + bench_formats(runs, env) + bench_python(runs, env) + bench_layers(runs, env) +
                   bench_hub(runs, env) + bench_abi(runs, env) + bench_first_result(runs, env) +
                   bench_simulate(runs, env) + bench_serve(arguments.serve_seconds))
    except (Missing, subprocess.CalledProcessError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print_table(results)
    (BUILD / "bench.json").write_text(json.dumps({"runs": runs, "results": results}, indent=2) + "\n")
    return 0 if all(result["passed"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
