# SPDX-License-Identifier: Apache-2.0
"""The wheel of the Python package: what is in it, and that it installs and works in every CPython from 3.10 that is found.

The first run builds it, like `./run wheel`, in build/wheel-build.
"""
import glob
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

import hub_api

pytestmark = pytest.mark.full  # builds the wheel and an environment for each interpreter

PLACES = ("~/.pyenv/versions/*/bin/python3", "/usr/bin/python3", "/usr/local/bin/python3", "/opt/python*/bin/python3",
          "~/.local/share/uv/python/*/bin/python3")  # fmt: skip


def interpreters() -> dict[str, str]:
    """"3.11" or "3.13t" -> program, of each version of CPython that has an interpreter here."""
    named = [shutil.which(f"python3.{minor}{kind}") for minor in range(10, 20) for kind in ("", "t")]
    found = {}
    for program in [*filter(None, named), *(path for place in PLACES for path in sorted(glob.glob(os.path.expanduser(place))))]:
        asked = subprocess.run([program, "-c", "import sys, sysconfig, venv, ensurepip; "
                                "print(sys.implementation.name, f'{sys.version_info[0]}.{sys.version_info[1]}'"
                                " + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))"],
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
        name, _, version = asked.stdout.strip().partition(" ")
        if asked.returncode == 0 and name == "cpython" and int(version.split(".")[1].rstrip("t")) >= 10:
            found.setdefault(version, program)
    return found


INTERPRETERS = interpreters()


@pytest.fixture(scope="session")
def wheel(root, tmp_path_factory) -> pathlib.Path:
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit_build_core is not installed (packaging/requirements.txt)")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", "import sys; from scikit_build_core import build; build.build_wheel(sys.argv[1])",
                    folder], cwd=root, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session", params=INTERPRETERS)
def installed(request, wheel, tmp_path_factory) -> pathlib.Path:
    """A virtual environment with nothing but the wheel."""
    if request.param.endswith("t"):
        pytest.skip("the stable ABI does not exist without the global lock")
    folder = tmp_path_factory.mktemp("venv") / request.param
    subprocess.run([INTERPRETERS[request.param], "-m", "venv", folder], check=True, capture_output=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel],
                   check=True, capture_output=True)
    return folder


def test_there_is_an_interpreter():
    print("interpreters:", *INTERPRETERS)
    assert "3.11" in INTERPRETERS


def test_content(wheel, programs, run):
    assert wheel.name.startswith("kernels-0.17.2-cp310-abi3-linux_")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read("kernels-0.17.2.dist-info/METADATA").decode()
        points = archive.read("kernels-0.17.2.dist-info/entry_points.txt").decode()
    assert {"kernels/_native.abi3.so", "kernels/_bin/kernels", "kernels/__init__.pyi", "kernels/py.typed"} <= set(names)
    assert not [name for name in names if name.endswith((".c", ".h", ".pyc")) or "__pycache__" in name]
    assert "kernels = kernels.cli:main" in points and "kernels.lock = kernels.locking:write_egg_lockfile" in points
    lines = metadata.splitlines()
    assert "Name: kernels" in lines and "Version: 0.17.2" in lines and "Requires-Python: >=3.10" in lines
    assert not [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert {"benchmark", "curated", "curated-xpu", "torch"} == {line.split()[1] for line in lines if line.startswith("Provides-Extra")}


def test_needs_nothing_but_the_system(wheel, tmp_path):
    """Self-contained: libc and libm; the stable ABI: no symbol of a single Python."""
    with zipfile.ZipFile(wheel) as archive:
        for name in ("kernels/_native.abi3.so", "kernels/_bin/kernels"):
            needed = subprocess.run(["readelf", "-d", archive.extract(name, tmp_path)], check=True, capture_output=True, text=True)
            libraries = {line.split("[")[1].rstrip("]") for line in needed.stdout.splitlines() if "(NEEDED)" in line}
            assert libraries <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, (name, libraries)
    peer = pathlib.Path(__file__).resolve().parents[2] / "build" / "bench-venv" / "bin" / "auditwheel"
    if peer.is_file():
        shown = subprocess.run([peer, "show", wheel], check=True, capture_output=True, text=True).stdout
        assert '"manylinux_2_' in shown and '"linux_' not in shown, shown


def test_the_stable_abi(wheel, programs, run):
    program = programs.kernel_builder.with_name("kernel-abi-check")
    if not program.is_file():
        pytest.skip("kernel-abi-check is not built")
    done = run(program, wheel, check=False)
    assert "abi3" in done.stdout + done.stderr, done


def test_smoke(installed, start_hub, environment, tmp_path):
    server = start_hub("--trusted", "good")
    hub_api.publish(server.url, "good/leaf", {"v1": hub_api.variant("torch-universal", {"__init__.py": "NAME = 'leaf'"}, name="leaf")})
    (tmp_path / "pyproject.toml").write_text("[tool.kernels.dependencies]\n'good/leaf' = 1\n")
    env = {**environment, "HF_ENDPOINT": server.url}

    def call(program, *arguments, **more):
        return subprocess.run([installed / "bin" / program, *arguments], env={**env, **more}, cwd=tmp_path, check=True, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL).stdout

    assert call("python", "-c", """
import importlib.metadata, sys
import kernels, kernels.native, kernels._rust
assert kernels.__version__ == importlib.metadata.version("kernels") == kernels._rust.__version__
for name in kernels.__all__:
    try:
        getattr(kernels, name)
    except ModuleNotFoundError as error:
        assert error.name == "torch", (name, error)
print(kernels.get_kernel("good/leaf", version=1).NAME, kernels.has_kernel("good/leaf", version=1))
""") == "leaf True\n"
    assert call("kernels", "lock", ".") == "" and "good/leaf" in (tmp_path / "kernels.lock").read_text()
    assert call("python", "-c", """
import kernels
print(kernels.load_kernel("good/leaf", lockfile="kernels.lock").NAME)
""", HF_HUB_OFFLINE="1") == "leaf\n"
    assert json.loads(call("kernels", "info", "good/leaf", "--json"))["name"] == "leaf"
    assert "usage" in call("python", "-m", "kernels.cli", "--help").lower()


def test_the_command_from_python(installed, environment, tmp_path):
    """main() comes back to a program that calls it; a failure is its SystemExit."""
    done = subprocess.run([installed / "bin" / "python", "-c", """
import sys
from kernels.cli import main
sys.argv = ["kernels", "--help"]
main()
print("back")
sys.argv = ["kernels", "no-such-command"]
try:
    main()
except SystemExit as error:
    print("exit", error.code)
"""], env=environment, cwd=tmp_path, check=True, text=True, capture_output=True)
    assert "back" in done.stdout and "exit 2" in done.stdout, done
