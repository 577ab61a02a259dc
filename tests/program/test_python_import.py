# SPDX-License-Identifier: Apache-2.0
"""kernels.importer and the small parsers around it: vectors, clashes, threads, what is left after a failure. In child processes."""
import json
import sys

import pytest

import python_child

# What ours does otherwise than was recorded, as spec and notes of the vectors ask.
DIFFERENT = {
    "id of a standard module": {"error": "ImportError", "in_sys_modules": True},  # json itself is still there
    "SystemExit during import": {"in_sys_modules": False},
    "same id loaded from two directories": {"second": "two"},
}
METADATA = {"name": "my-kernel", "id": "_my_kernel_cpu_abc1234", "version": 1, "license": "MIT", "python-depends": [],
            "backend": {"type": "cpu"}}

CASE = """
import json, os, pathlib, sys
from kernels import importer
folder = pathlib.Path(sys.argv[1])
outcome = {"notes": []}
try:
    module = importer._import_from_path(folder, {})
except BaseException as error:
    outcome["error"] = [one.__name__ for one in type(error).__mro__]
    outcome["notes"] = [note.strip() for note in getattr(error, "__notes__", [])]
else:
    inside = lambda path: os.path.relpath(path, folder)
    outcome["ok"] = {"module_name": module.__name__, "package": module.__package__, "file": inside(module.__file__),
                     "X": module.X, "path": list(map(inside, module.__path__))}
    outcome["second_call_same_object"] = importer._import_from_path(folder, {}) is module
outcome["in_sys_modules"] = sys.argv[2] in sys.modules
outcome["registered"] = [os.path.relpath(path, folder) for path in importer._loaded_kernels]
print(json.dumps(outcome))
"""


@pytest.fixture
def python(run, build_dir, environment, tmp_path):
    def run_python(*arguments, env=None, **more):
        variables = {**environment, **python_child.variables(build_dir), **(env or {})}
        return run(sys.executable, *arguments, env=variables, cwd=tmp_path, **more)

    return run_python


@pytest.fixture
def variant(tmp_path):
    """variant({"__init__.py": ..., ...}, folder=..., **changes of the metadata) -> folder of a variant."""
    def make(files, folder="v", **changes):
        path = tmp_path / folder / "torch-cpu"
        write(path, {"metadata.json": json.dumps({**METADATA, **changes}), **files})
        return path

    return make


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def load(path, more=""):
    """Code that imports a variant as `module`, or its failure as `error`."""
    return f"""
import sys, threading
from pathlib import Path
from kernels import importer
module = error = None
try:
    module = importer._import_from_path(Path({str(path)!r}), {{}})
except BaseException as caught:
    error = caught
{more}
"""


def test_vectors(python, data, tmp_path):
    cases = json.loads((data / "loader" / "import_cases.json").read_text())["cases"]
    for number, case in enumerate(cases):
        folder = tmp_path / str(number) / "torch-cpu"
        wanted = {**case, **DIFFERENT.get(case["name"], {})}
        if "first" in case:
            check_two_directories(python, tmp_path, wanted)
            continue
        write(folder, case["files"])
        try:
            name = json.loads(case["files"]["metadata.json"])["id"]
        except (KeyError, ValueError):
            name = METADATA["id"]
        found = json.loads(python("-c", CASE, folder, name).stdout)
        if "error" in wanted:
            assert wanted["error"] in found["error"], (case["name"], found)
            assert found["registered"] == []
        else:
            assert found["ok"] == wanted["ok"] and found["second_call_same_object"], (case["name"], found)
        notes = [note.strip() for note in wanted.get("notes", [])]
        assert found["notes"] == (notes if sys.version_info >= (3, 11) else []), (case["name"], found)
        assert found["in_sys_modules"] == wanted.get("in_sys_modules", False), case["name"]
    print(f"import_cases: {len(cases)} cases")
    assert len(cases) == 19


