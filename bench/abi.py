# SPDX-License-Identifier: Apache-2.0
"""The ABI check beside the released checker and auditwheel, on the same files (bench/run.py).

The libraries come from two public wheels, fetched once (630 MB): torch, whose libtorch_cpu.so is the large one, and
torch_tpu, all of whose libraries are checked. auditwheel wants wheels: it gets the packed one and unpacks it itself, ours
the folder; unpacking is a small part of its time.
"""
import pathlib
import statistics
import subprocess
import sys
import zipfile

TORCH = ("torch==2.15.0", "torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl")
TORCH_TPU = ("torch_tpu==0.2.0", "torch_tpu-0.2.0-cp311-cp311-manylinux_2_31_x86_64.whl")
RELEASED = ("import sys, kernel_abi_check as k; o = k.ObjectFile(sys.argv[1]); "
            "o.check_manylinux('manylinux_2_28'); o.check_python_abi('3.9')")


def fetch(folder: pathlib.Path, python: pathlib.Path, package: tuple[str, str]) -> pathlib.Path:
    requirement, name = package
    path = folder / name
    if not path.is_file():
        platform = name.removesuffix(".whl").split("-", 4)[4]
        subprocess.run([python, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--python-version", "3.11", "--platform", platform, "-d", folder,
                        requirement], check=True)
    return path


def unpack(wheel: pathlib.Path, folder: pathlib.Path, wanted) -> pathlib.Path:
    """What is wanted of the wheel below folder; files that are there already stay."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if wanted(info.filename) and not (folder / info.filename).is_file():
                archive.extract(info, folder)
    return folder


def measure(program: pathlib.Path, command: list, runs: int, env: dict[str, str]) -> dict[str, float]:
    """Medians. A checker that finds something ends with 1, so 1 is no failure. One run before is not counted, but where one
    run is all there is."""
    rows = []
    for _ in range(runs + 1 if runs > 1 else 1):
        done = subprocess.run([program, "1", *map(str, command)], env=env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds, kib, code = done.stdout.split()
        if int(code) not in (0, 1):
            sys.exit(f"bench: {' '.join(map(str, command))} ended with {code}")
        rows.append((float(seconds), float(kib)))
    rows = rows[1:] or rows
    return {"seconds": statistics.median(row[0] for row in rows),
            "megabytes": statistics.median(row[1] for row in rows) * 1024 / 1e6}


def bench(folder: pathlib.Path, programs: dict[str, pathlib.Path], env: dict[str, str], runs: int, compare) -> list[dict]:
    """programs: measure, checker (ours), python (an interpreter that has the peers), auditwheel."""
    folder.mkdir(parents=True, exist_ok=True)
    python = programs["python"]
    torch = unpack(fetch(folder, python, TORCH), folder / "torch", lambda name: name == "torch/lib/libtorch_cpu.so")
    tpu_wheel = fetch(folder, python, TORCH_TPU)
    tpu = unpack(tpu_wheel, folder / "torch_tpu", lambda name: ".so" in name)
    library = torch / "torch" / "lib" / "libtorch_cpu.so"
    ours = measure(programs["measure"], [programs["checker"], library], 10 * runs, env)
    peer = measure(programs["measure"], [python, "-c", RELEASED, library], runs, env)
    wheel_ours = measure(programs["measure"], [programs["checker"], "-m", "manylinux_2_31", tpu], 5 * runs, env)
    wheel_peer = measure(programs["measure"], [programs["auditwheel"], "show", tpu_wheel], 1, env)
    limit = 40 * 1024 * 1024 / 1e6  # 40 MiB
    memory = max(ours["megabytes"], wheel_ours["megabytes"])
    return [
        compare("ABI check of libtorch_cpu.so, against the released checker", "s", ours["seconds"], peer["seconds"], 100),
        compare("ABI check of torch-tpu's libraries, against auditwheel", "s", wheel_ours["seconds"],
                wheel_peer["seconds"], 500),
        compare("ABI checks, peak memory (must stay below 40 MiB)", "MB", memory, peer["megabytes"], 1)
        | {"passed": memory < limit},
    ]
