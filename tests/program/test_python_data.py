# SPDX-License-Identifier: Apache-2.0
"""kernels._rust: the vectors of the released module, and what ours can do beyond it. In child processes."""
import pathlib
import re
import sys

import pytest

import python_child

# function of python_data_cases.py: how many cases it must run
CASES = {"python_api": 110, "members": 21, "scalars": 121, "dependencies": 30, "locks": 105, "mapping": 17,
         "metadata": 220, "build_toml": 123, "digests": 10}


@pytest.fixture
def python(run, build_dir, environment):
    def run_python(*arguments, env=None, **more):
        variables = {**environment, **python_child.variables(build_dir), **(env or {})}
        return run(sys.executable, *arguments, env=variables, **more)

    return run_python


@pytest.mark.parametrize("name", CASES)
def test_vectors(python, root, data, tmp_path, name):
    done = python(root / "tests" / "program" / "python_data_cases.py", data, name, tmp_path)
    count = int(done.stdout)
    print(f"{name}: {count} cases")
    assert count == CASES[name]


def test_copies_and_pickles(python):
    python("-c", """
import copy, json, pickle
import kernels._rust as k
d = k.KernelDependency("a/b", k.KernelVersion.Revision("r"))
lock = k.KernelLock("A" * 40)
text = {"name": "ab", "id": "i", "version": 1, "license": "", "python-depends": [], "kernels-minver": "0.17.0",
        "backend": {"type": "cpu", "archs": ["x"]}, "digest": {"algorithm": "sha256", "files": {"a": "1"}},
        "provenance": {"kernel-builder": {"version": "1", "commit": "a" * 40, "dirty": True}}}
m = k.Metadata.from_bytes(json.dumps(text).encode())
equal = [k.Backend.CPU, k.Version.from_str("1.0"), k.KernelName("ab"), d, d.version, k.KernelVersion.Version(2**64 - 1),
         lock, k.KernelLocks({d: lock}), k.NixKernelLocks({d: k.NixKernelLock("b" * 64, "h")}),
         k.KernelPaths({d: "x/"}), k.DigestAlgorithm.SHA512]
others = [m, m.backend, m.digest, m.provenance, m.provenance.kernel_builder, m.provenance.kernel_builder.git,
          k.DigestViolation.MissingFile("p"), k.DigestViolation.AlgorithmMismatch(k.DigestAlgorithm.SHA256,
          k.DigestAlgorithm.SHA512)]
for one in equal + others:
    for other in copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)):
        assert type(other) is type(one) and repr(other) == repr(one), one
        assert one not in equal or (other == one and hash(other) == hash(one)), one
""")


def test_objects_are_immutable_and_lists_fresh(python):
    python("-c", """
import kernels._rust as k
m = k.Metadata.from_bytes(b'{"name":"ab","id":"i","version":1,"license":"","python-depends":["x"],'
                          b'"backend":{"type":"cpu","archs":["y"]},"digest":{"algorithm":"sha256","files":{"a":"1"}}}')
m.python_depends.append("z"); m.backend.archs.append("z"); m.digest.files["b"] = "2"; m.kernel_depends.append(1)
assert (m.python_depends, m.backend.archs, m.digest.files, m.kernel_depends) == (["x"], ["y"], {"a": "1"}, [])
locks = k.KernelLocks({k.KernelDependency("a", k.KernelVersion.Version(1)): k.KernelLock("a" * 40)})
locks.keys().clear()
assert len(locks) == 1
for one in (m, m.backend, m.digest, locks, k.Backend.CPU, k.KernelName("ab"), k.KernelVersion.Version(1)):
    for name in ("new", *[slot for slot in type(one).__slots__]):
        for call in (lambda: setattr(one, name, 1), lambda: delattr(one, name)):
            try:
                call()
            except AttributeError:
                continue
            raise AssertionError((one, name))
    try:
        type("Sub", (type(one),), {})
    except TypeError as error:
        assert "subclass" in str(error)
    else:
        raise AssertionError(one)
match k.KernelVersion.Version(3):
    case k.KernelVersion.Revision(_): raise AssertionError
    case k.KernelVersion.Version(n): assert n == 3
""")


def test_texts_from_all_over(python):
    python("-c", r'''
import kernels._rust as k
show = lambda text: repr(k.KernelVersion.Revision(text)).split("\"", 1)[1][:-2]
assert show("a\"b\\c\n\t\r\0\x1b\x7f é\u200b😀'") == "a\\\"b\\\\c\\n\\t\\r\\0\\u{1b}\\u{7f} é\\u{200b}😀'"
d = k.KernelDependency("é/😀", k.KernelVersion.Revision("日本"))
locks = k.KernelLocks({d: k.KernelLock("a" * 40)})
assert k.KernelLocks.from_json(locks.to_json()) == locks and "日本" in locks.to_json()
try:
    k.KernelPaths({d: "/x/\udcff"}).to_json()  # a path that is not UTF-8
except ValueError:
    pass
else:
    raise AssertionError
older = '[{"repo_id": "a/b", "sha": "%s", "variants": {}}]' % ("a" * 40)
try:
    k.KernelLocks.from_json(older)
except ValueError as error:
    assert "kernels lock" in str(error), error
else:
    raise AssertionError
''')


