# SPDX-License-Identifier: Apache-2.0
"""The vectors of the classes in kernels._rust, run in a child process by test_python_data.py.

    python_data_cases.py TESTS_DATA FUNCTION [FOLDER]

Prints how many cases it ran; an AssertionError names the first that differs.
"""
import base64
import json
import pathlib
import sys

import kernels._rust as k

DATA = pathlib.Path(sys.argv[1])


def read(name):
    return json.loads((DATA / name).read_text())


def result_of(call):
    """("ok", value), or ("error", exception)."""
    try:
        return "ok", call()
    except Exception as error:  # the kind is compared
        return "error", error


def compare(case, call, show=repr):
    """One case with `ok` (compared with show(result)) or `error`, the name of an exception class."""
    kind, got = result_of(call)
    if "error" in case:
        wanted = getattr(__import__("builtins"), case["error"])
        assert kind == "error" and isinstance(got, wanted), f"{case}: {got!r}"
    else:
        assert kind == "ok" and show(got) == case["ok"], f"{case}: {got!r}"


# ---- expressions ----

PICKLED = ("pickle.dumps(B.CPU)", "copy.copy(B.CPU)")  # the release refuses both, we allow them


def python_api(folder):
    document = read("data/python_api.json")
    names = {"k": k}
    exec(document["setup"], names)
    for case in document["cases"]:
        wanted = {"error": case["raises"]} if "raises" in case else {"ok": case["repr"]}
        if case["expr"] not in PICKLED:
            compare(wanted | {"expr": case["expr"]}, lambda: eval(case["expr"], names))
    return len(document["cases"])


def members(folder):
    """Public members of every class, and whether it can be called at all."""
    listed = read("release17/api.json")["_rust"]
    for name, row in listed.items():
        cls = getattr(k, name)
        public = [member for member in dir(cls) if not member.startswith("_")]
        if name == "DigestValidationError":  # what BaseException has depends on the version of Python
            public, row["members"] = [], []
        assert sorted(public) == sorted(row["members"]), (name, public)
        assert cls.__module__ == "kernels._rust" and cls.__qualname__ == name and cls.__doc__, name
        for member in public:
            assert isinstance(getattr(cls, member), (cls, type)) or getattr(cls, member).__doc__, (name, member)
        if not row["constructible"] and name != "DigestValidationError":
            compare({"error": "TypeError"}, cls)
    assert sorted(listed) + ["__version__"] == sorted(k.__all__, key=lambda name: (name == "__version__", name))
    return len(listed)


# ---- scalars ----


def scalars(folder):
    backend, version = read("release17/backend.json"), read("release17/version.json")
    name, oid = read("release17/kernel_name.json"), read("release17/oid.json")
    for case in backend["cases"]:
        compare(case, lambda: k.Backend.from_str(case["input"]))
        if "error" in case:
            assert case["input"] in str(result_of(lambda: k.Backend.from_str(case["input"]))[1])
    for row in backend["order"]:
        one = k.Backend.from_str(row["str"])
        assert (repr(one), str(one), int(one)) == (row["repr"], row["str"], row["int"])
    for case in version["cases"]:
        compare(case, lambda: k.Version.from_str(case["input"]), lambda v: {"str": str(v), "repr": repr(v)})
    for case in version["compare"]:
        a, b = k.Version.from_str(case["a"]), k.Version.from_str(case["b"])
        assert (a == b, a < b, a <= b, a > b) == (case["eq"], case["lt"], case["le"], case["gt"]), case
        assert (a != b, a >= b) == (not case["eq"], not case["lt"])
        assert not case["hash_equal"] or hash(a) == hash(b)
    for case in name["cases"]:
        compare(case, lambda: k.KernelName(case["input"]),
                lambda n: {"str": str(n), "python_name": n.python_name, "repr": repr(n)})
    for case in oid["cases"]:
        compare(case, lambda: k.KernelLock(case["input"]).commit, str)
    invalid = result_of(lambda: k.KernelLock("main"))[1]
    assert "Invalid git object id" in str(invalid) and "main" in str(invalid)
    return sum(map(len, (backend["cases"], backend["order"], version["cases"], version["compare"], name["cases"],
                         oid["cases"])))