def check_two_directories(python, tmp_path, wanted):
    for folder in ("one", "two"):
        write(tmp_path / folder, {"metadata.json": json.dumps(METADATA), "__init__.py": "from .sub import Y\n",
                                  "sub.py": f"Y = '{folder}'\n"})
    python("-c", f"""
import sys
from pathlib import Path
from kernels.importer import _import_from_path
one, two = (_import_from_path(Path({str(tmp_path)!r}) / folder, {{}}) for folder in ("one", "two"))
assert (one.Y, two.Y) == ({wanted["first"]!r}, {wanted["second"]!r})
assert (one is two) == {wanted["same_object"]}
assert (sys.modules[two.__name__] is two) == {wanted["sys_modules_is_second"]}
assert _import_from_path(Path({str(tmp_path)!r}) / "one", {{}}) is one
""")


def test_small_vectors(python, data):
    done = python("-c", """
import json, os, pathlib, sys
from kernels import load, status, _versions
count = 0
def outcome(call):
    global count
    count += 1
    try:
        return call(), None
    except Exception as error:
        return None, error
data = pathlib.Path(sys.argv[1])
for case in json.loads((data / "kernel_status.json").read_text())["cases"]:
    found, error = outcome(lambda: status.KernelStatus.from_toml(case["toml"]))
    if "ok" in case:
        assert isinstance(found, status.Redirect), (case, error)
        assert {"kind": found.kind.value, "destination": found.destination, "revision": found.revision} == case["ok"]
    else:
        assert isinstance(error, ValueError), case
for case in json.loads((data / "local_kernels_env.json").read_text())["cases"]:
    found, error = outcome(lambda: load._parse_local_kernel_overrides(case["LOCAL_KERNELS"]))
    if "ok" in case:
        assert {name: str(path) for name, path in found.items()} == case["ok"], case
    else:
        assert type(error) is ValueError and str(error) == case["message"], (case, error)
for case in json.loads((data / "version_resolve.json").read_text())["arguments"]:
    found, error = outcome(lambda: _versions.revision_or_version(revision=case["revision"], version=case["version"]))
    assert repr(found) == case["ok"] if "ok" in case else type(error).__name__ == case["error"], (case, error)
print(count)
""", data / "loader")
    print(f"kernel_status, local_kernels_env, arguments of version_resolve: {done.stdout.strip()} cases")
    assert int(done.stdout) == 16 + 15 + 12


def test_a_status_file_by_its_path(python, tmp_path):
    (tmp_path / "kernel-status.toml").write_text('kind = "redirect"\ndestination = "a/b"\n')
    python("-c", """
import pathlib
from kernels.status import KernelStatus, Redirect, resolve_status
assert KernelStatus.from_toml(pathlib.Path("kernel-status.toml")) == Redirect("a/b")
assert resolve_status(None, "a/b", "v1") == ("a/b", "v1")
""")


@pytest.mark.parametrize("name", ["json", "sys", "json.tool", "pytest", "xml", "a/b", "a\\b", "x" * 256, "", "a\nb", "kernels"])
def test_ids_that_are_refused(python, variant, name):
    path = variant({"__init__.py": "raise SystemExit('executed')"}, id=name)
    python("-c", load(path, f"""
assert type(error) is ImportError, error
assert "my-kernel" in str(error), error
import json
assert json.dumps(1) == "1" and importer.get_loaded_kernels() == []
"""))


@pytest.mark.parametrize("name", ["a.b", "class", "1-2 3", "é", "x" * 255])
def test_ids_that_are_not(python, variant, name):
    path = variant({"__init__.py": "from .sub import NAME", "sub.py": "NAME = __name__"}, id=name)
    python("-c", load(path, f"assert module.NAME == {name + '.sub'!r}, error\nassert {name!r} in sys.modules"))


def test_an_id_that_another_kernel_is_part_of(python, variant):
    one = variant({"__init__.py": ""}, "one", id="_first")
    two = variant({"__init__.py": ""}, "two", id="_first.second")
    python("-c", load(one) + load(two, "assert type(error) is ImportError and '_first' in str(error), error"))


def test_a_kernel_run_from_its_own_folder(python, variant):
    """Its extension module can be found under the id; that is the kernel itself."""
    path = variant({"__init__.py": "X = 1", "_my_kernel_cpu_abc1234/__init__.py": ""})
    python("-c", f"import os, sys; os.chdir({str(path)!r}); sys.path.insert(0, '')\n" + load(path, "assert module.X == 1, error"))


