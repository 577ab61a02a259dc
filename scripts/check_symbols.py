#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No global name is defined in two rooms: the linker would silently take one of them.

    check_symbols.py BUILD_DIR
"""
import collections
import pathlib
import subprocess
import sys


def defined_names(archive: pathlib.Path) -> set[str]:
    listing = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", str(archive)],
                             check=True, capture_output=True, text=True).stdout
    fields = (line.split() for line in listing.splitlines())
    return {field[0] for field in fields if len(field) >= 2 and field[1] in "TDBR" and field[0].startswith("kernels_")}


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    archives = sorted(build.glob("src/*/libroom_*.a"))
    if not archives:
        print(f"{build} holds no rooms: build it first", file=sys.stderr)
        return 1
    owners = collections.defaultdict(list)
    for archive in archives:
        for name in defined_names(archive):
            owners[name].append(archive.stem.removeprefix("libroom_"))
    twice = {name: rooms for name, rooms in owners.items() if len(rooms) > 1}
    for name, rooms in sorted(twice.items()):
        print(f"{name} is defined in the rooms {', '.join(rooms)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
