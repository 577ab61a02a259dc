# SPDX-License-Identifier: Apache-2.0
"""Build variants: the folders below build/ of a kernel, named after what they were built for.

A variant fits this machine or is rejected for a reason; those that fit are in an order of preference. The library decides
both, and the reasons are its texts.
"""

import os
from collections import deque
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from pathlib import Path

from kernels import _machine, _native
from kernels._rust import _make, _Value
from kernels.backends import Backend, _MajorMinor, _of, _select_backend, major_minor, parse_backend

__all__ = [
    "Arch", "ArchVariant", "Decision", "Noarch", "NoarchVariant", "Torch", "TorchNoarch", "TorchStableAbi", "TvmFfi", "Variant",
    "VariantAccepted", "VariantRejected", "get_kernel_variants", "get_variants", "get_variants_local", "parse_variant",
    "resolve_variant", "resolve_variants", "variants_trace_str",
]  # fmt: skip


# ---- what variants are made of ----


class _Framework(_MajorMinor):
    __slots__ = _MajorMinor.__slots__

    def __repr__(self):
        return f"{type(self).__name__}({self.variant_str!r})"

    @classmethod
    def parse(cls, s: str):
        """From the text that variant_str gives; ValueError for others."""
        framework = parse_variant(f"{s}-cpu-x86_64-linux").framework
        if type(framework) is not cls:
            raise ValueError(f"Invalid framework {s!r}: expected {cls._prefix} and a version")
        return framework


class Torch(_Framework):
    """Built against one version of torch. cxx11_abi: True, False, or None where the name does not say."""

    __slots__ = ("_numbers", "cxx11_abi")
    _prefix = "torch"

    def __new__(cls, version, cxx11_abi: bool | None = None):
        return _make(cls, major_minor(version), cxx11_abi)

    @property
    def variant_str(self) -> str:
        tag = "" if self.cxx11_abi is None else "-cxx11" if self.cxx11_abi else "-cxx98"
        return f"{super().variant_str}{tag}"


class TorchStableAbi(_Framework):
    """Built against the stable ABI of a version of torch: fits that version and all later ones."""

    _prefix = "torch-stable-abi"


class TvmFfi(_Framework):
    """Built against a version of tvm-ffi, for any framework."""

    _prefix = "tvm-ffi"


class TorchNoarch(_Value):
    """Python code for torch."""

    __slots__ = ()
    variant_str = "torch"

    def __new__(cls):
        return _make(cls)

    def __repr__(self):
        return "TorchNoarch()"


class Arch(_Value):
    """A backend with its version, a CPU and an operating system: "cu130-x86_64-linux"."""

    __slots__ = ("backend", "platform", "os")

    def __new__(cls, backend: Backend, platform: str, os: str):
        return _make(cls, backend, platform, os)

    @property
    def variant_str(self) -> str:
        return f"{self.backend.variant_str}-{self.platform}-{self.os}"

    def __repr__(self):
        return f"Arch({self.variant_str!r})"

    @staticmethod
    def parse(parts: list[str]) -> "Arch":
        """From the three parts of that text; ValueError for others."""
        if len(parts) != 3:
            raise ValueError(f"Invalid arch {'-'.join(parts)!r}: expected backend, CPU and operating system")
        return Arch(parse_backend(parts[0]), parts[1], parts[2])


class Noarch(_Value):
    """The name of a backend, or "universal"."""

    __slots__ = ("backend_name",)

    def __new__(cls, backend_name: str):
        return _make(cls, backend_name)

    @property
    def variant_str(self) -> str:
        return self.backend_name

    def __repr__(self):
        return f"Noarch({self.backend_name!r})"

    @staticmethod
    def parse(s: str) -> "Noarch":
        """Any text but an empty one."""
        if not s:
            raise ValueError("Invalid noarch variant: expected the name of a backend or universal")
        return Noarch(s)


class _Variant(_Value):
    """Compares by what it was built for. `directory` is its folder: torch209-... has the variant_str torch29-..."""

    __slots__ = ("framework", "arch", "directory")

    def __new__(cls, framework, arch):
        return _make(cls, framework, arch, f"{framework.variant_str}-{arch.variant_str}")

    @property
    def variant_str(self) -> str:
        return f"{self.framework.variant_str}-{self.arch.variant_str}"

    def _key(self):
        return self.framework, self.arch

    def __repr__(self):
        return f"{type(self).__name__}({self.variant_str!r})"


class ArchVariant(_Variant):
    """Compiled: Torch, TorchStableAbi or TvmFfi, and an Arch."""


class NoarchVariant(_Variant):
    """Python code: TorchNoarch and a Noarch."""


Variant = ArchVariant | NoarchVariant


class VariantAccepted(_Value):
    """A variant that fits this machine."""

    __slots__ = __match_args__ = ("variant",)

    def __new__(cls, variant: Variant):
        return _make(cls, variant)

    def __repr__(self):
        return f"VariantAccepted(variant={self.variant!r})"


class VariantRejected(_Value):
    """A variant that does not, and why."""

    __slots__ = __match_args__ = ("variant", "reason")

    def __new__(cls, variant: Variant, reason: str):
        return _make(cls, variant, reason)

    def __repr__(self):
        return f"VariantRejected(variant={self.variant!r}, reason={self.reason!r})"


Decision = VariantAccepted | VariantRejected

_directory = attrgetter("directory")


def parse_variant(variant_str: str) -> Variant:
    """The variant that a folder is named after; ValueError when it is no variant's name."""
    kind, version, abi, backend, backend_version, cpu, system, noarch, _ = _native.variant_parse(variant_str)
    framework = _framework(kind, version, abi)
    if noarch is not None:
        return _make(NoarchVariant, framework, Noarch(noarch), variant_str)
    return _make(ArchVariant, framework, _arch(backend, backend_version, cpu, system), variant_str)


