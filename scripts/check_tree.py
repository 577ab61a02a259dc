#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every text file of the tree: no path of one machine, no host of a package registry, a licence line in
each source file, Python that parses, no blanks at line ends, links between pages that lead somewhere.

    check_tree.py [ROOT]
"""
import ast
import os
import pathlib
import re
import sys

import c_source

SKIPPED_FOLDERS = {".git", ".venv", "__pycache__", "result"}
# Build outputs, inputs of tests, and files of others that stay as they came.
SKIPPED = re.compile(r"build(/|$)|examples/kernels/[^/]+/build(/|$)|tests/data/|fuzz/corpora/|third_party/|"
                     r"include/kernels/dlpack/")
PROJECT_FOLDERS = {"examples", "templates"}  # pages of projects of their own
SOURCE_SUFFIXES = c_source.SUFFIXES | {".py"}
MACHINE_PATH = re.compile(r"(?<![\w/.}~-])/(?:work|root|home/[a-z]\w*)/")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")  # within the tree: no "https:"
REGISTRY = re.compile(r"\b(?:" + r"|".join(("pypi" r"\.org", "python" r"hosted\.org", "deb\." r"debian\.org")) + r")\b")


def text_files(root: pathlib.Path):
    for folder, folders, names in os.walk(root):
        below = pathlib.Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders
                            if name not in SKIPPED_FOLDERS and not SKIPPED.match((below / name).as_posix()))
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            if not path.is_symlink() and not SKIPPED.match(path.relative_to(root).as_posix()):
                try:
                    yield path, path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue  # not text


def is_template(path: pathlib.Path) -> bool:
    """Becomes a file of somebody's own project: under their licence, and Python only when it is filled in."""
    return path.parts[0] == "templates"


def problems(root: pathlib.Path, path: pathlib.Path, text: str):
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield number, "path of one machine"
        if REGISTRY.search(line):
            yield number, "host of a package registry: name the package alone"
        for target in LINK.findall(line) if path.suffix == ".md" and path.parts[0] not in PROJECT_FOLDERS else []:
            if not (root / path.parent / target).exists():
                yield number, f"link to {target}, which is not there"
        if path.suffix in SOURCE_SUFFIXES and line != line.rstrip():
            yield number, "blanks at the end of the line"
    if is_template(path):
        return
    if path.suffix in SOURCE_SUFFIXES and text and "SPDX-License-Identifier:" not in "\n".join(text.splitlines()[:3]):
        yield 1, "no SPDX-License-Identifier in the first lines"
    if path.suffix == ".py":
        try:
            ast.parse(text, str(path))
        except SyntaxError as error:
            yield error.lineno or 1, f"Python syntax: {error.msg}"


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else c_source.ROOT
    failed = 0
    for path, text in text_files(root):
        for line, problem in problems(root, path.relative_to(root), text):
            print(f"{path.relative_to(root)}:{line}: {problem}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
