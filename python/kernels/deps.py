# SPDX-License-Identifier: Apache-2.0
"""Kernels that kernels depend on: the tree of them, and how a kernel gets at its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

from kernels._record import dataclass
from kernels._rust import KernelDependency, KernelVersion
from kernels.resolver import HubApi, LocalKernel, RemoteKernel, Resolver

_MOVED = ("validate_dependencies", "validate_variant_dependencies")  # the reference has them here
__all__ = ["DepTreeNode", "get_kernel_dep", "resolve_kernel_tree", "use_kernel_deps", *_MOVED]

_DEPTH_MAX = 100  # kernels on one path of dependencies

_kernel_deps: ContextVar[dict[str, ModuleType] | None] = ContextVar("kernel_deps", default=None)


@dataclass
class DepTreeNode:
    """A kernel and the kernels it depends on, by repository. A node that several need is there once."""

    location: LocalKernel | RemoteKernel
    deps: "dict[str, DepTreeNode] | None" = None  # a new dictionary

    def __post_init__(self):
        self.deps = {} if self.deps is None else self.deps

    def install(self, *, api: HubApi) -> "DepTreeNode":
        """The same tree with every kernel on this machine, dependencies first."""
        made: dict[int, DepTreeNode] = {}
        for node in _children_first(self):
            deps = {repo_id: made[id(child)] for repo_id, child in node.deps.items()}
            made[id(node)] = DepTreeNode(node.location.install(api=api), deps)
        return made[id(self)]

    def load(self) -> ModuleType:
        """Imports the kernels, dependencies first; the module of this one. RuntimeError unless all are installed."""
        from kernels.importer import _import_from_path

        modules: dict[int, ModuleType] = {}
        for node in _children_first(self):
            location = node.location
            if not isinstance(location, LocalKernel):
                raise RuntimeError(f"Kernel `{location.repo_id}` must be installed before it can be loaded.")
            deps = {repo_id: modules[id(child)] for repo_id, child in node.deps.items()}
            modules[id(node)] = _import_from_path(location.variant_path, deps, location._repo_info)
        return modules[id(self)]

    def validate_metadata(self, validator) -> None:
        """Lets a kernels.validate.MetadataValidator look at each kernel, this one first."""
        for node in _parents_first(self):
            validator.validate_metadata(metadata=node.location.metadata, variant=node.location.variant_str)


def _children_first(root: DepTreeNode) -> Iterator[DepTreeNode]:
    """Each node once."""
    done: set[int] = set()
    path = [(root, iter(root.deps.values()))]
    while path:
        node, children = path[-1]
        child = next((child for child in children if id(child) not in done), None)
        if child is not None:
            path.append((child, iter(child.deps.values())))
            continue
        path.pop()
        if id(node) not in done:
            done.add(id(node))
            yield node


def _parents_first(root: DepTreeNode) -> Iterator[DepTreeNode]:
    """Each node once."""
    done: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in done:
            done.add(id(node))
            yield node
            waiting.extend(reversed(node.deps.values()))


def resolve_kernel_tree(
    api: HubApi,
    kernel: KernelDependency,
    backend: str | None,
    resolver: Resolver | None,
    seen: set[KernelDependency] | None = None,
) -> DepTreeNode:
    """Finds a kernel and all that it depends on, each once; of the files only metadata.json is fetched.

    seen holds kernels that may not appear, since what is asked for is one of their dependencies. ValueError when kernels depend
    on each other in a circle, when no resolver knows one, and when a kernel depends on two versions of another.
    """
    return _resolve(api, kernel, backend, resolver, list(seen or ()), {})


def _resolve(api, kernel, backend, resolver, path, known) -> DepTreeNode:
    if kernel in path:
        raise ValueError(f"Cyclic kernel dependency detected: {kernel.repo_id}")
    if kernel in known:
        return known[kernel]
    if len(path) >= _DEPTH_MAX:
        raise ValueError(f"Kernel dependencies are more than {_DEPTH_MAX} deep, at {_name(kernel)}")
    location = resolver and resolver.resolve(api=api, backend=backend, kernel=kernel)
    if location is None:
        raise ValueError(f"Could not resolve kernel: {_name(kernel)}")
    path.append(kernel)
    node = DepTreeNode(location)
    depends = dict.fromkeys(location.metadata.kernel_depends)  # the same twice is one
    _check_collisions(kernel, depends)
    for dependency in depends:
        node.deps[dependency.repo_id] = _resolve(api, dependency, backend, resolver, path, known)
    path.pop()
    known[kernel] = node
    return node


def _check_collisions(kernel: KernelDependency, depends) -> None:
    """A kernel sees its dependencies by repository, so it cannot have two versions of one."""
    versions: dict[str, KernelDependency] = {}
    for dependency in depends:
        other = versions.setdefault(dependency.repo_id, dependency)
        if other is not dependency:
            raise ValueError(
                f"Kernel {_name(kernel)} depends on both {_name(other)} and {_name(dependency)}: it can use only one."
            )


def _name(kernel: KernelDependency) -> str:
    if isinstance(kernel.version, KernelVersion.Version):
        return f"{kernel.repo_id} (version: {kernel.version.version})"
    return f"{kernel.repo_id} (revision: {kernel.version.revision})"


def __getattr__(name):
    if name in _MOVED:
        from kernels import python_deps

        return getattr(python_deps, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- for kernels ----


@contextmanager
def use_kernel_deps(deps: dict[str, ModuleType]) -> Iterator[None]:
    """While it lasts, get_kernel_dep finds these modules, by repository."""
    token = _kernel_deps.set(deps)
    try:
        yield
    finally:
        _kernel_deps.reset(token)


def get_kernel_dep(repo_id: str) -> ModuleType:
    """The module of a kernel that the calling kernel depends on (`kernel-depends` in its build.toml).

    Works while the calling kernel is being imported, and only then; RuntimeError else, or when it does not depend on repo_id.
    """
    deps = _kernel_deps.get()
    if deps is None:
        raise RuntimeError("`get_kernel_dep` only works during kernel loading.")
    if repo_id not in deps:
        raise RuntimeError(
            f"Dependency '{repo_id}' not found in kernel dependencies. Add it to `kernel-depends` in build.toml."
        )
    return deps[repo_id]
