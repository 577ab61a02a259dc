# SPDX-License-Identifier: Apache-2.0
"""kernel-builder build, build-and-copy, hash, check-config, list-variants, fill-card, completions on noarch kernels
that need no build environment (test_tpu_kernels.py has those that do)."""
import ast
import base64
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import pytest

BUILD_TOML = """[general]
name = "row-softmax"
version = 3
edition = 5
license = "MIT"
backends = {backends}

[general.hub]
repo-id = "someone/row-softmax"

[torch-noarch]
"""


class Project:
    def __init__(self, folder: pathlib.Path, call, program):
        self.folder, self.call, self.program = folder, call, program
        self.package = folder / "torch-ext" / "row_softmax"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").write_text('from ._ops import ops\n__all__ = ["softmax"]\n')
        self.configure()

    def configure(self, backends=("cpu", "cann")):
        (self.folder / "build.toml").write_text(BUILD_TOML.format(backends=json.dumps(list(backends))))

    def run(self, command, *arguments, code=0, **more):
        done = self.call(self.program, command, self.folder, *arguments, check=False, **more)
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def git(self, *arguments):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": "T", f"GIT_{role}_EMAIL": "t@example.org"}
        return subprocess.run(["git", *arguments], cwd=self.folder, env=env, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def commit(self) -> str:
        (self.folder / ".gitignore").write_text("result\nbuild\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        return self.git("rev-parse", "HEAD")

    @property
    def result(self) -> pathlib.Path:
        return self.folder / "result"

    def metadata(self, variant="torch-cpu") -> dict:
        return json.loads((self.result / variant / "metadata.json").read_text())


@pytest.fixture
def store(environment, tmp_path) -> pathlib.Path:
    environment["KERNEL_BUILDER_STORE"] = str(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def project(run, programs, store, tmp_path) -> Project:
    return Project(tmp_path / "kernel", run, programs.kernel_builder)


def digest_of(variant: pathlib.Path) -> dict[str, str]:
    files = {str(path.relative_to(variant)): path for path in variant.rglob("*") if path.is_file()}
    files.pop("metadata.json", None)
    return {name: base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
            for name, path in sorted(files.items())}


# ---- what a build gives ----

def test_a_build(project, store):
    project.configure(["tpu", "cpu", "cann", "metal", "cpu"])
    (project.package / "layers").mkdir()
    (project.package / "layers" / "__init__.py").write_text("class Softmax: pass\n")
    (project.package / "notes.txt").write_text("not Python")
    (project.folder / "benchmarks").mkdir()
    (project.folder / "benchmarks" / "benchmark.py").write_text("")
    (project.folder / "CARD.md").write_text("# {{ repo_id }} {{ functions[0] }}\n")
    done = project.run("build")
    assert project.run("list-variants").stdout == "torch-cpu\ntorch-tpu\ntorch-npu\n"
    assert sorted(os.listdir(project.result)) == ["CARD.md", "benchmarks", "torch-cpu", "torch-npu", "torch-tpu"]
    assert project.result.is_symlink() and store in project.result.resolve().parents
    assert (project.result / "CARD.md").read_text() == "# someone/row-softmax softmax"
    for variant, backend in (("torch-cpu", "cpu"), ("torch-tpu", "tpu"), ("torch-npu", "cann")):
        folder = project.result / variant
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
            "__init__.py", "_ops.py", "layers/__init__.py", "metadata.json"]
        metadata = project.metadata(variant)
        assert metadata["backend"] == {"type": backend} and metadata["version"] == 3
        assert metadata["digest"] == {"algorithm": "sha256", "files": digest_of(folder)}
        assert metadata["id"].startswith(f"_row_softmax_{backend}_")
        assert "kernel" not in metadata["provenance"]
    assert "not in a git repository" in done.stderr
    assert not list((store / "work").iterdir())


def test_the_same_sources_give_the_same_result(project):
    project.run("build")
    first = project.result.resolve()
    project.run("build")
    assert project.result.resolve() == first
    (project.package / "__init__.py").write_text("__all__ = []\n")
    project.run("build")
    assert project.result.resolve() != first
    assert first.is_dir()


def test_a_damaged_result_is_made_again(project):
    project.run("build")
    damaged = project.result / "torch-cpu" / "__init__.py"
    wanted = damaged.read_text()
    damaged.chmod(0o644)
    damaged.write_text("broken")
    project.run("build")
    assert damaged.read_text() == wanted


def test_git_gives_id_and_provenance(project):
    commit = project.commit()
    project.run("build")
    assert project.metadata()["id"] == "_row_softmax_cpu_" + commit[:7]
    assert project.metadata()["provenance"]["kernel"] == {"commit": commit, "dirty": False}
    (project.package / "new.py").write_text("")  # untracked, and part of the build
    project.run("build")
    assert project.metadata()["id"] == f"_row_softmax_cpu_{commit[:7]}_dirty"
    assert project.metadata()["provenance"]["kernel"] == {"commit": commit, "dirty": True}
    (project.package / "new.py").unlink()
    (project.folder / "unrelated.txt").write_text("")  # untracked, and no part of it
    project.run("build")
    assert project.metadata()["provenance"]["kernel"]["dirty"] is False


def test_the_report(project):
    project.configure(["cann"])
    project.commit()
    project.run("build")
    report = json.loads((project.result.resolve().parent / "build-report.json").read_text())
    assert report["publishable"] is True and report["bundle"] == project.result.resolve().parent.name
    assert [check["name"] for check in report["variants"][0]["checks"]] == ["layout", "registration", "metadata", "hash"]
    project.configure(["cpu"])
    project.run("build")
    report = json.loads((project.result.resolve().parent / "build-report.json").read_text())
    assert report["publishable"] is False
    assert report["variants"][0]["reasons"] == ["the sources differ from the commit",
                                                "the import check was skipped: it needs torch"]
    skipped = [check for check in report["variants"][0]["checks"] if check["status"] == "skipped"]
    assert skipped == [{"name": "import", "status": "skipped", "detail": "it needs torch"}]


def test_one_variant_and_logs(project, store):
    done = project.run("build", "--variant", "torch-npu", "-L")
    assert os.listdir(project.result) == ["torch-npu"]
    assert "torch-npu> step: copy" in done.stderr
    assert "step: hash" in (store / "log" / "row-softmax-torch-npu.log").read_text()
    done = project.run("build", "--variant", "nope", code=1)
    assert "torch-cpu, torch-npu" in done.stderr


def test_build_and_copy_replaces_what_it_built(project):
    (project.folder / "build" / "other-variant").mkdir(parents=True)
    (project.folder / "build" / "other-variant" / "x").write_text("mine")
    (project.folder / "build" / "torch-cpu").mkdir()
    (project.folder / "build" / "torch-cpu" / "stale.py").write_text("")
    project.run("build-and-copy")
    assert sorted(os.listdir(project.folder / "build")) == ["other-variant", "torch-cpu", "torch-npu"]
    assert (project.folder / "build" / "other-variant" / "x").read_text() == "mine"
    assert not (project.folder / "build" / "torch-cpu" / "stale.py").exists()
    assert os.stat(project.folder / "build" / "torch-cpu" / "_ops.py").st_mode & 0o200
    assert not os.stat(project.result / "torch-cpu" / "_ops.py").st_mode & 0o222


def test_data_files_follow_pyext(project):
    text = (project.folder / "build.toml").read_text()
    (project.folder / "build.toml").write_text(text + 'pyext = ["json", "py"]\n')
    for name in ("E=8,N=1.json", "a.pyi", "b.txt"):
        (project.package / name).write_text("{}")
    project.run("build")
    assert sorted(os.listdir(project.result / "torch-cpu")) == ["E=8,N=1.json", "__init__.py", "_ops.py",
                                                               "metadata.json"]


# ---- what is refused ----

def refused(project, *parts, command="build", arguments=()):
    done = project.run(command, *arguments, code=1)
    for part in parts:
        assert part in done.stderr, done.stderr
    assert not project.result.exists()
    return done


@pytest.mark.parametrize("command", ["build", "check-config", "list-variants"])
def test_an_error_in_build_toml_has_line_and_column(project, command):
    text = (project.folder / "build.toml").read_text()
    (project.folder / "build.toml").write_text(text.replace("version = 3", 'version = "x"'))
    refused(project, "build.toml:3:1: ", "general.version", command=command)
    (project.folder / "build.toml").write_text('[general]\nname = \n')
    refused(project, "build.toml:2:", command=command)
    (project.folder / "build.toml").unlink()
    refused(project, "build.toml", command=command)


def test_check_config_as_json(project):
    report = json.loads(project.run("check-config", "--json").stdout)
    assert report == {"valid": True, "error": None, "warnings": [], "name": "row-softmax", "version": 3, "edition": 5,
                      "license": "MIT", "framework": "torch-noarch", "backends": ["cpu", "cann"],
                      "repo_id": "someone/row-softmax"}
    text = (project.folder / "build.toml").read_text()
    (project.folder / "build.toml").write_text(text + '[kernel.k]\nbackend = "cuda"\ndepends = []\nsrc = ["k.cu"]\n')
    warnings = json.loads(project.run("check-config", "--json").stdout)["warnings"]
    assert len(warnings) == 3 and any("k.cu" in line for line in warnings)
    (project.folder / "build.toml").write_text("x")
    report = json.loads(project.run("check-config", "--json", code=1).stdout)
    assert report["valid"] is False and "build.toml:1" in report["error"]


def test_a_kernel_that_must_be_compiled(project):
    text = (project.folder / "build.toml").read_text().replace("[torch-noarch]", '[torch]\nsrc = ["b.cpp"]')
    (project.folder / "build.toml").write_text(text)
    (project.folder / "b.cpp").write_text("")
    refused(project, "has to be compiled")


def test_registrations(project):
    op = project.package / "op.py"
    op.write_text("import torch\n@torch.library.custom_op('x::f', mutates_args=())\ndef f(x):\n    return x\n")
    refused(project, "add_op_namespace_prefix", "torch-ext/row_softmax/op.py:3 function f")
    op.write_text("f = jax_op('other::f', g)\n")
    assert "op.py:1 registers other::f" in project.run("build").stderr
    project.result.unlink()
    project.configure(["tpu"])
    refused(project, "op.py:1 op other::f")
    op.write_text("f = jax_op('row_softmax::f', g)\n")
    assert "op.py:1 registers row_softmax::f" in project.run("build").stderr
    project.result.unlink()
    op.write_text("f = (\n")
    refused(project, "op.py:1: not valid Python")


def test_sources_that_lead_out_of_the_folder(project, tmp_path):
    (tmp_path / "secret.py").write_text("secret = 1\n")
    (project.package / "secret.py").symlink_to(tmp_path / "secret.py")
    refused(project, "secret.py", "outside of the kernel's folder")
    (project.package / "secret.py").unlink()
    (project.package / "dangling.py").symlink_to("nothing.py")
    refused(project, "dangling.py")


def test_a_folder_named_result_is_not_touched(project):
    project.result.mkdir()
    (project.result / "mine").write_text("mine")
    done = project.run("build", code=1)
    assert "is in the way" in done.stderr
    assert (project.result / "mine").read_text() == "mine"


def test_a_store_that_cannot_be_written(project, tmp_path):
    (tmp_path / "file").write_text("")
    refused(project, str(tmp_path / "file"), arguments=("--store", tmp_path / "file"))


def test_a_full_disk(project, store):
    """Files may not grow over 100 bytes: the system's answer to the write is an error, as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = project.run("build", code=1, preexec_fn=limit)
    assert "cannot" in done.stderr or "could not" in done.stderr or "failed" in done.stderr
    assert not project.result.exists()
    assert not (store / "out").exists() and not list((store / "work").iterdir())


def test_wrong_use(run, programs, tmp_path):
    def code(*arguments):
        return run(programs.kernel_builder, *arguments, check=False, cwd=tmp_path)

    assert code().returncode == 2 and "build-and-copy" in code().stderr
    assert code("nope").returncode == 2
    assert code("build", "--frobnicate").returncode == 2
    assert code("build", "--variant", "a", "--variant", "b").returncode == 2
    assert code("completions", "tcsh").returncode == 2
    done = code("build", "nowhere")
    assert done.returncode == 1 and "nowhere is not a directory" in done.stderr
    assert code("hash").returncode == 1
    assert code("--version").stdout.startswith("kernel-builder ")
    for command in ("init", "build", "build-and-copy", "upload", "check-config", "list-variants", "hash"):
        assert code(command, "--help").stdout.startswith(f"usage: kernel-builder {command}")
    assert "fill-card" not in code("--help").stdout


# ---- hash and cards ----

def test_hash(project):
    project.run("build-and-copy")
    project.result.unlink()
    metadata = project.folder / "build" / "torch-cpu" / "metadata.json"
    before = metadata.stat()
    project.run("hash")
    assert metadata.stat().st_mtime_ns == before.st_mtime_ns and metadata.stat().st_ino == before.st_ino
    (project.folder / "build" / "torch-cpu" / "new.py").write_text("x")
    project.run("hash")
    assert json.loads(metadata.read_text())["digest"]["files"] == digest_of(metadata.parent)
    metadata.write_text("{}")
    assert str(metadata) in project.run("hash", code=1).stderr
    assert metadata.read_text() == "{}"


def test_fill_card(project, tmp_path):
    project.run("fill-card", code=1)
    (project.folder / "CARD.md").write_text("{{ repo_id }}: {{ functions | join(', ') }}\n")
    assert project.run("fill-card").stdout == "someone/row-softmax: softmax"
    done = project.run("fill-card", tmp_path / "out.md")
    assert done.stderr == f"Generated {tmp_path / 'out.md'}\n"
    assert (tmp_path / "out.md").read_text() == "someone/row-softmax: softmax"
    (project.folder / "CARD.md").write_text("a\n{% include 'x' %}\n")
    assert "CARD.md:2: unknown tag" in project.run("fill-card", code=1).stderr


# ---- _ops.py ----

STUB = """
import sys, types
torch = types.ModuleType("torch")
torch.backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: False))
torch.version = types.SimpleNamespace(cuda=None, hip=None)
torch._C = types.SimpleNamespace()
class Ops:
    def __getattr__(self, name): return "ops of " + name
