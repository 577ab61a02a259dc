#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the lock of the jax environment: data/locks/jax.x86_64-linux.toml.

    python3.11 data/locks/make_lock.py > data/locks/jax.x86_64-linux.toml

Downloads the wheels named below with pip (the Python that runs it decides which files fit: use 3.11), hashes
them and prints the lock. To move to newer versions change WHEELS, run it, and try `./run test`.
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

PYTHON = (3, 11)
# name, version, roles, licence that the user must accept
WHEELS = [
    ("jax", "0.10.2", ["build", "check"], None),
    ("jaxlib", "0.10.2", ["build", "check"], None),
    ("libtpu", "0.0.52", ["build", "check"], "unfree"),
    ("ml-dtypes", "0.6.0", ["build", "check"], None),
    ("numpy", "2.4.6", ["build", "check"], None),
    ("opt-einsum", "3.4.0", ["build", "check"], None),
    ("scipy", "1.17.1", ["build", "check"], None),
    ("xla-cpu-pjrt", "0.0.1", ["check"], None),
]


def download(name: str, version: str, folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                    "--dest", folder, f"{name}=={version}"], check=True, stdout=sys.stderr)
    (wheel,) = folder.iterdir()
    return wheel


def main() -> None:
    if sys.version_info[:2] != PYTHON:
        sys.exit(f"run this with Python {PYTHON[0]}.{PYTHON[1]}, not {sys.version.split()[0]}")
    print("# Build environment `jax`: TPU kernels are exported, compiled and compared in it.")
    print("# Made by data/locks/make_lock.py from the wheels of PyPI; how it is read: docs/internals/tpu.md.")
    print(f'format = 1\npython = "{PYTHON[0]}.{PYTHON[1]}"')
    with tempfile.TemporaryDirectory() as scratch:
        for name, version, roles, licence in WHEELS:
            wheel = download(name, version, pathlib.Path(scratch) / name)
            print(f'\n[[wheel]]\nname = "{name}"\nversion = "{version}"\nfile = "{wheel.name}"')
            with wheel.open("rb") as file:
                print(f'sha256 = "{hashlib.file_digest(file, "sha256").hexdigest()}"')
            print(f'size = {wheel.stat().st_size}\nsource = "pypi"')
            print("roles = [" + ", ".join(f'"{role}"' for role in roles) + "]")
            if licence:
                print(f'licence = "{licence}"')


if __name__ == "__main__":
    main()
