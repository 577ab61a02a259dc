# SPDX-License-Identifier: Apache-2.0
"""What the C extension gives the Python files of this package. Not public: no name here is promised to users."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

version: str

class System(TypedDict):
    """What this machine is; the members of kernels_system, None where unknown or absent. Also the JSON of --system."""

    os: str
    cpu: str
    backend: str  # "cuda", "tpu", ...
    backend_version: str | None  # "13.2"
    backend_reason: str
    needs_torch: bool  # files do not decide on the backend: import torch and look
    alternative: str | None  # another backend, besides cpu, that may be selected by name
    alternative_version: str | None
    torch: str | None  # whole text, "2.15.0+cu132"
    torch_cxx11_abi: bool | None
    tvm_ffi: str | None  # whole text
    macos: str | None
    free_threaded: bool
    glibc: str | None
    python: str | None  # "3.11.2"
    site_packages: str | None
    tpu_generation: str | None
    gpu_architectures: str | None  # as sysfs tells them: "gfx90a, gfx942", "9.0"
    origins: dict[str, str]  # fact ("platform", "torch", ...: kernels_fact_name) to where it comes from, for people

# ---- _native_system.c ----

# root: prefix of /sys, /dev and /etc, for tests.

def system_detect(folders: Sequence[str], root: str = "") -> System:
    """From files alone: nothing is imported, no device opened. Rule 12.3 of the specification of the release. folders: those
    that this Python imports packages from, first one first; without any, the Python that the environment names."""

def tpu_present(root: str = "") -> bool | None:
    """The one presence test (PCI ids and device nodes); None: a TPU that the table does not know."""

def gpu_usable(cuda: str | None, hip: str | None, xpu: str | None, root: str = "") -> bool:
    """Device nodes of a GPU that a torch with these version attributes could use exist."""

def cuda_runtime_version(root: str = "") -> tuple[int, int] | None:
    """Of the runtime library that the dynamic linker knows; it is opened, no device is. (0, 0): it does not tell."""

def variant_parse(
    name: str,
) -> tuple[str, tuple[int, int] | None, bool | None, str | None, tuple[int, int] | None, str, str, str | None, str]:
    """(kind, framework version, ABI tag, backend, backend version, cpu, os, noarch name, canonical text); kind is "torch",
    "torch-stable-abi", "tvm-ffi" or "noarch". ValueError."""

def resolve_variants(system: System, names: list[str]) -> list[tuple[str, str | None]]:
    """All candidates in order of preference: (name as given, None when accepted, else the reason). Names that are no variant
    names are skipped; the result does not depend on the order of names."""

def resolve_in_order(system: System, names: list[str]) -> tuple[list[int], list[str]]:
    """(places in the list of all candidates in order of preference, reasons of those at the end that are rejected). Equals stay
    in the given order."""

def python_dependency_find(name: str, backend: str) -> list[tuple[str, str | None]] | None:
    """(package, module that must be found) of a name of python-depends; None: general and backend's table lack it."""

# ---- _native_load.c ----