@lru_cache(maxsize=256)
def _framework(kind, version, abi):
    if kind == "noarch":
        return TorchNoarch()
    if kind == "torch":
        return _make(Torch, version, abi)
    return _make(TorchStableAbi if kind == "torch-stable-abi" else TvmFfi, version)


@lru_cache(maxsize=256)
def _arch(backend, version, cpu, system):
    return Arch(_of(backend, None if version is None else f"{version[0]}.{version[1]}"), cpu, system)


# ---- where variants are listed ----


def get_variants(api, *, repo_id: str, revision: str) -> list[Variant]:
    """The variants of a repository on the Hub at a branch, tag or commit, ascending by name. Other names are warned of."""
    from kernels.hf_hub import _as_api

    context = _as_api(api).context()
    names = context.variant_names(repo_id, context.commit(repo_id, revision=revision))
    variants, invalid = _parse_all(names)
    for name in invalid:
        import logging

        logging.getLogger(__name__).warning("%s: build/%s is no variant's name; it is not looked at", repo_id, name)
    return variants


def get_variants_local(repo_path: Path) -> list[Variant]:
    """The variants in a folder, ascending by name; none when it cannot be read."""
    try:
        with os.scandir(repo_path) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return _parse_all(names)[0]


def _parse_all(names) -> tuple[list[Variant], list[str]]:
    variants, invalid = [], []
    for name in sorted(names):
        try:
            variants.append(parse_variant(name))
        except ValueError:
            invalid.append(name)
    return variants, invalid


def get_kernel_variants(
    repo_id: str, *, revision: str | None = None, version: int | None = None, backend: str | None = None
) -> list[Decision]:
    """Every variant of a kernel on the Hub, those that fit this machine first, best first."""
    from kernels._versions import select_revision_or_version
    from kernels.hf_hub import _get_hf_api

    api = _get_hf_api()
    state = select_revision_or_version(repo_id, revision=revision, version=version, local_files_only=api.offline)
    return resolve_variants(get_variants(api, repo_id=repo_id, revision=state), backend)[1]


# ---- which variant fits ----


def resolve_variants(variants: list[Variant], backend: str | None = None) -> tuple[list[Variant], list[Decision]]:
    """(those that fit this machine, best first; every decision). ValueError for a backend that this machine lacks."""
    selected = _select_backend(backend)
    system = _machine.system()
    if system["free_threaded"] and any(isinstance(variant, ArchVariant) for variant in variants):
        import logging

        logging.getLogger(__name__).warning(
            "this Python has no global interpreter lock: compiled variants are not looked at before Python 3.15"
        )
    return _resolve(sorted(variants, key=_directory), _with_backend(system, selected))


def resolve_variant(variants: list[Variant], backend: str | None = None) -> tuple[Variant | None, list[Decision]]:
    """(the best one that fits this machine or None, every decision)."""
    accepted, trace = resolve_variants(variants, backend)
    return (accepted[0] if accepted else None), trace


def _resolve_variant_for_system(
    variants: list[Variant],
    selected_backend: Backend,
    cpu: str,
    os: str,
    torch_version,
    torch_cxx11_abi: bool | None,
    tvm_ffi_version,
    macos_version=None,
) -> tuple[list[Variant], list[Decision]]:
    """resolve_variants for a machine that is described. Versions are packaging.version.Version or text, or None. Equals stay
    in the given order."""
    system = {
        "os": os,
        "cpu": cpu,
        "torch": _text(torch_version),
        "torch_cxx11_abi": torch_cxx11_abi,
        "tvm_ffi": _text(tvm_ffi_version),
        "macos": _text(macos_version),
        "free_threaded": _is_unsupported_free_threaded_build(),
    }
    return _resolve(variants, _with_backend(system, selected_backend))


def _is_unsupported_free_threaded_build() -> bool:
    return _machine.is_free_threaded()


def _text(version) -> str | None:
    return None if version is None else str(version)


def _with_backend(system: dict, backend: Backend) -> dict:
    numbers = getattr(backend, "_numbers", None)
    if numbers is None and hasattr(backend, "version"):  # a class of the caller's own
        numbers = major_minor(backend.version)
    version = None if numbers is None else f"{numbers[0]}.{numbers[1]}"
    return {**system, "backend": backend.name, "backend_version": version}


def _resolve(variants: list[Variant], system: dict) -> tuple[list[Variant], list[Decision]]:
    """Equals stay in the given order."""
    places, reasons = _native.resolve_in_order(system, [variant.directory for variant in variants])
    ordered = [variants[place] for place in places]
    first_rejected = len(ordered) - len(reasons)
    accepted = ordered[:first_rejected]
    trace: list[Decision] = [_make(VariantAccepted, variant) for variant in accepted]
    trace += _reject(ordered[first_rejected:], reasons)
    return accepted, trace


def _reject(variants: list[Variant], reasons: list[str]) -> list[VariantRejected]:
    """As _make for each of them; there may be a thousand."""
    rejected = list(map(object.__new__, repeat(VariantRejected, len(variants))))
    for field, values in ((VariantRejected.variant, variants), (VariantRejected.reason, reasons)):
        deque(map(field.__set__, rejected, values), maxlen=0)
    return rejected


def variants_trace_str(trace: list[Decision]) -> str:
    """A line for each decision."""
    lines = []
    for position, decision in enumerate(trace):
        name = decision.variant.variant_str
        if isinstance(decision, VariantRejected):
            lines.append(f"{name}: {decision.reason}")
        else:
            lines.append(f"{name} compatible, preferred ✅" if position == 0 else f"{name} compatible ✅")
    return "\n".join(lines)
