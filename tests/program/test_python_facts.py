# SPDX-License-Identifier: Apache-2.0
"""What the Python package knows of its machine, and which variant it takes: in child processes, on stand-ins for torch and on
machines made of files."""
import json
import pathlib
import sys

import pytest

import python_child
import python_facts_host

HERE = pathlib.Path(__file__).parent
PRELUDE = f"""
import json, sys
sys.path.append({str(HERE)!r})
from python_facts_host import Host, torch_module
def text(call, *arguments):
    try:
        value = call(*arguments)
        return getattr(value, "variant_str", value)
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
"""


@pytest.fixture
def python(run, build_dir, environment, tmp_path):
    """python(code, *arguments) runs it in a child process and reads the JSON that it prints; `value` is the first argument."""

    def run_python(code: str, value=None, env=None, path=(), executable=sys.executable):
        given = tmp_path / "value.json"
        given.write_text(json.dumps(value))
        variables = {**environment, **python_child.variables(build_dir), **(env or {})}
        variables["PYTHONPATH"] = ":".join([*map(str, path), variables["PYTHONPATH"]])
        source = f"{PRELUDE}\nvalue = json.load(open({str(given)!r}))\n{code}"
        return json.loads(run(executable, "-c", source, env=variables).stdout)

    return run_python


def cases(data, name, key="cases"):
    return json.loads((data / name).read_text())[key]


def report(name, found):
    print(f"{name}: {len(found)} cases")


# ---- importing ----


def test_the_modules_of_the_facts_import_little(python):
    slow = ["torch", "jax", "numpy", "huggingface_hub", "requests", "httpx", "packaging", "logging", "json.decoder"]
    assert python("""
del sys.modules["json.decoder"]
import kernels._machine, kernels.backends, kernels.compat, kernels.errors, kernels.variants, kernels._system
kernels.backends._backend()
kernels.variants.parse_variant("torch-tpu")
print(json.dumps([name for name in value if name in sys.modules]))
""", slow) == []


# ---- one table for all who ask for the backend ----

ASK_ALL = """
import glob, os, pathlib, tempfile
from device_marks import usable_tpu
from kernels import _machine, backends
source = pathlib.Path(value["ops"]).read_text().replace("@python_name@", "k").replace("@unique_id@", "x")
source = source.replace("ops = getattr(torch.ops, _OPS_NAME)", "")
real_exists, answers = os.path.exists, []
for case in value["cases"]:
    torch = torch_module(case["state"])
    host = Host(tempfile.mkdtemp())
    nodes = case["state"].get("nodes", [])
    for node in nodes:
        host.add_node(node)
    _machine._root = str(host.root)
    generated = {}
    os.path.exists = lambda path: path in nodes if str(path).startswith("/dev/") else real_exists(path)
    glob.glob = lambda pattern: [node for node in nodes if node.startswith("/dev/dri/renderD")]
    exec(source, generated)
    said = generated["get_backend"]()
    os.path.exists = real_exists
    found = backends._backend()
    answers.append([found.variant_str, found.name, said, usable_tpu(torch), sorted(backends._supported_backends())])
print(json.dumps(answers))
"""


def test_loader_generated_code_and_test_mark_agree_on_imported_torches(python, data, root):
    states = cases(data, "release17/tpu_detect.json", "dynamic")
    ops = root / "templates" / "project" / "noarch" / "_ops.py"
    answers = python(ASK_ALL, {"cases": states, "ops": str(ops)})
    report("tpu_detect.json, dynamic", states)
    assert len(states) == 23
    for case, (variant, name, generated, no_tpu, supported) in zip(states, answers):
        assert (variant, generated) == (case["expect"], name), case["name"]
        attached = case["state"].get("privateuse1") == "tpu"  # T1 and T3 also say tpu where there is none to compute on
        assert (no_tpu is None) == attached and (name == "tpu" or not attached), (case["name"], no_tpu)
        wanted = {"cpu", name}
        if case["rule"] == "T3":  # what the released package would say may be asked for, too
            wanted.add(case["peer"].rstrip("0123456789").replace("cu", "cuda") if case["peer"] != "cpu" else "cpu")
        if case["rule"] == "R" and case["state"].get("torch_tpu_module"):
            wanted.add("tpu")
        assert supported == sorted(wanted), case["name"]