def test_spellings_of_a_path_meet(python, variant, tmp_path):
    path = variant({"__init__.py": ""})
    (tmp_path / "link").symlink_to(path.parent)
    python("-c", f"""
import os
from pathlib import Path
from kernels.importer import _import_from_path, get_loaded_kernels
os.chdir({str(tmp_path)!r})
one, *others = (_import_from_path(Path(path), {{}}) for path in ("v/torch-cpu", "link/torch-cpu", {str(path)!r}))
assert all(other is one for other in others)
get_loaded_kernels().clear()
assert len(get_loaded_kernels()) == 1
""")


def test_the_absolute_name(python, variant):
    path = variant({"__init__.py": "from . import sub\n", "sub.py": "X = 1\n\nimport my_kernel.other\n"})
    python("-c", load(path, f"""
assert type(error) is ModuleNotFoundError and error.name == "my_kernel", error
assert "{path / 'sub.py'}, line 3" in str(error) and "absolute name" in str(error) and "from . import" in str(error)
assert not [name for name in sys.modules if name.startswith("_my_kernel")]
"""))
    other = variant({"__init__.py": "import my_kernels"}, "other")
    python("-c", load(other, "assert type(error) is ModuleNotFoundError and 'absolute name' not in str(error)"))


@pytest.mark.parametrize("raised", ["KeyboardInterrupt()", "SystemExit(3)", "RuntimeError('boom')", "GeneratorExit()"])
def test_nothing_stays_after_a_failure(python, variant, raised):
    first = variant({"__init__.py": "from .sub import X", "sub.py": "X = 1"}, "first")
    path = variant({"__init__.py": f"from . import sub\nimport colorsys\nraise {raised}", "sub.py": ""}, "second")
    python("-c", load(path, """
assert type(error).__name__ in %r, error
assert not [name for name in sys.modules if name.startswith("_my_kernel")] and "colorsys" in sys.modules
from kernels.deps import get_kernel_dep
try:
    get_kernel_dep("a/b")
except RuntimeError as late:
    assert "only works during kernel loading" in str(late)
""" % raised))
    python("-c", load(first, "kept = module") + load(path, """
assert error is not None and sys.modules[kept.__name__] is kept and kept.__name__ + ".sub" in sys.modules
"""))


def test_a_kernel_that_loads_itself(python, variant):
    path = variant({"__init__.py": "import kernels, pathlib\n"
                                   "kernels.get_local_kernel(pathlib.Path(__file__).parent)\n"})
    python("-c", load(path, "assert type(error) is ImportError and 'loads itself' in str(error), error"))


def test_threads_import_once(python, variant):
    path = variant({"__init__.py": "import time\ntime.sleep(0.2)\nimport builtins\nbuiltins.count = getattr(builtins, 'count', 0) + 1\n"})
    python("-c", f"""
import builtins, threading
from pathlib import Path
from kernels.importer import _import_from_path, get_loaded_kernels
found, start = [], threading.Barrier(16)
def work():
    start.wait()
    found.append(_import_from_path(Path({str(path)!r}), {{}}))
threads = [threading.Thread(target=work) for _ in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 16 and len(set(map(id, found))) == 1 and builtins.count == 1
assert len(get_loaded_kernels()) == 1
""")


def test_two_threads_that_load_what_the_other_loads(python, variant, tmp_path):
    """A circle that no single thread sees: an error, as in one thread, and no wait for ever."""
    for name, other in (("one", "two"), ("two", "one")):
        variant({"__init__.py": "import kernels, time\ntime.sleep(0.5)\n"
                                f"kernels.get_local_kernel({str(tmp_path / other / 'torch-cpu')!r})\n"}, name, id=f"_{name}")
    python("-c", f"""
import os, sys, threading
from pathlib import Path
from kernels.importer import _import_from_path, get_loaded_kernels
found = []
def work(name):
    try:
        _import_from_path(Path({str(tmp_path)!r}, name, "torch-cpu"), {{}})
    except ImportError as error:
        found.append("loads itself" in str(error))
threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in ("one", "two")]
[thread.start() for thread in threads]
[thread.join(60) for thread in threads]
if found != [True, True]:
    os._exit(1)
assert not get_loaded_kernels() and not {{"_one", "_two"}} & set(sys.modules)
""")


