# Made by kernel-builder. Not to be edited, not to be committed.
"""`python setup.py build_kernel [--backends a,b]` builds the kernel's variants into build/."""
import shutil
from pathlib import Path

from setuptools import Command, setup

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "torch-ext" / "@python_name@"


def variant_name(backend):
    return "torch-npu" if backend == "cann" else "torch-" + backend


def build_variant(backend, extensions):
    target = ROOT / "build" / variant_name(backend)
    metadata = ROOT / ("metadata-" + backend + ".json")
    for needed in (PACKAGE, metadata):
        if not needed.exists():
            raise SystemExit("{} is missing: run kernel-builder create-pyproject".format(needed))
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for source in sorted(PACKAGE.rglob("*")):
        if source.is_file() and source.suffix[1:] in extensions and "__pycache__" not in source.parts:
            copy = target / source.relative_to(PACKAGE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    shutil.copyfile(metadata, target / "metadata.json")
    return target


class BuildKernel(Command):
    description = "build the kernel's variants into build/"
    user_options = [("backends=", None, "backends to build, separated by commas (default: all of build.toml)")]

    def initialize_options(self):
        self.backends = None

    def finalize_options(self):
        if self.backends is not None:
            self.backends = {word.strip() for word in self.backends.split(",") if word.strip()}

    def run(self):
        with open(ROOT / "build.toml", "rb") as file:
            project = tomllib.load(file)
        extensions = project.get("torch-noarch", {}).get("pyext", ["py", "pyi"])
        backends = set(project["general"]["backends"])
        if self.backends is not None:
            backends &= self.backends
        print("backends: " + (", ".join(sorted(backends)) or "none"))
        for backend in sorted(backends):
            print("built " + str(build_variant(backend, extensions)))


setup(cmdclass={"build_kernel": BuildKernel})
