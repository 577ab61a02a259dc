# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the C and C++ files of the tree, and their text without comments and strings."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".h", ".cc", ".cpp", ".hpp"}
FOLDERS = ("include", "src", "python", "tests", "fuzz", "bench", "examples")
OTHERS = re.compile(r"tests/data/|examples/kernels/[^/]+/(?:build|result)/")  # test data, build outputs

_TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def files(root: pathlib.Path, folders=FOLDERS):
    """All C and C++ files below the given folders, in a fixed order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and not OTHERS.match(path.relative_to(root).as_posix()):
                yield path


def code_only(text: str) -> str:
    """The text with comments and the content of literals blanked out; line numbers stay."""

    def blank(match: re.Match) -> str:
        token = match.group()
        if token[0] in "\"'":
            return token[0] * 2
        return "\n" * token.count("\n") or " "

    return _TOKENS.sub(blank, text)


def without_comments(text: str) -> str:
    """The text with comments blanked out; literals and line numbers stay."""

    def blank(match: re.Match) -> str:
        token = match.group()
        return token if token[0] in "\"'" else "\n" * token.count("\n") or " "

    return _TOKENS.sub(blank, text)
