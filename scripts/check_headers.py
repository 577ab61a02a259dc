#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone, as C17 and as C++17, with strict flags and with each compiler there is.

    check_headers.py [ROOT]
"""
import pathlib
import shutil
import subprocess
import sys

import c_source

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
COMPILERS = (
    ("gcc", ["-x", "c", "-std=c17", "-Wstrict-prototypes", "-Wmissing-prototypes"]),
    ("clang", ["-x", "c", "-std=c17", "-Wstrict-prototypes", "-Wmissing-prototypes"]),
    ("g++", ["-x", "c++", "-std=c++17"]),
    ("clang++", ["-x", "c++", "-std=c++17"]),
)


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else c_source.ROOT
    include = root / "include"
    failed = 0
    for header in sorted(include.rglob("*.h")):
        name = header.relative_to(include)
        for compiler, language in COMPILERS:
            if shutil.which(compiler) is None:
                print(f"{compiler} is missing", file=sys.stderr)
                return 1
            done = subprocess.run([compiler, *language, *STRICT, "-I", str(include), "-"],
                                  input=f'#include "{name}"\n', text=True, capture_output=True)
            if done.returncode != 0:
                print(f"{name} does not compile alone with {compiler}:\n{done.stderr}", file=sys.stderr)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