def test_fork_while_another_thread_imports(python, variant):
    path = variant({"__init__.py": "import builtins, time\nbuiltins.started.set()\ntime.sleep(2)\nX = 1"})
    python("-c", f"""
import builtins, os, signal, threading
from pathlib import Path
from kernels.importer import _import_from_path
builtins.started = threading.Event()
path = Path({str(path)!r})
thread = threading.Thread(target=_import_from_path, args=(path, {{}}))
thread.start()
builtins.started.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if _import_from_path(path, {{}}).X == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
""")


def test_fork_by_the_kernel_itself(python, variant):
    other = variant({"__init__.py": "X = 1"}, "other", id="_other")
    path = variant({"__init__.py": "import os, signal, kernels\nchild = os.fork()\nif child == 0:\n    signal.alarm(60)\n"
                                   f"    kernels.get_local_kernel({str(other)!r})\nelse:\n    CODE = os.waitpid(child, 0)[1]"})
    done = python("-c", load(path, "print(error, 'CODE' in vars(module))"))
    assert sorted(done.stdout.splitlines()) == ["None False", "None True"]


def test_dependencies_are_seen_while_importing(python, variant):
    code = "import threading\nfrom kernels import get_kernel_dep\nDEP = get_kernel_dep('a/b')\n" \
           "def elsewhere():\n    try:\n        get_kernel_dep('a/b')\n    except RuntimeError:\n        OTHER.append(1)\n" \
           "OTHER = []\nthread = threading.Thread(target=elsewhere)\nthread.start()\nthread.join()\n" \
           "def late():\n    return get_kernel_dep('a/b')\n"
    path = variant({"__init__.py": code})
    undeclared = variant({"__init__.py": "from kernels import get_kernel_dep\nget_kernel_dep('x/y')"}, "other", id="_other")
    python("-c", f"""
import sys, types
from pathlib import Path
from kernels.importer import _import_from_path
dependency = types.ModuleType("dependency")
module = _import_from_path(Path({str(path)!r}), {{"a/b": dependency}})
assert module.DEP is dependency and module.OTHER == [1]
for call, part in ((module.late, "only works during kernel loading"),
                   (lambda: _import_from_path(Path({str(undeclared)!r}), {{"a/b": dependency}}), "'x/y' not found in kernel dep")):
    try:
        call()
    except RuntimeError as error:
        assert part in str(error), error
    else:
        raise AssertionError(part)
assert "_other" not in sys.modules
""")


def test_importing_the_package_imports_little(python):
    python("-c", """
import sys
before = set(sys.modules)
import kernels
assert kernels.__version__ >= "0.17.2"
new = set(sys.modules) - before
assert new == {"kernels", "kernels._native"}, new
from kernels import get_kernel, get_kernel_variants
slow = {"dataclasses", "typing", "inspect", "torch", "jax", "numpy", "huggingface_hub", "requests", "packaging", "logging", "ssl", "http", "urllib.request"}
assert not slow & set(sys.modules), slow & set(sys.modules)
import kernels.layer
assert not slow & set(sys.modules), slow & set(sys.modules)
""")