torch.ops = Ops()
sys.modules["torch"] = torch
EXISTING = set()
import os, glob
os.path.exists = lambda path: path in EXISTING
glob.glob = lambda pattern: [path for path in EXISTING if path.startswith("/dev/dri")]
{setup}
sys.path.insert(0, {folder!r})
import importlib
ops = importlib.import_module("variant._ops")
print(ops.get_backend(), ops.add_op_namespace_prefix("f"), ops.ops)
"""

STATES = {
    "nothing": ("", "cpu"),
    "T1": ("torch.backends.tpu = object(); torch.version.cuda = '13.0'", "tpu"),
    "T2": ("torch._C._get_privateuse1_backend_name = lambda: 'tpu'; torch.version.cuda = '13.0'", "tpu"),
    "T3": ("torch.tpu = object(); sys.modules['torch_tpu'] = object()", "tpu"),
    "T3 without torch_tpu": ("torch.tpu = object()", "cpu"),
    "T3, CUDA build without a GPU": ("torch.tpu = object(); sys.modules['torch_tpu'] = object(); "
                                     "torch.version.cuda = '13.2'", "tpu"),
    "T3, usable CUDA GPU": ("torch.tpu = object(); sys.modules['torch_tpu'] = object(); torch.version.cuda = '13.2'; "
                            "EXISTING.add('/dev/nvidiactl')", "cuda"),
    "T3, usable ROCm GPU": ("torch.tpu = object(); sys.modules['torch_tpu'] = object(); torch.version.hip = '7'; "
                            "EXISTING.add('/dev/kfd')", "rocm"),
    "T3, usable XPU": ("torch.tpu = object(); sys.modules['torch_tpu'] = object(); torch.version.xpu = '2025'; "
                       "EXISTING.add('/dev/dri/renderD128')", "xpu"),
    "neuron on a CUDA torch": ("torch.neuron = object(); torch.version.cuda = '13.0'", "neuron"),
    "cuda": ("torch.version.cuda = '13.0'", "cuda"),
    "rocm": ("torch.version.hip = '7.1'", "rocm"),
    "metal": ("torch.backends.mps.is_available = lambda: True", "metal"),
    "xpu": ("torch.version.xpu = '2025.3'", "xpu"),
    "xpu is None": ("torch.version.xpu = None", "cpu"),
    "npu": ("torch._C._get_privateuse1_backend_name = lambda: 'npu'", "cann"),
    "other private backend": ("torch._C._get_privateuse1_backend_name = lambda: 'privateuseone'", "cpu"),
}


def test_the_op_namespace_follows_the_backend(project, tmp_path):
    project.run("build")
    package = tmp_path / "import" / "variant"
    package.mkdir(parents=True)
    shutil.copy(project.result / "torch-cpu" / "_ops.py", package)
    (package / "__init__.py").write_text("")
    ast.parse((package / "_ops.py").read_text(), feature_version=(3, 9))
    unique_id = project.metadata()["id"].rsplit("_", 1)[1]
    for name, (setup, backend) in STATES.items():
        code = STUB.format(setup=setup, folder=str(package.parent))
        done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True)
        own = f"_row_softmax_{backend}_{unique_id}"
        assert done.stdout == f"{backend} {own}::f ops of {own}\n", name


# ---- completions, start-up ----

def test_bash_completion(run, programs):
    script = run(programs.kernel_builder, "completions", "bash").stdout
    loaded = subprocess.run(["bash", "-c", script + "\ncomplete -p kernel-builder"], text=True, stdout=subprocess.PIPE)
    assert loaded.returncode == 0 and "kernel-builder" in loaded.stdout
    for shell in ("zsh", "fish", "elvish", "powershell"):
        assert "list-variants" in run(programs.kernel_builder, "completions", shell).stdout


def test_the_program_links_no_http_client(programs):
    linked = subprocess.run(["ldd", programs.kernel_builder], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert "libcurl" not in linked and "libpython" not in linked

