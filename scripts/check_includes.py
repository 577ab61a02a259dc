#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include against the order of the rooms (cmake/rooms.txt).

    check_includes.py [ROOT]

A file of room R may include "R/...", the rooms listed behind R, and the public headers of those and of R itself.
A public header may include public headers of lower rooms only. A unit test or fuzz target may use what its room may,
what tests share stands on base, and tests/program/<room>_driver.c is a program of that room.
Python is above all rooms but reaches them through the public headers alone.
"""
import pathlib
import re
import sys

import c_source

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
UMBRELLA = "kernels/kernels.h"


def read_order(root: pathlib.Path) -> dict[str, set[str]]:
    order = {}
    for line in (root / "cmake" / "rooms.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            room, _, lower = line.partition(":")
            order[room] = set(lower.split())
            unknown = order[room] - set(order)
            if unknown:
                sys.exit(f"cmake/rooms.txt: {room} names {', '.join(sorted(unknown))}, which does not stand above it")
    return order


def room_of(path: pathlib.Path, order: dict[str, set[str]]) -> str | None:
    """Which room's rights a file has; None: those of a user of the library."""
    parts = path.parts
    if parts[0] == "include":
        return path.stem if path.stem in order else None
    if parts[0] in ("src", "fuzz") and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("tests", "unit"):
        return parts[2] if parts[2] in order else "base"  # what the tests of all rooms share
    if parts[:2] == ("tests", "program"):
        return path.stem.partition("_")[0]  # load_driver.c
    return None


def target_of(include: str, order: dict[str, set[str]]) -> tuple[str | None, bool]:
    """The room an include belongs to, and whether it is a public header."""
    folder, _, name = include.partition("/")
    if folder == "kernels":
        stem = name.removesuffix(".h")
        return (stem if stem in order else None), True
    return (folder if folder in order and name else None), False


def problems(path: pathlib.Path, text: str, order: dict[str, set[str]]):
    room = room_of(path, order)
    public = path.parts[0] == "include"
    user = room is None  # examples, bench, python: the public headers are all they may use
    if room is not None and room not in order:
        yield 1, f"{path.parent} belongs to no room: cmake/rooms.txt does not name {room}"
        return
    allowed = set(order) if user else order.get(room, set()) | {room}
    for match in INCLUDE.finditer(c_source.without_comments(text)):
        include = match.group(1)
        line = text.count("\n", 0, match.start()) + 1
        target, target_is_public = target_of(include, order)
        if include == UMBRELLA and not user and room != "cli":
            yield line, f'"{include}" is for users of the library; include the headers of lower rooms by name'
        elif include.startswith("../") or "/../" in include:
            yield line, f'"{include}" leaves its folder; name the header from its room: "room/file.h"'
        elif target is None:
            continue
        elif (public or user) and not target_is_public:
            yield line, f'"{include}" is internal to room {target}; only public headers (kernels/...) may be used here'
        elif target not in allowed:
            below = ", ".join(sorted(order[room])) or "nothing"
            yield line, f'room {room} must not include "{include}" of room {target}; below it stand: {below}'


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else c_source.ROOT
    order = read_order(root)
    failed = 0
    for path in c_source.files(root):
        relative = path.relative_to(root)
        for line, problem in problems(relative, path.read_text(), order):
            print(f"{relative}:{line}: {problem}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
