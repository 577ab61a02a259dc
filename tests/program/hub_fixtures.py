# SPDX-License-Identifier: Apache-2.0
"""Running hub_driver: the hub room alone, against a scripted Hub."""
import dataclasses
import os
import pathlib
import subprocess

import pytest
from conftest import clean_environment, sanitizer_options


@dataclasses.dataclass
class Outcome:
    code: int
    lines: list[str]  # of stdout, without the count of requests
    requests: int
    errors: str

    @property
    def failure(self) -> str:
        return next((line.removeprefix("failure: ") for line in self.errors.splitlines() if line.startswith("failure: ")), "")


class Driver:
    def __init__(self, program: pathlib.Path, home: pathlib.Path, endpoint: str):
        self.program = program
        self.environment = {**clean_environment(home), "HF_ENDPOINT": endpoint}
        self.cache = home / "huggingface" / "hub"

    def command(self, *words):
        return [str(word) for word in (self.program, *words)]

    def run(self, *words, env=None) -> Outcome:
        done = subprocess.run(self.command(*words), env={**self.environment, **(env or {})}, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode == 3:
            pytest.skip("fault points are not compiled in")
        assert done.returncode in (0, 1), done.stderr
        assert "Sanitizer" not in done.stderr and "runtime error:" not in done.stderr, done.stderr
        lines = done.stdout.splitlines()
        requests = int(lines.pop().removeprefix("requests ")) if lines and lines[-1].startswith("requests ") else 0
        return Outcome(done.returncode, lines, requests, done.stderr)

    def ok(self, *words, env=None) -> Outcome:
        outcome = self.run(*words, env=env)
        assert outcome.code == 0, outcome.errors
        return outcome

    def fails(self, status: str, *words, env=None) -> str:
        outcome = self.run(*words, env=env)
        assert outcome.code == 1, outcome.lines
        assert outcome.failure.startswith((status + " ", status + ":")), outcome.errors
        return outcome.failure


def cache_files(cache: pathlib.Path) -> dict[str, str]:
    """Everything in the cache but its locks and tag: path -> content, or "-> target" of a link."""
    found = {}
    for folder, folders, names in os.walk(cache):
        for name in names:
            path = pathlib.Path(folder, name)
            key = str(path.relative_to(cache))
            if key.startswith(".locks/") or key == "CACHEDIR.TAG":
                continue
            found[key] = f"-> {os.readlink(path)}" if path.is_symlink() else path.read_bytes().decode("latin-1")
        for name in list(folders):
            path = pathlib.Path(folder, name)
            assert not path.is_symlink(), path
    return found


def preload(build_dir: pathlib.Path, **faults) -> dict[str, str]:
    """Variables that put tests/preload/faults.c into a child, behind the sanitizer's own library if there is one."""
    options = sanitizer_options()["ASAN_OPTIONS"]
    return {"LD_PRELOAD": str(build_dir / "tests" / "libpreload_faults.so"),
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0", **{name: str(value) for name, value in faults.items()}}
