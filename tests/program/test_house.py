# SPDX-License-Identifier: Apache-2.0
"""The checks of the house find what they are for: each is run on a small tree with one fault."""
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def tree(tmp_path, root):
    """Two rooms, data below hub, a public header and a CMake project over the real cmake/Rooms.cmake."""
    files = {
        "include/kernels/data.h": "#ifndef D_H\n#define D_H\nint data_value(void);\n#endif\n",
        "include/kernels/load.h": '#ifndef L_H\n#define L_H\n#include "kernels/data.h"\n#endif\n',
        "src/data/data.h": "#ifndef S_H\n#define S_H\nint data_inner(void);\n#endif\n",
        "src/data/data.c": '#include "data/data.h"\nint data_inner(void) { return 1; }\n',
        "src/data/CMakeLists.txt": "kernels_room(data SOURCES data.c)\n",
        "src/hub/hub.h": "#ifndef H_H\n#define H_H\nint hub_value(void);\n#endif\n",
        "src/hub/hub.c": '#include "hub/hub.h"\n#include "data/data.h"\n'
                         "int hub_value(void) { return data_inner(); }\n",
        "src/hub/CMakeLists.txt": "kernels_room(hub SOURCES hub.c ROOMS data)\n",
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.25)\nproject(tree C)\n"
                          "list(APPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/cmake)\ninclude(Rooms)\n"
                          "add_subdirectory(src/data)\nadd_subdirectory(src/hub)\n",
    }
    for name, content in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "tree" / "cmake").mkdir()
    for name in ("Rooms.cmake", "rooms.txt"):
        shutil.copy(root / "cmake" / name, tmp_path / "tree" / "cmake" / name)
    return tmp_path / "tree"


@pytest.fixture
def check(root, tree):
    def run_check(name):
        return subprocess.run([sys.executable, root / "scripts" / name, tree], text=True, capture_output=True)

    return run_check


def compile_tree(tree, *configure):
    made = subprocess.run(["cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja", *configure], text=True,
                          capture_output=True)
    if made.returncode == 0:
        made = subprocess.run(["cmake", "--build", tree / "build"], text=True, capture_output=True)
    return made


def test_a_right_tree_passes_both_ways(tree, check):
    assert check("check_includes.py").stderr == ""
    assert check("check_banned.py").stderr == ""
    built = compile_tree(tree)
    assert built.returncode == 0, built.stdout


def test_the_tree_itself_keeps_the_order(root):
    for name in ("check_includes.py", "check_banned.py", "check_tree.py"):
        done = subprocess.run([sys.executable, root / "scripts" / name], text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, ""), name


def test_an_include_against_the_order_does_not_compile(tree, check):
    source = tree / "src" / "data" / "data.c"
    source.write_text('#include "hub/hub.h"\n' + source.read_text())
    found = check("check_includes.py")
    assert found.returncode == 1
    assert 'src/data/data.c:1: room data must not include "hub/hub.h" of room hub' in found.stderr
    built = compile_tree(tree)
    assert built.returncode != 0
    assert "hub/hub.h" in built.stdout and "No such file" in built.stdout


def test_a_dependency_against_the_order_does_not_configure(tree):
    (tree / "src" / "data" / "CMakeLists.txt").write_text("kernels_room(data SOURCES data.c ROOMS hub)\n")
    built = compile_tree(tree)
    assert built.returncode != 0
    assert "room data must not depend on room hub" in built.stderr


@pytest.mark.parametrize("file, include, expected", [
    ("src/hub/hub.c", "kernels/load.h", 'room hub must not include "kernels/load.h" of room load'),
    ("src/hub/hub.c", "kernels/kernels.h", "is for users of the library"),
    ("src/hub/hub.c", "../data/data.h", "leaves its folder"),
    ("include/kernels/data.h", "kernels/load.h", 'room data must not include "kernels/load.h" of room load'),
    ("include/kernels/load.h", "hub/hub.h", "is internal to room hub"),
    ("examples/c/user.c", "hub/hub.h", "is internal to room hub"),
    ("python/kernels/_native.c", "hub/hub.h", "is internal to room hub"),
    ("tests/unit/data/data_test.c", "hub/hub.h", 'room data must not include "hub/hub.h"'),
    ("tests/unit/shared.h", "data/data.h", 'room base must not include "data/data.h"'),
    ("tests/program/data_driver.c", "hub/hub.h", 'room data must not include "hub/hub.h"'),
    ("src/extra/extra.c", "data/data.h", "src/extra belongs to no room"),
])
def test_wrong_includes_are_found(tree, check, file, include, expected):
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(f'/* #include "cli/ignored.h" */\n#  include "{include}"\n{before}')
    found = check("check_includes.py")
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1, found.stderr
    assert found.stderr.startswith(f"{file}:") and expected in found.stderr