def test_failures_of_the_system(python, tmp_path):
    (tmp_path / "locked").mkdir()
    python("-c", f"""
import errno, pathlib
import kernels._rust as k
missing = pathlib.Path({str(tmp_path)!r}) / "missing"
for call in (lambda: k.Metadata.read_from_file(missing), lambda: k.Digest.hash_variant(k.DigestAlgorithm.SHA256, missing)):
    try:
        call()
    except FileNotFoundError as error:
        assert error.errno == errno.ENOENT and error.filename == str(missing), error.filename
    else:
        raise AssertionError
file = missing.parent / "file"
file.write_text("x")
try:
    k.Digest.hash_variant(k.DigestAlgorithm.SHA256, file)
except NotADirectoryError:
    pass
else:
    raise AssertionError
(missing.parent / "v").mkdir()
(missing.parent / "v" / "dangling").symlink_to("nowhere")
try:
    k.Digest.hash_variant(k.DigestAlgorithm.SHA256, missing.parent / "v")
except FileNotFoundError as error:
    assert error.filename.endswith("dangling")
else:
    raise AssertionError
try:
    k.Build.open(missing)
except ValueError as error:
    assert str(missing) in str(error) and "No such file" in str(error), error
else:
    raise AssertionError
""")


def test_old_edition_warns_once(python, tmp_path):
    (tmp_path / "build.toml").write_text('[general]\nname = "ab"\nversion = 1\nlicense = "MIT"\nbackends = ["tpu"]\n'
                                         "[torch-noarch]\n")
    done = python("-c", f"import kernels._rust as k; print(k.Build.open({str(tmp_path)!r}))")
    assert done.stdout == "General(backends=[Backend.TPU])\n" or "Backend.TPU" in done.stdout
    assert len(done.stderr.splitlines()) == 1 and "update-build" in done.stderr


def test_import_is_light(python):
    done = python("-c", "import sys; before = set(sys.modules); import kernels._rust; "
                        "print(sorted(set(sys.modules) - before))")
    assert done.stdout.strip() == "['kernels', 'kernels._native', 'kernels._rust']"


def test_stubs_name_what_there_is(python, root):
    """The .pyi file and the classes agree on classes and public members."""
    python("-c", f"""
import ast, kernels._rust as k
tree = ast.parse(open({str(root / 'python' / 'kernels' / '_rust.pyi')!r}).read())
def check(owner, body):
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            check(getattr(owner, node.name), node.body)
        elif isinstance(node, ast.FunctionDef):
            assert hasattr(owner, node.name), (owner, node.name)
check(k, tree.body)
named = {{node.name for node in tree.body if isinstance(node, ast.ClassDef)}} - {{"_Mapping"}}
assert named | {{"__version__"}} == set(k.__all__), named ^ set(k.__all__)
for node in tree.body:
    if isinstance(node, ast.ClassDef) and node.name in k.__all__ and node.name != "DigestValidationError":
        listed = {{getattr(item, "name", None) or getattr(getattr(item, "target", None), "id", "") for item in node.body}}
        if node.name not in ("KernelLocks", "NixKernelLocks", "KernelPaths"):
            public = {{member for member in dir(getattr(k, node.name)) if not member.startswith("_")}}
            assert public <= listed, (node.name, public - listed)
""")


def test_kernels_data(python, root, build_dir):
    """The package of that name hands on the same classes, in the same version."""
    folder = root / "packaging" / "kernels-data"
    python("-c", "import kernels._rust as k, kernels_data as d\n"
                 "assert d.__all__ == k.__all__ and all(getattr(d, n) is getattr(k, n) for n in d.__all__)",
           env={"PYTHONPATH": f"{build_dir / 'python'}:{folder}"})
    version = re.search(r'KERNELS_COMPATIBLE_VERSION "([0-9.]+)"', (root / "CMakeLists.txt").read_text()).group(1)
    project = (folder / "pyproject.toml").read_text()
    assert f'version = "{version}"' in project and f'"kernels=={version}"' in project


def test_meant_differences_are_documented(root):
    """Each difference that `./run compare` lets pass has its heading in docs/compatibility.md."""
    named = re.findall(r'return "([A-Z][^"]+)"', (root / "tests" / "peer" / "compare_formats.py").read_text())
    text = (root / "docs" / "compatibility.md").read_text()
    assert len(named) == 6 and all(f"### {name}\n" in text for name in named)