STATIC_THEN_TORCH = """
from kernels import _machine, backends
_machine._root = value["root"]
detect = _machine._native.system_detect
if value["os"]:  # another operating system: the facts of the files, judged for it
    _machine._native.system_detect = lambda *a: {**detect(*a), "os": value["os"], "needs_torch": True}
static = backends._backend().variant_str
imported = "torch" in sys.modules
facts = _machine.facts()
import torch
both = backends._backend().variant_str
print(json.dumps([static, imported, both, facts["origins"].get("torch"), facts["torch"]]))
"""


def test_files_and_imported_torch_agree_on_one_host(python, data, tmp_path):
    hosts = cases(data, "release17/tpu_detect.json", "static")
    for number, case in enumerate(hosts):
        host = python_facts_host.Host(tmp_path / str(number))
        host.add_static(case["input"])
        told = {"root": str(host.root), "os": case["input"].get("os")}
        static, imported, both, origin, _ = python(STATIC_THEN_TORCH, told, env=case["input"].get("env"), path=[host.packages])
        assert static == both, case["name"]
        if case["expect"] == "import torch":
            assert (imported, origin) == (True, "the imported torch"), case["name"]
        else:
            assert (static, imported, origin) == (case["expect"], False, "torch/version.py, not imported"), case["name"]
    report("tpu_detect.json, static", hosts)
    assert len(hosts) == 17


ENVIRONMENTS = """
import logging, os, tempfile, types
from kernels import _machine, backends
warnings = []
class Note(logging.Handler):
    def emit(self, record): warnings.append(record.name)
logging.getLogger().addHandler(Note())
answers = []
for case in value:
    wanted = case["environment"]
    host = Host(tempfile.mkdtemp())
    host.add_cuda_runtime(wanted["cudart"])
    _machine._root = str(host.root)
    torch = wanted["torch"]
    if torch is None:
        sys.modules["torch"] = None
    else:
        state = {key.removeprefix("version."): v for key, v in torch.items()}
        state["backends_tpu"] = state.pop("backends.tpu", False)
        made = torch_module(state)
        collect = types.ModuleType("torch_npu.utils.collect_env")
        collect.get_cann_version = lambda: wanted["npu_cann"]
        for name in ("torch_npu", "torch_npu.utils"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules["torch_npu.utils.collect_env"] = collect
    del warnings[:]
    found = backends._backend()
    answers.append([found.name, found.variant_str, list(warnings), text(backends._select_backend, wanted.get("select"))])
print(json.dumps(answers))
"""


def test_environments_of_the_released_package(python, data):
    environments = cases(data, "loader/backend_detect.json")
    report("backend_detect.json", environments)
    assert len(environments) == 43
    for case, (name, variant, warnings, selected) in zip(environments, python(ENVIRONMENTS, environments)):
        assert {"name": name, "variant_str": variant} == case["detected"], case["name"]
        mute = (case["environment"]["cudart"] or {}).get("rc", 0) != 0
        assert warnings == (["kernels.backends"] if mute else []), case["name"]
        if "select_error" in case:
            assert selected == f"{case['select_error']}: {case['select_message']}", case["name"]
        elif "selected" in case:
            assert selected == case["selected"], case["name"]


def test_the_abi_flag_is_asked_of_torch_only_where_files_do_not_tell(python, tmp_path):
    version = "__version__ = '2.15.0+cpu'\ncuda = None\n"
    code = """
from kernels import _machine
system = _machine.system()
print(json.dumps([system["torch"], system["torch_cxx11_abi"], "torch" in sys.modules, "origins" in system]))
"""
    for number, abi in enumerate((1, 0, None)):
        host = python_facts_host.Host(tmp_path / str(number))
        host.add_torch(version, abi)
        wanted = ["2.15.0+cpu", abi != 0, abi is None, False]
        assert python(code, path=[host.packages]) == wanted