def dependencies(folder):
    document = read("release17/kernel_dependency.json")

    def make(repo_id, version):
        cls = k.KernelVersion.Revision if isinstance(version, str) else k.KernelVersion.Version
        return k.KernelDependency(repo_id, cls(version))

    for case in document["version_ctor"]:
        compare(case, lambda: k.KernelVersion.Version(case["input"]))
    for case in document["revision_ctor"]:
        compare(case, lambda: k.KernelVersion.Revision(case["input"]))
    for case in document["dependency_repr"]:
        assert repr(make(case["repo_id"], case["version"])) == case["repr"]
    for case in document["equal"]:
        a, b = make(*case["a"]), make(*case["b"])
        assert (a == b, a != b) == (case["eq"], not case["eq"])
        assert not case["eq"] or hash(a) == hash(b)
    return sum(len(document[key]) for key in ("version_ctor", "revision_ctor", "dependency_repr", "equal"))


# ---- locks ----


def locks(folder):
    count = 0
    for file in ("kernel_lock_json", "kernel_locks_json", "kernel_paths_json"):
        for function, cases in read(f"release17/{file}.json").items():
            if function == "peer":
                continue
            cls = getattr(k, function.split(".")[0])
            for case in cases:
                count += 1
                if case["json"].startswith(("[[", '["')):  # objects given as arrays of their fields: refused
                    case = {"json": case["json"], "error": "ValueError"}
                compare(case, lambda: cls.from_json(case["json"]),
                        lambda one: {"to_json": one.to_json(), "repr": repr(one)})
                if "error" in case:
                    error = result_of(lambda: cls.from_json(case["json"]))[1]
                    assert str(error).startswith(f"Cannot parse {cls.__name__}: "), error
    for case in read("data/locks.json"):
        count += 1
        wanted = {"ok": case["to_json"]} if "to_json" in case else {"error": "ValueError"}
        compare(wanted, lambda: getattr(k, case["type"]).from_json(case["in"]), lambda one: one.to_json())
    return count


def mapping(folder):
    row = read("release17/locks_mapping.json")
    d1 = k.KernelDependency("org/k", k.KernelVersion.Version(1))
    d2 = k.KernelDependency("org/z", k.KernelVersion.Version(1))
    other = k.KernelLock("b" * 40)
    value = k.KernelLocks({d1: k.KernelLock("a" * 40)})
    assert (len(value), d1 in value, d2 in value, "x" in value, [] in value) == (
        row["len"], row["contains_d1"], row["contains_d2"], row["contains_str"], False)
    missing = result_of(lambda: value[d2])[1]
    assert type(missing) is KeyError and str(missing) == row["getitem_missing"]["message"]
    calls = {
        "getitem_str": lambda: value["x"],
        "get_bad_default": lambda: value.get(d2, 3),
        "ctor_no_arg": lambda: k.KernelLocks(),
        "ctor_list": lambda: k.KernelLocks([]),
        "ctor_str_value": lambda: k.KernelLocks({d1: "x"}),
    }
    for name, call in calls.items():
        compare(row[name], call)
    assert repr(value.get(d2)) == row["get_missing"] and repr(value.get("x")) == row["get_str"]
    assert repr(value.get(d2, other)) == row["get_missing_default"]
    assert (not k.KernelLocks({})) == row["empty_is_falsy"]
    for name in ("keys", "values", "items"):
        assert type(getattr(value, name)()).__name__ == row[f"{name}_type"]
    return len(row) - 2  # "peer", "value"


# ---- documents ----


def metadata_facts(one):
    def git(status):
        return None if status is None else {"commit": status.commit, "dirty": status.dirty}

    digest, provenance = one.digest, one.provenance
    return {
        "id": one.id, "name": str(one.name), "version": one.version,
        "kernels_minver": None if one.kernels_minver is None else str(one.kernels_minver),
        "license": one.license, "upstream": one.upstream, "source": one.source,
        "python_depends": one.python_depends, "kernel_depends": list(map(repr, one.kernel_depends)),
        "backend_type": str(one.backend.backend_type), "archs": one.backend.archs,
        "digest": None if digest is None else {"algorithm": str(digest.algorithm), "files": digest.files},
        "provenance": None if provenance is None else {
            "builder_version": provenance.kernel_builder.version, "builder_git": git(provenance.kernel_builder.git),
            "kernel": git(provenance.kernel), "dirty": provenance.dirty},
    }


def metadata(folder):
    document = read("release17/metadata.json")
    for case in document["cases"]:
        compare(case, lambda: k.Metadata.from_bytes(case["json"].encode()), metadata_facts)
    for case in document["raw"]:
        content = base64.b64decode(case["input_b64"])
        accepted = "ok" in case and case["name"] != "nul escape in id"  # a string with a NUL is refused
        kind, got = result_of(lambda: k.Metadata.from_bytes(content))
        assert (kind == "ok") == accepted and (accepted or type(got) is ValueError), (case, got)
    parsed = read("data/metadata_parse.json")
    return len(document["cases"]) + len(document["raw"]) + check_texts(parsed, folder)


