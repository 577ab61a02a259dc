#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/abi/*.json as C tables (src/abi/tables.h says what they mean): make_tables.py FOLDER OUTPUT

Texts stand in one block a table and are found by 16-bit offsets: no pointers, so nothing has to be relocated when a
program starts.
"""
import json
import pathlib
import sys

WIDTH = 118
GUARDS = {"MS_WINDOWS": "WINDOWS", "Py_REF_DEBUG": "DEBUG", "Py_TRACE_REFS": "DEBUG"}


class Block:
    """Texts, each once, with NUL behind it."""

    def __init__(self):
        self.offsets, self.size, self.texts = {}, 0, []

    def add(self, text: str) -> int:
        if text not in self.offsets:
            self.offsets[text] = self.size
            self.texts.append(text)
            self.size += len(text.encode()) + 1
        assert self.size < 65536, "offsets are 16 bits"
        return self.offsets[text]

    def c(self, name: str) -> str:
        return f"static const char {name}[] =\n" + "\n".join(f'    "{text}\\0"' for text in self.texts) + ";\n"


def numbers(name: str, c_type: str, values: list) -> str:
    lines, line = [], "   "
    for value in values:
        word = f" {value},"
        if len(line) + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += word
    return f"static const {c_type} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def names(label: str, rows: list[tuple]) -> str:
    """Sorted names with one small number each."""
    block = Block()
    rows = sorted(rows, key=lambda row: row[0].encode())
    offsets = [block.add(row[0]) for row in rows]
    text = block.c(f"{label}_text") + numbers(f"{label}_offsets", "uint16_t", offsets)
    text += numbers(f"{label}_minors", "uint8_t", [row[1] for row in rows])
    guards = f"{label}_guards"
    if any(len(row) > 2 for row in rows):
        text += numbers(guards, "uint8_t", [row[2] for row in rows])
    else:
        guards = "NULL"
    return text + (f"const kernels_abi_names kernels_abi_{label} = {{{label}_text, {label}_offsets, {label}_minors, "
                   f"{guards}, {len(rows)}}};\n\n")


def minor(version: str, major: int) -> int:
    parts = [int(part) for part in version.split(".")]
    assert parts[0] == major and len(parts) == 2, version
    return parts[1]


def python(table: dict) -> str:
    def guard(row):
        return "KERNELS_ABI_GUARD_" + GUARDS.get(row["ifdef"], "OTHER") if "ifdef" in row else "0"

    return names("python_names", [(name, minor(row["added"], 3), guard(row)) for name, row in table["symbols"].items()])


def torch(table: dict) -> str:
    rows = [(name, 0 if version == "base" else minor(version, 2)) for name, version in table["symbols"].items()]
    newest = max(row[1] for row in rows)
    return names("torch_names", rows) + f"const unsigned kernels_abi_torch_newest_minor = {newest};\n\n"


def tvm_ffi(table: dict) -> str:
    return names("tvm_ffi_names", [(name, minor(table["abi"], 0)) for name in table["symbols"]])


def normal(version: str) -> str:
    """Numbers without trailing zeros ("7.0.0" -> "7"), as the check compares them; other texts as they are."""
    parts = version.split(".")
    if not all(part.isdigit() for part in parts):
        return version
    while len(parts) > 1 and int(parts[-1]) == 0:
        parts.pop()
    return ".".join(str(int(part)) for part in parts)


def version_key(policy: dict):
    return [int(part) for part in policy["name"].split("_")[1:]]


def manylinux(table: dict) -> str:
    policies = sorted(table["policies"], key=version_key)
    assert len(policies) <= 32, "sets of policies are 32 bits"
    archs = sorted({arch for policy in policies for arch in policy["symbol_versions"]})
    deps = sorted({dep for policy in policies for sets in policy["symbol_versions"].values() for dep in sets})
    block, keys, rows, libraries, forbidden = Block(), [], {}, {}, {}
    arch_masks = [sum(1 << i for i, policy in enumerate(policies) if arch in policy["symbol_versions"]) for arch in archs]
    for i, policy in enumerate(policies):
        for arch, sets in policy["symbol_versions"].items():
            for dep, versions in sets.items():
                for version in versions:
                    key = (archs.index(arch), deps.index(dep), normal(version))
                    rows[key] = rows.get(key, 0) | 1 << i
        for library in policy["lib_whitelist"]:
            libraries[library] = libraries.get(library, 0) | 1 << i
        for library, symbols in policy["blacklist"].items():
            for symbol in symbols:
                forbidden[library, symbol] = forbidden.get((library, symbol), 0) | 1 << i
    for a, arch in enumerate(archs):
        for d, dep in enumerate(deps):
            mask = sum(1 << i for i, policy in enumerate(policies) if dep in policy["symbol_versions"].get(arch, {}))
            own = [i for i, row in enumerate(sorted(rows)) if row[:2] == (a, d)]
            keys.append(f"{{{mask:#x}, {own[0] if own else 0}, {len(own)}}}")
    text = "const kernels_abi_policy kernels_abi_policies[] = {\n"
    text += "".join(f'    {{"{policy["name"]}", "{" ".join(policy["aliases"])}"}},\n' for policy in policies)
    text += f"}};\nconst size_t kernels_abi_policy_count = {len(policies)};\n\n"
    text += "const kernels_abi_arch kernels_abi_archs[] = {\n"
    text += "".join(f'    {{"{arch}", {mask:#x}}},\n' for arch, mask in zip(archs, arch_masks))
    text += f"}};\nconst size_t kernels_abi_arch_count = {len(archs)};\n\n"
    text += f"const char *const kernels_abi_deps[] = {{{', '.join(json.dumps(dep) for dep in deps)}}};\n"
    text += f"const size_t kernels_abi_dep_count = {len(deps)};\n\n"
    text += numbers("kernels_abi_dep_rows", "kernels_abi_dep_row", keys).removeprefix("static ")
    offsets = [f"{{{block.add(version)}, {mask:#x}}}" for (_, _, version), mask in sorted(rows.items())]
    text += block.c("kernels_abi_version_text").removeprefix("static ")
    text += numbers("kernels_abi_version_rows", "kernels_abi_version_row", offsets).removeprefix("static ")
    text += "const kernels_abi_library_row kernels_abi_library_rows[] = {\n"
    text += "".join(f'    {{"{name}", {mask:#x}}},\n' for name, mask in sorted(libraries.items()))
    text += f"}};\nconst size_t kernels_abi_library_row_count = {len(libraries)};\n\n"
    text += "const kernels_abi_forbidden_row kernels_abi_forbidden_rows[] = {\n"
    text += "".join(f'    {{"{library}", "{name}", {mask:#x}}},\n' for (library, name), mask in sorted(forbidden.items()))
    return text + f"}};\nconst size_t kernels_abi_forbidden_row_count = {len(forbidden)};\n\n"


MAKERS = {"manylinux": manylinux, "python_stable_abi": python, "torch_stable_abi": torch, "tvm_ffi": tvm_ffi}


def main(folder: pathlib.Path, output: pathlib.Path):
    text = "/* Made by data/abi/make_tables.py. */\n#include \"abi/tables.h\"\n\n"
    sources = ""
    for table, maker in MAKERS.items():
        content = json.loads((folder / f"{table}.json").read_text())
        source = content["source"]
        sources += "    {%s},\n" % ", ".join(
            json.dumps(value) for value in (table, source["package"], source["version"], source["date"], source["sha256"]))
        text += maker(content)
    text += f"const kernels_abi_source kernels_abi_sources[] = {{\n{sources}}};\n"
    text += f"const size_t kernels_abi_source_count = {len(MAKERS)};\n"
    output.write_text(text)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