def test_a_torch_that_cannot_be_imported_stops_nothing(python, tmp_path):
    host = python_facts_host.Host(tmp_path / "host")
    host.add_torch("import os\n__version__ = os.environ.get('X', '2.15.0')\ncuda = '12.8'\n")
    (host.packages / "torch" / "__init__.py").write_text("raise RuntimeError('no driver')\n")
    reason, backend, version = python("""
from kernels import _machine, backends
facts = _machine.facts()
print(json.dumps([facts["backend_reason"], backends._backend().variant_str, _machine.system()["torch"]]))
""", path=[host.packages])
    assert "RuntimeError('no driver')" in reason and (backend, version) == ("cu128", None)


def test_answers_follow_what_is_imported_and_installed(python, tmp_path):
    host = python_facts_host.Host(tmp_path / "host")
    assert python("""
import types
from kernels import _machine, backends
_machine._root = value["root"]
host = Host.__new__(Host)
import pathlib
host.root, host.packages = pathlib.Path(value["root"]), pathlib.Path(value["packages"])
said = [backends._backend().variant_str]
host.add_torch("__version__ = '2.15.0'\\ncuda = '12.8'\\n")
said.append(backends._backend().variant_str)
host.add_backend_package("torch_tpu", "0.2.0", False)
said.append(backends._backend().variant_str)
host.add_node("/dev/nvidiactl")
import os; os.utime(host.packages)
said.append(backends._backend().variant_str)
torch_module({"cuda": "13.0"})
said.append(backends._backend().variant_str)
torch_module({"cuda": "13.0", "privateuse1": "tpu"})
said.append(backends._backend().variant_str)
print(json.dumps(said))
""", {"root": str(host.root), "packages": str(host.packages)}, path=[host.packages]) == ["cpu", "cu128", "tpu", "cu128",
                                                                                        "cu130", "tpu"]


# ---- names ----


def test_backend_names(python, data):
    names = cases(data, "loader/backend_parse.json")
    report("backend_parse.json", names)
    answers = python("""
from kernels.backends import parse_backend
def told(s):
    b = parse_backend(s)
    assert b == parse_backend(b.variant_str) and hash(b) == hash(parse_backend(b.variant_str))
    return {"name": b.name, "version": str(b.version) if hasattr(b, "version") else None, "variant_str": b.variant_str}
print(json.dumps([text(told, case["input"]) for case in value]))
""", names)
    for case, answer in zip(names, answers):
        if "ok" in case:
            assert answer == case["ok"], case
        else:
            assert answer.startswith(case["error"] + ":"), case


def test_variant_names(python, data):
    names = cases(data, "loader/variant_parse.json")
    report("variant_parse.json", names)
    answers = python("""
import copy, pickle
from kernels import variants as v
def told(name):
    made = v.parse_variant(name)
    assert made == copy.copy(made) == pickle.loads(pickle.dumps(made)) == v.parse_variant(made.variant_str)
    assert made.directory == name and len({made, v.parse_variant(name)}) == 1
    if isinstance(made, v.NoarchVariant):
        return {"kind": "noarch", "variant_str": made.variant_str, "framework": made.framework.variant_str,
                "backend_name": made.arch.backend_name}
    kinds = {v.Torch: "torch", v.TorchStableAbi: "torch-stable-abi", v.TvmFfi: "tvm-ffi"}
    answer = {"kind": "arch", "variant_str": made.variant_str, "framework": kinds[type(made.framework)],
              "framework_version": str(made.framework.version), "backend": made.arch.backend.variant_str,
              "backend_name": made.arch.backend.name, "cpu": made.arch.platform, "os": made.arch.os}
    if isinstance(made.framework, v.Torch):
        answer["cxx11_abi"] = made.framework.cxx11_abi
    return answer
print(json.dumps([text(told, case["input"]) for case in value]))
""", names)
    for case, answer in zip(names, answers):
        if "error" in case:
            assert answer.startswith(case["error"] + ":"), case
        else:
            assert answer == {key: case["ok"][key] for key in answer}, case
            assert case["ok"].keys() - answer.keys() <= {"cxx11_abi"}, case