class Context:
    """One configuration of Hub, cache and machine, from the arguments and the environment. Usable by one thread at a time
    (a second one waits); the interpreter lock is released while the library works."""

    def __init__(
        self,
        system: System,
        *,
        offline: bool | None = None,  # None: from the environment
        telemetry: bool | None = None,
        user_agent: str | None = None,  # further entries for the Hub, "; " between them
        token: str | None = None,
        endpoint: str | None = None,
        cache_directory: str | None = None,
        warn: Callable[[str, str], None] | None = None,  # (category, message): "trust", "versions", "dirty", "status", "variants", "hub"
        progress: Callable[[str | None, int, int], None] | None = None,
    ) -> None: ...
    offline: bool
    endpoint: str
    cache_directory: str
    requests: int  # sent so far
    def find(
        self,
        repo_id: str,
        *,
        version: int | None = None,
        revision: str | None = None,
        commit: str | None = None,  # from a lock: used in place of looking the version or revision up
        backend: str | None = None,
        cache_only: bool = False,
        trust: bool | Sequence[str] = False,  # True: all, a sequence: these repository ids
        hint: bool = True,  # when no variant fits, look whether the newest version has one
    ) -> Found:
        """Publisher, commit, variant, metadata of one kernel, without its dependencies. Of its files only metadata.json is
        fetched. LOCAL_KERNELS is not looked at. FileNotFoundError when no variant fits, with the attributes decisions (as
        Found.decisions), versions (those there are, as far as known) and fitting ((newest version, its variant) or None)."""

    def find_folder(self, path: str, *, backend: str | None = None) -> Found:
        """A repository folder, its build folder, or one variant folder."""

    def install(self, repo_id: str, commit: str, variant: str, *, ref: str | None = None, trust: bool | Sequence[str] = True) -> str:
        """Fetches the variant's files that the cache lacks, checks every file; the variant folder. ref ("v1", "main") is then
        recorded for the commit. Offline: what the cache has, complete and checked, else FileNotFoundError."""

    def install_all(self, repo_id: str, commit: str, *, ref: str | None = None) -> str:
        """The same for all of build/; that folder."""

    def install_folder(self, repo_id: str, commit: str, folder: str) -> str:
        """Files below a folder that is no variant ("benchmarks"), once the publisher is known to be trusted; that folder."""

    def verify(self, path: str) -> bool:
        """Checks the files of a variant folder against the digest of its metadata.json; False: it has none."""

    def versions(self, repo_id: str, *, cache_only: bool = False) -> list[tuple[int, str]]:
        """Version branches and their commits, ascending."""

    def commit(self, repo_id: str, *, version: int | None = None, revision: str | None = None, cache_only: bool = False) -> str:
        """Of a version (ValueError lists those there are; warns of a newer one) or a revision."""

    def variant_names(self, repo_id: str, commit: str, *, cache_only: bool = False) -> list[str]:
        """Folders below build/, ascending."""

    def check_trust(self, repo_id: str, *, trust: bool | Sequence[str] = False) -> None: ...
    def lock(self, dependencies: Sequence[tuple[str, int | None, str | None]]) -> list[tuple[str, int | None, str | None, str]]:
        """(repository, version, revision) of these and of all that their variants depend on, each with its commit."""

class Found:
    """One kernel that was found."""

    repo_id: str | None  # None: a folder
    commit: str | None
    ref: str | None  # to give to install
    variant: str  # name of the variant folder as it is spelt
    path: str | None  # the variant folder; None: not fetched yet
    metadata: bytes  # metadata.json
    decisions: list[tuple[str, str | None]]

# ---- _native_layer.c ----

_Entry = tuple[str, str | None, tuple[int, int] | None, tuple[tuple[int, object], ...]]
"""Layer, device (None: only that the layer is known), capability range, (mode, repository) pairs."""

class LayerMapping:
    """Which repository stands in for a layer. Usable by any number of threads at the same time."""

    def copy(self) -> LayerMapping:
        """Later changes of either are not seen by the other. Costs no more than a pointer."""

    def register(self, entries: tuple[_Entry, ...], clear: bool) -> None:
        """All of them or, with a ValueError, none. clear: what was there before is forgotten at the same moment."""

    def find(
        self, layer: str, device: str, capability: int | None, mode: int
    ) -> tuple[None, None, int, object] | tuple[str, str, int, None]:
        """(None, None, registered mode, repository), or (reason, message, 0, None) with reason "no_layer", "no_device",
        "no_properties", "no_mode" or "bad_mode"."""

    def choices(
        self, layer: str, device: str, capability: int | None
    ) -> tuple[str | None, tuple[tuple[int, object], ...]]:
        """(None, all (mode, repository) for that capability), or (reason, ())."""

    def entries(self) -> list[_Entry]:
        """All there is, by layer, device and range."""

def mode_union(a: int, b: int) -> int: ...
def mode_order(requested: int) -> tuple[int, ...]: ...
def mode_is_reachable(registered: int) -> bool: ...
def mode_check_request(requested: int) -> None: ...
def layer_check(registered: int, requested: int, can_torch_compile: bool, has_backward: bool) -> str | None:
    """None: it fits; else "lacks_backward", "lacks_compile" (mistakes of the registration), "cannot_serve_mode"."""

def device_types() -> tuple[str, ...]: ...
def tpu_generation_number(generation: str | None) -> int | None: ...

# ---- _native.c, _native_data.c: see native.py and _rust.py ----

def __getattr__(name: str) -> Any: ...
