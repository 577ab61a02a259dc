# SPDX-License-Identifier: Apache-2.0
"""The Python package side by side with the released one, in the same interpreter, against the embedded hub on this machine.

    import          `import kernels` and `from kernels import get_kernel`, beyond the start of Python
    repeated        get_kernel of a kernel that is loaded, by version
    offline         a process that loads one cached kernel, beyond the start of Python; then further kernels in one process. Ours
                    compares every file with the digest, the other does not
    variants        1,000 variants resolved, the best first; ours from their names, the other from its objects
"""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import urllib.request

KERNELS, FILES, SIZE = 12, 10, 20 << 10
LOGGING = "import logging\nlogging.disable(logging.CRITICAL)\n"
REPEATED = LOGGING + """
import kernels, sys, time
load = lambda: kernels.get_kernel("bench/k0", version=1)
load()
times = []
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    load()
    times.append(time.perf_counter() - start)
print(sorted(times)[len(times) // 2])
"""
OFFLINE = LOGGING + """
import sys, time
from kernels import get_kernel
times = []
for number, commit in enumerate(sys.argv[1:]):
    start = time.perf_counter()
    get_kernel(f"bench/k{number}", revision=commit)
    times.append(time.perf_counter() - start)
print(sorted(times[1:])[len(times) // 2])  # the first one imports much
"""
VARIANTS = """
import sys, time
from kernels.variants import parse_variant, resolve_variants
names = [f"torch{2}{minor}{tag}-{backend}-{cpu}-{system}" for minor in range(10, 20) for tag in ("", "-cxx11")
         for backend in ("cu128", "cu130", "cpu", "rocm71", "xpu20253") for cpu in ("x86_64", "aarch64")
         for system in ("linux", "windows", "darwin", "freebsd", "other")]
assert len(set(names)) == 1000
try:
    from kernels import _machine, _native
except ImportError:
    variants = [parse_variant(name) for name in names]
    resolve = lambda: resolve_variants(variants)
else:
    system = _machine.system()
    resolve = lambda: _native.resolve_variants(system, names)  # from the names
times = []
for _ in range(50):
    start = time.perf_counter()
    resolve()
    times.append(time.perf_counter() - start)
print(sorted(times)[25])
"""


def post(url: str, body: bytes, kind: str = "application/json") -> bytes:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": kind}, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def publish(url: str, name: str) -> str:
    """A kernel of FILES files with a digest, as version 1; its commit."""
    noise = random.Random(name)
    files = {"__init__.py": b"X = 1\n", **{f"f{i}.bin": noise.randbytes(SIZE) for i in range(FILES - 2)}}
    hashes = {file: base64.b64encode(hashlib.sha256(content).digest()).decode() for file, content in sorted(files.items())}
    files["metadata.json"] = json.dumps({
        "name": name, "id": f"_{name}_bench", "version": 1, "license": "Apache-2.0", "python-depends": [],
        "backend": {"type": "cpu"}, "digest": {"algorithm": "sha256", "files": hashes}}).encode()
    post(f"{url}/api/repos/create", json.dumps({"name": name, "organization": "bench", "type": "kernel"}).encode())
    post(f"{url}/api/kernels/bench/{name}/branch/v1", b"{}")
    lines = [{"key": "header", "value": {"summary": "bench", "description": ""}}]
    lines += [{"key": "file", "value": {"path": f"build/torch-universal/{file}", "content": base64.b64encode(content).decode(),
                                        "encoding": "base64"}} for file, content in files.items()]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return json.loads(post(f"{url}/api/kernels/bench/{name}/commit/v1", body, "application/x-ndjson"))["commitOid"]


@contextlib.contextmanager
def hub(program: pathlib.Path, folder: pathlib.Path):
    folder.mkdir(parents=True)
    process = subprocess.Popen([program, folder, "--trusted", "bench"], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def bench(work: pathlib.Path, programs: dict, package: pathlib.Path, env: dict, runs: int, measure, compare) -> list[dict]:
    """package: the folder in which our `kernels` is; programs: python (which has the released one) and serve."""
    shutil.rmtree(work, ignore_errors=True)
    sides = {"ours": {"PYTHONPATH": str(package)}, "peer": {}}

    def seconds(side, *arguments, count=1, **more) -> float:
        """Median of what so many processes print."""
        variables = {**env, "HF_HOME": str(work / side), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **sides[side], **more}
        printed = [subprocess.run([programs["python"], "-c", *map(str, arguments)], env=variables, check=True, text=True,
                                  capture_output=True).stdout for _ in range(count)]
        return statistics.median(map(float, printed))

    results = []
    nothing = measure([programs["python"], "-c", "pass"], 3 * runs, env)["seconds"]

    def beyond_python(code: str) -> list[float]:
        # one millisecond is as fine as the difference of two starts can be told
        more = {"HF_HUB_OFFLINE": "1"}
        return [max(measure([programs["python"], "-c", code], runs, {**env, **more, **sides[side], "HF_HOME": str(work / side)})
                    ["seconds"] - nothing, 1e-3) for side in sides]

    for code in ("import kernels", "from kernels import get_kernel"):
        results.append(compare(f"{code}, beyond Python itself", "s", *beyond_python(code), 10))
    with hub(programs["serve"], work / "hub") as url:
        commits = [publish(url, f"k{number}") for number in range(KERNELS)]
        repeated = [seconds(side, REPEATED, 10 * runs, HF_ENDPOINT=url) for side in sides]
        results.append(compare("get_kernel of a loaded kernel, by version", "s", *repeated, 50))
        for side in sides:
            seconds(side, OFFLINE, *commits, HF_ENDPOINT=url)
    name = f"get_kernel offline, {FILES} files, {FILES * SIZE >> 10} KiB, ours checks each"
    code = f"import kernels; kernels.get_kernel('bench/k0', revision='{commits[0]}')"
    results.append(compare(f"{name}: process beyond Python itself", "s", *beyond_python(code), 10))
    offline = [seconds(side, OFFLINE, *commits, count=runs, HF_HUB_OFFLINE="1") for side in sides]
    results.append(compare(f"{name}: one more in a process", "s", *offline, None))
    spent = [seconds(side, VARIANTS) for side in sides]
    results.append(compare("1,000 variants resolved from their names (must take less than 1 ms)", "s", *spent, 1) | {"passed": spent[0] < 1e-3})
    return results