RESOLVE = """
from kernels import backends, variants as v
def resolve(case):
    s = case["system"]
    name, _, version = s["backend"].partition(":")
    v._is_unsupported_free_threaded_build = lambda: s["unsupported_free_threaded"]
    accepted, trace = v._resolve_variant_for_system(
        [v.parse_variant(n) for n in case["variants"] if n != "torch-"], backends._of(name, version or None), s["cpu"], s["os"], s["torch"],
        s["cxx11_abi"], s["tvm_ffi"], s["macos"])
    assert accepted == [d.variant for d in trace if isinstance(d, v.VariantAccepted)]
    return [[a.variant_str for a in accepted], [[d.variant.variant_str, getattr(d, "reason", None)] for d in trace],
            v.variants_trace_str(trace)]
print(json.dumps([resolve(case) for case in value]))
"""


def test_resolution(python, data):
    described = cases(data, "loader/variant_resolution.json")
    report("variant_resolution.json", described)
    assert len(described) == 89
    for case, (accepted, trace, lines) in zip(described, python(RESOLVE, described)):
        wanted = case["accepted"]
        if "torch-cann" in case["variants"]:  # ours takes it after torch-npu; the released package knows no such name
            place = wanted.index("torch-npu") + 1
            assert accepted == [*wanted[:place], "torch-cann", *wanted[place:]] and "torch-cann" not in wanted
            continue
        named = [decision for decision in case["trace"] if decision[0] != "torch-"]  # no variant's name for us
        assert (accepted, trace) == (wanted, named), case["name"]
        assert (accepted[0] if accepted else None) == case["chosen"]
        told = [f"{name}: {reason}" if reason else f"{name} compatible{', preferred' if place == 0 else ''} ✅"
                for place, (name, reason) in enumerate(trace)]
        assert lines == "\n".join(told)


def test_resolution_does_not_depend_on_the_listing(python, tmp_path):
    names = ["torch-universal", "torch-tpu", "torch-cuda", "torch209-cpu-x86_64-linux", "torch29-cpu-x86_64-linux",
             "tvm-ffi01-cpu-x86_64-linux", "no variant", "metadata.json"]
    for name in names:
        (tmp_path / "build" / name).mkdir(parents=True)
    (tmp_path / "build" / "torch-cpu").write_text("a file")
    assert python("""
import itertools, random
from pathlib import Path
from kernels import variants as v
found = v.get_variants_local(Path(value))
answers = set()
for seed in range(50):
    random.Random(seed).shuffle(found)
    accepted, trace = v.resolve_variants(found, "cpu")
    answers.add(tuple(d.variant.directory for d in trace))
print(json.dumps([len(answers), [x.directory for x in v.get_variants_local(value)], v.get_variants_local("/no/such/folder"),
                  text(v.resolve_variants, [], "metal").startswith("ValueError: Invalid backend 'metal'")]))
""", str(tmp_path / "build")) == [1, sorted(names[:6]), [], True]


def test_a_wrong_system_is_refused(python):
    fine = {"os": "linux", "cpu": "x86_64", "backend": "cpu"}
    wrong = [{"backend": None}, {"backend": "gpu"}, {"backend_version": "x"}, {"macos": 26}, {"os": 1}, {"cpu": "x" * 40},
             {"cpu": "a\0b"}, {"origins": []}, {"origins": {"torch": "x" * 100}}, {"alternative": "cu130"}]
    answers = python("""
from kernels import _native
names = ["torch-universal", 7, "a\\0b", "\\udcff", "torch-tpu"]
print(json.dumps([text(_native.resolve_variants, [], names), text(_native.resolve_variants, value[0], tuple(names)),
                  _native.resolve_variants(value[0], names), _native.resolve_in_order(value[0], names),
                  *(text(_native.resolve_variants, {**value[0], **change}, names) for change in value[1])]))
""", [fine, wrong])
    assert answers[0].startswith("TypeError: system: expected a dict") and answers[1].startswith("TypeError")
    reason = "backend (tpu) does not match system backend (cpu) and is not universal"
    assert answers[2:4] == [[["torch-universal", None], ["torch-tpu", reason]], [[0, 4], [reason]]]
    kinds = [answer.partition(":")[0] for answer in answers[4:]]
    assert kinds == ["ValueError", "ValueError", "ValueError", "TypeError", "TypeError", "ValueError", "ValueError", "TypeError",
                     "ValueError", "ValueError"]


