#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of the ABI check again from public wheels.

    refresh.py [--check] [--wheels DIR] [--table NAME ...]

Each table has one source: an exact wheel of PyPI, fetched with pip into DIR (default: a temporary folder; a wheel that
is there already is used) and checked against nothing but what stands in the table afterwards: source, SHA-256, date of
the newest member and licence head every file. Facts only: names and versions.

--check writes nothing and exits 1 when a file on disk differs from what its source gives.

To move to a newer source, change its version in SOURCES and run the script.
"""
import argparse
import ast
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = {
    # table: (package, version, further words for pip, licence)
    "manylinux": ("auditwheel", "6.8.2", [], "MIT"),
    "python_stable_abi": ("abi3info", "2026.9.25", [], "MIT; the list stems from CPython's Misc/stable_abi.toml, PSF-2.0"),
    # The smallest torch wheel; its headers are those of all.
    "torch_stable_abi": ("torch", "2.15.0", ["--python-version", "3.11", "--platform", "macosx_14_0_arm64"], "BSD-3-Clause"),
    "tvm_ffi": ("apache-tvm-ffi", "0.1.15.post2",
                ["--python-version", "3.11", "--platform", "manylinux_2_24_x86_64"], "Apache-2.0"),
}


def fetch(package: str, version: str, words: list[str], folder: pathlib.Path) -> pathlib.Path:
    name = f"{package.replace('-', '_')}-{version}-"
    platform = words[-1] if words else ""
    found = [path for path in sorted(folder.glob(f"{name}*.whl")) if platform in path.name]
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", *words, "-d", folder, f"{package}=={version}"], check=True)
        found = [path for path in sorted(folder.glob(f"{name}*.whl")) if platform in path.name]
    return found[0]


def head(table: str, wheel: pathlib.Path, archive: zipfile.ZipFile) -> dict:
    package, version, _, licence = SOURCES[table]
    newest = max(info.date_time for info in archive.infolist())
    return {"source": {"package": package, "version": version, "wheel": wheel.name,
                       "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
                       "date": "%04d-%02d-%02d" % newest[:3], "licence": licence}}


def manylinux(archive: zipfile.ZipFile) -> dict:
    policies = json.loads(archive.read("auditwheel/policy/manylinux-policy.json"))
    return {"policies": [{key: policy[key] for key in ("name", "aliases", "symbol_versions", "lib_whitelist", "blacklist")}
                         for policy in policies]}


def python_stable_abi(archive: zipfile.ZipFile) -> dict:
    """Reads the calls Symbol("name"): Function(..., added=PyVersion(3, 2), ifdef=FeatureMacro(...)) without running them."""
    names = {}
    for member in archive.namelist():
        if member.startswith("abi3info/") and member.endswith(".py"):
            for node in ast.walk(ast.parse(archive.read(member))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Function", "Data"):
                    add_python_name(names, node)
    return {"symbols": dict(sorted(names.items()))}


def add_python_name(names: dict, call: ast.Call):
    values = {keyword.arg: keyword.value for keyword in call.keywords}
    values.update(zip(("symbol", "added", "ifdef"), call.args))

    def constants(node):
        return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]

    major, minor = constants(values["added"])
    row = {"added": f"{major}.{minor}"}
    guard = [text for text in constants(values["ifdef"]) if isinstance(text, str)] if "ifdef" in values else []
    if guard:
        row["ifdef"] = guard[0]
    names[constants(values["symbol"])[0]] = row


def without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return text.replace("\\\n", " ")


GUARD = re.compile(r"#\s*if\s+TORCH_FEATURE_VERSION\s*>=\s*TORCH_VERSION_(\d+)_(\d+)_(\d+)")
SHIM = re.compile(r"AOTI_TORCH_EXPORT\b[^;{]*?\b((?:aoti_torch_|torch_)\w+)\s*\(")


def declarations(text: str):
    """(guard, name) of every exported function of a header; guard is the highest open one, () outside of all."""
    stack, chunk = [], []

    def flush():
        guard = max((level for level in stack if level), default=())
        found = [(guard, name) for name in SHIM.findall("\n".join(chunk))]
        chunk.clear()
        return found

    for line in without_comments(text).splitlines():
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b", line)
        if not directive:
            chunk.append(line if not line.lstrip().startswith("#") else "")
            continue
        yield from flush()
        word = directive.group(1)
        if word.startswith("if"):
            guard = GUARD.match(line.strip())
            stack.append(tuple(int(part) for part in guard.groups()) if guard else ())
        elif word == "endif" and stack:
            stack.pop()
        elif stack:
            stack[-1] = ()
    yield from flush()


def torch_stable_abi(archive: zipfile.ZipFile) -> dict:
    folders = ("torch/include/torch/csrc/stable/", "torch/include/torch/csrc/inductor/aoti_torch/")
    names = {}
    for member in sorted(archive.namelist()):
        if member.startswith(folders) and member.endswith(".h"):
            for guard, name in declarations(archive.read(member).decode()):
                names[name] = min(names.get(name, guard), guard)
    return {"symbols": {name: ".".join(str(part) for part in names[name][:2]) or "base" for name in sorted(names)}}


def tvm_ffi(archive: zipfile.ZipFile) -> dict:
    names = set()
    for member in archive.namelist():
        if member.startswith("tvm_ffi/include/tvm/ffi/") and member.endswith(".h"):
            text = without_comments(archive.read(member).decode())
            names.update(re.findall(r"TVM_FFI_(?:DLL|DLL_EXPORT)\s[^;{]*?\b(TVMFFI\w+)\s*\(", text))
    return {"abi": "0.1", "symbols": sorted(names)}


MAKERS = {"manylinux": manylinux, "python_stable_abi": python_stable_abi, "torch_stable_abi": torch_stable_abi,
          "tvm_ffi": tvm_ffi}


def dump(value, indent=0) -> str:
    """JSON with lists of texts on one line: short and easy to compare."""
    blank = " " * (indent + 1)
    if isinstance(value, dict) and value:
        rows = [f"{blank}{json.dumps(key)}: {dump(item, indent + 1)}" for key, item in value.items()]
        if all(not isinstance(item, (dict, list)) for item in value.values()) and len(value) <= 2:
            return json.dumps(value)
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(blank + dump(item, indent + 1) for item in value) + "\n" + " " * indent + "]"
    return json.dumps(value)


def make(table: str, folder: pathlib.Path) -> str:
    package, version, words, _ = SOURCES[table]
    wheel = fetch(package, version, words, folder)
    with zipfile.ZipFile(wheel) as archive:
        return dump({**head(table, wheel, archive), **MAKERS[table](archive)}) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="tables of the ABI check from public wheels")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when a table differs")
    parser.add_argument("--wheels", type=pathlib.Path, help="folder of the wheels")
    parser.add_argument("--table", action="append", choices=SOURCES, help="this table only")
    options = parser.parse_args()
    stale = 0
    with tempfile.TemporaryDirectory() as temporary:
        for table in options.table or SOURCES:
            path = HERE / f"{table}.json"
            text = make(table, options.wheels or pathlib.Path(temporary))
            if path.exists() and path.read_text() == text:
                print(f"{path.name}: up to date")
            elif options.check:
                print(f"{path.name}: differs from its source")
                stale = 1
            else:
                path.write_text(text)
                print(f"{path.name}: written")
    return stale


if __name__ == "__main__":
    sys.exit(main())