def test_names(python, data):
    """Names, signatures and enumerations of the release; `lockfile` alone may be left out."""
    done = python("-c", """
import enum, importlib, inspect, json, pathlib, sys, types
import kernels
api = json.loads(pathlib.Path(sys.argv[1]).read_text())
assert sorted(kernels.__all__) == sorted(api["all"]) and set(kernels.__all__) <= set(dir(kernels))
count = 0
def shape(text):
    text = text.partition(" -> ")[0].replace("pathlib._local.", "").replace("pathlib.", "")
    return text.replace("lockfile: Path | None = None", "lockfile: Path | None")
for name, entry in api["all"].items():
    found = getattr(kernels, name)
    kind = "function" if inspect.isfunction(found) else "enum" if isinstance(found, enum.EnumMeta) else \
        "class" if isinstance(found, type) else "value"
    assert kind == entry["kind"], (name, kind)
    count += 1
    if kind == "enum":
        assert {key: value.value for key, value in found.__members__.items()} == entry["members"], name
    own = getattr(found, "__module__", "") .startswith("kernels.") and not found.__module__.startswith("kernels.layer")
    if "signature" in entry and own and kind == "function":
        assert shape(str(inspect.signature(found))) == shape(entry["signature"]), (name, inspect.signature(found))
mine = ["_versions", "deps", "hf_hub", "importer", "install", "load", "locking", "resolver", "status"]
for module in mine:
    for name, text in api["modules"][module].items():
        if name == "_latest_compatible_version_suggestion":  # a step that the library takes
            continue
        found = getattr(importlib.import_module(f"kernels.{module}"), name)
        count += 1
        if text.startswith("def"):
            ours = list(inspect.signature(found).parameters.values())
            parts = text.removeprefix("def")
            assert all(f"{one.name}" in parts for one in ours), (module, name, ours, text)
            assert parts.count("*") == any(one.kind is one.KEYWORD_ONLY for one in ours), (module, name)
print(count)
""", data / "release17" / "api.json")
    print(f"api: {done.stdout.strip()} names")
    assert int(done.stdout) == 88


def test_classes_are_dataclasses(python):
    """Also to the module dataclasses, which is not what made them."""
    python("-c", """
import copy, pathlib, pickle, sys
from kernels import LoadedKernel, RepoInfo
from kernels.deps import DepTreeNode
from kernels.resolver import HubResolver, LocalKernel, NoopResolver, RemoteKernel, SequentialResolver
assert "dataclasses" not in sys.modules
import dataclasses
info = RepoInfo("a/b", revision="r")
assert repr(info) == "RepoInfo(repo_id='a/b', revision='r')" and info == RepoInfo("a/b", "r") != RepoInfo("a/b", "s")
assert hash(info) == hash(RepoInfo("a/b", "r")) and info != ("a/b", "r") and len({info, copy.copy(info)}) == 1
assert pickle.loads(pickle.dumps(info)) == info and dataclasses.asdict(info) == {"repo_id": "a/b", "revision": "r"}
assert dataclasses.replace(info, revision="s") == RepoInfo("a/b", "s") and dataclasses.is_dataclass(LoadedKernel)
assert [one.name for one in dataclasses.fields(LoadedKernel)] == ["metadata", "module", "repo_info"]
for act in (lambda: setattr(info, "repo_id", 1), lambda: delattr(info, "repo_id"), lambda: setattr(info, "new", 1)):
    try:
        act()
    except dataclasses.FrozenInstanceError as error:
        assert isinstance(error, AttributeError)
    else:
        raise AssertionError
for arguments in ((), ("a",), ("a", "b", "c")):
    try:
        RepoInfo(*arguments)
    except TypeError as error:
        assert "RepoInfo.__init__()" in str(error), error
    else:
        raise AssertionError
match info:
    case RepoInfo(repo_id, revision):
        assert (repo_id, revision) == ("a/b", "r")
local = LocalKernel(pathlib.Path("x"), None)
assert local == LocalKernel(pathlib.Path("x"), None, None, object()) and hash(local) and local.origin is None
assert "_found" not in repr(local) and SequentialResolver([NoopResolver()]) == SequentialResolver([NoopResolver()])
one, two = DepTreeNode(local), DepTreeNode(local)
one.deps["a/b"] = two
assert two.deps == {} and one != two and DepTreeNode.__hash__ is None
assert HubResolver([]).trust_remote_code == [] and HubResolver(True) != HubResolver(False)
""")


def test_warnings_without_logging(python):
    """Where nobody has imported logging, a warning goes where logging would send it."""
    done = python("-c", "import sys\nfrom kernels.hf_hub import _warn\n_warn('trust', 'said')\nassert 'logging' not in sys.modules\n"
                        "import logging\n_warn('trust', 'again')")
    assert done.stderr == "said\nagain\n"


def test_stub_names_what_there_is(python, root):
    text = (root / "python" / "kernels" / "__init__.pyi").read_text()
    named = {line.split(" as ")[1] for line in text.splitlines() if line.startswith("from ")}
    python("-c", f"""
import kernels
assert set(kernels.__all__) - {{"__version__"}} <= {named!r}
for name in {named!r}:
    getattr(kernels, name)
""")