# ---- validators ----


def test_python_dependencies(python, data, tmp_path):
    table = cases(data, "loader/python_depends.json")
    report("python_depends.json", table)
    answers = python("""
from kernels import backends, python_deps
def check(case):
    python_deps.find_spec = lambda name: object() if name in case["importable"] else None
    version = None if case["backend"] in backends._PLAIN else "1.0"
    return python_deps.validate_dependencies(case["module"], case["python_depends"], backends._of(case["backend"], version))
print(json.dumps([text(check, case) for case in value]))
""", table)
    for case, answer in zip(table, answers):
        if case["backend"] == "tpu" and "jax" in case["python_depends"]:
            assert answer is None  # ours knows what TPU kernels import
        else:
            assert answer == (None if case.get("ok") else f"{case['error']}: {case['message']}"), case


def test_cuda_architectures(python, data):
    released = json.loads((data / "release17/cuda_arch.json").read_text())
    older = json.loads((data / "loader/cuda_arch.json").read_text())
    released["older"] = older
    print(f"cuda_arch.json: {sum(len(part) for part in (*released.values(), *older.values()) if isinstance(part, list))} cases")
    wrong = python("""
from kernels.archs import _cuda_arch_supports, _parse_cuda_arch, _supports_cuda_capability
wrong = []
def check(got, wanted, case):
    if got != wanted:
        wrong.append([case, got])
for case in value["parse"]:
    parsed = _parse_cuda_arch(case["arch"])
    check(parsed and list(parsed), case["parsed"], case)
for case in value["supports"]:
    check(_cuda_arch_supports(case["arch"], tuple(case["capability"])), case["result"], case)
for case in value.get("lists", []):
    check(_supports_cuda_capability(case["archs"], tuple(case["capability"])), case["result"], case)
for arch, capability, result in value["older"].get("supports", []):
    check(_cuda_arch_supports(arch, tuple(capability)), result, arch)
print(json.dumps(wrong))
""", released)
    assert wrong == []


def metadata(**fields):
    return json.dumps({"name": "my-kernel", "id": "_my_kernel_x", "version": 1, "license": "Apache-2.0", "python-depends": [],
                       "backend": {"type": "cuda"}, **fields})


def test_the_device_decides_on_architectures(python):
    answers = python("""
import types
from kernels import archs, validate
from kernels._rust import Metadata
def check(case):
    torch = torch_module({"cuda": case.get("cuda"), "hip": case.get("hip")})
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: case["available"], get_device_capability=lambda: tuple(case["capability"]),
        current_device=lambda: 0, get_device_properties=lambda d: types.SimpleNamespace(gcnArchName=case["arch"]))
    validate.ArchValidator().validate_metadata(metadata=Metadata.from_bytes(case["metadata"].encode()), variant="torch-cuda")
print(json.dumps([text(check, case) for case in value]))
""", [
        {"metadata": metadata(backend={"type": "cuda", "archs": ["8.0", "9.0a"]}), "cuda": "13.0", "available": True,
         "capability": [10, 0]},
        {"metadata": metadata(backend={"type": "cuda", "archs": ["8.0", "9.0a"]}), "cuda": "13.0", "available": False},
        {"metadata": metadata(backend={"type": "cuda", "archs": ["8.0", "9.0a"]}), "available": True},
        {"metadata": metadata(backend={"type": "cuda"}), "cuda": "13.0", "available": True},
        {"metadata": metadata(backend={"type": "rocm", "archs": ["gfx942"]}), "hip": "7.1", "available": True,
         "arch": "gfx90a:sramecc+:xnack-"},
        {"metadata": metadata(backend={"type": "rocm", "archs": ["gfx90a"]}), "hip": "7.1", "available": True,
         "arch": "gfx90a:sramecc+:xnack-"},
        {"metadata": metadata(backend={"type": "tpu", "archs": ["v5e"]}), "available": True},
    ])
    assert answers[1:4] == [None] * 3 and answers[5:] == [None] * 2
    for answer, device, listed in ((answers[0], "CUDA capability 10.0", "8.0, 9.0a"), (answers[4], "ROCm arch gfx90a", "gfx942")):
        for part in ("RuntimeError: ", "'my-kernel'", "'torch-cuda'", "does not support the current device", device, listed,
                     "check_arch=False"):
            assert part in answer