@pytest.mark.parametrize("file, line, name", [
    ("src/hub/hub.c", "sprintf(text, x);", "sprintf"),
    ("src/hub/hub.c", "long n = strtol(text, 0, 10);", "strtol"),
    ("src/hub/hub.c", "void *p = malloc(3);", "malloc"),
    ("src/hub/hub.c", "int d = open (name, 0);", "open"),
    ("src/hub/hub.c", 'FILE *f = fopen(name, "w");', "fopen"),
    ("src/hub/hub.c", "rename(a, b);", "rename"),
    ("src/base/file.c", "system(text);", "system"),
    ("src/cli/program.c", "free(text);", "free"),
    ("python/kernels/_native.c", "strcpy(a, b);", "strcpy"),
    ("tests/unit/hub/hub_test.c", "strcat(a, b);", "strcat"),
])
def test_banned_functions_are_found(tree, check, file, line, name):
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"int f(void)\n{{\n    {line}\n}}\n")
    found = check("check_banned.py")
    assert found.returncode == 1
    assert found.stderr.startswith(f"{file}:3: {name}() is banned"), found.stderr


@pytest.mark.parametrize("file, line", [
    ("src/hub/hub.c", '/* strcpy(a, b); */ // malloc(1)'),
    ("src/hub/hub.c", 'const char *text = "call system(\\"x\\") or free()";'),
    ("src/hub/hub.c", "plugin->free(x); table.open(x); kernels_free(x); reopen(x);"),
    ("src/hub/hub.c", 'FILE *f = fopen(name, "rb"), *g = fopen("/proc/cpuinfo", "re");'),
    ("src/base/memory.c", "void *p = malloc(3); free(p);"),
    ("src/base/file.c", "rename(a, b);"),
    ("tests/unit/hub/hub_test.c", "free(p); mkdir(a, 0700);"),
])
def test_allowed_code_is_left_alone(tree, check, file, line):
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n")
    assert check("check_banned.py").stderr == ""


@pytest.mark.parametrize("file, content, expected", [
    ("docs/page.md", "see /" + "work/project\n", "path of one machine"),
    ("docs/page.md", "from https://pypi" + ".org/x\n", "host of a package registry"),
    ("docs/page.md", "see [other](other.md) and [host](https://example.org/x)\n", "link to other.md, which is not there"),
    ("scripts/x.py", "# SPDX-License-Identifier: Apache-2.0\ndef f(:\n", "Python syntax"),
    ("src/hub/hub.c", "int x;\n", "no SPDX-License-Identifier"),
    ("src/hub/hub.c", "/* SPDX-License-Identifier: Apache-2.0 */\nint x; \n", "blanks at the end"),
])
def test_faults_of_the_tree_are_found(root, tmp_path, file, content, expected):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    found = subprocess.run([sys.executable, root / "scripts" / "check_tree.py", tmp_path], text=True,
                           capture_output=True)
    assert found.returncode == 1
    assert found.stderr.startswith(f"{file}:") and expected in found.stderr, found.stderr


JUNIT = '<testsuites><testsuite><testcase name="a"/><testcase name="b">{}</testcase></testsuite></testsuites>'


@pytest.mark.parametrize("second, code, line", [
    ("", 0, "4 passed, 0 failed, 0 skipped"),
    ("<skipped/>", 0, "3 passed, 0 failed, 1 skipped"),
    ("<failure/>", 1, "3 passed, 1 failed, 0 skipped"),
    (None, 1, "2 passed, 1 failed, 0 skipped"),
])
def test_the_summary_adds_both_runners(root, tmp_path, second, code, line):
    reports = [tmp_path / "first.xml", tmp_path / "second.xml"]
    reports[0].write_text(JUNIT.format(""))
    if second is not None:
        reports[1].write_text(JUNIT.format(second))
    done = subprocess.run([sys.executable, root / "scripts" / "test_summary.py", *reports], text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, line)


def test_run_explains_itself_and_refuses_what_it_does_not_know(root):
    told = subprocess.run([root / "run", "help"], text=True, capture_output=True)
    assert told.returncode == 0
    for command in ("setup", "demo", "test", "lint", "bench", "fuzz", "wheel", "install"):
        assert f"\n  {command} " in told.stdout
    refused = subprocess.run([root / "run", "dance"], text=True, capture_output=True)
    assert refused.returncode == 1 and "unknown command: dance" in refused.stderr


def test_every_vector_is_replayed(root, data):
    """Each recorded file of the loader and of the release is named by a test."""
    texts = "".join(path.read_text() for pattern in ("unit/**/*.c", "program/*.py", "layers/*.py")
                    for path in (root / "tests").glob(pattern))
    files = [path for folder in ("loader", "release17") for path in (data / folder).rglob("*.json")]
    assert len(files) >= 68
    unused = [path.name for path in files if not re.search(rf'["/{{]{path.stem}(\.json)?["/]', texts)]
    assert not unused, unused
