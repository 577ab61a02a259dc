# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the whole-program tests.

    build_dir         folder of the build under test (KERNELS_BUILD_DIR, default build/debug)
    programs          paths: programs.kernels, programs.kernel_builder, programs.kernels_serve
    environment       variables for a child process: own HOME, no tokens, no Hub, sanitizers set up
    run               run(program, arguments..., env=, cwd=, check=) -> CompletedProcess with text output
    start_hub         start_hub("--token", "me:secret", directory=) -> Hub with .url, .directory, .stop()
    hub               URL of a fresh embedded hub without accounts
    hub_environment   environment with HF_ENDPOINT = hub
    jax_environment   site-packages of the locked jax environment (jax, libtpu, XLA CPU plugin)
    torch_python      interpreter of the locked torch-tpu environment (torch, torch_tpu); for tests marked `full`
    tpu               skips where that torch has no TPU; used by the mark `tpu_only`

Marks: `full`, a test that needs minutes or gigabytes, skipped but by `./run test --full` (KERNELS_TEST_FULL=1), and
`longer`, one that does more then. The full run takes these two kinds alone. `tpu_only`, a test of the full run that computes
on a TPU, skipped where there is none.
"""
import dataclasses
import os
import pathlib
import queue
import subprocess
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL = os.environ.get("KERNELS_TEST_FULL") == "1"
START_SECONDS = 60  # a sanitized server on a busy machine
RUN_SECONDS = 300


def pytest_configure(config):
    config.addinivalue_line("markers", "full: needs minutes or gigabytes; only in ./run test --full")
    config.addinivalue_line("markers", "longer: runs more rounds in ./run test --full")
    config.addinivalue_line("markers", "tpu_only: as full, and needs a TPU")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("tpu_only"):
            item.add_marker("full")
        if item.get_closest_marker("full") and not FULL:
            item.add_marker(pytest.mark.skip(reason="only in ./run test --full"))


@pytest.fixture(autouse=True)
def only_with_a_tpu(request):
    if request.node.get_closest_marker("tpu_only"):
        request.getfixturevalue("tpu")


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def data() -> pathlib.Path:
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def build_dir() -> pathlib.Path:
    return pathlib.Path(os.environ.get("KERNELS_BUILD_DIR", ROOT / "build" / "debug")).resolve()


@dataclasses.dataclass(frozen=True)
class Programs:
    kernels: pathlib.Path
    kernel_builder: pathlib.Path
    kernels_serve: pathlib.Path


@pytest.fixture(scope="session")
def programs(build_dir) -> Programs:
    folder = build_dir / "src" / "cli"
    found = Programs(folder / "kernels", folder / "kernel-builder", folder / "kernels-serve")
    for program in dataclasses.astuple(found):
        assert program.is_file(), f"{program} is missing: build it first (cmake --build {build_dir})"
    return found


def sanitizer_options() -> dict[str, str]:
    """Sanitizer settings of every child; the suppressed leaks are those of foreign plugins."""
    return {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:handle_segv=1",
        "LSAN_OPTIONS": f"suppressions={ROOT}/tests/suppressions/lsan.txt:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def clean_environment(home: pathlib.Path) -> dict[str, str]:
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "HF_HOME": str(home / "huggingface"),
        "HF_ENDPOINT": "http://127.0.0.1:9",  # nothing listens there: no test reaches a real Hub by mistake
        "KERNEL_BUILDER_STORE": str(ROOT / "build" / "store"),
        **sanitizer_options(),
    }


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    return clean_environment(tmp_path / "home")


@pytest.fixture
def run(environment):
    def run_program(program, *arguments, env=None, cwd=None, check=True, timeout=RUN_SECONDS, **more):
        command = [str(word) for word in (program, *arguments)]
        done = subprocess.run(command, env=env or environment, cwd=cwd, timeout=timeout, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        if check:
            assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "ERROR: AddressSanitizer" not in done.stderr, done.stderr
        assert "ERROR: LeakSanitizer" not in done.stderr, done.stderr
        assert "runtime error:" not in done.stderr, done.stderr
        return done

    return run_program


class Hub:
    """A running embedded hub."""

    def __init__(self, program: pathlib.Path, directory: pathlib.Path, options, env: dict[str, str]):
        self.directory = directory
        self.process = subprocess.Popen([str(program), str(directory), *map(str, options)], env=env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors: list[str] = []
        self._first_line: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read_output, daemon=True).start()
        self._error_reader = threading.Thread(target=self._read_errors, daemon=True)
        self._error_reader.start()
        try:
            self.url = self._first_line.get(timeout=START_SECONDS)
        except queue.Empty:
            self.url = ""
        if not self.url.startswith(("http://", "https://")):
            self.process.kill()
            self._error_reader.join(10)
            raise AssertionError(f"the hub did not start, first line {self.url!r}: {''.join(self.errors)}")

    def _read_output(self):
        self._first_line.put(self.process.stdout.readline().strip())
        self.process.stdout.read()

    def _read_errors(self):
        self.errors.extend(iter(self.process.stderr.readline, ""))

    def stop(self) -> int:
        """Ends it as Ctrl-C would and returns its exit code; sanitizer reports fail the test."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the hub did not stop on SIGTERM")
        self._error_reader.join(10)
        report = "".join(self.errors)
        assert "Sanitizer" not in report and "runtime error:" not in report, report
        return code


@pytest.fixture
def start_hub(programs, environment, tmp_path):
    hubs = []

    def start(*options, directory=None) -> Hub:
        directory = pathlib.Path(directory or tmp_path / f"hub{len(hubs)}")
        directory.mkdir(parents=True, exist_ok=True)
        hubs.append(Hub(programs.kernels_serve, directory, options, environment))
        return hubs[-1]

    yield start
    for hub in hubs:
        hub.stop()


@pytest.fixture
def hub(start_hub) -> str:
    return start_hub().url


@pytest.fixture
def hub_environment(environment, hub) -> dict[str, str]:
    return {**environment, "HF_ENDPOINT": hub}


def fetch_environment(programs, name: str, licences, home: pathlib.Path) -> pathlib.Path:
    accepted = [word for licence in licences for word in ("--accept-licence", licence)]
    done = subprocess.run([programs.kernel_builder, "env", "fetch", name, *accepted], env=clean_environment(home),
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=1800)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.split()[-1])


@pytest.fixture(scope="session")
def jax_environment(programs, tmp_path_factory) -> pathlib.Path:
    """Fetched and unpacked once into build/store; later runs take it from there."""
    folder = fetch_environment(programs, "jax", ["libtpu"], tmp_path_factory.mktemp("jax") / "home")
    found = sorted(folder.glob("lib/python3.*/site-packages"))
    assert found, f"no site-packages in {folder}"
    return found[0]


@pytest.fixture(scope="session")
def torch_python(programs, tmp_path_factory) -> pathlib.Path:
    """As jax_environment, 650 MB more."""
    folder = fetch_environment(programs, "torch-tpu", ["libtpu", "nvidia-cuda-runtime"],
                               tmp_path_factory.mktemp("torch") / "home")
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def tpu(torch_python):
    code = "import torch, device_marks; print('REASON', device_marks.usable_tpu(torch))"
    done = subprocess.run([torch_python, "-W", "ignore", "-c", code], text=True, stdin=subprocess.DEVNULL, timeout=RUN_SECONDS,
                          stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "program")})
    assert done.returncode == 0, done.stdout
    reason = done.stdout.rpartition("REASON ")[2].strip()
    if reason != "None":
        pytest.skip(reason)