def test_minimum_version(python, data):
    table = cases(data, "release17/minver.json")
    report("minver.json", table)
    answers = python("""
import kernels
from kernels import validate
from kernels._rust import Metadata
def check(installed, needed):
    kernels.__version__ = installed
    document = json.loads(value["metadata"])
    document["kernels-minver"] = needed
    validate.MinverValidator().validate_metadata(metadata=Metadata.from_bytes(json.dumps(document).encode()),
                                                 variant="torch-cpu")
    return "accepted"
def normalised(installed):
    kernels.__version__ = installed
    found = validate._installed_version()
    return found and str(found)
print(json.dumps([{"normalised": normalised(case["installed"]), **{key: text(check, case["installed"], key[2:])
      for key in case if key.startswith(">=")}} for case in value["cases"]]))
""", {"cases": table, "metadata": metadata()})
    for case, answer in zip(table, answers):
        for key, got in answer.items():
            wanted = case[key]
            wanted = f"{wanted['error']}: {wanted['message']}" if isinstance(wanted, dict) else wanted
            assert got == wanted, (case["installed"], key)


def test_default_validators_in_their_order(python):
    commit = {"commit": "0" * 40, "dirty": True}
    new = metadata(**{"python-depends": ["from-the-future"], "kernels-minver": "99.0.0"})
    dirty = metadata(provenance={"kernel-builder": {"version": "1", **commit}, "kernel": commit})
    assert python("""
import logging
from kernels import validate
from kernels._rust import Metadata
notes = []
class Note(logging.Handler):
    def emit(self, record): notes.append([record.name, record.levelname, record.getMessage()])
logging.getLogger().addHandler(Note())
check = validate.AllValidator(validate.default_metadata_validators())
for document in value:
    print_me = text(lambda: check.validate_metadata(metadata=Metadata.from_bytes(document.encode()), variant="torch-cpu"))
    notes.append(print_me)
print(json.dumps(notes))
""", [new, dirty, metadata(**{"python-depends": ["from-the-future"]})]) == [
        "RuntimeError: Kernel 'my-kernel' variant 'torch-cpu' requires kernels>=99.0.0, but version 0.17.2 is installed. "
        "Upgrade with: pip install --upgrade kernels",
        ["kernels.validate", "WARNING", "Kernel 'my-kernel' variant 'torch-cpu' was built from a dirty git tree "
                                        "(kernel source and kernel-builder)."],
        None,
        "ValueError: Kernel module `my_kernel` uses unsupported kernel dependency: from-the-future",
    ]


# ---- exceptions ----

RAISE = """
from kernels import _native, errors
statuses = sorted(errors._OF_STATUS)
made = {}
for status in statuses:
    error = errors.make(status, "what happened", 404, "http://127.0.0.1:9/api/kernels/owner/name/refs")
    made[status] = [type(error).__name__, type(error).__module__, str(error), [c.__name__ for c in type(error).__mro__],
                    getattr(getattr(error, "response", None), "status_code", None), getattr(error, "repo_id", None)]
    assert type(error) is getattr(errors, type(error).__name__)
print(json.dumps(made))
"""
NAMES = {"REPOSITORY_NOT_FOUND": "RepositoryNotFoundError", "REVISION_NOT_FOUND": "RevisionNotFoundError",
         "ENTRY_NOT_FOUND": "RemoteEntryNotFoundError", "GATED_REPOSITORY": "GatedRepoError", "HTTP": "HfHubHTTPError",
         "DISABLED_REPOSITORY": "DisabledRepoError", "BAD_REQUEST": "BadRequestError", "OFFLINE": "OfflineModeIsEnabled",
         "TOKEN_NOT_FOUND": "LocalTokenNotFoundError", "RATE_LIMITED": "HfHubHTTPError", "CONFLICT": "HfHubHTTPError",
         "FORBIDDEN": "HfHubHTTPError", "AUTHENTICATION": "HfHubHTTPError"}


