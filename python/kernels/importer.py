# SPDX-License-Identifier: Apache-2.0
"""From the folder of a variant to a module, once for each folder in a process."""

import importlib.util
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from kernels import _simulate
from kernels._record import dataclass
from kernels._rust import Metadata
from kernels.deps import use_kernel_deps
from kernels.hf_hub import RepoInfo

_ID_BYTES_MAX = 255


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that was imported. repo_info is None for one that came from a folder given by the user."""

    metadata: Metadata
    module: ModuleType
    repo_info: RepoInfo | None


_loaded_kernels: dict[str, LoadedKernel] = {}  # by the real path of the variant, in the order of loading
_owners: dict[str, ModuleType] = {}  # id -> the module that this file put into sys.modules last
_importing: dict[str, int] = {}  # id -> thread that imports a kernel of it
_waiting: dict[int, str] = {}  # thread -> id that it waits for
_turn = threading.Condition()  # for these two


def get_loaded_kernels() -> list[LoadedKernel]:
    """All kernels imported so far, in that order: the dependencies of a kernel before it. The list is a new one."""
    return list(_loaded_kernels.values())


def _import_from_path(
    variant_path: Path, deps: dict[str, ModuleType], repo_info: RepoInfo | None = None
) -> ModuleType:
    """The module of a variant; the first time it is executed, under the name `id` of its metadata.

    deps are the modules that get_kernel_dep gives it meanwhile. What it raises is passed on with a note naming the kernel, and
    nothing of it stays in sys.modules.
    """
    key = os.path.realpath(variant_path)
    loaded = _loaded_kernels.get(key)
    if loaded is None:
        metadata = Metadata.read_from_file(Path(variant_path) / "metadata.json")
        with _alone(metadata):
            loaded = _loaded_kernels.get(key)
            if loaded is None:
                module = _load(Path(variant_path), metadata, key, deps, repo_info)
                loaded = _loaded_kernels[key] = LoadedKernel(metadata, module, repo_info)
    return loaded.module


@contextmanager
def _alone(metadata: Metadata):
    """One thread at a time imports kernels of an id. ImportError when it would wait for itself."""
    name, thread = metadata.id, threading.get_ident()
    with _turn:
        while name in _importing:
            if _waits_for(name, thread):
                raise ImportError(f"Kernel '{metadata.name}' loads itself while it is being imported", name=name)
            _waiting[thread] = name
            try:
                _turn.wait()
            finally:
                del _waiting[thread]
        _importing[name] = thread
    try:
        yield
    finally:
        with _turn:
            del _importing[name]
            _turn.notify_all()


def _waits_for(name: str, thread: int) -> bool:
    """Does the import of an id end only after something that this thread does, since it imports it or holds up one that does?"""
    holder = _importing.get(name)
    while holder is not None and holder != thread:
        holder = _importing.get(_waiting.get(holder, ""))
    return holder == thread


def _after_fork() -> None:
    """Other threads, and with them what they were importing, are not in the child."""
    global _turn
    thread = threading.get_ident()
    for name in [name for name, holder in _importing.items() if holder != thread]:
        del _importing[name]
        _take_out(name)
    _waiting.clear()
    _turn = threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _load(variant_path, metadata, key, deps, repo_info) -> ModuleType:
    """Runs while no other thread imports a kernel of this id."""
    name = metadata.id
    file = _find_init(variant_path, metadata)
    _check_id(metadata, key)
    replaced = _take_out(name) if name in sys.modules else {}  # of another folder with the same id
    try:
        with use_kernel_deps(deps), _simulate.importing(str(metadata.backend.backend_type)):
            module = _execute(name, file)
    except BaseException as error:
        _take_out(name)
        sys.modules.update(replaced)
        better = _explained(error, variant_path, metadata, key, repo_info)
        if better is error:
            raise
        raise better from error
    _owners[name] = module
    return module


def _find_init(variant_path: Path, metadata: Metadata) -> Path:
    python_name = metadata.name.python_name
    for file in (variant_path / "__init__.py", variant_path / python_name / "__init__.py"):
        if file.exists():
            return file
    raise FileNotFoundError(
        f"No kernel module found in {variant_path}: expected `__init__.py` or `{python_name}/__init__.py`"
    )


def _execute(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _take_out(name: str) -> dict[str, ModuleType]:
    """Removes a module and its submodules from sys.modules; what was removed."""
    names = [one for one in list(sys.modules) if one == name or one.startswith(name + ".")]
    return {one: sys.modules.pop(one) for one in names if one in sys.modules}


# ---- what may be an id ----


def _check_id(metadata: Metadata, key: str) -> None:
    """An id becomes a key of sys.modules: it must not take the place of anything but an earlier load of this id."""
    name = metadata.id
    if not 0 < len(name.encode("utf-8", "surrogatepass")) <= _ID_BYTES_MAX:
        raise ImportError(f"Kernel '{metadata.name}': its id must have 1 to {_ID_BYTES_MAX} bytes", name=name)
    if any(c in "/\\" or ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        raise ImportError(f"Kernel '{metadata.name}': its id {name!r} has a slash or a control character", name=name)
    if name in sys.modules and sys.modules[name] is _owners.get(name):
        return
    for taken in dict.fromkeys((name, name.partition(".")[0])):
        if taken in sys.modules or _is_findable(taken, key):
            raise ImportError(
                f"Kernel '{metadata.name}': its id {name!r} would hide the module {taken!r}. Ids are made by "
                "kernel-builder and contain a hash; rebuild the kernel without one of its own.",
                name=name,
            )


def _is_findable(name: str, variant: str) -> bool:
    """Would `import name` find a module outside of the variant? Only for names without a dot, nothing is imported."""
    if not name or "." in name:
        return False
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return not all(os.path.realpath(place).startswith(variant + os.sep) for place in places)


# ---- what went wrong ----


def _explained(error, variant_path, metadata, key, repo_info) -> BaseException:
    """The exception to raise for one that an import ended with."""
    if isinstance(error, ModuleNotFoundError) and error.name == metadata.name.python_name:
        error = _absolute_import(error, metadata, key)
    if isinstance(error, Exception) and hasattr(error, "add_note"):  # Python 3.11
        origin = f" ({repo_info.repo_id}, revision: {repo_info.revision})" if repo_info else ""
        error.add_note(f"while importing kernel '{metadata.name}', variant '{variant_path.name}'{origin}")
    return error


def _absolute_import(error: ModuleNotFoundError, metadata: Metadata, key: str) -> ModuleNotFoundError:
    """The kernel asked for itself by its public name, under which it is not there."""
    place, at = "", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if os.path.realpath(file).startswith(key + os.sep):
            place = f"{file}, line {at.tb_lineno}: "
        at = at.tb_next
    name = metadata.name.python_name
    made = ModuleNotFoundError(
        f"{place}the kernel imports itself by its absolute name `{name}`, which does not exist where it is loaded. "
        f"Use relative imports, `from . import ...` in place of `import {name}`.",
        name=name,
        path=error.path,
    )
    return made.with_traceback(error.__traceback__)