def check_texts(cases, folder):
    """Every accepted document can also be read from a file, and every other is a ValueError that names the file."""
    path = pathlib.Path(folder) / "metadata.json"
    for case in cases:
        text = case["in"].encode() if "in" in case else base64.b64decode(case["in_base64"])
        path.write_bytes(text)
        kinds = [result_of(lambda: k.Metadata.from_bytes(text)), result_of(lambda: k.Metadata.read_from_file(path))]
        assert kinds[0][0] == kinds[1][0], (case, kinds)
        if kinds[0][0] == "ok":
            assert metadata_facts(kinds[0][1]) == metadata_facts(kinds[1][1])
        else:
            assert type(kinds[0][1]) is type(kinds[1][1]) is ValueError and str(path) in str(kinds[1][1])
    return len(cases)


def build_toml(folder):
    document = read("release17/build_toml.json")
    path = pathlib.Path(folder) / "build.toml"

    def facts(build):
        general = build.general
        return {"backends": list(map(str, general.backends)),
                "kernel_depends": {str(b): list(map(repr, build.all_kernel_depends(b))) for b in everything}}

    everything = [k.Backend.from_str(row["str"]) for row in read("release17/backend.json")["order"]]
    for case in document["cases"]:
        path.write_text(case["toml"])
        if "cuda-capabilities" in case["toml"]:  # the documented spelling, which the release does not read
            assert result_of(lambda: k.Build.open(folder))[0] == "ok"
            continue
        case.get("ok", {}).pop("general_repr", None)  # names of Rust
        compare(case, lambda: k.Build.open(folder), facts)
    return len(document["cases"]) + versions(path)


def versions(path):
    """Each version in each key that takes one."""
    head = '[general]\nname = "ab"\nversion = 1\nedition = 5\nlicense = "MIT"\nbackends = ["cuda"]\n'
    torch = "[torch]\nsrc = []\n"
    kernel = '[kernel.x]\nbackend = "cuda"\ndepends = []\nsrc = []\n'
    forms = {
        "general.cuda.minver": lambda v: f"{head}cuda.minver = {v}\n{torch}",
        "general.cuda.maxver": lambda v: f"{head}cuda.maxver = {v}\n{torch}",
        "torch.minver": lambda v: f"{head}{torch}minver = {v}\n",
        "torch.maxver": lambda v: f"{head}{torch}maxver = {v}\n",
        "torch.stable-abi": lambda v: f"{head}{torch}stable-abi = {v}\n",
        "torch.stable-abi.cuda": lambda v: f"{head}{torch}stable-abi.cuda = {v}\n",
        "kernel.x.cuda-minver": lambda v: f"{head}{torch}{kernel}cuda-minver = {v}\n",
    }
    cases = read("release17/build_versions.json")["cases"]
    for case in cases:
        for key, form in forms.items():
            path.write_text(form(json.dumps(case["input"])))
            kind, got = result_of(lambda: k.Build.open(path.parent))
            assert (kind == "ok") == (case[key] == "ok"), (case["input"], key, got)
    return len(cases) * len(forms)


# ---- digests ----


def digests(folder):
    document = read("release17/digest_hash.json")
    base = pathlib.Path(folder) / "v"
    for name, text in document["tree"].items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    for name, target in document["symlinks"].items():
        (base / name).symlink_to(target)
    for name in document["empty_dirs"]:
        (base / name).mkdir()
    for algorithm, files in document["expect"].items():
        got = k.Digest.hash_variant(getattr(k.DigestAlgorithm, algorithm.upper()), base)
        assert got.files == files and list(got.files) == sorted(files) and str(got.algorithm) == algorithm

    def make(algorithm, files):
        text = {"name": "ab", "id": "i", "version": 1, "license": "", "python-depends": [],
                "backend": {"type": "cpu"}, "digest": {"algorithm": algorithm, "files": files}}
        return k.Metadata.from_bytes(json.dumps(text).encode()).digest

    cases = read("release17/digest_validate.json")["cases"]
    for case in cases:
        kind, got = result_of(lambda: make(*case["expected"]).validate(make(*case["got"])))
        if not case["violations"]:
            assert (kind, got) == ("ok", None)
            continue
        assert type(got) is k.DigestValidationError and str(got) == case["message"], (case, got)
        assert list(map(str, got.violations)) == case["violations"]
        assert [type(one).__name__.lstrip("_") for one in got.violations] == case["kinds"]
    return len(document["expect"]) + len(cases)


if __name__ == "__main__":
    print(globals()[sys.argv[2]](*sys.argv[3:] or [None]))