def check_classes(made, module, data):
    bases = {case["raises"]: case["bases"] for case in cases(data, "loader/http_errors.json", "mapping") if case["raises"]}
    assert made.keys() == NAMES.keys()
    for status, (name, home, said, mro, http_status, repo_id) in made.items():
        assert (name, home) == (NAMES[status], module) and "what happened" in said, status
        assert set(bases.get(name, ())) <= set(mro), (status, mro)
        if "HfHubHTTPError" in mro:
            assert http_status == 404 and {"HTTPError", "OSError"} <= set(mro), status
        if name == "RepositoryNotFoundError":
            assert repo_id == "owner/name"


def test_exceptions_without_huggingface_hub(python, data):
    check_classes(python("sys.modules['huggingface_hub'] = None\n" + RAISE), "kernels.errors", data)


def test_exceptions_are_those_of_huggingface_hub(python, data):
    pytest.importorskip("huggingface_hub", minversion="1.0")
    check_classes(python(RAISE), "huggingface_hub.errors", data)


def test_both_modules_catch_what_is_raised(python, hub):
    answers = python("""
caught = []
from kernels import _machine, _native
def find():
    _native.Context(_machine.system(), endpoint=value).find("nobody/nothing", version=1, trust=True)
try:
    find()
except Exception as error:
    caught += [error.status, "huggingface_hub" in sys.modules]
from kernels.errors import HfHubHTTPError, RepositoryNotFoundError
for cls in (RepositoryNotFoundError, HfHubHTTPError, OSError):
    try:
        find()
    except cls:
        caught.append(cls.__name__)
try:
    import huggingface_hub.errors as theirs
    find()
except ImportError:
    caught.append(True)
except theirs.RepositoryNotFoundError as error:
    caught.append(error.response is not None)
print(json.dumps(caught))
""", hub)
    assert answers[0] == "REPOSITORY_NOT_FOUND" and answers[2:] == ["RepositoryNotFoundError", "HfHubHTTPError", "OSError", True]


# ---- small modules ----


def test_small_modules(python):
    import os
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1] if "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "") else None
    assert python("""
from kernels import _system, _windows, benchmark, compat
made = benchmark.Benchmark()
made.setup()
_windows._add_additional_dll_paths()
print(json.dumps([_system.glibc_version(), [made.seed, made.device, made.kernel, made.out],
                  compat.has_torch, compat.tomllib.loads("a = 1")]))
""") == [glibc, [None, "cpu", None, None], False, {"a": 1}]


# ---- what the Hub is told ----


def test_user_agent(python, data):
    told = cases(data, "loader/user_agent.json")
    report("user_agent.json", told)
    headers = python("""
import http.server, os, threading
from kernels import _native
from kernels.hf_hub import HubApi
seen = []
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen.append(self.headers["User-Agent"])
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
names = {"arm64": "aarch64", "AMD64": "x86_64"}
for case in value:
    facts = case["in"]
    os.environ.pop("HF_HUB_USER_AGENT_ORIGIN", None)
    if facts["origin"]:
        os.environ["HF_HUB_USER_AGENT_ORIGIN"] = facts["origin"]
    backend = {"cu130": ("cuda", "13.0")}.get(facts["backend"], (facts["backend"], None))
    system = {"os": facts["system"].lower(), "cpu": names.get(facts["machine"], facts["machine"]), "backend": backend[0],
              "backend_version": backend[1], "torch": facts["torch"], "tvm_ffi": facts["tvm_ffi"], "glibc": facts["glibc"],
              "python": facts["python"]}
    context = _native.Context(system, endpoint=f"http://127.0.0.1:{server.server_port}", telemetry=facts["telemetry"],
                              user_agent=HubApi(facts["user_agent"]).user_agent)
    try:
        context.versions("owner/name")
    except Exception:
        pass
print(json.dumps(seen))
""", told)
    assert len(headers) == len(told)
    for case, header in zip(told, headers):
        wanted = "; ".join(part for part in case["header"].split("; ") if not part.startswith("hf_hub/"))
        assert header == wanted, case["name"]
