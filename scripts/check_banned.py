#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on calls of banned functions, and on memory and file functions outside room base.

    check_banned.py [ROOT]

Looks at the C and C++ files of the product (src, include, python) and at fuzz, bench and examples; comments and
literals are ignored. Unit tests may do as they like with memory and files, not with the first list.
"""
import pathlib
import re
import sys

import c_source

EVERYWHERE = {
    "sprintf": "use kernels_buffer_printf or snprintf",
    "vsprintf": "use kernels_buffer_vprintf or vsnprintf",
    "strcpy": "use memcpy with a checked size, or a kernels_buffer",
    "strncpy": "use memcpy with a checked size, or a kernels_buffer",
    "strcat": "use a kernels_buffer",
    "strncat": "use a kernels_buffer",
    "strtok": "use the cursor functions of base/view.h",
    "atoi": "use the number functions of base/view.h",
    "atol": "use the number functions of base/view.h",
    "atof": "use the number functions of base/view.h",
    "strtol": "use the number functions of base/view.h",
    "strtoll": "use the number functions of base/view.h",
    "strtoul": "use the number functions of base/view.h",
    "strtoull": "use the number functions of base/view.h",
    "sscanf": "use the cursor functions of base/view.h",
    "alloca": "use kernels_malloc or an arena",
    "system": "use base/process.h: no shell",
    "popen": "use base/process.h: no shell",
    "gets": "use fgets or getline",
    "tmpnam": "use base/file.h",
    "mktemp": "use base/file.h",
}
OUTSIDE_BASE = {
    **dict.fromkeys(("malloc", "calloc", "realloc", "free", "strdup", "strndup", "asprintf", "vasprintf"),
                    "only base/memory.c calls the allocator; use base/memory.h"),
    **dict.fromkeys(("open", "openat", "creat", "fopen", "freopen", "rename", "renameat", "mkdir", "mkdirat",
                     "mkstemp", "mkdtemp", "symlink", "symlinkat", "link", "linkat"),
                    "only base/file.c makes files; use base/file.h"),
}
READS = re.compile(r'fopen\s*\(.*,\s*"rb?e?"\)')
# Programs and tests around the product: no file of the user is at stake.
LOOSE = ("tests", "fuzz", "bench", "examples")


def problems(path: pathlib.Path, text: str):
    banned = dict(EVERYWHERE)
    if path.parts[0] not in LOOSE and path.parts[:2] != ("src", "base"):
        banned |= OUTSIDE_BASE
    # A member (x.free, x->open) or a longer name (my_free) is another function; reading with fopen is fine.
    call = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(banned) + r")\s*\(")
    lines = c_source.without_comments(text).splitlines()
    for number, line in enumerate(c_source.code_only(text).splitlines(), 1):
        for match in call.finditer(line):
            if match.group(1) == "fopen" and READS.search(lines[number - 1]):
                continue
            yield number, f"{match.group(1)}() is banned here: {banned[match.group(1)]}"


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else c_source.ROOT
    failed = 0
    for path in c_source.files(root):
        relative = path.relative_to(root)
        for line, problem in problems(relative, path.read_text()):
            print(f"{relative}:{line}: {problem}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
