# SPDX-License-Identifier: Apache-2.0
"""Findings of `kernel-abi-check --json` in the words of the released checker, for comparison with recorded answers."""
import hashlib
import json

KINDS = {
    ("manylinux", "version-not-allowed"): ("IncompatibleManylinuxSymbol", ("name", "dep", "version")),
    ("python", "too-new"): ("IncompatibleAbi3Symbol", ("name", "added")),
    ("python", "not-abi3"): ("NonAbi3Symbol", ("name",)),
    ("macos", "os-version-too-new"): ("IncompatibleMacOSVersion", ("version",)),
    ("macos", "os-version-missing"): ("MissingMacOSVersion", ()),
    ("torch", "too-new"): ("IncompatibleStableAbiSymbol", ("name", "added")),
    ("torch", "not-stable"): ("NonStableAbiSymbol", ("mangled",)),
}
CHECKS = {"manylinux": ("manylinux", "--manylinux"), "python_abi": ("python", "--python-abi"),
          "macos": ("macos", "--macos"), "torch_stable_abi": ("torch", "--torch-stable-abi")}


def findings(file: dict, check: str) -> list[dict]:
    result = []
    for finding in file["findings"]:
        if finding["check"] == CHECKS[check][0] and (finding["check"], finding["kind"]) in KINDS:
            kind, keys = KINDS[finding["check"], finding["kind"]]
            result.append({"kind": kind, **{key: finding[key] for key in keys}})
    return result


def _texts(answer: list[dict]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True, separators=(",", ":")) for one in answer)


def same(got: list[dict], want) -> bool:
    """want: a list of findings, or how many there are and the hash of all."""
    if isinstance(want, list):
        return _texts(got) == _texts(want)
    return len(got) == want["count"] and hashlib.sha256("\n".join(_texts(got)).encode()).hexdigest() == want["sha256_sorted"]
