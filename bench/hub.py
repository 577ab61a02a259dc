# SPDX-License-Identifier: Apache-2.0
"""Downloads side by side: `kernels download` against `curl -o F URL && sync F`, the Python client and its requests."""
import contextlib
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import urllib.request

from file_hub import COMMIT

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30
MEMORY_LIMIT = 24 * (1 << 20) / 1e6  # MB
FETCH = """
import sys
from huggingface_hub import snapshot_download
snapshot_download("a/b", repo_type="kernel", revision=sys.argv[1], cache_dir=sys.argv[2])
"""


def write_files(folder: pathlib.Path, count: int, size: int):
    """One variant of so many files, metadata.json among them; the others hold `size` random bytes each."""
    variant = folder / "torch-universal"
    variant.mkdir(parents=True)
    (variant / "metadata.json").write_text(json.dumps({
        "name": "b", "id": "_b", "version": 1, "license": "Apache-2.0", "python-depends": [], "backend": {"type": "cpu"}}))
    noise = random.Random(count)
    for i in range(count - 1):
        with open(variant / f"f{i}.bin", "wb") as file:
            for start in range(0, size, 1 << 24):
                file.write(noise.randbytes(min(1 << 24, size - start)))


@contextlib.contextmanager
def serve(folder: pathlib.Path):
    process = subprocess.Popen([sys.executable, HERE / "file_hub.py", folder], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def once(measure_program, command, env, leave: pathlib.Path) -> tuple[float, float]:
    """Seconds and peak MB of one run; what it writes to `leave` is removed before and after."""
    shutil.rmtree(leave, ignore_errors=True)
    leave.mkdir(parents=True)
    done = subprocess.run([measure_program, "1", *map(str, command)], env=env, text=True, capture_output=True)
    shutil.rmtree(leave)
    seconds, kibibytes, code = done.stdout.split()
    if done.returncode != 0 or code != "0":
        raise subprocess.CalledProcessError(int(code), command, done.stdout, done.stderr)
    return float(seconds), float(kibibytes) * 1024 / 1e6


def bench_large_file(work, programs, env, runs, compare):
    write_files(work / "large", 2, GIB)
    target = work / "target"
    with serve(work / "large") as url:
        env = {**env, "HF_ENDPOINT": url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
               "HF_HUB_DISABLE_TELEMETRY": "1"}
        address = f"{url}/kernels/a/b/resolve/{COMMIT}/build/torch-universal/f0.bin"
        commands = {
            "ours": [programs["kernels"], "download", "a/b", "--version=1", "--all-variants", "--quiet", "--to", target],
            "curl": ["sh", "-c", f"curl -s -o '{target}/f' '{address}' && sync '{target}/f'"],
            "python": [programs["python"], "-c", FETCH, "v1", target]}
        results = {name: [] for name in commands}
        for _ in range(runs):  # in turn, so that what else the machine does falls on all
            for name, command in commands.items():
                results[name].append(once(programs["measure"], command, env, target))
    seconds = {name: statistics.median(run[0] for run in found) for name, found in results.items()}
    memory = max(run[1] for run in results["ours"])
    return [compare("1 GiB from loopback, hashed and synced, against curl and sync", "s", seconds["ours"], seconds["curl"], 0.9),
            compare("1 GiB from loopback, against the Python client", "s", seconds["ours"], seconds["python"], 2),
            compare("1 GiB from loopback: peak memory, against 24 MiB", "MB", memory, MEMORY_LIMIT, 1)]


def count(url: str) -> int:
    with urllib.request.urlopen(f"{url}/count") as answer:
        return json.load(answer)


def bench_requests(work, programs, env, compare):
    """`kernels download` of one locked kernel of F files, cold."""
    project = work / "project"
    project.mkdir()
    (project / "kernels.lock").write_text(json.dumps([{"dependency": {"repo-id": "a/b", "version": 1},
                                                       "lock": {"commit": COMMIT}}]))
    results = []
    for files in (2, 100, 500):
        write_files(work / f"files{files}", files, 100)
        with serve(work / f"files{files}") as url:
            sent = {}
            for name in ("kernels", "peer"):
                variables = {**env, "HF_ENDPOINT": url, "HF_HUB_CACHE": str(work / f"cache-{name}-{files}"), "HF_HUB_DISABLE_XET": "1"}
                subprocess.run([programs[name], "download", project, "--all-variants"], env=variables, check=True,
                               capture_output=True)
                sent[name] = count(url)
        results.append(compare(f"requests for a locked kernel of {files} files", "", sent["kernels"], sent["peer"], 1.6))
    return results


def bench(work: pathlib.Path, programs, env, runs: int, compare) -> list[dict]:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        return bench_large_file(work, programs, env, runs, compare) + bench_requests(work, programs, env, compare)
    finally:
        shutil.rmtree(work, ignore_errors=True)
