#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the locks of the build environments: data/locks/<name>.x86_64-linux.toml.

    python3.11 data/locks/make_lock.py jax > data/locks/jax.x86_64-linux.toml
    python3.11 data/locks/make_lock.py torch-tpu > data/locks/torch-tpu.x86_64-linux.toml

Downloads the wheels named below with pip (the Python that runs it decides which files fit: use 3.11), hashes
them and prints the lock. --find-links FOLDER: wheels that are there are not downloaded. To move to newer versions change
ENVIRONMENTS, run it, and try `./run test --full`.
"""
import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile

PYTHON = (3, 11)
BUILD = ["build", "check"]
CHECK = ["check"]
# name: what it is for, the environment it stands on, wheels (name, version, roles, licence that the user must accept)
ENVIRONMENTS = {
    "jax": ("TPU kernels are exported, compiled and compared in it", None, [
        ("jax", "0.10.2", BUILD, None),
        ("jaxlib", "0.10.2", BUILD, None),
        ("libtpu", "0.0.52", BUILD, "unfree"),
        ("ml-dtypes", "0.6.0", BUILD, None),
        ("numpy", "2.4.6", BUILD, None),
        ("opt-einsum", "3.4.0", BUILD, None),
        ("scipy", "1.17.1", BUILD, None),
        ("xla-cpu-pjrt", "0.0.1", CHECK, None),
    ]),
    # What torch and torch_tpu import, no more: tensorboard, triton and NVIDIA's libraries are left out. For the latter
    # stubs are written (src/build/import_stubs.h); the CUDA runtime must be the real one.
    "torch-tpu": ("TPU kernels are imported in it, with torch and torch_tpu", "jax", [
        ("absl-py", "2.5.1", CHECK, None),
        ("filelock", "4.3.1", CHECK, None),
        ("frozendict", "2.5.1", CHECK, None),
        ("fsspec", "2026.9.0", CHECK, None),
        ("immutabledict", "4.3.1", CHECK, None),
        ("jinja2", "3.1.6", CHECK, None),
        ("markupsafe", "3.0.4", CHECK, None),
        ("mpmath", "1.4.1", CHECK, None),
        ("networkx", "3.6.1", CHECK, None),
        ("nvidia-cuda-runtime", "13.2.86", CHECK, "unfree"),
        ("portpicker", "1.6.0", CHECK, None),
        ("psutil", "7.2.2", CHECK, None),
        ("pyzmq", "27.3.0", CHECK, None),
        ("setuptools", "84.2.1", CHECK, None),
        ("sympy", "1.14.0", CHECK, None),
        ("torch", "2.15.0", CHECK, None),
        ("torch_tpu", "0.2.0", CHECK, None),
        ("typing-extensions", "4.16.0", CHECK, None),
    ]),
}


def download(name: str, version: str, folder: pathlib.Path, links: list[str]) -> pathlib.Path:
    folder.mkdir()
    more = [word for link in links for word in ("--find-links", link)]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *more,
                    "--dest", folder, f"{name}=={version}"], check=True, stdout=sys.stderr)
    (wheel,) = folder.iterdir()
    return wheel


def print_wheel(wheel: pathlib.Path, name: str, version: str, roles: list[str], licence: str | None) -> None:
    print(f'\n[[wheel]]\nname = "{name}"\nversion = "{version}"\nfile = "{wheel.name}"')
    with wheel.open("rb") as file:
        print(f'sha256 = "{hashlib.file_digest(file, "sha256").hexdigest()}"')
    print(f'size = {wheel.stat().st_size}\nsource = "pypi"')
    print("roles = [" + ", ".join(f'"{role}"' for role in roles) + "]")
    if licence:
        print(f'licence = "{licence}"')


def main() -> None:
    parser = argparse.ArgumentParser(description="print the lock of a build environment")
    parser.add_argument("name", choices=ENVIRONMENTS)
    parser.add_argument("--find-links", action="append", default=[])
    arguments = parser.parse_args()
    if sys.version_info[:2] != PYTHON:
        sys.exit(f"run this with Python {PYTHON[0]}.{PYTHON[1]}, not {sys.version.split()[0]}")
    purpose, base, wheels = ENVIRONMENTS[arguments.name]
    print(f"# Build environment `{arguments.name}`: {purpose}.")
    print("# Made by data/locks/make_lock.py from the wheels of PyPI; how it is read: docs/internals/tpu.md.")
    print(f'format = 1\npython = "{PYTHON[0]}.{PYTHON[1]}"')
    if base:
        print(f'base = "{base}"')
    with tempfile.TemporaryDirectory() as scratch:
        for name, version, roles, licence in wheels:
            wheel = download(name, version, pathlib.Path(scratch) / name, arguments.find_links)
            print_wheel(wheel, name, version, roles, licence)


if __name__ == "__main__":
    main()
